"""Score every state of every run: one Harbor job per verification, each in a fresh sandbox, each kept at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from harbor.models.trial.config import AgentConfig, VerifierConfig

from loopscope.agents.replay import StateError
from loopscope.engine.events import Event, Notify, Phase
from loopscope.engine.jobs import TrialOutcome, run_trial, to_its_end
from loopscope.engine.lock import machine
from loopscope.engine.needs import Needs
from loopscope.engine.policy import stands
from loopscope.engine.scheduler import Job, Scheduler
from loopscope.engine.states import State, commit_state, final_state
from loopscope.engine.turns import evenly, fair_order
from loopscope.engine.units import Unit, UnitFinder
from loopscope.engine.verifier import KILLED, VERDICT_FILE, VerdictFile
from loopscope.models import StateScore, StudySpec, Verification, VerificationStatus
from loopscope.records import FINAL, StudyStore, is_machine_fault, read_model, remove_tree, scratch_name, write_bytes
from loopscope.tasks.prepare import prepared_dir

TEST_OUTPUT = "test-stdout.txt"
REPLAY = "loopscope.agents.replay:ReplayAgent"
VERIFIER = "loopscope.engine.verifier:LenientVerifier"
UNREPLAYABLE = VerificationStatus.UNREPLAYABLE
_ONCE = frozenset({VerificationStatus.TIMEOUT, VerificationStatus.ERROR, UNREPLAYABLE})
"""Not repeated at once: what hangs costs its whole deadline each time, an error is for the next start."""
_MARGIN_SEC = 120.0
"""Harbor's own deadline lies this much after ours, which can still read what the verifier printed."""


@dataclass(frozen=True)
class Tally:
    """What a scoring pass did."""

    states: int
    """States of all runs."""
    verifications: int
    """Verifications that were run."""
    unscored: dict[str, int]
    """States without a reward at the end, by the status of their last verification."""
    unreadable_runs: tuple[str, ...]
    """Runs some of whose states could not even be listed; each was named as it was met."""


