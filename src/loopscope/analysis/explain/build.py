"""From a run's analysis to its explanation."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from pydantic import BaseModel

from loopscope.analysis.explain.checkpoints import checkpoints
from loopscope.analysis.explain.diagnostics import diagnostics
from loopscope.analysis.explain.execution import execution
from loopscope.analysis.explain.extras import extras
from loopscope.analysis.explain.feedback import feedback
from loopscope.analysis.explain.flags import flags_told
from loopscope.analysis.explain.framing import framing
from loopscope.analysis.explain.model import Explanation
from loopscope.analysis.explain.outcome import counts, final_score, usage
from loopscope.analysis.explain.rows import Told
from loopscope.analysis.explain.told import Step
from loopscope.analysis.explain.transcript import transcript
from loopscope.analysis.explain.walk import steps_of
from loopscope.analysis.runs import RunAnalysis
from loopscope.models.evaluator import Evaluator
from loopscope.records import RecordError


class Part(StrEnum):
    """What can be asked for."""

    CHECKPOINTS = "checkpoints"
    SCORE = "score"
    C1 = "c1"
    C2 = "c2"
    C3 = "c3"
    DIAGNOSTICS = "diagnostics"
    EXTRAS = "extras"
    TRANSCRIPT = "transcript"
    USAGE = "usage"


class UnknownMeasureError(RecordError):
    """Nothing in an explanation has the name that was asked for."""


def explain(run: RunAnalysis, evaluator: Evaluator | None = None) -> Explanation:
    """How the numbers of a run came about, from the very objects that its tables are made of.

    Args:
        run: as analysed.
        evaluator: of its task: how a printed value becomes a reward. None: reconstructed scores stand as rewards.
    """
    told, record = Told(run), run.record
    imported = record.imported
    final = final_score(told, evaluator)
    return Explanation(
        run_id=record.run_id,
        task=record.task,
        category=record.category,
        agent=record.agent,
        harness=record.harness,
        model=record.model,
        seed=record.seed,
        status=record.status.value,
        imported=None if imported is None else f"{imported.format}: {imported.log}",
        checkpoints=checkpoints(told, evaluator),
        outcome=final,
        outcome_steps=counts(told),
        c1=framing(told),
        c2=execution(told),
        c3=feedback(told, final),
        diagnostics=diagnostics(told),
        extras=extras(told),
        transcript=transcript(told),
        usage=usage(told),
        flags=flags_told((*run.c1.flags, *run.c2.flags, *run.c3.flags)),
        warnings=run.evidence.warnings,
        disagreements=run.evidence.disagreements,
        problems=tuple(f"{problem.stage}: {problem.message}" for problem in record.problems),
    )


def selected(told: Explanation, wanted: Collection[str]) -> Explanation:
    """Only the parts that are named, by their own name or by that of a number in them.

    A number among diagnostics, usage and counts comes alone; one of C1 to C3 comes with all that it is made of.

    Raises:
        UnknownMeasureError: no part and no number has such a name.
    """
    parts = {part.value for part in Part if part in wanted}
    names = set(wanted) - parts
    if unknown := names - {step.name for step in steps_of(told)}:
        raise UnknownMeasureError(
            f"--measure {sorted(unknown)[0]!r}: no such measure; give {', '.join(Part)}, "
            "or the name of a number, such as c2_low, dip_depth or tokens"
        )
    kept = {name: _kept(getattr(told, name), names, part in parts) for name, part in _FIELDS.items()}
    return told.model_copy(update=kept)


_FIELDS = {
    "checkpoints": Part.CHECKPOINTS,
    "outcome": Part.SCORE,
    "outcome_steps": Part.SCORE,
    "c1": Part.C1,
    "c2": Part.C2,
    "c3": Part.C3,
    "diagnostics": Part.DIAGNOSTICS,
    "extras": Part.EXTRAS,
    "transcript": Part.TRANSCRIPT,
    "usage": Part.USAGE,
}


def _kept(section: object, names: set[str], whole: bool) -> object:
    if whole or section is None:
        return section
    if isinstance(section, BaseModel):
        return section if names & {step.name for step in steps_of(section) if step.table == "runs"} else None
    steps = (
        tuple(step for step in section if isinstance(step, Step) and step.name in names)
        if isinstance(section, tuple)
        else ()
    )
    return steps or None
