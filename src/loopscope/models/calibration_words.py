"""What is to be said of a calibration: why it does not hold here, and what makes its task hard to trust here."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from loopscope.models.calibration import Calibration, CalibrationAct, Machine
from loopscope.models.pairing import Pairing, pairing_of
from loopscope.models.score import VerificationStatus

NEAR_LIMIT = 0.5
"""Share of its deadline from which on a verification is near it."""
SATURATED = Decimal("0.99")
"""From this reward on nothing better can be told."""
WIDE = Decimal("0.05")
"""Largest minus smallest reward of equal workspaces beyond which small differences say nothing."""
STARTS_HIGH = Decimal("0.15")
"""Reward of the untouched starter that is no longer about 0."""


def stale(
    calibration: Calibration, *, verifier_hash: str, environment: str, machines: tuple[Machine, ...]
) -> str | None:
    """Why a calibration does not hold; None where it does.

    Args:
        calibration: what was measured.
        verifier_hash: of the task as it is used.
        environment: type of the environment that it is used in.
        machines: those that it is to hold for; empty when they are not known.
    """
    if calibration.verifier_hash != verifier_hash:
        return "its verifier, environment or anchors have changed since"
    if calibration.environment != environment:
        return f"it was measured in the environment {calibration.environment}, not in {environment}"
    others = [machine for machine in machines if machine.fingerprint != calibration.machine.fingerprint]
    if others:
        return f"it was measured on another machine ({calibration.machine}), not on {others[0]}"
    return None


def warnings_of(calibration: Calibration) -> tuple[str, ...]:
    """What a study's author should know before this task's rewards are believed on this machine, a line each."""
    return tuple(
        line
        for found in (_unanchored, _unrewarded, _high_start, _slow, _saturated, _wide)
        for line in found(calibration)
    )


def _unanchored(calibration: Calibration) -> Iterator[str]:
    pairing = pairing_of(calibration)
    if not isinstance(pairing, Pairing):
        yield f"no paired reward: {pairing}"


def _unrewarded(calibration: Calibration) -> Iterator[str]:
    for act in CalibrationAct:
        trials = calibration.of(act)
        silent = [trial for trial in trials if trial.status is not VerificationStatus.OK or trial.reward is None]
        if silent:
            why = silent[0].reason or silent[0].status.value
            yield f"{len(silent)} of {len(trials)} verifications of the {act} gave no reward ({why})"


def _high_start(calibration: Calibration) -> Iterator[str]:
    reward = calibration.reward(CalibrationAct.STARTER)
    if reward is not None and reward > STARTS_HIGH:
        yield f"the untouched starter earns {reward:.3f}, not about 0"


def _slow(calibration: Calibration) -> Iterator[str]:
    if not calibration.trials:
        return
    worst = max(calibration.trials, key=lambda trial: trial.seconds / trial.timeout_sec)
    if worst.seconds > NEAR_LIMIT * worst.timeout_sec:
        yield (
            f"the verifier is near its limit: {worst.seconds:.1f} s of {worst.timeout_sec:g} s with the {worst.act}; "
            "raise scoring.timeout_multiplier"
        )


def _saturated(calibration: Calibration) -> Iterator[str]:
    for act in CalibrationAct:
        reward = calibration.reward(act)
        if reward is not None and reward >= SATURATED:
            yield f"the reward saturates: the {act} earns {reward:.3f}, and nothing better than 1 can be told"


def _wide(calibration: Calibration) -> Iterator[str]:
    for act in CalibrationAct:
        spread = calibration.spread(act)
        if spread is not None and spread > WIDE:
            n = len(calibration.rewards(act))
            yield f"the rewards of the {act} spread over {spread:.3f} in {n} verifications; more than {WIDE} is wide"
