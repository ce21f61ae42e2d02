"""How much a model's provider bears: its share shrinks when it refuses and grows while it serves.

Additive increase, multiplicative decrease (as in TCP's congestion control): a refusal halves the number of rollouts
at once and makes the next start wait; each few that are served raise it by one, up to what the study allows.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Literal

from loopscope.engine.kinds import EndingKind, is_provider_trouble, main_problem
from loopscope.engine.policy import retried_at_once
from loopscope.models import RunRecord

MAX_PAUSE_SEC = 600.0
MAX_RETRY_AFTER_SEC = 3600.0
"""A longer wait that a message asks for is not believed: what agents write into messages is theirs."""
SERVED_PER_SLOT = 4
"""So many served rollouts raise a provider's share by one."""
DOWN_AFTER = 4
"""So many refusals in a row, each after a pause, and other providers' units no longer wait for this one's round."""
CLOSED_AFTER = 3
"""So many refusals in a row that only a person can mend (a key, an account), and no more rollouts go there."""
FIRST_PAUSE_SEC = 30.0

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT = r"(\d{1,9}(?:\.\d{1,9})?)(?!\d) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)?(?![a-z])"
_RETRY_AFTER = re.compile(
    r"(?:retry[-_ ]?after|(?:try|retry)(?:ing)? again (?:in|after)|retry(?:ing)? in)[\"':= ]{0,5}"
    + _AMOUNT
    + r"(?: ?(\d{1,2}(?:\.\d{1,9})?) ?s(?:ec(?:ond)?s?)?\b)?",
    re.IGNORECASE,
)
_MILLISECONDS = re.compile(r"retry-after-ms[\"':= ]{0,5}(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True)
class Refusal:
    """A provider turned a rollout away: a rate limit, or too much load."""

    retry_after_sec: float | None = None
    """How long it asks to be left alone; None when it does not say."""
    again: bool = True
    """Whether the same rollout is worth another try in this pass."""
    by_person: bool = False
    """Waiting does not help: the key or the account has to be mended."""


Answer = Refusal | Literal["served"] | None
"""What a rollout's end tells of its provider; None: nothing (the sandbox did not start, say)."""


_BY_WAITING = frozenset({EndingKind.RATE_LIMIT, EndingKind.OVERLOAD, EndingKind.CONNECTION})
_BY_PERSON = frozenset({EndingKind.AUTH, EndingKind.QUOTA})


def answer_of(record: RunRecord) -> Answer:
    """What a rollout's record tells of its provider."""
    trouble = is_provider_trouble(record)
    if trouble in _BY_WAITING | _BY_PERSON:
        main = main_problem(record.problems)
        asked = retry_after(main.message) if main else None
        return Refusal(asked, again=retried_at_once(record), by_person=trouble in _BY_PERSON)
    return "served" if record.timings.agent_sec is not None else None


def retry_after(text: str) -> float | None:
    """Seconds after which an error message invites another try: `retry-after: 20`, `try again in 1m30s`, `in 20ms`."""
    if found := _MILLISECONDS.search(text):
        return min(int(found[1]) / 1000, MAX_RETRY_AFTER_SEC)
    found = _RETRY_AFTER.search(text)
    if found is None:
        return None
    unit = (found[2] or "s").lower()
    seconds = float(found[1]) * _UNITS["ms" if unit.startswith(("ms", "milli")) else unit[0]]
    return min(seconds + float(found[3] or 0), MAX_RETRY_AFTER_SEC)


class Provider:
    """One provider's share of a study's rollouts.

    Args:
        limit: the most rollouts at once.
        seed: of the pauses' jitter, which keeps studies that were refused together from coming back together.
    """

    def __init__(self, name: str, limit: int, seed: str = "") -> None:
        self.name, self.limit, self.slots = name, limit, limit
        self.in_flight = 0
        self.open_at = 0.0
        """No start before this moment of the event loop's clock."""
        self._refusals = self._hard = self._served = 0
        self._cut_at = float("-inf")
        self._random = random.Random(f"{seed}/{name}")

    @property
    def is_down(self) -> bool:
        """Whether it has refused so long that nobody else should wait for it."""
        return self._refusals >= DOWN_AFTER

    def may_start(self, now: float) -> bool:
        """Whether one more rollout may go to this provider."""
        return self.in_flight < self.slots and now >= self.open_at

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is sent there until a person has mended something."""
        return self._hard >= CLOSED_AFTER

    def heard(self, answer: Answer, started: float, now: float) -> str | None:
        """Adapt to how a rollout ended that began at `started`; the line to tell when that is news."""
        if answer == "served":
            return self._has_served()
        return self._refused(answer, started, now) if isinstance(answer, Refusal) else None

    def _has_served(self) -> str | None:
        was_down, self._refusals, self._hard = self.is_down, 0, 0
        self._served += 1
        if self._served >= SERVED_PER_SLOT and self.slots < self.limit:
            self._served = 0
            self.slots += 1
        return f"{self.name}: serves again" if was_down else None

    def _refused(self, refusal: Refusal, started: float, now: float) -> str | None:
        """Rollouts that had begun before the last cut met the same wall: they lengthen the pause at most."""
        if self.is_closed:
            return None
        self._hard = self._hard + 1 if refusal.by_person else 0
        if self.is_closed:
            return f"{self.name}: refused key or account {self._hard} times; its other rollouts wait for another `run`"
        if started < self._cut_at:
            self.open_at = max(self.open_at, now + (refusal.retry_after_sec or 0.0))
            return None
        self._refusals += 1
        self._served, self._cut_at = 0, now
        before, self.slots = self.slots, max(1, self.slots // 2)
        self.open_at = max(self.open_at, now + self._pause(refusal.retry_after_sec))
        why = "refused key or account" if refusal.by_person else "rate limited or overloaded"
        share = f"{before} -> {self.slots} at once" if before != self.slots else f"{self.slots} at once"
        down = "; the others no longer wait for it" if self._refusals == DOWN_AFTER else ""
        return f"{self.name}: {why}; {share}, next start in {self.open_at - now:.0f} s{down}"

    def _pause(self, asked: float | None) -> float:
        """Exponential in the refusals in a row, with jitter, capped; what the provider asks for is the least."""
        doubled: float = min(MAX_PAUSE_SEC, FIRST_PAUSE_SEC * 2.0 ** min(self._refusals - 1, 30))
        if asked is not None and self._refusals == 1:
            doubled = asked
        return max(asked or 0.0, doubled * self._random.uniform(0.75, 1.0)) + (asked or 0.0) * self._random.uniform(
            0, 0.1
        )
