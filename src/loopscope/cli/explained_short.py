"""An explanation on one screen: the numbers, and what each of them lost by what."""

from __future__ import annotations

from collections import Counter

from loopscope.analysis.explain.model import Execution, Explanation, Feedback
from loopscope.analysis.explain.told import Step
from loopscope.cli.explained_lines import Page, value_text
from loopscope.cli.tables import counted

_SUSPICIOUS = "suspicious"
"""How a remark begins that no reader of the numbers should miss."""


def short_section(page: Page, told: Explanation) -> None:
    """The section that stands first where a whole run is explained."""
    page.head("in short", "each line is taken apart below")
    if told.outcome is not None:
        page.line(
            f"final score {value_text(told.outcome.step)} ({told.outcome.grade}){_final(told, told.outcome.step)}"
        )
    if told.checkpoints is not None:
        scored = sum(one.score.step.value is not None for one in told.checkpoints)
        removed = sum(not one.canonical for one in told.checkpoints)
        page.line(f"{counted(len(told.checkpoints), 'commit')}, {scored} with a score, {removed} removed by the gate")
    if told.c1 is not None:
        ranges = ", ".join(f"{step.name} {_three(step)}" for step in (told.c1.early, told.c1.middle, told.c1.late))
        page.line(f"C1 {_three(told.c1.c1)}: {ranges}")
    if told.c2 is not None:
        page.line(f"C2 {_three(told.c2.c2)}: {_execution(told.c2)}")
    if told.c3 is not None:
        page.line(f"C3 {_three(told.c3.c3)}: {_feedback(told.c3)}")
    remarks = [(one.position, remark) for one in told.checkpoints or () for remark in one.remarks]
    odd = [(position, remark) for position, remark in remarks if remark.startswith(_SUSPICIOUS)]
    for position, remark in odd:
        page.line(f"#{position}: {remark}", 2, "yellow")
    if others := len(remarks) - len(odd):
        page.line(f"{counted(others, 'other remark')}, below at the commits")


def _three(step: Step) -> str:
    """A number to three digits."""
    return f"{step.value:.3f}" if isinstance(step.value, float | int) else value_text(step)


def _final(told: Explanation, score: Step) -> str:
    """Why there is no final score, of an imported run."""
    if score.value is not None:
        return ""
    beside = next((step for step in told.outcome_steps or () if step.name == "final_reconstructed"), None)
    return f": {beside.note}" if beside is not None and told.imported and beside.note else ""


def _execution(c2: Execution) -> str:
    counted_in = [attempt for attempt in c2.attempts if attempt.score is not None]
    lost = sum(1 - float(attempt.score.value or 0) for attempt in counted_in if attempt.score is not None)
    failed = sum(attempt.g is False for attempt in counted_in)
    broken = sum(bool(attempt.n) and attempt.g is True for attempt in counted_in)
    out = Counter(attempt.left_out for attempt in c2.attempts if attempt.score is None)
    said = f"{counted(len(counted_in), 'attempt')}, {lost:.2f} lost: {failed} not delivered, "
    said += f"{broken} delivered after failed builds"
    said += "".join(f"; {number} left out: {why}" for why, number in sorted(out.items()))
    low, high = c2.low.value, c2.high.value
    if isinstance(low, float | int) and isinstance(high, float | int) and high - low >= 5e-4:
        said += f"; {low:.3f} to {high:.3f}, whatever is unknown"
    return said


def _feedback(c3: Feedback) -> str:
    kinds = Counter(episode.recovery for episode in c3.episodes)
    dips = counted(len(c3.episodes), "dip")
    how = ", ".join(f"{number} {kind} recovery" for kind, number in sorted(kinds.items()))
    dropped = f"; {counted(len(c3.dropped), 'checkpoint')} without a score" if c3.dropped else ""
    return f"A1 {_three(c3.a1)}, A2 {_three(c3.a2)}; {dips}{f' ({how})' if how else ''}{dropped}"
