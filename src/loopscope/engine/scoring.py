"""Score every state of every run: one Harbor job per verification, each in a fresh sandbox, each kept at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product, takewhile

from loopscope.engine.events import Event, Notify, Phase
from loopscope.engine.jobs import to_its_end
from loopscope.engine.needs import Need, Needs
from loopscope.engine.scheduler import Job, Scheduler
from loopscope.engine.scorecount import ScoreReader
from loopscope.engine.temporary import temporaries_in
from loopscope.engine.turns import evenly, fair_order
from loopscope.engine.units import Unit, UnitFinder
from loopscope.engine.verification import Verifications, build_state
from loopscope.models import PreparedTask, StateScore, StudySpec, Verification, VerificationStatus
from loopscope.records import FINAL, RunDir, StudyStore, remove_tree, scratch_name
from loopscope.records.completeness import end_without_reward, is_enough, is_given_up, settles
from loopscope.records.studyfile import NoRoomError
from loopscope.records.workspace import unpacked_bytes

_UNREPLAYABLE = VerificationStatus.UNREPLAYABLE


@dataclass(frozen=True)
class Tally:
    """What a scoring pass did."""

    states: int
    """States of all runs."""
    verifications: int
    """Verifications that were run."""
    unscored: dict[str, int]
    """States without a reward at the end, by the status of the last verification, `given_up` or `workspace_removed`."""
    unreadable_runs: tuple[str, ...]
    """Runs some of whose states could not even be listed; each was named as it was met."""


class Scorer:
    """Scores the runs of a study: finds what lacks verifications, shares scores of equal states, keeps each at once."""

    def __init__(self, store: StudyStore, spec: StudySpec, notify: Notify) -> None:
        self._store, self._spec, self._notify = store, spec, notify
        self._needs = Needs(store.path, spec)
        self._verifications = Verifications(store, spec, self._tell)
        self._total = self._done = 0
        self._unscored: Counter[str] = Counter()
        self._unreadable: set[str] = set()
        self._gone: list[tuple[RunDir, PreparedTask]] = []
        self._only: frozenset[str] | None = None
        self._again = False

    async def score_all(self, only: frozenset[str] | None = None, *, again: bool = False) -> Tally:
        """Verify what lacks verifications: final states before commits, and untimed ones, side by side, before timed
        ones, alone on the machine. Commits take turns over the runs, evenly over each run's history.

        Args:
            only: run ids to score; None scores all.
            again: also what was given up because the environment failed it too often in a row.

        Raises:
            NoRoomError: the disk has no room for some verifications; everything else was done first.
        """
        self._again = again
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
        self._count_gone()
        already = f"{self._done} states were scored before" if self._done else "states to score"
        self._notify(Event(Phase.SCORE, self._done, self._total, already))
        short = None
        with temporaries_in(self._store.path):
            for is_final, timed in product((True, False), (False, True)):
                part = [
                    group for group in todo if (group[0].commit is None, group[0].task.info.timed) == (is_final, timed)
                ]
                try:
                    await self._settle_all(part, alone=timed)
                except NoRoomError as error:  # for some; the others have their scores
                    short = error
        if short is not None:
            raise short
        return Tally(
            self._total,
            self._verifications.ran,
            dict(sorted(self._unscored.items())),
            tuple(sorted(self._unreadable)),
        )

    async def _settle_all(self, groups: list[list[Unit]], *, alone: bool) -> None:
        capacity = self._needs.capacity()
        capacity = replace(capacity, places=1) if alone else capacity
        jobs = [Job(group, 0, self._need(group)) for group in groups]
        await Scheduler[list[Unit], None](capacity, finished=lambda *_: None, tell=self._tell).run(jobs, self._settle)

    def _tell(self, message: str) -> None:
        self._notify(Event(Phase.SCORE, self._done, self._total, message, problem=True))

    def _need(self, group: list[Unit]) -> Need:
        """The final state is the workspace, and no commit is taken to be larger; if one is, its sandbox finds out."""
        return self._needs.verification(group[0].task.info.name, unpacked_bytes(group[0].run.workspace))

    def _groups(self, only: frozenset[str] | None) -> list[list[Unit]]:
        groups: dict[tuple[str, ...], list[Unit]] = {}
        self._only = only
        finder = UnitFinder(self._store, self._spec.scoring.max_checkpoints, self._notify)
        for unit in finder.units():
            groups.setdefault(unit.identity, []).append(unit)
        self._gone = [(run, task) for run, task in finder.gone if only is None or run.run_id in only]
        self._unreadable = {run_id for run_id in finder.unreadable if only is None or run_id in only}
        chosen = {identity: group for identity, group in groups.items() if any(map(self._chosen, group))}
        return _in_turns(chosen)

    def _count_gone(self) -> None:
        """Count the states of runs without a workspace as what they are: scored once, or never to be."""
        for run, task in self._gone:
            counts = ScoreReader(self._spec.scoring, {task.info.name: task}).of(run, run.record)
            self._total += counts.states
            self._done += counts.states
            self._unscored.update(counts.unscored)

    def _chosen(self, unit: Unit) -> bool:
        """Whether a unit's run was asked for; the others may lend their scores."""
        return self._only is None or unit.run.run_id in self._only

    def _is_damaged(self, unit: Unit) -> bool:
        """Whether this run's copy of a state was found to be beyond replay; it is counted and left as it is."""
        score = unit.score()
        if score is None or score.verifications[-1].status is not _UNREPLAYABLE:
            return False
        self._hand_over([unit], score, tell=False)
        return True

    def _known(self, group: list[Unit]) -> StateScore | None:
        """The score of a state that needs no (further) verification, whichever of its runs holds it."""
        owner = max(group, key=lambda unit: len(self._settled(unit)))
        if self._is_enough(owner, self._settled(owner)):
            return owner.score()
        owner = max(group, key=lambda unit: len(self._failed(unit)))
        return owner.score() if is_given_up([v.status for v in self._failed(owner)]) else None

    async def _settle(self, group: list[Unit]) -> None:
        """Bring one state to its full number of verifications and hand the score to every run that holds it."""
        by_progress = sorted(group, key=lambda unit: (len(self._settled(unit)), self._chosen(unit)), reverse=True)
        for owner in by_progress:
            score = await self._verify(owner)
            if score.verifications[-1].status is not _UNREPLAYABLE:
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
                self._unscored[end_without_reward([v.status for v in score.verifications])] += 1
            if tell:
                message = f"{unit.run.run_id} {unit.commit.sha[:8] if unit.commit else FINAL}: {_shown(score)}"
                self._notify(Event(Phase.SCORE, self._done, self._total, message, problem=score.value is None))

    def _settled(self, unit: Unit) -> tuple[Verification, ...]:
        """Verifications that count: not those that the environment failed or a shorter deadline ended."""
        score, deadline = unit.score(), self._spec.scoring.deadline_of(unit.task.info)
        done = score.verifications if score else ()
        return tuple(v for v in done if settles(v.status, v.verifier_timeout_sec, deadline))

    def _failed(self, unit: Unit) -> tuple[Verification, ...]:
        """Verifications since the last that settled something, each of which the environment failed."""
        score = None if self._again else unit.score()
        done = score.verifications if score else ()
        return tuple(reversed(tuple(takewhile(lambda v: v.status is VerificationStatus.ERROR, reversed(done)))))

    def _is_enough(self, unit: Unit, settled: Sequence[Verification]) -> bool:
        return is_enough([v.status for v in settled], self._spec.scoring.repeats_of(unit.task.info))

    async def _verify(self, unit: Unit) -> StateScore:
        done, failed = self._settled(unit), self._failed(unit)
        scratch = scratch_name(self._store.path / "verify")
        scratch.mkdir()
        try:
            state = await to_its_end(build_state, unit, scratch, self._needs.most_committed_bytes(unit.task.info.name))
            while True:
                found = await self._verifications.of(unit, state, scratch / str(len(done)))
                is_error = found.status is VerificationStatus.ERROR
                done, failed = (done, (*failed, found)) if is_error else ((*done, found), ())
                score = StateScore(
                    state=unit.state,
                    run_id=unit.run.run_id,
                    verifier_hash=unit.task.verifier_hash,
                    verifications=(*done, *failed),
                )
                await to_its_end(unit.run.write_score, score)  # its fsync may stall others on a busy disk
                # An error is for the next start.
                if is_error or self._is_enough(unit, done):
                    return score
        finally:
            await to_its_end(remove_tree, scratch)


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
