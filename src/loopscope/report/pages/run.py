"""The page of one run: what happened, why, and every commit behind it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loopscope.models.limits import limit_held, limit_use, limits_met
from loopscope.models.tables import CheckpointRow, DipRow, RunRow
from loopscope.report import curve
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.glossary import FLAGS, MEASURES
from loopscope.report.inputs import RunFiles, StudyInputs
from loopscope.report.pages.chart import Chart, chart
from loopscope.report.pages.commits import (
    CommitView,
    ScoreView,
    commit_views,
    cut_outputs,
    kind_of,
    score_missing,
    score_view,
)
from loopscope.report.pages.reconstruction import (
    RECONSTRUCTED,
    REPORTED,
    RebuiltView,
    final_note,
    harness,
    rebuilt_view,
)
from loopscope.report.pages.runs import c2_range, final_missing, framing, run_href, status_words
from loopscope.report.pages.story import story
from loopscope.report.text import cut, one_line, url, visible

_ELSEWHERE = ("c1", "c2", "c3", "last_rising", "runs_with_dip", "evaluated_before_commit")
"""Measures that stand at the head of the page, or that only a group of runs has."""
_LIMITS = {"pids": "processes", "cpu": "processors"}
_FILES = (
    ("record.json", "the record of the rollout"),
    ("evidence.json", "the gate's decisions and grades"),
    ("transcript.json", "what the agent did"),
    ("scores", "every verification"),
    ("repository", "the agent's repository, as salvaged"),
    ("workspace.tar.zst", "the workspace as it was left"),
    ("native", "the agent's own logs"),
    ("canonical.json.zst", "the transcript, read from an imported log"),
)


@dataclass(frozen=True)
class Fact:
    """One number at the head of the page."""

    name: str
    cell: Cell
    note: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class DipView:
    """One dip episode."""

    episode: int
    start: int | None
    before: str
    low: str
    depth: str
    target: int | None
    recovered: Cell
    length: str
    credit: Cell
    noise: Cell
    """Its depth in noise bands."""
    sure: Cell
    """Of how many pairs of measurements the dip is one."""


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
    facts: tuple[Fact, ...]
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
            marks=_told_first(run, rows),
            source=_source(files),
            story=story(run, rows, dips, _final_missing(run, files)),
            facts=_facts(run),
            minor=_minor(run),
            chart=_chart(run, rows, dips, files),
            kinds=frozenset(kind_of(r) for r in rows) | ({"missing"} if run.final_score is None else set()),
            problems=_problems(run, files),
            limits=_limits(files),
            limits_met=tuple(one_line(met, 200) for met in limits_met(files.record.limits)) if files.record else (),
            flags=tuple(FLAGS.get(f) or one_line(f, 400) for f in run.flags),
            odd=tuple((r.position + 1, one_line("; ".join(r.remarks), 300)) for r in rows if r.suspicious),
            dips=tuple(_dip(d, rows) for d in dips),
            commits=commits,
            final=cut_outputs(score_view(final, files)) if final else None,
            final_missing=_final_missing(run, files),
            reported=_reported(run, files),
            rebuilt=_final_rebuilt(run, files),
            support=_support(run),
            files=_links(files.directory, folder),
            earlier=_neighbour(inputs, index - 1),
            later=_neighbour(inputs, index + 1),
        )
    finally:
        if files.repository is not None:
            files.repository.close()


def _sentence(reason: str | None) -> str:
    return f"{reason[:1].upper()}{reason[1:]}." if reason else ""


def _final_missing(run: RunRow, files: RunFiles) -> str:
    """Why there is no final score: as evidence tells it of an imported run."""
    told = files.evidence.final_reason if files.evidence is not None and run.imported else ""
    return _sentence(one_line(told, 600) if told and run.final_score is None else final_missing(run))


def _neighbour(inputs: StudyInputs, index: int) -> tuple[str, str] | None:
    if not 0 <= index < len(inputs.runs):
        return None
    run = inputs.runs[index]
    return run_href(run.run_id).removeprefix("runs/"), one_line(f"{run.task} · {run.agent} · seed {run.seed}", 90)


def _facts(run: RunRow) -> tuple[Fact, ...]:
    def cell(value: float | None, why: str) -> Cell:
        return Cell(fmt.score(value), None if value is not None else why)

    return (
        Fact(
            "Final score",
            cell(run.final_score, final_missing(run) or ""),
            final_note(run) if run.final_score is not None else "",
            "final",
        ),
        Fact("Best step", cell(run.best_step_score, "no checkpoint has a score"), "", "score"),
        Fact("C1 Framing", cell(*framing(run)), "", "c1"),
        Fact("C2 Execution", cell(run.c2, "no checkpoint could be observed"), _c2_note(run), "c2"),
        Fact("C3 Feedback", cell(run.c3, "the run has no scored agent checkpoint"), _c3_note(run), "c3"),
    )


def _c2_note(run: RunRow) -> str:
    return f"{found}, whatever was not seen" if (found := c2_range(run)) else ""


def _c3_note(run: RunRow) -> str:
    if run.c3 is None:
        return ""
    noise = f", {run.dips_within_noise} within the noise" if run.dips_within_noise else ""
    return f"over {fmt.plural(run.rounds_T or 0, 'round')}, {fmt.plural(run.n_dips or 0, 'dip')}{noise}"


def _minor(run: RunRow) -> tuple[tuple[str, Cell], ...]:
    def cell(text: str, why: str = "not recorded") -> Cell:
        return Cell(text, why if text == fmt.DASH else None)

    named = [k for k in MEASURES if k not in _ELSEWHERE]
    rest = [(MEASURES[k].name, getattr(run, "rounds_T" if k == "rounds" else k), MEASURES[k]) for k in named]
    return (
        ("Wall clock", cell(fmt.seconds(run.duration_sec))),
        ("Agent's time", cell(fmt.seconds(run.agent_sec))),
        ("Cost", cell(fmt.usd(run.cost_usd))),
        ("Tokens", cell(fmt.tokens(run.tokens))),
        ("Tool calls", cell(fmt.count(run.tool_calls))),
        *(
            (name, cell(t.show(value), "not defined for this run: " + t.missing.replace("of this agent ", "")))
            for name, value, t in rest
        ),
    )


def _chart(run: RunRow, rows: Sequence[CheckpointRow], dips: Sequence[DipRow], files: RunFiles) -> Chart | None:
    if not rows:
        return None
    falling = _falling(dips, rows)
    points = [
        curve.Point(
            number=r.position + 1,
            label=f"{r.position + 1}: {one_line(r.subject, 70)}",
            score=r.score,
            low=r.score_min,
            high=r.score_max,
            water=r.high_water,
            kind=kind_of(r),
            note=_tip(r),
            falling=r.position in falling,
            odd=r.suspicious,
        )
        for r in rows
    ]
    final = files.scores.get("final")
    rewards = final.rewards if final else ()
    ends = (float(rewards[0]), float(rewards[-1])) if rewards else (None, None)
    title = f"Score per commit: {one_line(run.task, 60)}, {one_line(run.agent, 60)}, seed {run.seed}"
    return chart(curve.run_curve("curve", title, points, curve.FinalPoint(run.final_score, *ends)))


def _falling(dips: Sequence[DipRow], rows: Sequence[CheckpointRow]) -> set[int]:
    """Positions on a dip's way down, from its start to its lowest point."""
    places = {r.sha: r.position for r in rows}
    spans = [(places.get(d.start_sha or ""), places.get(d.low_sha or "")) for d in dips]
    return {p for start, low in spans if start is not None and low is not None for p in range(start, low + 1)}


