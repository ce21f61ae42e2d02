"""What the study's tables take from one run: plain rows and numbers, without the records that they were made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from loopscope.analysis import left
from loopscope.analysis.commits import ScoreSource
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS, RESOURCES, Amount
from loopscope.analysis.rows import build_rows, checkpoint_rows, dip_rows, evaluation_rows
from loopscope.analysis.run_row import run_row
from loopscope.analysis.runs import RunAnalysis
from loopscope.models import TaskFacts
from loopscope.models.tables import BuildRow, CheckpointRow, DipRow, EvaluationRow, RunRow


@dataclass(frozen=True)
class TabledRun:
    """A run as the tables have it. Small, and can travel between processes."""

    run: RunRow
    task: TaskFacts
    checkpoints: tuple[CheckpointRow, ...]
    dips: tuple[DipRow, ...]
    builds: tuple[BuildRow, ...]
    evaluations: tuple[EvaluationRow, ...]
    final: Decimal | None
    """The final score that counts, exactly."""
    final_rewards: tuple[Decimal, ...]
    """All measurements behind it; none without it."""
    paired: Decimal | None
    """The same with anchors that were measured here, exactly; None where the task is not calibrated."""
    repeats: tuple[tuple[Decimal, ...], ...]
    """The measurements of every state that was measured repeatedly (`left.repeats`)."""
    quantities: Mapping[str, Amount]
    """Every measure, diagnostic and resource by name, exactly."""
    reconstructed: bool
    """Some score that its measures rest on is reconstructed."""
    silent: str | None
    """Why its verifier gave no reward at all; None when it gave one, or was never asked."""
    verified: bool
    """Its verifier was asked for a score at least once."""
    renewed: bool
    """Its evidence was made anew."""

    @property
    def run_id(self) -> str:
        """Name of its directory."""
        return self.run.run_id

    @property
    def final_is_reported(self) -> bool:
        """Its final score is the one that its log states."""
        return self.run.final_source == ScoreSource.REPORTED


def tabled(run: RunAnalysis) -> TabledRun:
    """Everything that tables take from a run."""
    quantities = {**PROCESS, **DIAGNOSTICS, **RESOURCES}
    given = [score for score in (*(row.score for row in run.rows), run.final) if score is not None]
    silent = bool(given) and all(score.value is None for score in given)
    return TabledRun(
        run=run_row(run),
        task=run.task,
        checkpoints=tuple(checkpoint_rows(run)),
        dips=tuple(dip_rows(run)),
        builds=tuple(build_rows(run)),
        evaluations=tuple(evaluation_rows(run)),
        final=run.final_value,
        final_rewards=run.final_scored.rewards if run.final_value is not None else (),
        paired=run.paired(run.final),
        repeats=left.repeats(run),
        quantities={name: quantity(run) for name, quantity in quantities.items()},
        reconstructed=run.is_reconstructed,
        silent=str(given[0].verifications[0].reason) if silent else None,
        verified=bool(given),
        renewed=run.renewed,
    )
