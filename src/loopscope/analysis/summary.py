"""What the tables of a study are about: planned rollouts, tasks, agents, and what is not to be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version

from loopscope.analysis.commits import ScoreSource
from loopscope.analysis.finals import FinalScore
from loopscope.analysis.tabled import TabledRun
from loopscope.models import StudySpec, TaskFacts
from loopscope.models.pairing import Pairing
from loopscope.models.tables import AgentSummary, StudySummary, TaskSummary
from loopscope.records import StudyStore
from loopscope.records.settled import Settled
from loopscope.records.store import run_id_of

UNCATEGORIZED = "uncategorized"


def one_category_each(runs: Sequence[TabledRun]) -> list[TabledRun]:
    """The runs, each task in one category: logs of one task may name several, or none.

    The first that is named counts, in the order of the runs. Runs of prepared tasks agree from the start.
    """
    named: dict[str, str] = {}
    for run in runs:
        if run.run.category != UNCATEGORIZED:
            named.setdefault(run.run.task, run.run.category)
    return [_recategorized(run, named.get(run.run.task, UNCATEGORIZED)) for run in runs]


def _recategorized(run: TabledRun, category: str) -> TabledRun:
    if run.run.category == category:
        return run
    facts = run.task.model_copy(update={"category": category})
    return replace(run, run=replace(run.run, category=category), task=facts)


def all_tasks(prepared: Iterable[TaskFacts], runs: Sequence[TabledRun]) -> dict[str, TaskFacts]:
    """What is known of every task, the study's own first, then those of imported runs by name."""
    found = {task.name: task for task in prepared}
    for run in sorted(runs, key=lambda run: run.task.name):
        found.setdefault(run.task.name, run.task)
    return found


def final_scores(spec: StudySpec | None, tasks: Iterable[str], runs: Sequence[TabledRun]) -> list[FinalScore]:
    """One per planned rollout and per run besides; a planned rollout without a record is missing, not absent."""
    found = {(run.run.agent, run.run.task, run.run.seed): run for run in runs}
    planned = (
        {(agent.label, task, seed) for agent in spec.agents for task in tasks for seed in spec.seeds} if spec else set()
    )
    return [
        FinalScore(agent, task, run.final, run.run.final_source, run.paired) if run else FinalScore(agent, task, None)
        for agent, task, seed in sorted(planned | found.keys())
        for run in (found.get((agent, task, seed)),)
    ]


def silent_verifiers(runs: Sequence[TabledRun]) -> list[str]:
    """Tasks whose verifier never gave a reward: their zeros of C1 and C2 say nothing about agents."""
    asked: dict[str, list[TabledRun]] = {}
    for run in runs:
        if run.verified:
            asked.setdefault(run.run.task, []).append(run)
    return [
        f"the verifier of {task} never gave a reward ({of_task[0].silent}); mend it, its runs measure nothing"
        for task, of_task in sorted(asked.items())
        if all(run.silent is not None for run in of_task)
    ]


def unrecorded(store: StudyStore, spec: StudySpec | None, tasks: Iterable[str], planned: int) -> list[str]:
    """How many planned rollouts have no record; those that are left out have one, and were told one by one."""
    if spec is None:
        return []
    ids = [run_id_of(task, agent.label, seed) for agent in spec.agents for task in tasks for seed in spec.seeds]
    missing = sum(not store.run(run_id).is_recorded for run_id in ids)
    if not missing:
        return []
    has, them = ("has", "it") if missing == 1 else ("have", "them")
    return [f"{missing} of {planned} rollouts {has} no record yet; `loopscope run` does {them}"]


def study_summary(
    study: Settled,
    tasks: Iterable[TaskFacts],
    runs: Sequence[TabledRun],
    planned: int,
    warnings: Sequence[str],
    pairings: Mapping[str, Pairing],
) -> StudySummary:
    """`tables/study.json`."""
    spec = study.spec
    checkpoints = [row for run in runs for row in run.checkpoints]
    pairs = Counter((run.run.agent, run.run.task) for run in runs)
    return StudySummary(
        name=study.name,
        created_by=f"loopscope {version('loopscope')}",
        k=len(spec.seeds) if spec else max(pairs.values(), default=0),
        seeds=tuple(spec.seeds) if spec else tuple(sorted({run.run.seed for run in runs})),
        tasks=tuple(_task(task, pairings.get(task.name)) for task in tasks),
        agents=tuple(_agents(spec, runs)),
        environment=spec.environment.type if spec else "imported",
        generated_from={
            "planned": planned,
            "runs": len(runs),
            "imported": sum(run.run.imported for run in runs),
            "scored_states": sum(row.n_verifications > 0 for row in checkpoints),
            "reconstructed_states": sum(row.score_source == ScoreSource.RECONSTRUCTED for row in checkpoints),
        },
        warnings=tuple(warnings),
    )


def _task(task: TaskFacts, pairing: Pairing | None) -> TaskSummary:
    return TaskSummary(
        name=task.name,
        title=task.title,
        category=task.category,
        timed=task.timed,
        metric=task.anchors.metric,
        baseline=task.anchors.baseline,
        reference=task.anchors.reference,
        paired_by=pairing.words if pairing else None,
    )


def _agents(spec: StudySpec | None, runs: Sequence[TabledRun]) -> list[AgentSummary]:
    """The study's own in its order, then those of imported runs by label."""
    rows = {run.run.agent: run.run for run in runs}
    own = list(spec.agents) if spec else []
    named = {agent.label for agent in own}
    found = [
        AgentSummary(label=a.label, harness=rows[a.label].harness if a.label in rows else a.name, model=a.model)
        for a in own
    ]
    imported = sorted({run.run.agent for run in runs if run.run.imported} - named)
    return found + [AgentSummary(label=a, harness=rows[a].harness, model=rows[a].model) for a in imported]
