"""Planted behaviour: habits of known strength, to see whether the measures find them (docs/known-groups.md).

Nothing is staged in the records: a planted failure is an edit that does not compile and is built, a planted dip is a
worse state that is committed and scored. What was planted is told in a file beside the agent's logs, which no measure
reads. Every choice made here has dice of its own; without a plant the agent is `loop.SearchLoop`, which knows nothing
of this module.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, override

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from loopscope.agents.search.evaluation import judge, read_score
from loopscope.agents.search.loop import SearchLoop, State
from loopscope.agents.search.mutate import Files, error_count
from loopscope.agents.search.proposals import Proposal
from loopscope.models.annotation import StepKind, StepStatus
from loopscope.records.durable import write_bytes

_MOST_FAILURES = 6
"""Planted failing builds before one commit, at most."""
_ATTEMPTS = 40
"""Brackets that are tried before a file counts as one that cannot be broken."""
_BRACKETS = b"()[]{}"
Rank = Literal["best", "median", "worst"]


class Plant(BaseModel):
    """What is planted; the defaults plant nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    build_failures: float = Field(default=0.0, ge=0, le=0.95)
    """Chance that what is about to be committed is first built with a bracket missing, mended, and so on: n failing
    builds before a commit have the probability p^n (1 - p), six at most."""
    dips: float = Field(default=0.0, ge=0, le=1)
    """Chance that a round goes back to the worst state measured so far, if that is worse than the best."""
    recovery_delay: int | None = Field(default=None, ge=0)
    """After a commit that is worse than the best, planted or not: rounds of work on that worse state before the best
    one is put back and committed. None: after a planted dip 0, else the search's own way."""
    first_move: Rank | None = None
    """Which of `first_candidates` measured proposals becomes the first commit."""
    first_candidates: int = Field(default=8, ge=1)
    candidates: int = Field(default=1, ge=1)
    """Proposals that are measured before each commit; the best of them is committed. 1: none is measured before. At
    the end of a dip they are made from the worse state, and the best state is put back only if none reaches it."""
    hidden: float = Field(default=0.0, ge=0, le=1)
    """Share of what happens before a commit (failing builds, measured proposals) that is done on a copy outside the
    work dir, in a call that the transcript notes as a mere look."""


@dataclass
class PlantedRound:
    """What was really done in one round."""

    round: int
    failed_builds: int = 0
    hidden_failed_builds: int = 0
    candidates: int = 0
    """Proposals measured before the commit."""
    hidden_candidates: int = 0
    went: Literal["on", "to a worse state", "back to the best"] = "on"


