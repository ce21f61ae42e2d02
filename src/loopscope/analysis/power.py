"""`power`: how small a difference between two agents a study can find, and what a sharper one takes and costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from loopscope.analysis.build import Analysis
from loopscope.analysis.commits import ScoreSource
from loopscope.analysis.power_prices import prices
from loopscope.analysis.power_report import Comparison, PowerReport, Step
from loopscope.measures.uncertainty import (
    AVG,
    Change,
    Estimator,
    Panel,
    Plan,
    Reading,
    Run,
    detectable,
    obstacle,
    panel,
    plan_of,
    pooled,
    power_of,
    scale_range,
    to_find,
)
from loopscope.measures.uncertainty.clustered import strata
from loopscope.measures.uncertainty.permutation import draws_for
from loopscope.records import StudyError, StudyStore
from loopscope.records.settled import settled

READINGS: tuple[Reading, ...] = ("random tasks", "fixed tasks")


@dataclass(frozen=True)
class Question:
    """What is asked."""

    alpha: float = 0.05
    power: float = 0.8
    effect: float | None = None
    category: str | None = None
    seed_sd: float | None = None
    """Assumed standard deviation of one agent's score between seeds of a task."""
    task_sd: float | None = None
    """Assumed standard deviation between tasks of the true difference of two agents."""


@dataclass(frozen=True)
class Design:
    """Which runs a study has, or is to have."""

    name: str
    agents: tuple[str, ...]
    tasks: Mapping[str, str]
    """Task -> family."""
    seeds: int
    planned: frozenset[str]
    """The agents that are to run all tasks so often; imported ones have the runs that they have."""


def design_of(analysis: Analysis, store: StudyStore) -> Design:
    """The design of a study that has runs.

    Raises:
        StudyError: its study file cannot be read.
    """
    spec, summary = settled(store.path).spec, analysis.summary
    planned = frozenset(agent.label for agent in spec.agents) if spec else frozenset[str]()
    agents = tuple(agent.label for agent in summary.agents)
    return Design(summary.name, agents, {t.name: t.category for t in summary.tasks}, summary.k, planned)


def study_power(design: Design, rows: Sequence[Mapping[str, Any]], question: Question) -> PowerReport:
    """The answer, from a design and the rows of its table of runs.

    Raises:
        StudyError: options that make no sense, fewer than two agents, an unknown family, or nothing to go by.
    """
    _check(design, question)
    tasks = {t: c for t, c in design.tasks.items() if question.category in (None, c)}
    rows = [row for row in rows if row["task"] in tasks and row["agent"] in design.agents]
    scored = [row for row in rows if row["final_score"] is not None]
    if not scored and question.seed_sd is None:
        raise StudyError(
            f"{design.name}: no run has a score to tell how far scores vary; assume it by --assume-seed-sd (between "
            "seeds of a task) and --assume-task-sd (between tasks, of the difference)"
        )
    run_counts = {(row["agent"], row["task"], row["seed"]) for row in rows}
    asked = _Asked(replace(design, tasks=tasks), question, _panel(scored, tasks), rows)
    planned = len(design.planned & set(design.agents)) * len(tasks) * design.seeds
    total = max(planned, len(run_counts))
    return PowerReport(
        study=design.name,
        category=question.category,
        alpha=question.alpha,
        power=question.power,
        effect=question.effect,
        agents=design.agents,
        tasks=len(tasks),
        families=len(set(tasks.values())),
        k=design.seeds,
        runs_planned=total,
        runs_scored=len(scored),
        assumed_seed_sd=question.seed_sd,
        assumed_task_sd=question.task_sd,
        prices=prices(rows, design.agents),
        comparisons=tuple(asked.comparisons()),
        notes=tuple(_notes(asked, total, scored)),
    )