def _tip(row: CheckpointRow) -> str:
    if row.score is None:
        return f"{fmt.DASH} {score_missing(row)}"
    text = f"score {fmt.score(row.score)}"
    if row.score_min is not None and row.score_max is not None and row.score_max > row.score_min:
        text += f" ({fmt.score(row.score_min)} to {fmt.score(row.score_max)})"
    if row.score_source == RECONSTRUCTED:
        text += f", {RECONSTRUCTED}"
    if row.suspicious:
        text += f", {one_line('; '.join(row.remarks), 160)}"
    words = {"dip": "dip", "recovery": "recovery", "removed": "not counted", "initial": "initial state"}
    return f"{text}, {words[kind_of(row)]}" if kind_of(row) in words else text


def _problems(run: RunRow, files: RunFiles) -> tuple[tuple[str, str], ...]:
    if files.record is not None and files.record.problems:
        found = [(one_line(f"{p.stage}: {p.kind}", 80), cut(p.message, 1200)) for p in files.record.problems]
    else:
        found = [("problem", visible(p)[:1200]) for p in run.problems]
    notes = files.record.imported.notes if files.record is not None and files.record.imported else ()
    return (
        *found,
        *(("in the log", visible(note)[:1200]) for note in notes),
        *(("records", visible(u)) for u in files.unreadable),
    )


