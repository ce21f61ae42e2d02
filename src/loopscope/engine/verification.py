"""One verification of one state: a Harbor job in a fresh sandbox, and what it found, in our words."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from harbor.models.trial.config import AgentConfig, VerifierConfig

from loopscope.agents.replay import StateError
from loopscope.engine.jobs import TrialOutcome, run_trial
from loopscope.engine.kinds import EndingKind
from loopscope.engine.lock import Tell, machine
from loopscope.engine.needs import Needs
from loopscope.engine.policy import POLICY
from loopscope.engine.states import State, commit_state, final_state, room_bytes
from loopscope.engine.units import Unit
from loopscope.engine.verifier import KILLED, VERDICT_FILE, VerdictFile
from loopscope.models import StudySpec, Verification, VerificationStatus
from loopscope.records import RecordError, StudyStore, is_machine_fault, read_model, write_bytes
from loopscope.records.durable import RESTORE
from loopscope.tasks.prepare import prepared_dir

TEST_OUTPUT = "test-stdout.txt"
REPLAY = "loopscope.agents.replay:ReplayAgent"
VERIFIER = "loopscope.engine.verifier:LenientVerifier"
MIB = 1 << 20
_MARGIN_SEC = 120.0
"""Harbor's own deadline lies this much after ours, which can still read what the verifier printed."""


class Verifications:
    """Verifies states of one study."""

    def __init__(self, store: StudyStore, spec: StudySpec, tell: Tell) -> None:
        self._store, self._spec, self._tell = store, spec, tell
        self._needs = Needs(store.path, spec)
        self.ran = 0
        """Verifications that were run, those of killed verifiers among them."""

    async def of(self, unit: Unit, state: State | str, scratch: Path) -> Verification:
        """Verify a state once; one whose verifier was killed again at once, as often as the table of `policy.py` says.

        Killed each time, that is what its state does.

        Args:
            unit: whose state it is.
            state: as `build_state` made it; of one that it could not make, why.
            scratch: a free place; each try's job lies beside it.
        """
        if isinstance(state, str):
            deadline = self._spec.scoring.deadline_of(unit.task.info)
            return _failed(state, datetime.now(UTC), deadline, VerificationStatus.UNREPLAYABLE)
        tries = POLICY[EndingKind.VERIFIER_KILLED].draws or 1
        for number in range(tries):
            found = await self._once(unit, state, scratch.with_name(f"{scratch.name}-{number}"))
            if (found.status, found.reason) != (VerificationStatus.ERROR, KILLED):
                return found
        update = {"status": VerificationStatus.NO_REWARD, "reason": f"{KILLED}, in each of {tries} tries"}
        return found.model_copy(update=update)

    async def _once(self, unit: Unit, state: State, scratch: Path) -> Verification:
        info, timed, timeout = unit.task.info, unit.task.info.timed, self._spec.scoring.deadline_of(unit.task.info)
        scratch.mkdir()
        kwargs: dict[str, str | int] = {"state_tar": str(state.tar), "workdir": info.workdir}
        if state.remove is not None:
            names = scratch / "remove"
            write_bytes(names, b"".join(name + b"\0" for name in sorted(state.remove)))
            kwargs["remove"] = str(names)
        storage_mb = self._needs.storage_mb(info.name)
        if storage_mb is not None:  # the state has a place of its own: the verifier writes as much as the task gives
            storage_mb += -(-await asyncio.to_thread(room_bytes, state.tar) // MIB)
            kwargs["room_bytes"] = storage_mb * MIB
        async with machine(alone=timed, tell=self._tell):
            started = datetime.now(UTC)
            outcome = await run_trial(
                scratch,
                name="verify",
                task_dir=prepared_dir(self._store.path, info.name),
                agent=AgentConfig(import_path=REPLAY, kwargs=kwargs, override_timeout_sec=3600),
                environment=self._spec.environment,
                verifier=VerifierConfig(
                    import_path=VERIFIER,
                    kwargs={"timeout_sec": timeout},
                    include_logs=[TEST_OUTPUT],  # and the reward files, always; the rest may be anything
                    override_timeout_sec=timeout + _MARGIN_SEC,
                ),
                storage_mb=storage_mb,
            )
        self.ran += 1
        return _verification(outcome, started, timeout, alone=timed)


def build_state(unit: Unit, scratch: Path, max_bytes: int) -> State | str:
    """The state's tar, or why it cannot be made. `max_bytes`: as for `commit_state`."""
    target = scratch / "state.tar"
    try:
        if unit.commit is None:
            return final_state(unit.run.workspace, target)
        repository = unit.run.repository()
        if repository is None:
            return "the run's repository is gone"
        try:
            return commit_state(repository, unit.commit, unit.run.workspace, unit.tracked, target, max_bytes)
        finally:
            repository.close()
    except Exception as error:  # hostile data finds ways; they cost this state only
        if is_machine_fault(error):
            raise
        return f"the state could not be made: {type(error).__name__}: {error}"


def _verification(outcome: TrialOutcome, started: datetime, timeout: float, *, alone: bool) -> Verification:
    path = outcome.trial_dir / VERDICT_FILE if outcome.trial_dir else None
    if path is None or not path.is_file() or (outcome.result and _replay_failed(outcome)):
        kind, message = outcome.failure or ("NoVerdict", "the verification ended without a verdict")
        status = VerificationStatus.UNREPLAYABLE if kind == StateError.__name__ else VerificationStatus.ERROR
        return _failed(f"{kind}: {message}", started, timeout, status, alone=alone)
    try:
        verdict = read_model(path, VerdictFile)
    except RecordError as error:
        said = str(error).removeprefix(f"{path.parent}/").removesuffix(f"; {RESTORE}")
        return _failed(f"{said}; it is verified again at the next start", started, timeout, alone=alone)
    return Verification(
        status=verdict.status,
        reward=None if verdict.reward is None else Decimal(verdict.reward),
        metrics={name: Decimal(value) for name, value in verdict.metrics.items()},
        reason=verdict.verdict_reason,
        output=verdict.output,
        started_at=started,
        duration_sec=verdict.duration_sec,
        verifier_timeout_sec=timeout,
        alone=alone,
    )


def _failed(
    reason: str,
    started: datetime,
    timeout: float,
    status: VerificationStatus = VerificationStatus.ERROR,
    *,
    alone: bool = False,
) -> Verification:
    return Verification(
        status=status,
        reason=" ".join(reason.split())[:500],
        started_at=started,
        duration_sec=0.0,
        verifier_timeout_sec=timeout,
        alone=alone,
    )


def _replay_failed(outcome: TrialOutcome) -> bool:
    """The state never reached the sandbox whole, so whatever was verified was something else."""
    return outcome.failure is not None and outcome.failure[0] not in ("VerifierTimeoutError",)