def _check(design: Design, question: Question) -> None:
    for name, value in (("--alpha", question.alpha), ("--power", question.power)):
        if not 0 < value < 1:
            raise StudyError(f"{name} {value:g}: give a number between 0 and 1, such as 0.05 or 0.8")
    if question.power <= question.alpha:
        raise StudyError(
            f"--power {question.power:g}: so often a difference is found where there is none, at --alpha "
            f"{question.alpha:g}; give a larger one, such as 0.8"
        )
    if question.effect is not None and not 0 < question.effect <= 1:
        raise StudyError(
            f"--effect {question.effect:g}: scores lie between 0 and 1; give a difference above 0, up to 1"
        )
    for name, sd in (("--assume-seed-sd", question.seed_sd), ("--assume-task-sd", question.task_sd)):
        if sd is not None and not 0 < sd <= 1:
            raise StudyError(f"{name} {sd:g}: scores lie between 0 and 1; give a standard deviation above 0, up to 1")
    families = sorted(set(design.tasks.values()))
    if question.category is not None and question.category not in families:
        raise StudyError(f"--category {question.category}: no task is of this family; there are {', '.join(families)}")
    if len(design.agents) < 2:
        raise StudyError(f"{design.name}: one agent, and a difference is between two; add another to the study")


def _panel(scored: Sequence[Mapping[str, Any]], tasks: Mapping[str, str]) -> Panel | None:
    if not scored:
        return None
    try:
        return panel((Run(r["agent"], r["task"], str(r["seed"]), r["final_score"]) for r in scored), tasks)
    except ValueError as error:
        raise StudyError(str(error)) from None


