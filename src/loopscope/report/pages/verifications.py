"""A state's score as a page shows it: every verification of it, and what the verifier said."""

from __future__ import annotations

from dataclasses import dataclass, replace

from loopscope.models import StateScore, Verification
from loopscope.report import format as fmt
from loopscope.report.budget import fair_cuts
from loopscope.report.format import Cell
from loopscope.report.inputs import RunFiles
from loopscope.report.text import cut, one_line

OUTPUT_ROOM = 4 << 10
MAX_METRICS = 12


@dataclass(frozen=True)
class VerificationView:
    """One verification of a state."""

    number: int
    reward: Cell
    status: str
    duration: str
    alone: bool
    reason: str
    metrics: str
    output: str
    is_value: bool
    """Its reward is the state's score."""


@dataclass(frozen=True)
class ScoreView:
    """A state's score with all its repeats."""

    value: Cell
    spread: str
    verifications: tuple[VerificationView, ...]
    borrowed: str
    """Run whose equal state was verified instead; empty when it was this run's."""
    paired: str = ""
    """The score with anchors that were measured here; empty where the task is not calibrated."""


def score_view(state: StateScore, files: RunFiles, paired: float | None) -> ScoreView:
    """A state's score, its spread and every repeat; the verifier's words for the one that counts and the odd.

    Args:
        state: its verifications.
        files: of the run.
        paired: the paired reward of the state (`checkpoints.paired`, `runs.final_paired`).
    """
    best = state.median_verification
    value = None if state.value is None else float(state.value)
    rewards = state.rewards
    spread = ""
    if len(rewards) > 1:
        spread = f"{fmt.score(float(rewards[0]))} to {fmt.score(float(rewards[-1]))} in {len(rewards)} repeats"
    own = files.record is None or state.run_id == files.record.run_id
    return ScoreView(
        Cell(fmt.score(value), None if value is not None else "no verification gave a reward"),
        spread,
        tuple(_verification(i, v, v is best) for i, v in enumerate(state.verifications, 1)),
        "" if own else one_line(state.run_id, 120),
        "" if paired is None else fmt.score(paired),
    )


def _verification(number: int, v: Verification, counts: bool) -> VerificationView:
    reward = None if v.reward is None else float(v.reward)
    metrics = [f"{one_line(k, 40)} {fmt.metric(float(m))}" for k, m in sorted(v.metrics.items())[:MAX_METRICS]]
    if len(v.metrics) > MAX_METRICS:
        metrics.append(f"and {len(v.metrics) - MAX_METRICS} more")
    return VerificationView(
        number=number,
        reward=Cell(fmt.score(reward, 4), None if reward is not None else one_line(v.reason or "no reward", 200)),
        status=v.status.value.replace("_", " "),
        duration=fmt.seconds(v.duration_sec),
        alone=v.alone,
        reason=one_line(v.reason or "", 300),
        metrics=", ".join(metrics),
        output=v.output.strip("\n") if counts or v.reward is None else "",
        is_value=counts,
    )


def cut_outputs(score: ScoreView, room: int = OUTPUT_ROOM) -> ScoreView:
    """A score with its verifier output cut to `room` characters in all, the end of each kept."""
    cuts = fair_cuts([min(len(v.output), OUTPUT_ROOM) for v in score.verifications], room)
    kept = (
        replace(v, output=cut(v.output, size, keep="tail")) for v, size in zip(score.verifications, cuts, strict=True)
    )
    return replace(score, verifications=tuple(kept))