def _told_first(run: RunRow, rows: Sequence[CheckpointRow]) -> tuple[tuple[str, str], ...]:
    marks = []
    if run.imported:
        marks.append(("imported", "loopscope did not do this run itself."))
    if run.final_source == RECONSTRUCTED or any(row.score_source == RECONSTRUCTED for row in rows):
        made = "of what the agent's own evaluations printed, by the task's formula: no verifier ran."
        marks.append((f"scores {RECONSTRUCTED}", f"Scores are {RECONSTRUCTED} {made}"))
    if run.final_source == REPORTED:
        marks.append(
            ("final score reported", "The final score is the one that the log states: no verification was made here.")
        )
    return tuple(marks)


def _source(files: RunFiles) -> str:
    imported = files.record.imported if files.record is not None else None
    if imported is None:
        return ""
    version = f" {one_line(imported.format_version, 40)}" if imported.format_version else ""
    return f"Imported from {one_line(imported.log, 200)} ({one_line(imported.format, 40)}{version})"


def _reported(run: RunRow, files: RunFiles) -> str:
    imported = files.record.imported if files.record is not None else None
    if imported is None or imported.reported is None:
        return ""
    said = f"{fmt.score(float(imported.reported.reward))} by the log itself ({one_line(imported.reported.where, 200)})"
    return f"{said}: the task’s verifier gave it, in the agent’s own sandbox."


def _final_rebuilt(run: RunRow, files: RunFiles) -> RebuiltView | None:
    evidence = files.evidence
    if evidence is None or not run.imported:
        return None
    return rebuilt_view(evidence.final, evidence.final_grade.value, evidence)


def _support(run: RunRow) -> tuple[tuple[str, Cell], ...]:
    """Nothing of a run without a transcript."""
    counts = (
        ("Planning calls", run.plan_calls),
        ("Failed tool calls", run.failed_calls),
        ("Failed, then changed", run.failed_then_changed),
        ("Background commands", run.background),
        ("Subagents", run.subagents),
        ("Compactions", run.compactions),
        ("Resumes", run.resumes),
    )
    return tuple((name, Cell(fmt.count(count))) for name, count in counts if count is not None)


def _limits(files: RunFiles) -> tuple[tuple[str, str, str], ...]:
    if files.record is None:
        return ()
    return tuple(
        (_LIMITS.get(name, name), one_line(limit_held(limit), 200), "" if name == "network" else limit_use(name, limit))
        for name, limit in sorted(files.record.limits.items())
    )


def _dip(dip: DipRow, rows: Sequence[CheckpointRow]) -> DipView:
    numbers = {r.sha: r.position + 1 for r in rows}
    target = numbers.get(dip.target_sha or "")
    never = None if dip.target_sha is not None else "nothing after it scored higher"
    return DipView(
        episode=dip.episode,
        start=numbers.get(dip.start_sha or ""),
        before=fmt.score(dip.before),
        low=fmt.score(dip.low),
        depth=fmt.score(dip.depth),
        target=target,
        recovered=Cell(fmt.DASH if never else fmt.score(dip.recovered_to), never),
        length=fmt.count(dip.length),
        credit=Cell(fmt.score(dip.credit), None if dip.credit is not None else "not defined"),
        noise=_noise(dip.depth_in_noise),
        sure=_sure(dip),
    )


def _noise(depth: float | None) -> Cell:
    if depth is None:
        return Cell(fmt.DASH, "no state was measured twice with different results, so no noise band is known")
    return Cell(f"{depth:.2f}" + (", within it" if depth <= 1 else ""))


def _sure(dip: DipRow) -> Cell:
    if dip.confidence is None or (dip.confidence_pairs or 0) < 2:
        return Cell(fmt.DASH, "both ends were measured once")
    return Cell(f"{fmt.percent(dip.confidence)} of {dip.confidence_pairs:,}")


def _links(directory: Path, folder: Path) -> tuple[tuple[str, str, str], ...]:
    """Files of the run that exist, as links relative to its page; only names we gave, never an agent's."""
    return tuple(
        (name, url(os.path.relpath(directory / name, folder)), words)
        for name, words in _FILES
        if (directory / name).exists() and not (directory / name).is_symlink()
    )
