"""Who starts when: units in a fair order, as many at once as cpus, model providers and disk allow.

A study is done in rounds (a seed is a round). No unit of a round starts while one of an earlier round waits, so that a
study which is stopped at any moment has run every agent on every task equally often, give or take one. Within a round
a unit that waits for cpus or disk is overtaken a few times and then waits in front: nobody waits for ever, and a large
unit is no reason to leave the machine idle. A unit that waits for its provider stands in nobody's way.
"""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from loopscope.engine.needs import Capacity, Need
from loopscope.engine.providers import Answer, Provider, Refusal
from loopscope.records.studyfile import NoRoomError

MAX_OVERTAKEN = 8
"""So often a unit that waits for cpus, disk or a place may be overtaken before those behind it wait too."""
LOOKAHEAD = 64
"""So many units that wait for cpus, disk or a place are passed over at most in the search for one that fits."""
MAX_TRIES = 6
"""Starts of one unit that its provider turns away, in one pass; then it is left as it ended."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Job[Unit]:
    """A unit of work, its place in the order, and what it holds while it runs."""

    unit: Unit
    round: int
    need: Need


@dataclass(order=True)
class _Waiting[Unit]:
    round: int
    position: int
    job: Job[Unit] = field(compare=False)
    overtaken: int = field(default=0, compare=False)
    tries: int = field(default=0, compare=False)
    after: int = field(default=0, compare=False)
    """It found no room: it waits until so many units have ended."""


class Scheduler[Unit, Result]:
    """Runs jobs within a capacity. One scheduler is one pass: it is used for one `run`.

    Args:
        capacity: what all running jobs may hold together.
        providers: by name; jobs of a provider that is not in it are not held back for it.
        answer: what a result tells of the model's provider; a unit that was turned away is tried again.
        finished: called once per unit with its last result; never for units whose provider closed before their turn.
        tell: called with one line whenever a provider's share changes, and when jobs are left out for want of room.
    """

    def __init__(
        self,
        capacity: Capacity,
        *,
        finished: Callable[[Unit, Result], None],
        providers: Mapping[str, Provider] | None = None,
        answer: Callable[[Result], Answer] = lambda _: None,
        tell: Tell = lambda _: None,
    ) -> None:
        self._capacity, self._providers = capacity, providers or {}
        self._finished, self._answer, self._tell = finished, answer, tell
        self._waiting: list[_Waiting[Unit]] = []
        self._running: dict[int, Need] = {}
        self._left_out: list[_Waiting[Unit]] = []
        """No room for them though nothing else ran."""
        self._ended = 0
        self._changed = asyncio.Event()

    async def run(self, jobs: Sequence[Job[Unit]], work: Callable[[Unit], Awaitable[Result]]) -> None:
        """Do all jobs; equal rounds in the order given.

        An error of `work`, or cancellation, cancels what runs, waits for its end and is passed on (in a group).

        Raises:
            NoRoomError: when the others have ended: some found no room on the disk though nothing else ran; says
                how many, and what must be freed. Alone, when a unit's work raises it and nothing else runs.
        """
        self._waiting = sorted(_Waiting(job.round, position, job) for position, job in enumerate(jobs))
        async with asyncio.TaskGroup() as group:
            while self._waiting or self._running:
                self._changed.clear()
                for entry in self._admitted():
                    group.create_task(self._one(entry, work))
                await self._wait()
        if self._left_out:
            raise self._capacity.shortage([entry.job.need for entry in self._left_out])

    async def _one(self, entry: _Waiting[Unit], work: Callable[[Unit], Awaitable[Result]]) -> None:
        provider, started = self._provider(entry), asyncio.get_running_loop().time()
        try:
            result = await work(entry.job.unit)
        except NoRoomError:
            if len(self._running) == 1:
                raise
            # What runs is not to be lost for it, and gives its room back.
            entry.after, entry.overtaken = self._ended + 1, 0
            bisect.insort(self._waiting, entry)
            return
        else:
            self._ended += 1
        finally:
            del self._running[entry.position]
            if provider:
                provider.in_flight -= 1
            self._changed.set()
        entry.tries += 1
        answer = self._answer(result)
        if provider and (told := provider.heard(answer, started, asyncio.get_running_loop().time())):
            self._tell(told)
        if provider and isinstance(answer, Refusal) and answer.again and entry.tries < MAX_TRIES:
            entry.overtaken = 0
            bisect.insort(self._waiting, entry)
        else:
            self._finished(entry.job.unit, result)
        if provider and provider.is_closed:
            self._waiting = [other for other in self._waiting if self._provider(other) is not provider]

    def _provider(self, entry: _Waiting[Unit]) -> Provider | None:
        return self._providers.get(entry.job.need.provider or "")

    def _admitted(self) -> list[_Waiting[Unit]]:
        """Take out of the waiting what starts now."""
        last_round = self._last_round()
        now = asyncio.get_running_loop().time()
        chosen: list[_Waiting[Unit]] = []
        passed: list[_Waiting[Unit]] = []
        for entry in self._waiting:
            if entry.round > last_round or len(passed) >= LOOKAHEAD:
                break
            if any(earlier.overtaken >= MAX_OVERTAKEN for earlier in passed):
                break
            provider = self._provider(entry)
            if provider and not provider.may_start(now):
                continue
            if entry.after > self._ended and self._running:
                continue
            if not self._capacity.fits(entry.job.need, self._running.values()):
                if len(self._running) >= self._capacity.places:
                    break  # nobody fits any more
                passed.append(entry)
                continue
            for earlier in passed:
                earlier.overtaken += 1
            self._running[entry.position] = entry.job.need
            if provider:
                provider.in_flight += 1
            chosen.append(entry)
        for entry in chosen:
            self._waiting.remove(entry)
        if passed and not self._running:  # nothing that ends could make room: the others need not wait for it
            self._leave_out(min(entry.job.need.disk_bytes for entry in passed))
        return chosen

    def _leave_out(self, disk_bytes: int) -> None:
        """Give up all that needs so much or more; then there is another choice to be made."""
        out = [entry for entry in self._waiting if entry.job.need.disk_bytes >= disk_bytes]
        self._waiting = [entry for entry in self._waiting if entry.job.need.disk_bytes < disk_bytes]
        self._left_out += out
        self._tell(str(self._capacity.shortage([entry.job.need for entry in out])))
        self._changed.set()

    def _last_round(self) -> int:
        """The round up to which units may start: the earliest that has one waiting. Who waits for a provider that has
        been refusing for long holds nobody back."""
        for entry in self._waiting:
            provider = self._provider(entry)
            if provider is None or not provider.is_down:
                return entry.round
        return self._waiting[-1].round if self._waiting else 0

    async def _wait(self) -> None:
        """Until something ended or a provider's pause is over."""
        now = asyncio.get_running_loop().time()
        pauses = [provider.open_at for provider in self._providers.values() if provider.open_at > now]
        if not self._running and not self._waiting:
            return
        try:
            async with asyncio.timeout_at(min(pauses, default=None)):
                await self._changed.wait()
        except TimeoutError:
            return
