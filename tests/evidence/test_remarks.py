"""When a gain may be noise: by the run's band, or by what its own two states show."""

from __future__ import annotations

from decimal import Decimal

import pytest

from loopscope.evidence.remarks import Step, noise_band, remarks


def steps(*scores: tuple[str | None, str | None]) -> list[Step]:
    """Checkpoints with their scores and the spreads of their states."""
    return [
        Step(at, None if score is None else Decimal(score), 1, False, None if spread is None else Decimal(spread))
        for at, (score, spread) in enumerate(scores)
    ]


def test_one_state_that_was_measured_far_apart_flags_its_own_gains_and_no_others() -> None:
    made = steps(("0.10", "0.01"), ("0.20", "0.02"), ("0.25", "0.3"), ("0.35", None), ("0.40", "0.02"), ("0.41", None))
    band = noise_band(step.spread for step in made if step.spread is not None)
    assert band == Decimal("0.02")
    found = remarks(made, band)
    assert found == {
        2: ("its gain of 0.0500 lies within the spread of 0.3000 of one of its two states",),
        3: ("its gain of 0.1000 lies within the spread of 0.3000 of one of its two states",),
        5: ("its gain of 0.0100 lies within the noise band of 0.0200",),
    }


@pytest.mark.parametrize("band", [None, Decimal(0)])
def test_without_noise_no_gain_is_luck(band: Decimal | None) -> None:
    assert remarks(steps(("0.1", None), (None, "0.9"), ("0.101", "0"), ("0.1", None)), band) == {}


def test_no_state_measured_twice_has_no_band() -> None:
    assert noise_band([]) is None
    assert noise_band([Decimal("0.1"), Decimal("0.3")]) == Decimal("0.3")