class Scorer:
    """Scores the runs of a study: finds what lacks verifications, shares scores of equal states, keeps each at once."""

    def __init__(self, store: StudyStore, spec: StudySpec, notify: Notify) -> None:
        self._store, self._spec, self._notify = store, spec, notify
        self._needs = Needs(store.path, spec)
        self._total = self._done = self._ran = 0
        self._unscored: Counter[str] = Counter()
        self._unreadable: set[str] = set()
        self._only: frozenset[str] | None = None

    async def score_all(self, only: frozenset[str] | None = None) -> Tally:
        """Verify what lacks verifications: final states before commits, and untimed ones, side by side, before timed
        ones, alone on the machine. Commits take turns over the runs, evenly over each run's history.

        Args:
            only: run ids to score; None scores all.
        """
        groups = await to_its_end(self._groups, only)
        self._total = sum(self._chosen(unit) for group in groups for unit in group)
        todo = []
        for group in groups:
            sound = [unit for unit in group if not self._is_damaged(unit)]
            known = self._known(sound) if sound else None
            if known:
                self._hand_over(sound, known, tell=False)
            elif any(map(self._chosen, sound)):
                todo.append(sound)
        already = f"{self._done} states were scored before" if self._done else "states to score"
        self._notify(Event(Phase.SCORE, self._done, self._total, already))
        final = [group for group in todo if group[0].commit is None]
        for part in (final, [group for group in todo if group[0].commit is not None]):
            for timed in (False, True):
                await self._settle_all([group for group in part if group[0].task.info.timed is timed], alone=timed)
        return Tally(self._total, self._ran, dict(sorted(self._unscored.items())), tuple(sorted(self._unreadable)))

    async def _settle_all(self, groups: list[list[Unit]], *, alone: bool) -> None:
        capacity = self._needs.capacity()
        capacity = replace(capacity, places=1) if alone else capacity
        jobs = [Job(group, 0, self._needs.verification(group[0].task.info.name)) for group in groups]
        await Scheduler[list[Unit], None](capacity, finished=lambda *_: None).run(jobs, self._settle)

    def _groups(self, only: frozenset[str] | None) -> list[list[Unit]]:
        groups: dict[tuple[str, ...], list[Unit]] = {}
        self._only = only
        finder = UnitFinder(self._store, self._spec.scoring.max_checkpoints, self._notify)
        for unit in finder.units():
            groups.setdefault(unit.identity, []).append(unit)
        self._unreadable = {run_id for run_id in finder.unreadable if only is None or run_id in only}
        chosen = {identity: group for identity, group in groups.items() if any(map(self._chosen, group))}
        return _in_turns(chosen)

    def _chosen(self, unit: Unit) -> bool:
        """Whether a unit's run was asked for; the others may lend their scores."""
        return self._only is None or unit.run.run_id in self._only

    def _is_damaged(self, unit: Unit) -> bool:
        """Whether this run's copy of a state was found to be beyond replay; it is counted and left as it is."""
        score = unit.score()
        if score is None or score.verifications[-1].status is not UNREPLAYABLE:
            return False
        self._hand_over([unit], score, tell=False)
        return True

    def _known(self, group: list[Unit]) -> StateScore | None:
        """The score of a state that needs no (further) verification, whichever of its runs holds it."""
        owner = max(group, key=lambda unit: len(self._settled(unit)))
        done = self._settled(owner)
        enough = len(done) >= self._wanted(owner) or (done and done[-1].status in _ONCE)
        return owner.score() if enough else None

    async def _settle(self, group: list[Unit]) -> None:
        """Bring one state to its full number of verifications and hand the score to every run that holds it."""
        by_progress = sorted(group, key=lambda unit: (len(self._settled(unit)), self._chosen(unit)), reverse=True)
        for owner in by_progress:
            score = await self._verify(owner)
            if score.verifications[-1].status is not UNREPLAYABLE:
                self._hand_over(group, score, tell=True)
                return
            # This run's copy of the state is damaged: its own affair, and no verdict on another run's.
            self._hand_over([owner], score, tell=True)
            group = [unit for unit in group if unit is not owner]
            if not any(map(self._chosen, group)):
                return

    def _hand_over(self, group: list[Unit], score: StateScore, *, tell: bool) -> None:
        for unit in filter(self._chosen, group):
            given = score.model_copy(update={"state": unit.state})
            if len(self._settled(unit)) < len(score.verifications) and unit.score() != given:
                unit.run.write_score(given)
            self._done += 1
            if score.value is None:
                self._unscored[score.verifications[-1].status.value] += 1
            if tell:
                message = f"{unit.run.run_id} {unit.commit.sha[:8] if unit.commit else FINAL}: {_shown(score)}"
                self._notify(Event(Phase.SCORE, self._done, self._total, message, problem=score.value is None))

    def _settled(self, unit: Unit) -> tuple[Verification, ...]:
        """Verifications that count (`policy.py`): not those that the environment failed or a shorter deadline ended."""
        score, deadline = unit.score(), self._timeout(unit)
        return tuple(v for v in score.verifications if stands(v, deadline)) if score else ()

    def _wanted(self, unit: Unit) -> int:
        scoring = self._spec.scoring
        return scoring.repeats_timed if unit.task.info.timed else scoring.repeats

    async def _verify(self, unit: Unit) -> StateScore:
        done, score = list(self._settled(unit)), None
        scratch = scratch_name(self._store.path / "verify")
        scratch.mkdir()
        try:
            state = await to_its_end(_build_state, unit, scratch)
            while len(done) < self._wanted(unit):
                if isinstance(state, State):
                    done.append(await self._twice_if_killed(unit, state, scratch / str(len(done))))
                else:
                    done.append(_failed(state, datetime.now(UTC), self._timeout(unit), UNREPLAYABLE))
                score = StateScore(
                    state=unit.state,
                    run_id=unit.run.run_id,
                    verifier_hash=unit.task.verifier_hash,
                    verifications=tuple(done),
                )
                unit.run.write_score(score)
                if done[-1].status in _ONCE:
                    break
        finally:
            remove_tree(scratch)
        if score is None:
            raise AssertionError("a state is verified at least once")
        return score

    def _timeout(self, unit: Unit) -> float:
        return unit.task.info.verifier_timeout_sec * self._spec.scoring.timeout_multiplier

    async def _twice_if_killed(self, unit: Unit, state: State, scratch: Path) -> Verification:
        """A verification whose verifier was killed is done again at once; killed again, that is what its state does."""
        found = await self._once(unit, state, scratch)
        if (found.status, found.reason) != (VerificationStatus.ERROR, KILLED):
            return found
        found = await self._once(unit, state, scratch.with_name(f"{scratch.name}-again"))
        if (found.status, found.reason) != (VerificationStatus.ERROR, KILLED):
            return found
        update = {"status": VerificationStatus.NO_REWARD, "reason": f"{KILLED}, twice"}
        return found.model_copy(update=update)

    async def _once(self, unit: Unit, state: State, scratch: Path) -> Verification:
        info, timed, timeout = unit.task.info, unit.task.info.timed, self._timeout(unit)
        scratch.mkdir()
        kwargs: dict[str, str] = {"state_tar": str(state.tar), "workdir": info.workdir}
        if state.remove is not None:
            names = scratch / "remove"
            write_bytes(names, b"".join(name + b"\0" for name in sorted(state.remove)))
            kwargs["remove"] = str(names)
        async with machine(alone=timed):
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
            )
        self._ran += 1
        return _verification(outcome, started, timeout, alone=timed)


def _in_turns(groups: dict[tuple[str, ...], list[Unit]]) -> list[list[Unit]]:
    """States so that scoring which is stopped early has seen all runs alike, and each over its whole length.

    A state that several runs hold has its turn when the first of them has it.
    """
    by_run: dict[str, list[tuple[str, ...]]] = {}
    for identity, group in groups.items():
        for unit in group:
            by_run.setdefault(unit.run.run_id, []).append(identity)
    turn: dict[tuple[str, ...], int] = {}
    for identities in by_run.values():
        for number, place in enumerate(evenly(len(identities))):
            turn[identities[place]] = min(number, turn.get(identities[place], number))
    records = {identity: group[0].run.record for identity, group in groups.items()}
    ordered = fair_order(
        groups,
        lambda identity: (turn[identity], records[identity].seed),
        lambda identity: (records[identity].task, records[identity].agent),
    )
    return [groups[identity] for identity in ordered]


def _shown(score: StateScore) -> str:
    """A score for a line of progress; without one, why, and the last that the verifier printed."""
    if score.value is not None:
        return f"{score.value:.4f}"
    verification = score.verifications[0]
    last = verification.output.strip().rsplit("\n", 1)[-1].strip()
    return f"no score: {verification.reason}" + (f" ({last[:120]})" if last else "")


def _build_state(unit: Unit, scratch: Path) -> State | str:
    """The state's tar, or why it cannot be made."""
    target = scratch / "state.tar"
    try:
        if unit.commit is None:
            return final_state(unit.run.workspace, target)
        repository = unit.run.repository()
        if repository is None:
            return "the run's repository is gone"
        try:
            return commit_state(repository, unit.commit, unit.run.workspace, unit.tracked, target)
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
        status = UNREPLAYABLE if kind == StateError.__name__ else VerificationStatus.ERROR
        return _failed(f"{kind}: {message}", started, timeout, status, alone=alone)
    verdict = read_model(path, VerdictFile)
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
