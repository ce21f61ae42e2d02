"""The measures as pure functions on exact numbers; nothing here knows of files, runs or tables.

| call | gives | in the paper |
|---|---|---|
| `c1(scores)` | `C1`: Solution Framing, high-water marks | C.2 |
| `c2(checkpoints)` | `C2`: Execution, with its interval | C.3 |
| `c3(scores, final, ...)` | `C3`: Feedback Control, A1, A2, dip episodes | C.4 |
| `diagnostics.shape`, `.build`, `.feedback` | how the loop behaves | D.1, D.2, D.3 |
| `extras.*` | looking before committing, claims, what was left behind, saturation, jumps | not in it |
| `noise_band`, `dip_confidence`, `depth_in_bands` | whether a dip is more than noise | not in it |
| `confidence_of_dip`, `pooled_sd` | how sure one dip is; the noise of one measurement | not in it |
| `avg_at_k`, `best_at_k`, `outcome`, `outcome_by_category` | final scores | 2.2, A |
| `two_level`, `by_model_and_category`, `by_category` | from runs to models and categories | C.5 |
| `resource`, `resource_by_category` | use per task, and totals | 2.3, B |
| `c1_from_stored`, `clean_by_replay`, `clean_by_enumeration` | values that others stored, rounded | C.2, C.3 |

How sure such numbers are is told by `loopscope.measures.uncertainty`, which is imported by itself, as it needs numpy.

Scores go in as int, float, Decimal, Fraction or strings ("0.09", "9/100"), missing ones as None or NaN. Out come
`Fraction`s, and None where there is no value. `docs/design/measures.md` lists every choice the paper leaves open.
"""

from loopscope.measures import diagnostics, extras
from loopscope.measures.aggregation import Aggregate, by_category, by_model_and_category, two_level
from loopscope.measures.episodes import Episode, Recovery, Step
from loopscope.measures.exact import EPS, Number, Score, exact, exacts, mean
from loopscope.measures.execution import C2, Checkpoint, c2, discount
from loopscope.measures.feedback import C3, c3
from loopscope.measures.flags import Flag
from loopscope.measures.framing import C1, HORIZON, c1, c1_from_stored
from loopscope.measures.highwater import high_water
from loopscope.measures.noise import (
    Confidence,
    DipConfidence,
    confidence_of_dip,
    depth_in_bands,
    dip_confidence,
    noise_band,
    pooled_sd,
)
from loopscope.measures.outcome import Outcome, avg_at_k, best_at_k, outcome, outcome_by_category
from loopscope.measures.resources import Resource, resource, resource_by_category
from loopscope.measures.stored import CleanedC2, clean_by_enumeration, clean_by_replay

__all__ = [
    "C1",
    "C2",
    "C3",
    "EPS",
    "HORIZON",
    "Aggregate",
    "Checkpoint",
    "CleanedC2",
    "Confidence",
    "DipConfidence",
    "Episode",
    "Flag",
    "Number",
    "Outcome",
    "Recovery",
    "Resource",
    "Score",
    "Step",
    "avg_at_k",
    "best_at_k",
    "by_category",
    "by_model_and_category",
    "c1",
    "c1_from_stored",
    "c2",
    "c3",
    "clean_by_enumeration",
    "clean_by_replay",
    "confidence_of_dip",
    "depth_in_bands",
    "diagnostics",
    "dip_confidence",
    "discount",
    "exact",
    "exacts",
    "extras",
    "high_water",
    "mean",
    "noise_band",
    "outcome",
    "outcome_by_category",
    "pooled_sd",
    "resource",
    "resource_by_category",
    "two_level",
]
