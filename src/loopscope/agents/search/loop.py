"""The loop: propose one change, commit it, build, evaluate, keep or revert, journal. Read this first."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from loopscope.agents.search import journal
from loopscope.agents.search.evaluation import Measured, read_score
from loopscope.agents.search.proposals import Proposal, Proposer
from loopscope.agents.search.reading import Reading
from loopscope.agents.search.workspace import Outcome, Workspace
from loopscope.models.annotation import StepKind, StepStatus

_FIRST_TIMEOUT_SEC = 120.0
_RESERVE_SEC = 2.0
"""Kept for the last commit, and for killing a command that overruns."""
_NOISE_FACTOR = 4.0
"""A gain below this many times the observed noise is measured again before it is believed."""
_EXPLORE_UNTIL = 2
"""Rounds without a gain after which a worse state that was kept for exploration is given up."""
_NOTABLE = 0.03
"""Share of all gains so far that makes a further gain worth following."""
_PLATEAU = 0.7
"""Chance to go on from a state that scores exactly the same."""
_TEMPERATURE = 0.05
"""Relative loss that is kept for exploration with a chance of a third at the start."""


@dataclass(frozen=True)
class State:
    """An evaluated state of the editable files."""

    files: dict[str, bytes]
    round: int
    measured: Measured | None
    """None: it did not build, run or pass."""

    @property
    def value(self) -> float:
        """Higher is better; minus infinity without a score."""
        return self.measured.value if self.measured else -math.inf


@dataclass
class Progress:
    """How far the run is; what the agent reports, also when it is cancelled."""

    rounds: int = 0
    gains: int = 0
    baseline: str | None = None
    best: str | None = None
    best_round: int = 0
    stopped: str = "cancelled"
    blind: str = ""
    """Why the untouched files had no local score; a run that never sees one searches blindly."""
    slowest_round: float = 0.0
    timeout: float = _FIRST_TIMEOUT_SEC
    noise: float = 0.0
    stale: int = 0


@dataclass
class SearchLoop:
    """One run.

    Attributes:
        ws: the agent's hands.
        reading: what the instruction says.
        seed: of every random choice.
        max_rounds: proposals at most.
        deadline: `time.monotonic()` at which the run must be over.
        report: called whenever `progress` has changed.
    """

    ws: Workspace
    reading: Reading
    seed: int
    max_rounds: int | None
    deadline: float | None
    report: Callable[[Progress], None]
    progress: Progress = field(default_factory=Progress)
    proposer: Proposer = field(init=False)
    _rng: random.Random = field(init=False)
    _baseline_value: float = field(init=False, default=-math.inf)

    def __post_init__(self) -> None:
        self.proposer, self._rng = Proposer(self.seed), random.Random(self.seed + 1)

    async def run(self) -> None:
        """Everything from the hardware entry to the last commit."""
        hardware = await self.ws.bash(journal.HARDWARE_COMMAND, StepKind.INSPECT)
        await self.ws.journal(journal.opening(hardware.output, self.reading))
        await self.ws.begin()
        best = await self._baseline()
        if best is None:
            return
        self.proposer.known(best.files)
        current, self._baseline_value = best, best.value
        while not (reason := self._reason_to_stop()):
            started = time.monotonic()
            proposal = await self._choose(current, best)
            if proposal is None:
                if current is best:
                    reason = "nothing is left to try"
                    break
                current = best
                continue
            candidate = await self._round(proposal, current, best)
            self._learn(proposal, candidate, current, best)
            current, best = self._next(candidate, current, best, all(move.is_setting for move in proposal.moves))
            self.progress.slowest_round = max(self.progress.slowest_round, time.monotonic() - started)
            self.report(self.progress)
        await self._finish(best, reason)

    async def _choose(self, current: State, best: State) -> Proposal | None:
        """What the next round commits; None when nothing is left to try from the current state."""
        return self.proposer.propose(current.files)

    async def _before_commit(self, proposal: Proposal) -> None:
        """Called with the proposal in the work dir, before it is committed."""

    def _learn(self, proposal: Proposal, candidate: State, base: State, best: State) -> None:
        """Give the proposer the verdict on a proposal that was made from `base`."""
        gained = candidate.value - base.value
        self.proposer.learn(
            proposal,
            gain=candidate.value > base.value,
            notable=not math.isfinite(self._baseline_value) or gained > _NOTABLE * (best.value - self._baseline_value),
            inert=candidate.value == base.value,
            failed=candidate.measured is None,
        )

    async def _baseline(self) -> State | None:
        """Measure the untouched files, twice for the noise. None: the environment is broken, and that is reported."""
        self.ws.round = 0
        started = time.monotonic()
        first, outcome = await self._measure()
        seconds = time.monotonic() - started
        self.progress.timeout = max(2.0, 4 * seconds + 1)
        self.progress.slowest_round = seconds
        if outcome.status is StepStatus.ENV_FAILURE or self.reading.commands.evaluate is None or not self.ws.files:
            note = "stop: the environment or the instruction gives nothing to work with"
            await self.ws.journal(journal.baseline_entry([], f"{note}: {outcome.output.strip()[-300:]}"))
            self.progress.stopped = note
            self.report(self.progress)
            return None
        scores = [first] if first else []
        if first and (again := (await self._evaluate())[0]):
            scores.append(again)
            self.progress.noise = abs(again.value - first.value)
        measured = _better(scores)
        if measured is None:
            last = outcome.output.strip().rsplit("\n", 1)[-1][-200:]
            self.progress.blind = f"the local evaluation never gave a score ({outcome.status.value}: {last})"
        self.progress.baseline = self.progress.best = measured.text if measured else None
        self.report(self.progress)
        await self.ws.journal(journal.baseline_entry([m.text for m in scores], "change one thing at a time"))
        return State(dict(self.ws.files), 0, measured)

    async def _round(self, proposal: Proposal, base: State, best: State) -> State:
        """Put the change on its base, commit, then measure and journal."""
        number = self.progress.rounds = self.ws.round = self.progress.rounds + 1
        await self.ws.write(base.files, StepKind.RESTORE, f"back to the state of round {base.round}")
        await self.ws.write(proposal.files, StepKind.EDIT if proposal.moves else StepKind.RESTORE, proposal.change)
        await self._before_commit(proposal)
        await self.ws.commit(f"round {number}: change={_line(proposal.change)} hypothesis={_line(proposal.hypothesis)}")
        measured, outcome = await self._measure()
        results = [f"score {measured.text}" if measured else outcome.status.value]
        small = measured and 0 < measured.value - base.value < _NOISE_FACTOR * self.progress.noise
        if measured and small and not self._reason_to_stop():
            again = (await self._evaluate())[0]
            results.append(f"again {again.text}" if again else "no score the second time")
            # A small gain must hold twice: the worse of two measurements counts.
            measured = min(measured, again, key=lambda m: m.value) if again else None
        candidate = State(proposal.files, number, measured)
        commands = [c for c in (self.reading.commands.build, self.reading.commands.evaluate) if c]
        decision = _decision(candidate, base, best)
        await self.ws.journal(journal.round_entry(number, proposal, commands, results, decision))
        return candidate

    def _next(self, candidate: State, current: State, best: State, setting: bool) -> tuple[State, State]:
        """Which state to go on from, and the best one."""
        if candidate.value > best.value:
            self.progress.gains += 1
            self.progress.stale = 0
            self.progress.best = candidate.measured.text if candidate.measured else None
            self.progress.best_round = candidate.round
            return candidate, candidate
        self.progress.stale += 1
        if candidate.value > current.value:
            return candidate, best
        if current.value < best.value:
            return (best if self.progress.stale > _EXPLORE_UNTIL else current), best
        if candidate.measured and self._rng.random() < self._chance(candidate, best, setting):
            self.progress.stale = 0
            return candidate, best
        return (best if self.progress.stale > 2 * _EXPLORE_UNTIL else current), best

    def _chance(self, candidate: State, best: State, setting: bool) -> float:
        """Simulated annealing: chance to go on from a state no better, falling with the loss and with the rounds.

        A plateau of settings is mostly walked on: what changes nothing alone may be half of a change that does. Other
        changes without effect would only be clutter.
        """
        if candidate.value == best.value:
            return _PLATEAU if setting else 0.0
        loss = (best.value - candidate.value) / max(abs(best.value), abs(candidate.value), 1e-12)
        return math.exp(-1 - loss / _TEMPERATURE) * math.exp(-self.progress.rounds / 30)

    async def _measure(self) -> tuple[Measured | None, Outcome]:
        """Build where there is a build command, then evaluate."""
        build = self.reading.commands.build
        if build:
            built = await self.ws.bash(build, StepKind.BUILD, self._allowed())
            if built.status is StepStatus.CODE_FAILURE and self.ws.round == 0:
                # It fails on the untouched files, so it was misread: the evaluation must build by itself.
                await self.ws.journal(f"`{build}` does not build the untouched files; it is left out\n\n")
                self.reading = replace(self.reading, commands=replace(self.reading.commands, build=None))
            elif built.status is not StepStatus.OK:
                return None, built
        return await self._evaluate()

    async def _evaluate(self) -> tuple[Measured | None, Outcome]:
        command = self.reading.commands.evaluate
        if command is None:
            return None, Outcome(StepStatus.ENV_FAILURE, "no local evaluation command found", 0, 0.0)
        outcome = await self.ws.bash(command, StepKind.EVALUATE, self._allowed())
        ok = outcome.status is StepStatus.OK
        return (read_score(outcome.output, self.reading.lower_is_better) if ok else None), outcome

    def _allowed(self) -> float:
        """Timeout of the next command."""
        left = math.inf if self.deadline is None else self.deadline - time.monotonic() - _RESERVE_SEC
        return max(1.0, min(self.progress.timeout, left))

    def _reason_to_stop(self) -> str:
        if self.max_rounds is not None and self.progress.rounds >= self.max_rounds:
            return f"{self.max_rounds} rounds are done"
        if self.deadline is not None:
            needed = 1.2 * self.progress.slowest_round + _RESERVE_SEC
            if time.monotonic() + needed > self.deadline:
                return "the time is used up"
        return ""

    async def _finish(self, best: State, reason: str) -> None:
        """Leave the best state, by a new commit, and close the journal."""
        progress = self.progress
        progress.stopped = reason
        self.report(progress)
        number = progress.rounds + 1
        await self.ws.journal(journal.closing(reason, progress.rounds, progress.best_round, progress.best))
        if self.ws.files != best.files:
            self.ws.round = number
            await self.ws.write(best.files, StepKind.RESTORE, f"back to the best state, of round {best.round}")
            change = f"restore the best state (round {best.round})"
            await self.ws.commit(
                f"round {number}: change={change} hypothesis=its local score {progress.best} was the best"
            )
        else:
            await self.ws.commit(f"journal: result of round {progress.rounds} and end of the run")


def _better(scores: list[Measured]) -> Measured | None:
    """The better of two: measured badly by chance, a baseline would let changes pass for gains."""
    return max(scores, key=lambda m: m.value) if scores else None


def _decision(candidate: State, base: State, best: State) -> str:
    if candidate.value > best.value:
        return "keep; best so far"
    if candidate.value > base.value:
        return f"go on from here; better than round {base.round}, which it came from, but not than round {best.round}"
    if candidate.measured is None:
        return f"revert to round {best.round}"
    if candidate.value == best.value:
        return f"same as round {best.round}; may go on from here, since the score does not tell them apart"
    return f"not better than round {best.round}; go back unless a look around from here is due"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:157]}..."
