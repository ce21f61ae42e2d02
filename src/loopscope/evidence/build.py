"""Put together what a run shows: gate, windows, delivery, scores and grade for each commit."""

from __future__ import annotations

from pathlib import Path

from loopscope.evidence.evaluator import evaluator_for
from loopscope.evidence.gate import Artifact
from loopscope.evidence.inputs import digest, same_but_code
from loopscope.evidence.log_checkpoints import from_log
from loopscope.evidence.repository_checkpoints import from_repository
from loopscope.evidence.runlog import is_lost, run_log
from loopscope.models import RunEvidence, TaskFacts
from loopscope.records import RecordError, RunDir

NOT_ANEW = "evidence is an earlier loopscope's: the agent's own log was removed since, and cannot be read anew"


def run_evidence(
    run: RunDir, facts: TaskFacts, prepared: frozenset[bytes] = frozenset(), evaluators: Path | None = None
) -> RunEvidence:
    """The evidence of one run; as `renewed_evidence`, which also says whether it was found anew."""
    return renewed_evidence(run, facts, prepared, evaluators)[0]


def renewed_evidence(
    run: RunDir, facts: TaskFacts, prepared: frozenset[bytes] = frozenset(), evaluators: Path | None = None
) -> tuple[RunEvidence, bool]:
    """(the evidence of one run, whether it is new). Equal records give equal evidence.

    What was found in the same records before is taken as it is; also what an earlier loopscope found in an agent's own
    log that was removed since, for nobody can look at it anew.

    Args:
        run: its records.
        facts: of its task.
        prepared: files of the task's untouched work directory; empty when they are unknown.
        evaluators: directory of the study's own evaluator files.

    Raises:
        RecordError: the record, a score or an evaluator file cannot be read.
    """
    evaluator = evaluator_for(facts.name, evaluators)
    inputs = digest(run, facts, prepared, evaluator)
    before = _before(run)
    if before is not None and before.run_id == run.run_id:
        if before.inputs == inputs:
            return before, False
        if same_but_code(before.inputs, inputs) and is_lost(run):
            warnings = tuple(dict.fromkeys((*before.warnings, NOT_ANEW)))
            return before.model_copy(update={"warnings": warnings}), False
    log, warnings = run_log(run, facts, evaluator)
    if run.record.imported is not None:
        found = from_log(run, log, evaluator)
    else:
        found = from_repository(run, log, Artifact(facts.editable, prepared), evaluator)
    return found.model_copy(update={"inputs": inputs, "warnings": (*found.warnings, *warnings)}), True


def _before(run: RunDir) -> RunEvidence | None:
    """What was found the last time; a file that cannot be read is simply made anew."""
    try:
        return run.evidence()
    except RecordError:
        return None
