"""Scores that no verifier gave: how they are told apart from official ones, and what they are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from loopscope.models import EvaluationSeen, Reconstructed, RunEvidence
from loopscope.models.tables import OVERALL, RunRow
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.text import one_line

RECONSTRUCTED = "reconstructed"
REPORTED = "reported"
MOST = 12
"""Evaluations of one score that are told one by one."""


@dataclass(frozen=True)
class EvaluationView:
    """One evaluation that a reconstructed score is made of."""

    message: str
    command: str
    raw: str
    reward: Cell
    note: str


@dataclass(frozen=True)
class RebuiltView:
    """A reconstructed score and what it is made of."""

    value: Cell
    spread: str
    grade: str
    reason: str
    evaluations: tuple[EvaluationView, ...]
    more: int
    """Evaluations that are not shown."""


def rebuilt_view(found: Reconstructed | None, grade: str, evidence: RunEvidence) -> RebuiltView | None:
    """A reconstructed score; None where there is none."""
    if found is None:
        return None
    places = [place for place in found.evaluations if 0 <= place < len(evidence.evaluations)]
    spread = ""
    if found.high > found.low:
        spread = f"{fmt.score(float(found.low))} to {fmt.score(float(found.high))} in {len(places)} evaluations"
    return RebuiltView(
        value=Cell(fmt.score(float(found.value))),
        spread=spread,
        grade=one_line(grade, 40),
        reason=one_line(found.reason, 400),
        evaluations=tuple(_evaluation(evidence.evaluations[place]) for place in places[:MOST]),
        more=max(0, len(places) - MOST),
    )


def _evaluation(seen: EvaluationSeen) -> EvaluationView:
    rewards = ", ".join(fmt.score(float(reward), 4) for reward in seen.rewards)
    notes = ["" if seen.certain else "its state is not certain", one_line(seen.reason, 200)]
    return EvaluationView(
        message=str(seen.at.message),
        command=one_line(seen.command, 200),
        raw=", ".join(fmt.metric(float(value)) for value in seen.raw),
        reward=Cell(rewards or fmt.DASH, None if rewards else "no formula gives a reward for it"),
        note="; ".join(filter(None, notes)),
    )


def final_note(run: RunRow) -> str:
    """What stands below a final score."""
    if run.final_source == REPORTED:
        beside = run.final_reconstructed
        return "reported by its log" + (f", {RECONSTRUCTED} {fmt.score(beside)}" if beside is not None else "")
    if run.final_source == RECONSTRUCTED:
        return f"{RECONSTRUCTED}, {one_line(run.final_grade, 40)}"
    return f"spread {fmt.score(run.final_spread)}" if run.final_spread is not None else "measured once"


class Counted(Protocol):
    """A row that says how many of its runs have no official score."""

    @property
    def n_reconstructed(self) -> int:
        """Those that are made of evaluations in transcripts."""
        ...

    @property
    def n_reported(self) -> int:
        """Those that logs state."""
        ...


def unofficial(rows: Iterable[Counted], of: int) -> str:
    """How many of some scores are not official, and from where they are, in a few words; nothing where none is."""
    rows = list(rows)
    return some(sum(row.n_reconstructed for row in rows), of, sum(row.n_reported for row in rows))


def some(rebuilt: int, of: int, reported: int = 0) -> str:
    """The same of counts."""
    counts = ((RECONSTRUCTED, rebuilt), (REPORTED, reported))
    return ", ".join(word if count >= of else f"{count} of {of} {word}" for word, count in counts if count)


def among(runs: Iterable[RunRow]) -> str:
    """The same of final scores of runs."""
    sources = [run.final_source for run in runs if run.final_score is not None]
    words = some(sources.count(RECONSTRUCTED), len(sources), sources.count(REPORTED))
    return f"scores {words}" if words else ""


def harness(name: str | None) -> str:
    """A harness, where one is known."""
    return "" if name in (None, "unknown") else one_line(name or "", 60)


def outcome_words(inputs: StudyInputs) -> str:
    """What kind of scores the first figure shows, as its sentence begins."""
    rows = [row for row in inputs.outcome if row.category == OVERALL]
    rebuilt, of = sum(row.n_reconstructed for row in rows), sum(row.n_runs for row in rows)
    reported = sum(row.n_reported for row in rows)
    if not rebuilt + reported:
        return "Official final scores"
    if reported:
        words = some(rebuilt, of, reported)
        return f"Final scores ({words}: by imported logs, none of these official)"
    if rebuilt >= of:
        return "Reconstructed final scores (by the evaluations in imported transcripts, none of them official)"
    return f"Final scores, {rebuilt} of {of} of them reconstructed from imported transcripts and not official,"
