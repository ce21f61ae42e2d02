"""The paired reward: a task's own formula with the starter and the reference as they were measured here.

It stands beside the official reward and never in its place. Seconds do not transfer between machines: with anchors
that were measured here the untouched starter is worth 0 and the reference what the task says that it is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pydantic import ValidationError

from loopscope.models.calibration import Calibration, CalibrationAct, middle
from loopscope.models.evaluator import RewardFormula

LOG_NOMINAL, LINEAR_NOMINAL = Decimal("0.5"), Decimal(1)
"""What a reference is usually worth, by formula, where its task does not say."""
_DECIMALS = 9
_SAME = Decimal("0.00006")
"""Verifiers round their rewards to four places or more."""
_FORMULAS: tuple[Literal["log", "linear"], ...] = ("log", "linear")


@dataclass(frozen=True)
class Pairing:
    """How a verification becomes a paired reward."""

    formula: RewardFormula
    """With base and reference as they were measured here."""
    metric: str | None
    """The number of the reward file that it takes; None: the official reward itself."""
    official: RewardFormula | None
    """The task's own formula, which gave exactly the official rewards that were measured; None without a metric."""

    def reward(self, reward: Decimal | None, metrics: Mapping[str, Decimal]) -> Decimal | None:
        """The paired reward of a verification; None where it gave none, or not the metric.

        What the verifier let fail for another reason than its metric stays worth 0.
        """
        if reward is None or self.metric is None or self.official is None:
            return None if reward is None else self.formula.reward(reward)
        value = metrics.get(self.metric)
        if value is None:
            return Decimal(0) if reward == 0 else None
        earned = self.official.reward(value)
        if reward == 0 and earned is not None and earned > _SAME:
            return Decimal(0)
        return self.formula.reward(value)

    @property
    def words(self) -> str:
        """Which formula it is, for people."""
        f = self.formula
        ends = f"{_short(f.base)} here is worth 0, {_short(f.reference)} is worth {_short(f.factor)}"
        what = "the official reward" if self.metric is None else self.metric
        return f"{'logarithmic' if f.kind == 'log' else 'linear'} in {what}: {ends}"


def pairing_of(calibration: Calibration) -> Pairing | str:
    """How rewards are paired by a calibration, or why they cannot be.

    The metric and the formula are those that give, with the anchors that the task states, exactly the rewards which its
    verifier gave. Where none does, the paired reward is linear in the official one: for rewards that are not clipped
    that is the same, whatever the formula.
    """
    for act in CalibrationAct:
        if calibration.reward(act) is None:
            return f"no verification of the {act} gave a reward"
    for metric, official in _candidates(calibration):
        found = _paired(calibration, metric, official)
        return found or (
            f"the reference is no better than the starter here ({metric} {_metric(calibration, metric, 'reference')} "
            f"against {_metric(calibration, metric, 'starter')})"
        )
    low, high = (calibration.reward(act) for act in CalibrationAct)
    assert low is not None
    assert high is not None
    if high <= low:
        return f"the reference is no better than the starter here (reward {_short(high)} against {_short(low)})"
    factor = calibration.nominal or (LOG_NOMINAL if calibration.timed else LINEAR_NOMINAL)
    formula = _formula("linear", low, high, factor)
    return Pairing(formula, None, None) if formula else "the rewards of starter and reference are too close"


def _paired(calibration: Calibration, metric: str, official: RewardFormula) -> Pairing | None:
    base, reference = (middle(_metrics(calibration, metric, act)) for act in CalibrationAct)
    if base is None or reference is None or (reference > base) != (official.reference > official.base):
        return None
    formula = _formula(official.kind, base, reference, official.factor)
    return Pairing(formula, metric, official) if formula else None


def _candidates(calibration: Calibration) -> Iterator[tuple[str, RewardFormula]]:
    """(metric, formula with the task's own anchors) that give every official reward; the stated metric first.

    Rewards that are clipped tell little: where all of them are, the metric must be the only one that fits.
    """
    base, reference = calibration.anchors.baseline, calibration.anchors.reference
    if base is None or reference is None:
        return
    names = sorted({name for trial in calibration.trials for name in trial.metrics})
    names.sort(key=lambda name: name != calibration.anchors.metric)
    fitting = []
    for name in names:
        for kind in _FORMULAS:
            nominal = calibration.nominal or (LOG_NOMINAL if kind == "log" else LINEAR_NOMINAL)
            formula = _formula(kind, base, reference, nominal)
            if formula is not None and _gives(formula, name, calibration):
                fitting.append((name, formula))
    told = any(_SAME < reward < 1 - _SAME for act in CalibrationAct for reward in calibration.rewards(act))
    if told or len(fitting) == 1:
        yield from fitting[:1]


def _gives(formula: RewardFormula, name: str, calibration: Calibration) -> bool:
    seen = set()
    for trial in calibration.trials:
        if trial.reward is None:
            continue
        value = trial.metrics.get(name)
        found = formula.reward(value) if value is not None else None
        if found is None or abs(found - min(max(trial.reward, Decimal(0)), Decimal(1))) > _SAME:
            return False
        seen.add(value)
    return len(seen) > 1


def _formula(
    kind: Literal["log", "linear"], base: Decimal, reference: Decimal, factor: Decimal
) -> RewardFormula | None:
    try:
        return RewardFormula(kind=kind, base=base, reference=reference, factor=factor, decimals=_DECIMALS)
    except ValidationError:
        return None


def _metrics(calibration: Calibration, metric: str, act: str) -> tuple[Decimal, ...]:
    trials = calibration.of(CalibrationAct(act))
    return tuple(sorted(t.metrics[metric] for t in trials if t.reward is not None and metric in t.metrics))


def _metric(calibration: Calibration, metric: str, act: str) -> str:
    value = middle(_metrics(calibration, metric, act))
    return "none" if value is None else _short(value)


def _short(value: Decimal) -> str:
    return f"{float(value):.4g}"
