"""What a made-up study holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
HOSTILE = "<script>document.title='owned'</script>\x1b[31mred\x1b[0m \u202eevil\u202c & \"quotes\" </script><!-- \x00"


PROCESS = ("c1", "c2", "c3")
DIAGNOSTICS = (
    "best_observed", "early_capture", "later_headroom", "builds_per_round", "rounds_with_build_errors",
    "trace_coverage", "peak_retention", "dip_rate", "dip_depth", "recovery_credit", "rounds", "gain_density",
)  # fmt: skip

Row = dict[str, Any]


@dataclass
class Study:
    """What the study holds."""

    agents: Sequence[str] = ("search", "oracle", "nop")
    tasks: Sequence[tuple[str, str]] = (
        ("csv_groupby", "System optimization"),
        ("addition_chains", "Puzzle"),
        ("coupled_forecast", "Modelling"),
    )
    seeds: Sequence[int] = (1, 2, 3)
    commits: int = 12
    """Of a `search` run; `oracle` makes two, `nop` none, any other six."""
    dips: bool = True
    hostile: bool = False
    failed: Sequence[str] = ()
    """Run ids whose environment failed."""
    finding: str = "no_evidence"
    """Of every comparison (`Finding`); `higher`: whichever is."""
    sure: bool = False
    """A single task has an interval too."""
    files: dict[str, str] = field(default_factory=dict)
    """More files that every commit carries."""
