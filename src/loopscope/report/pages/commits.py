"""The commits of a run, as its page shows them: message, diff, verifications, the gate's decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from loopscope.models import Commit
from loopscope.models.tables import CheckpointRow
from loopscope.report import format as fmt
from loopscope.report.budget import fair_cuts
from loopscope.report.format import Cell
from loopscope.report.inputs import RunFiles
from loopscope.report.pages.diffs import FileView, changes, cut_files
from loopscope.report.pages.reconstruction import RECONSTRUCTED, RebuiltView, rebuilt_view
from loopscope.report.pages.runs import NO_SCORE
from loopscope.report.pages.verifications import OUTPUT_ROOM, ScoreView, cut_outputs, score_view
from loopscope.report.text import cut, one_line, visible

MESSAGE_ROOM = 4 << 10
PAGE_DIFFS = 160 << 10
"""Text of all diffs of a page; with a site's other parts this keeps a page small enough to open at once."""
PAGE_OUTPUTS = 96 << 10


@dataclass(frozen=True)
class CommitView:
    """One commit."""

    number: int
    sha: str
    subject: str
    message: str
    when: str
    score: Cell
    change: str
    kind: str
    """`score`, `dip`, `recovery`, `initial`, `removed` or `missing`."""
    marks: tuple[tuple[str, str], ...]
    """(style, words) of the chips."""
    gate: str
    grade: str
    delivered: str
    builds: str
    candidates: str
    at: str
    """Where the transcript shows it."""
    claimed: str
    remarks: tuple[str, ...]
    against: str
    files: tuple[FileView, ...]
    diff_note: str
    scored: ScoreView | None
    rebuilt: RebuiltView | None
    """Its reconstructed score, also beside an official one."""


def kind_of(row: CheckpointRow) -> str:
    """The commit's mark on the curve; the first that holds."""
    if row.score is None:
        return "missing"
    if not row.canonical:
        return "removed"
    if row.is_dip_start:
        return "dip"
    if row.is_recovery:
        return "recovery"
    return "initial" if row.initial else "score"


def score_missing(row: CheckpointRow) -> str:
    """Why a commit has no score."""
    if row.source == "transcript":
        return "nothing in the transcript shows what its state scores"
    return NO_SCORE.get(row.status, "this commit was not verified")


def commit_views(rows: Sequence[CheckpointRow], files: RunFiles) -> tuple[CommitView, ...]:
    """All commits of a run, texts cut so that the page stays within its room."""
    known = {c.sha: c for c in files.record.commits} if files.record else {}
    views: list[CommitView] = []
    before: float | None = None
    previous: Commit | None = None
    for row in rows:
        commit = known.get(row.sha)
        views.append(_commit(row, commit, previous, known, before, files))
        if row.canonical and row.score is not None:
            before = row.score
        previous = commit or previous
    return _fit(views)


def _commit(
    row: CheckpointRow,
    commit: Commit | None,
    previous: Commit | None,
    known: dict[str, Commit],
    before: float | None,
    files: RunFiles,
) -> CommitView:
    against, shown, note = changes(row, commit, previous, known, files)
    state = files.scores.get(commit.state) if commit else None
    change = None if before is None or row.score is None or not row.canonical else row.score - before
    return CommitView(
        number=row.position + 1,
        sha=row.sha[:10],
        subject=one_line(row.subject, 160) or "(empty message)",
        message=cut(commit.message.strip("\n"), MESSAGE_ROOM) if commit else visible(row.subject),
        when=_when(row.commit_time),
        score=Cell(fmt.score(row.score), None if row.score is not None else score_missing(row), sort=row.score),
        change="" if change is None else fmt.signed(change),
        kind=kind_of(row),
        marks=_marks(row),
        gate=one_line(row.gate_reason or "no reason recorded", 400),
        grade=one_line(row.grade or "missing", 40),
        delivered=_delivered(row),
        builds=_builds(row),
        candidates=_candidates(row),
        at="" if row.message is None else f"message {row.message}",
        claimed="" if row.claimed is None else fmt.metric(row.claimed),
        remarks=tuple(one_line(remark, 300) for remark in row.remarks),
        against=against,
        files=shown,
        diff_note=note,
        scored=score_view(state, files, row.paired) if state else None,
        rebuilt=_rebuilt(row, files),
    )


def _when(value: datetime | None) -> str:
    if value is None:
        return fmt.DASH
    return f"{value.astimezone(UTC) if value.tzinfo else value:%Y-%m-%d %H:%M:%S}"


def _delivered(row: CheckpointRow) -> str:
    word = "not observable" if row.delivered is None else "yes" if row.delivered else "no"
    return f"{word} ({one_line(row.delivered_reason, 200)})" if row.delivered_reason else word


def _rebuilt(row: CheckpointRow, files: RunFiles) -> RebuiltView | None:
    """From the evidence, as long as it is that of which the tables were made."""
    evidence = files.evidence
    if evidence is None or row.position >= len(evidence.checkpoints):
        return None
    found = evidence.checkpoints[row.position]
    return rebuilt_view(found.reconstructed, found.grade, evidence) if found.sha == row.sha else None


def _builds(row: CheckpointRow) -> str:
    if row.build_failures is None:
        return f"{fmt.DASH} (no matched transcript)"
    failed = f"{row.build_failures} failed" + _on_state(row.build_failures_by_state, row.build_failures)
    if row.builds is None:
        return f"{fmt.DASH} (nothing shows whether the evaluation builds), {failed}"
    return f"{row.builds}{_on_state(row.builds_by_state, row.builds)}, {failed}"


def _candidates(row: CheckpointRow) -> str:
    if row.candidates is None:
        return fmt.DASH
    return f"{row.candidates}{_on_state(row.candidates_by_state, row.candidates)}"


def _on_state(count: int | None, in_window: int) -> str:
    """The count on the very state that was committed, where it is another one than in the commit's window."""
    return "" if count is None or count == in_window else f" ({count} on this state)"


def _marks(row: CheckpointRow) -> tuple[tuple[str, str], ...]:
    marks = []
    if row.score is not None and row.score_source == RECONSTRUCTED:
        marks.append(("grade", f"{RECONSTRUCTED}, {one_line(row.grade, 40)}"))
    if row.initial:
        marks.append(("initial", "initial state"))
    if row.ambiguous_initial:
        known = "not quite as prepared" if row.source != "transcript" else "or not: nothing tells"
        marks.append(("initial", f"initial state, {known}"))
    if not row.canonical:
        marks.append(("removed", "not counted"))
    if row.is_dip_start:
        marks.append(("dip", "dip"))
    if row.is_recovery:
        marks.append(("recovery", "recovery"))
    if row.suspicious:
        marks.append(("odd", "suspicious jump"))
    if row.build_failures:
        marks.append(("dip", fmt.plural(row.build_failures, "failed build")))
    return tuple(marks)


def _fit(views: Sequence[CommitView]) -> tuple[CommitView, ...]:
    """Cut diffs and verifier output to the page's room, each cut marked in the text."""
    diffs = fair_cuts([sum(len(f.text) for f in v.files) for v in views], PAGE_DIFFS)
    outputs = fair_cuts(
        [sum(min(len(x.output), OUTPUT_ROOM) for x in v.scored.verifications) if v.scored else 0 for v in views],
        PAGE_OUTPUTS,
    )
    return tuple(
        replace(v, files=cut_files(v.files, diff), scored=cut_outputs(v.scored, output) if v.scored else None)
        for v, diff, output in zip(views, diffs, outputs, strict=True)
    )
