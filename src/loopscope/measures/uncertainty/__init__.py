"""How sure the numbers are: intervals, comparisons, rankings, and where the spread comes from.

| call | gives |
|---|---|
| `panel(runs, categories)` | `Panel`: the scores of a study, checked |
| `level_of(panel, model, estimator, category, settings)` | `Interval` of avg@k or best@k |
| `difference`, `differences` | `Difference`: interval, test, signs, effect, verdict; a family of them with adjusted p |
| `resample(panel, ...)` -> `ranking(draws)` | `Ranking`: how often each place, and each pair's order |
| `over_seeds`, `over_best`, `over_tasks`, `without_category`, `over_harnesses` | `Stability` of an order |
| `agreement`, `kendall_tau` | Kendall's tau of two orders |
| `components(scores, categories)` | `Components`: task, seed, verification variance |
| `noise_dips`, `confidence_of_dip`, `pooled_sd` | dips that noise alone would make, how sure one is |
| `missing_bounds`, `missing_bounds_of_difference`, `range_bounds`, `place_ranges` | what missing scores could change |
| `plan_of(panel, a, b)` -> `power_of(plan)` | `Power`: detectable difference; seeds or tasks that halve it |
| `to_find(plan, effect)`, `detectable`, `obstacle` | `Finding`: its chance, what it takes; why nothing is found |
| `scale_range(plan)` | how far the plan's error may be off, as its variance is an estimate |
| `sign_flips`, `label_shuffles`, `sign_test`, `adjusted` | the tests and corrections alone |

Pure and seeded: the same numbers in, the same out. Floats here, unlike the measures themselves, whose exact values they
are made of. `docs/statistics.md` has every formula with its source and what the intervals cover in simulation.
"""

from loopscope.measures.noise import DipConfidence, confidence_of_dip, pooled_sd
from loopscope.measures.uncertainty.cells import AVG, Estimator
from loopscope.measures.uncertainty.components import Component, Components, components
from loopscope.measures.uncertainty.differences import (
    NO_EVIDENCE,
    Difference,
    Effect,
    Pairing,
    difference,
    differences,
    verdict,
)
from loopscope.measures.uncertainty.dips import NoiseDips, noise_dips
from loopscope.measures.uncertainty.interval import UNIT, Bounds, Interval, Method, Reading
from loopscope.measures.uncertainty.levels import Settings, level_of
from loopscope.measures.uncertainty.missing import (
    MissingBounds,
    missing_bounds,
    missing_bounds_of_difference,
    place_ranges,
    range_bounds,
)
from loopscope.measures.uncertainty.multiplicity import Correction, adjusted
from loopscope.measures.uncertainty.panel import Panel, Run, panel
from loopscope.measures.uncertainty.permutation import Signs, TestResult, label_shuffles, sign_flips, sign_test
from loopscope.measures.uncertainty.power import (
    Change,
    Finding,
    Plan,
    Power,
    detectable,
    obstacle,
    plan_of,
    pooled,
    power_of,
    scale_range,
    to_find,
)
from loopscope.measures.uncertainty.rankings import (
    Ranking,
    Stability,
    agreement,
    kendall_tau,
    over_best,
    over_harnesses,
    over_seeds,
    over_tasks,
    ranking,
    without_category,
)
from loopscope.measures.uncertainty.resampling import DRAWS, Draws, resample

__all__ = [
    "AVG",
    "DRAWS",
    "NO_EVIDENCE",
    "UNIT",
    "Bounds",
    "Change",
    "Component",
    "Components",
    "Correction",
    "Difference",
    "DipConfidence",
    "Draws",
    "Effect",
    "Estimator",
    "Finding",
    "Interval",
    "Method",
    "MissingBounds",
    "NoiseDips",
    "Pairing",
    "Panel",
    "Plan",
    "Power",
    "Ranking",
    "Reading",
    "Run",
    "Settings",
    "Signs",
    "Stability",
    "TestResult",
    "adjusted",
    "agreement",
    "components",
    "confidence_of_dip",
    "detectable",
    "difference",
    "differences",
    "kendall_tau",
    "label_shuffles",
    "level_of",
    "missing_bounds",
    "missing_bounds_of_difference",
    "noise_dips",
    "obstacle",
    "over_best",
    "over_harnesses",
    "over_seeds",
    "over_tasks",
    "panel",
    "place_ranges",
    "plan_of",
    "pooled",
    "pooled_sd",
    "power_of",
    "range_bounds",
    "ranking",
    "resample",
    "scale_range",
    "sign_flips",
    "sign_test",
    "to_find",
    "verdict",
    "without_category",
]
