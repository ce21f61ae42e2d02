"""Scores that no verifier gave: how they are told apart from official ones, and what they are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loopscope.models import EvaluationSeen, Reconstructed, RunEvidence
from loopscope.models.tables import OVERALL, RunRow
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.text import one_line

RECONSTRUCTED = "reconstructed"
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
    if run.final_source == RECONSTRUCTED:
        return f"{RECONSTRUCTED}, {one_line(run.final_grade, 40)}"
    return f"spread {fmt.score(run.final_spread)}" if run.final_spread is not None else "measured once"


def some(count: int, of: int) -> str:
    """How many of some scores are reconstructed, in a few words; nothing where none is."""
    if not count:
        return ""
    return RECONSTRUCTED if count >= of else f"{count} of {of} {RECONSTRUCTED}"


def among(runs: Iterable[RunRow]) -> str:
    """The same of final scores of runs."""
    sources = [run.final_source for run in runs if run.final_score is not None]
    words = some(sources.count(RECONSTRUCTED), len(sources))
    return f"scores {words}" if words else ""


def harness(name: str | None) -> str:
    """A harness, where one is known."""
    return "" if name in (None, "unknown") else one_line(name or "", 60)


def outcome_words(inputs: StudyInputs) -> str:
    """What kind of scores the first figure shows, as its sentence begins."""
    rows = [row for row in inputs.outcome if row.category == OVERALL]
    rebuilt, of = sum(row.n_reconstructed for row in rows), sum(row.n_runs for row in rows)
    if not rebuilt:
        return "Official final scores"
    if rebuilt >= of:
        return "Reconstructed final scores (by the evaluations in imported transcripts, none of them official)"
    return f"Final scores, {rebuilt} of {of} of them reconstructed from imported transcripts and not official,"
