"""The page of one run: what happened, why, and every commit behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loopscope.models.limits import limits_met
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.glossary import FLAGS
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages import kept, numbers, origin
from loopscope.report.pages.chart import Chart
from loopscope.report.pages.commits import CommitView, commit_views, kind_of
from loopscope.report.pages.dips import DipView, dip_view
from loopscope.report.pages.path import path_chart
from loopscope.report.pages.reconstruction import RebuiltView, harness
from loopscope.report.pages.runs import run_href, status_words
from loopscope.report.pages.story import story
from loopscope.report.pages.verifications import ScoreView, cut_outputs, score_view
from loopscope.report.text import one_line


@dataclass(frozen=True)
class RunPage:
    """Everything of one run's page."""

    run_id: str
    task: str
    title: str
    category: str
    agent: str
    seed: int
    subtitle: str
    status: str
    status_key: str
    status_note: str
    marks: tuple[tuple[str, str], ...]
    """(words, sentence) of what must be known before any number is read."""
    source: str
    """Where an imported run comes from."""
    story: tuple[str, ...]
    facts: tuple[numbers.Fact, ...]
    minor: tuple[tuple[str, Cell], ...]
    chart: Chart | None
    kinds: frozenset[str]
    """Marks that occur on the curve, for the legend."""
    problems: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str, str], ...]
    """Of the sandbox: which, by what it was held, what was seen of it."""
    limits_met: tuple[str, ...]
    flags: tuple[str, ...]
    odd: tuple[tuple[int, str], ...]
    """Commits whose jump nothing explains: number, remarks."""
    dips: tuple[DipView, ...]
    commits: tuple[CommitView, ...]
    final: ScoreView | None
    final_missing: str
    reported: str
    """Where the log itself states the final score, and what became of it; empty where it states none."""
    rebuilt: RebuiltView | None
    """The final score of a run that no verifier scored, by its transcript."""
    support: tuple[tuple[str, Cell], ...]
    """How the harness's own tools were used."""
    files: tuple[tuple[str, str, str], ...]
    """Name, link, what it is."""
    earlier: tuple[str, str] | None
    later: tuple[str, str] | None


def run_page(inputs: StudyInputs, index: int, folder: Path) -> RunPage:
    """Lay out the page of `inputs.runs[index]`; `folder` is where the page will be, for its links."""
    run = inputs.runs[index]
    rows = inputs.checkpoints.get(run.run_id, ())
    dips = inputs.dips.get(run.run_id, ())
    files = inputs.open_run(run.run_id)
    try:
        commits = commit_views(rows, files)
        final = files.scores.get("final")
        task = next((t for t in inputs.study.tasks if t.name == run.task), None)
        words, note = status_words(run.status)
        return RunPage(
            run_id=run.run_id,
            task=one_line(run.task, 80),
            title=one_line((task.title if task else "") or run.task, 90),
            category=fmt.words(one_line(run.category, 40)),
            agent=one_line(run.agent, 90),
            seed=run.seed,
            subtitle=" · ".join(one_line(p, 60) for p in (harness(run.harness), run.model) if p and p != run.agent),
            status=words,
            status_key=run.status,
            status_note=note,
            marks=origin.told_first(run, rows),
            source=origin.source(files),
            story=story(run, rows, dips, origin.no_final(run, files)),
            facts=numbers.facts(run),
            minor=numbers.minor(run),
            chart=path_chart(run, rows, dips, files),
            kinds=frozenset(kind_of(r) for r in rows) | ({"missing"} if run.final_score is None else set()),
            problems=kept.problems(run, files),
            limits=kept.limits(files),
            limits_met=tuple(one_line(met, 200) for met in limits_met(files.record.limits)) if files.record else (),
            flags=tuple(FLAGS.get(f) or one_line(f, 400) for f in run.flags),
            odd=tuple((r.position + 1, one_line("; ".join(r.remarks), 300)) for r in rows if r.suspicious),
            dips=tuple(dip_view(d, rows) for d in dips),
            commits=commits,
            final=cut_outputs(score_view(final, files, run.final_paired)) if final else None,
            final_missing=origin.no_final(run, files),
            reported=origin.reported(files),
            rebuilt=origin.final_rebuilt(run, files),
            support=numbers.support(run),
            files=kept.links(files.directory, folder),
            earlier=_neighbour(inputs, index - 1),
            later=_neighbour(inputs, index + 1),
        )
    finally:
        if files.repository is not None:
            files.repository.close()


def _neighbour(inputs: StudyInputs, index: int) -> tuple[str, str] | None:
    if not 0 <= index < len(inputs.runs):
        return None
    run = inputs.runs[index]
    return run_href(run.run_id).removeprefix("runs/"), one_line(f"{run.task} · {run.agent} · seed {run.seed}", 90)