def _notes(asked: _Asked, total: int, scored: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if asked.question.seed_sd is not None or asked.question.task_sd is not None:
        yield "rests on assumed variances, which say nothing of the best of k: avg alone is told"
    if 0 < len(scored) < total:
        yield (
            f"{total - len(scored)} of {total} runs have no score yet: the figures say what the study can find once "
            f"all {total} have one, with scores that spread as those {len(scored)} do; as it is now, it finds less"
        )
    if unofficial := sum(row["final_source"] != ScoreSource.OFFICIAL for row in scored):
        yield f"{unofficial} of {len(scored)} scores are no official ones (reconstructed, or reported by a log)"
    if (pairs := math.comb(len(asked.design.agents), 2)) > 1:
        strict = asked.question.alpha / pairs
        yield f"alpha is of one comparison; of {pairs} (Holm) the first is held against --alpha {strict:.2g}"
    if asked.question.alpha <= (least := 1 / (draws_for(pairs) + 1)):
        yield f"tests that are drawn, not counted, have p from {least:.2g} on in the tables, above this alpha"


@dataclass(frozen=True)
class _Asked:
    """One question to one study."""

    design: Design
    question: Question
    panel: Panel | None
    rows: Sequence[Mapping[str, Any]]

    def comparisons(self) -> Iterator[Comparison]:
        """The pooled pair of more than two agents, then every pair; each measure with each reading."""
        assumed = self.question.seed_sd is not None or self.question.task_sd is not None
        best = [Estimator(self.design.seeds)] if self.design.seeds > 1 and not assumed else []
        kinds = [(estimator, reading) for estimator in (AVG, *best) for reading in READINGS]
        pairs = list(combinations(self.design.agents, 2))
        found = {kind: [self.plan(*pair, *kind) for pair in pairs] for kind in kinds}
        if len(pairs) > 1:
            for kind, plans in found.items():
                told = [plan for plan in plans if isinstance(plan, Plan)]
                reasons = [plan for plan in plans if isinstance(plan, str)]
                commonest = Counter(reasons).most_common(1)
                yield self.compared(None, kind, pooled(told) if told else commonest[0][0])
        for i, pair in enumerate(pairs):
            for kind, plans in found.items():
                yield self.compared(pair, kind, plans[i])

    def plan(self, first: str, second: str, estimator: Estimator, reading: Reading) -> Plan | str:
        """The plan of a pair, or why there is none: its variances from the runs or assumed, its design as planned."""
        try:
            seen = self._observed(first, second, estimator, reading)
        except ValueError as error:
            assumed = self._assumed(reading)
            if assumed is None:
                more = "; --assume-task-sd lets it be planned" if self.panel is None else ""
                return f"{error}{more}"
            seen = assumed
        found = self._with_assumed(seen)
        if not {first, second} <= self.design.planned:
            return found
        labels = strata(list(self.design.tasks.values()))
        seeds = 1 if found.within is None else self.design.seeds
        return replace(found, tasks=len(labels), families=int(labels.max()) + 1, seeds=seeds)

    def _observed(self, first: str, second: str, estimator: Estimator, reading: Reading) -> Plan:
        there = () if self.panel is None else self.panel.models
        if self.panel is None or (lacking := [agent for agent in (first, second) if agent not in there]):
            raise ValueError("no run has a score" if self.panel is None else f"no run of {lacking[0]} has a score")
        return plan_of(self.panel, first, second, None, reading, estimator)

    def _assumed(self, reading: Reading) -> Plan | None:
        seed, task = self.question.seed_sd, self.question.task_sd
        if seed is None or (reading == "random tasks" and task is None):
            return None
        labels = strata(list(self.design.tasks.values()))
        families = int(labels.max()) + 1
        return Plan(len(labels), self.design.seeds, families, (task or 0.0) ** 2, 2 * seed**2, reading)

    def _with_assumed(self, plan: Plan) -> Plan:
        seed, task = self.question.seed_sd, self.question.task_sd
        if seed is not None:
            whole = plan.between + (plan.within or 0.0) / plan.seeds
            within = 2 * seed**2
            between = max(0.0, whole - within / plan.seeds) if plan.reading == "random tasks" else 0.0
            plan = replace(plan, between=between, within=within, known=None)
        if task is not None and plan.reading == "random tasks":
            # one seed: what the runs' spread holds besides that of the tasks is the seeds'
            within = max(0.0, plan.between - task**2) if plan.within is None else plan.within
            plan = replace(plan, between=task**2, within=within, known=None)
        return plan

    def compared(self, pair: tuple[str, str] | None, kind: tuple[Estimator, Reading], plan: Plan | str) -> Comparison:
        """A pair's row."""
        question = self.question
        agents = self.design.agents if pair is None else pair
        reason, power, effect = plan if isinstance(plan, str) else obstacle(plan, question.alpha), None, None
        if isinstance(plan, Plan):
            power = power_of(plan, question.alpha, question.power)
            if plan.reading == "fixed tasks" and plan.seeds == 1:
                two = detectable(replace(plan, seeds=2), question.alpha, question.power)
                reason = reason if two is None else f"{reason}, and find differences from {two:.3f} on"
            if plan.se == 0:
                what = "no task differs" if plan.reading == "random tasks" else "no seed of a task differs"
                reason = f"{what} from another: nothing says how far one can"
            elif question.effect is not None:
                effect = to_find(plan, question.effect, question.alpha, question.power)

        def step(change: Change | None) -> Step | None:
            if change is None:
                return None
            added = change.runs_added // 2 * len(agents)
            costs = {price.unit: price.per_run * added for price in prices(self.rows, agents)}
            return Step(tasks=change.tasks, seeds=change.seeds, runs_added=added, price=costs)

        known = plan if isinstance(plan, Plan) else None
        factors = scale_range(known) if known and power and power.detectable else None
        ends = tuple(f * power.detectable for f in factors) if factors and power and power.detectable else None
        chances = (effect.chance_range if effect else None) or (None, None)
        return Comparison(
            first=pair[0] if pair else None,
            second=pair[1] if pair else None,
            measure="avg_at_k" if kind[0].best is None else "best_at_k",
            reading="random_tasks" if kind[1] == "random tasks" else "fixed_tasks",
            tasks=known and known.tasks,
            seeds=known and known.seeds,
            families=known and known.families,
            task_sd=None if known is None or known.within is None else known.between**0.5,
            seed_sd=None if known is None or known.within is None else (known.within / 2) ** 0.5,
            detectable=(power.detectable or None) if power else None,
            detectable_low=ends[0] if ends else None,
            detectable_high=ends[1] if ends else None,
            reason=reason,
            half_by_seeds=step(power.more_seeds) if power else None,
            half_by_tasks=step(power.more_tasks) if power else None,
            effect_chance=effect.chance if effect else None,
            effect_chance_low=chances[0],
            effect_chance_high=chances[1],
            effect_by_seeds=step(effect.more_seeds) if effect else None,
            effect_by_tasks=step(effect.more_tasks) if effect else None,
        )
