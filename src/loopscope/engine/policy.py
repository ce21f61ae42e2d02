"""One table: what becomes of every kind of ending, of a rollout and of a verification. Needs no Harbor.

Two thoughts decide it. Nothing that an agent does may void its result: once it has worked, a try that failed is a
*draw*, and few draws are allowed before the last one is graded as it stands; else an agent that can fail at will could
draw until it likes the result. And a study ends: what fails again and again is invalid until a person asks for more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from loopscope.engine.kinds import EndingKind, kind_of
from loopscope.models import Commit, RunRecord, RunStatus
from loopscope.records.completeness import MAX_ERRORS


class Fate(StrEnum):
    """What becomes of a unit that ended in some way."""

    RETRIED = "retried"
    GRADED = "graded"
    """It is a result like any other and stands."""
    INVALID = "invalid"
    """It is no result and is not tried again by itself; `loopscope run --again` does."""


class When(StrEnum):
    """When it is tried again."""

    AT_ONCE = "in the same run"
    NEXT_START = "at the next start"


@dataclass(frozen=True)
class Decision:
    """A row of the table."""

    fate: Fate
    why: str
    when: When | None = None
    tries: int | None = None
    """Tries in all before it is invalid; None: no bound."""
    draws: int | None = None
    """Tries in which the agent left work before the last one is graded; None: the agent had not begun."""

    @property
    def bound(self) -> str:
        """How often, and what comes then, in words."""
        if self.fate is not Fate.RETRIED:
            return ""
        parts = [f"{self.draws} draws, then graded"] if self.draws else []
        parts += [f"{self.tries} tries, then invalid"] if self.tries else []
        return "; ".join(parts) or "no bound"


_WAIT, _NEXT = When.AT_ONCE, When.NEXT_START
_DRAWS = 3
_STARTS = 5
_PAUSES = 12


def _again(why: str, when: When = _NEXT, *, tries: int | None = None, draws: int | None = None) -> Decision:
    return Decision(Fate.RETRIED, why, when, tries, draws)


def _graded(why: str) -> Decision:
    return Decision(Fate.GRADED, why)


def _invalid(why: str) -> Decision:
    return Decision(Fate.INVALID, why)


POLICY: Mapping[EndingKind, Decision] = {
    EndingKind.COMPLETED: _graded("the agent ended by itself"),
    EndingKind.DEADLINE: _graded("the agent used its whole budget: the normal end of a long run"),
    EndingKind.AGENT_FAILED: _graded("the agent raised an error; what it left is scored"),
    EndingKind.WORKSPACE_TOO_LARGE: _graded("the agent left more than is taken out of a sandbox; no state to score"),
    EndingKind.WORKSPACE_LOST: _again("the workspace did not come out: ours or the agent's doing", draws=2),
    EndingKind.WORKSPACE_LOST_AGAIN: _graded("lost twice; a third draw could be what the agent wants"),
    EndingKind.SANDBOX_FAILED: _again("the sandbox did not start", tries=_STARTS),
    EndingKind.SANDBOX_DIED: _again("the sandbox was killed while the agent worked in it", draws=2),
    EndingKind.TOOL_MISSING: _again("this machine lacks a tool of the task: install it; a try costs nothing"),
    EndingKind.AGENT_NOT_INSTALLED: _again("the agent could not be installed or set up", tries=_STARTS),
    EndingKind.TASK_INVALID: _invalid("the task cannot be followed here; mended, it is another unit"),
    EndingKind.MACHINE_FAULT: _again("disk full, no memory, no descriptors: the study stops or goes on", draws=_DRAWS),
    EndingKind.RATE_LIMIT: _again("the provider asked for less", _WAIT, tries=_PAUSES, draws=_DRAWS),
    EndingKind.OVERLOAD: _again("the provider was overloaded or failed", _WAIT, tries=_PAUSES, draws=_DRAWS),
    EndingKind.CONNECTION: _again("the connection to the provider broke", _WAIT, tries=_PAUSES, draws=_DRAWS),
    EndingKind.AUTH: _again("the provider refused the key: set another", tries=_STARTS, draws=_DRAWS),
    EndingKind.QUOTA: _again("the account's credit is used up: top it up", tries=_STARTS, draws=_DRAWS),
    EndingKind.MODEL_UNKNOWN: _again("the provider has no such model or setting", tries=_STARTS, draws=_DRAWS),
    EndingKind.CANCELLED: _again("stopped by a person; nothing was recorded"),
    EndingKind.KILLED: _again("the engine died; nothing was recorded"),
    EndingKind.RECORD_BROKEN: _invalid("its record was damaged, changed or written by a newer loopscope"),
    EndingKind.VERIFIED: _graded("the verifier gave a reward"),
    EndingKind.NO_REWARD: _graded("the verifier ended without a reward (also when it crashed): a missing score"),
    EndingKind.UNREADABLE: _graded("the verifier wrote no finite number: a missing score"),
    EndingKind.VERIFIER_TIMEOUT: _graded("the verifier met its deadline: a missing score, unless the deadline grows"),
    EndingKind.UNREPLAYABLE: _graded("this copy of the state cannot be put into a sandbox: a missing score"),
    EndingKind.VERIFIER_KILLED: _again(
        "the verifier was killed (signal 9): the machine, or what it ran", _WAIT, draws=2
    ),
    EndingKind.VERIFICATION_ERROR: _again("the sandbox, the upload or Harbor failed", tries=MAX_ERRORS),
    EndingKind.VERIFICATION_KILLED: _again("the engine died; nothing was recorded"),
}
"""Every kind has its row; `docs/design/engine.md` prints it."""


class _Repository(Protocol):
    """What was read of a rollout's repository; a record says the same."""

    @property
    def commits(self) -> Collection[Commit]: ...
    @property
    def clean_initial(self) -> str | None: ...
    @property
    def ambiguous_initial(self) -> str | None: ...
    @property
    def uncommitted(self) -> bool | None: ...


def holds_work(found: _Repository) -> bool:
    """Whether an agent left anything of its own in a repository; where that cannot be told it counts as left."""
    initial = {found.clean_initial, found.ambiguous_initial}
    return found.uncommitted is not False or any(commit.sha not in initial for commit in found.commits)


def left_work(record: RunRecord) -> bool:
    """Whether an agent left anything of its own in a try; none did where none ran."""
    return record.timings.agent_sec is not None and holds_work(record)


def is_draw(record: RunRecord) -> bool:
    """Whether an earlier try counts as one in which the agent worked."""
    return left_work(record) or kind_of(record) in (EndingKind.WORKSPACE_LOST, EndingKind.WORKSPACE_LOST_AGAIN)


def fate_of(record: RunRecord) -> Fate:
    """What becomes of a rollout that was recorded."""
    if record.status is not RunStatus.ENVIRONMENT_ERROR:
        return Fate.GRADED
    decision = POLICY[kind_of(record)]
    if decision.fate is Fate.RETRIED and decision.tries is not None and record.tries >= decision.tries:
        return Fate.INVALID
    return Fate.INVALID if decision.fate is Fate.INVALID else Fate.RETRIED


def retried_at_once(record: RunRecord) -> bool:
    """Whether this very start tries a rollout again, after a pause."""
    return fate_of(record) is Fate.RETRIED and POLICY[kind_of(record)].when is When.AT_ONCE