@dataclass
class PlantedTruth:
    """What was really done in a run; `plant.json` in the agent's logs."""

    plant: Plant
    rounds: list[PlantedRound] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Replace the file durably."""
        write_bytes(path, TypeAdapter(PlantedTruth).dump_json(self, indent=1) + b"\n")

    @staticmethod
    def read(path: Path) -> PlantedTruth:
        """Read what `write` wrote.

        Raises:
            ValueError: the file is none of these.
            OSError: it cannot be read.
        """
        return TypeAdapter(PlantedTruth).validate_json(path.read_bytes())


@dataclass(frozen=True)
class Return(Proposal):
    """A way back to a state that was measured before: no move, nothing to learn."""

    target: str = ""

    @property
    @override
    def change(self) -> str:
        return f"back to {self.target}"

    @property
    @override
    def hypothesis(self) -> str:
        return "the way on leads from there"


@dataclass
class PlantedLoop(SearchLoop):
    """The search with planted habits.

    Attributes:
        plant: the habits.
        truth: what came of them.
    """

    plant: Plant = field(kw_only=True)
    truth: PlantedTruth = field(init=False)
    _worst: State | None = field(init=False, default=None)
    _stay: int | None = field(init=False, default=None)
    """Rounds left on a worse state; None where the search goes its own way."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.truth = PlantedTruth(self.plant)
        self._dice, self._curtain = random.Random(self.seed + 2), random.Random(self.seed + 3)

    @override
    async def _choose(self, current: State, best: State) -> Proposal | None:
        self.ws.round = self.progress.rounds + 1
        noted = PlantedRound(self.ws.round)
        if not self.truth.rounds:
            self._remember(current)
        chosen = await self._way(current, best, noted)
        if chosen:
            self.truth.rounds.append(noted)
        return chosen

    async def _way(self, current: State, best: State, noted: PlantedRound) -> Proposal | None:
        """To the best state at the end of a dip, to the worst one to begin a planted dip, else on."""
        if self._stay == 0:
            self._stay = None
            if self.plant.candidates > 1:
                proposal, value = await self._way_on(current, best, noted)
                if value >= best.value:
                    return proposal
            noted.went = "back to the best"
            return Return((), best.files, target=f"the best state, of round {best.round}")
        worst = self._worst
        if self._stay is None and self._dice.random() < self.plant.dips and worst and worst.value < best.value:
            noted.went = "to a worse state"
            return Return((), worst.files, target=f"the state of round {worst.round}")
        return (await self._way_on(current, best, noted))[0]

    async def _way_on(self, current: State, best: State, noted: PlantedRound) -> tuple[Proposal | None, float]:
        """The next proposal and its value; where several are measured first, the one that the plant takes."""
        first = self.plant.first_move if noted.round == 1 else None
        wanted = self.plant.first_candidates if first else self.plant.candidates
        if wanted == 1:
            return self.proposer.propose(current.files), -math.inf
        tried: list[tuple[Proposal, State]] = []
        while len(tried) < wanted and not (tried and self._reason_to_stop()):
            proposal = self.proposer.propose(current.files)
            if proposal is None:
                break
            tried.append((proposal, await self._rehearse(proposal, current, noted)))
        if not tried:
            return None, -math.inf
        taken = _ranked([state for _, state in tried], first or "best")
        for index, (proposal, state) in enumerate(tried):
            if index != taken:
                self._learn(proposal, state, current, best)
        return tried[taken][0], tried[taken][1].value

    async def _rehearse(self, proposal: Proposal, base: State, noted: PlantedRound) -> State:
        """Measure a proposal without a commit."""
        noted.candidates += 1
        if self._curtain.random() < self.plant.hidden:
            noted.hidden_candidates += 1
            commands = [c for c in (self.reading.commands.build, self.reading.commands.evaluate) if c]
            output, code = await self.ws.aside(proposal.files, " && ".join(commands), self._allowed())
            measured = read_score(output, self.reading.lower_is_better) if code == 0 else None
        else:
            await self.ws.write(base.files, StepKind.RESTORE, f"back to the state of round {base.round}")
            await self.ws.write(proposal.files, StepKind.EDIT, f"to be measured first: {proposal.change}")
            measured, _ = await self._measure()
        return State(proposal.files, noted.round, measured)

    @override
    async def _before_commit(self, proposal: Proposal) -> None:
        noted = self.truth.rounds[-1]
        for _ in range(_MOST_FAILURES):
            if self._dice.random() >= self.plant.build_failures:
                return
            broken = without_a_bracket(proposal.files, self._dice)
            if broken is None:
                return
            hidden = self._curtain.random() < self.plant.hidden
            failed = await self._build(broken, hidden) is StepStatus.CODE_FAILURE
            noted.failed_builds += failed
            noted.hidden_failed_builds += failed and hidden
            await self.ws.write(proposal.files, StepKind.RESTORE, "the missing bracket is put in")

    async def _build(self, files: dict[str, bytes], hidden: bool) -> StepStatus:
        """Build these files, by the evaluation where nothing else builds."""
        build, evaluate = self.reading.commands.build, self.reading.commands.evaluate
        kind, command = (StepKind.BUILD, build) if build else (StepKind.EVALUATE, evaluate or "true")
        if hidden:
            output, code = await self.ws.aside(files, command, self._allowed())
            return judge(kind, code, output)
        await self.ws.write(files, StepKind.EDIT, "written in haste")
        return (await self.ws.bash(command, kind, self._allowed())).status

    @override
    def _next(self, candidate: State, current: State, best: State, setting: bool) -> tuple[State, State]:
        self._remember(candidate)
        went, stay, delay = self.truth.rounds[-1].went, self._stay, self.plant.recovery_delay
        if went == "back to the best":
            return best, best
        if went == "to a worse state":
            self._stay = delay or 0
            return candidate, best
        if candidate.value >= best.value or (stay is None and delay is None):
            self._stay = None  # out of the dip by itself, or never in one that is ours
            return super()._next(candidate, current, best, setting)
        self.progress.stale += 1
        if stay is None:
            self._stay = delay
            return candidate, best
        self._stay = stay - 1
        return (candidate if candidate.value > current.value else current), best

    def _remember(self, state: State) -> None:
        if state.measured and (self._worst is None or state.value < self._worst.value):
            self._worst = state


def _ranked(states: Sequence[State], rank: Rank) -> int:
    """Index of the best, the worst, or the (lower) middle one of those that ran; 0 if none did."""
    ran = sorted((i for i, state in enumerate(states) if math.isfinite(state.value)), key=lambda i: states[i].value)
    if not ran:
        return 0
    return ran[{"worst": 0, "median": (len(ran) - 1) // 2, "best": len(ran) - 1}[rank]]


def without_a_bracket(files: Files, dice: random.Random) -> dict[str, bytes] | None:
    """The files with one bracket taken out, where a parser sees an error in that; None if there is no such bracket."""
    places = [(name, at) for name in sorted(files) for at, byte in enumerate(files[name]) if byte in _BRACKETS]
    for name, at in dice.sample(places, min(_ATTEMPTS, len(places))):
        data = files[name][:at] + files[name][at + 1 :]
        if error_count(name, data) > error_count(name, files[name]):
            return {**files, name: data}
    return None
