"""One table: what becomes of every kind of ending, of a rollout and of a verification. Needs no Harbor.

Two thoughts decide it. Nothing that an agent does may void its result: once it has worked, a try that failed is a
*draw*, and few draws are allowed before the last one is graded as it stands; else an agent that can fail at will could
draw until it likes the result. And a study ends: what fails again and again is invalid until a person asks for more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from loopscope.models import Problem, RunRecord, RunStatus, Verification, VerificationStatus

NOT_STARTED = "environment"
SET_UP = "setup"
"""Stages of a problem before the agent's own run: the sandbox, and then the agent's installation in it."""


class EndingKind(StrEnum):
    """How a rollout or a verification came to its end."""

    COMPLETED = "completed"
    DEADLINE = "deadline"
    AGENT_FAILED = "agent_failed"
    WORKSPACE_TOO_LARGE = "workspace_too_large"
    WORKSPACE_LOST = "workspace_lost"
    WORKSPACE_LOST_AGAIN = "workspace_lost_again"
    SANDBOX_FAILED = "sandbox_failed"
    SANDBOX_DIED = "sandbox_died"
    TOOL_MISSING = "tool_missing"
    AGENT_NOT_INSTALLED = "agent_not_installed"
    TASK_INVALID = "task_invalid"
    MACHINE_FAULT = "machine_fault"
    RATE_LIMIT = "rate_limit"
    OVERLOAD = "overload"
    CONNECTION = "connection"
    AUTH = "auth"
    QUOTA = "quota"
    MODEL_UNKNOWN = "model_unknown"
    CANCELLED = "cancelled"
    KILLED = "killed"
    RECORD_BROKEN = "record_broken"

    VERIFIED = "verified"
    NO_REWARD = "no_reward"
    UNREADABLE = "unreadable"
    VERIFIER_TIMEOUT = "verifier_timeout"
    UNREPLAYABLE = "unreplayable"
    VERIFIER_KILLED = "verifier_killed"
    VERIFICATION_ERROR = "verification_error"
    VERIFICATION_KILLED = "verification_killed"


class Fate(StrEnum):
    """What becomes of a unit that ended in some way."""

    RETRIED = "retried"
    GRADED = "graded"
    """It is a result like any other and stands."""
    INVALID = "invalid"
    """It is no result and is not tried again by itself; `loopscope run --again` does."""


class When(StrEnum):
    """When it is tried again."""

    AT_ONCE = "at once, after a pause"
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
    EndingKind.VERIFICATION_ERROR: _again("the sandbox, the upload or Harbor failed"),
    EndingKind.VERIFICATION_KILLED: _again("the engine died; nothing was recorded"),
}
"""Every kind has its row; `docs/design/engine.md` prints it."""

VERIFICATION_KINDS: Mapping[VerificationStatus, EndingKind] = {
    VerificationStatus.OK: EndingKind.VERIFIED,
    VerificationStatus.NO_REWARD: EndingKind.NO_REWARD,
    VerificationStatus.UNREADABLE: EndingKind.UNREADABLE,
    VerificationStatus.TIMEOUT: EndingKind.VERIFIER_TIMEOUT,
    VerificationStatus.UNREPLAYABLE: EndingKind.UNREPLAYABLE,
    VerificationStatus.ERROR: EndingKind.VERIFICATION_ERROR,
}

_BY_EXCEPTION: Mapping[str, EndingKind] = {
    # Harbor's own (agents/installed/base.py, vibe.py), then what agents in this process raise (litellm, SDKs).
    **dict.fromkeys(("ApiRateLimitError", "RateLimitError", "RequestThrottled"), EndingKind.RATE_LIMIT),
    **dict.fromkeys(
        ("ApiOverloadedError", "ApiInternalServerError", "OverloadedError", "ServiceUnavailableError"),
        EndingKind.OVERLOAD,
    ),
    **dict.fromkeys(("InternalServerError", "BadGatewayError"), EndingKind.OVERLOAD),
    **dict.fromkeys(
        ("ApiConnectionClosedError", "ApiResponseStalledError", "ApiConnectionError", "NetworkConnectionError"),
        EndingKind.CONNECTION,
    ),
    **dict.fromkeys(("APIConnectionError", "APITimeoutError"), EndingKind.CONNECTION),
    **dict.fromkeys(("ApiUsageLimitError", "BudgetExceededError"), EndingKind.QUOTA),
    **dict.fromkeys(
        ("AgentAuthenticationError", "AuthenticationError", "MissingModelCredentialError", "PermissionDeniedError"),
        EndingKind.AUTH,
    ),
    **dict.fromkeys(
        ("ModelNotFoundError", "UnsupportedModelParametersError", "ApiProviderResourceNotFoundError"),
        EndingKind.MODEL_UNKNOWN,
    ),
}
_UNSAID = frozenset({"UnknownApiError", "ApiError", "APIError", "APIStatusError", "HTTPStatusError"})
"""Errors of a provider whose message alone says of what kind they are."""
_BY_MESSAGE = (
    (re.compile(r"insufficient_quota|credit balance|usage limit|quota exceeded", re.IGNORECASE), EndingKind.QUOTA),
    (re.compile(r"\b429\b|rate.?limit|too many requests", re.IGNORECASE), EndingKind.RATE_LIMIT),
    (re.compile(r"\b(401|403)\b|invalid.{0,3}(x-)?api.key|unauthorized", re.IGNORECASE), EndingKind.AUTH),
    (re.compile(r"\b(500|502|503|504|529)\b|overloaded|unavailable", re.IGNORECASE), EndingKind.OVERLOAD),
)
PROVIDER_TROUBLES = frozenset(_BY_EXCEPTION.values())
_TASK_ERRORS = frozenset({"DockerfileError", "UnsupportedDockerfileError", "TaskError"})
_SANDBOX_DIED = "SandboxGoneError"
_SET_UP_ERRORS = frozenset({"AgentSetupTimeoutError"})
_MACHINE_ERRORS = frozenset({"OSError", "MemoryError"})
_MACHINE_ERRNO = re.compile(r"\[Errno (?:5|12|23|24|28|30|122)\]")
"""EIO, ENOMEM, ENFILE, EMFILE, ENOSPC, EROFS, EDQUOT, as this process's errors begin."""


@runtime_checkable
class Failed(Protocol):
    """Something that says with which exception it failed (`TrialOutcome` does)."""

    @property
    def failure(self) -> tuple[str, str] | None:
        """(exception type, message)."""


def provider_trouble(exception: str, message: str) -> EndingKind | None:
    """Which trouble with a model's provider an exception of an agent's run tells; None when it tells of none."""
    if exception in _UNSAID:
        return next((kind for pattern, kind in _BY_MESSAGE if pattern.search(message)), None)
    return _BY_EXCEPTION.get(exception)


def is_provider_trouble(ended: RunRecord | Failed) -> EndingKind | None:
    """The same of a rollout's record or of a trial's outcome: `rate_limit`, `overload`, `auth`, ... or None."""
    if isinstance(ended, RunRecord):
        kind = kind_of(ended)
        return kind if kind in PROVIDER_TROUBLES else None
    return provider_trouble(*ended.failure) if ended.failure else None


def is_machine_error(exception: str, message: str) -> bool:
    """Whether an exception, as a trial tells it, speaks of this machine: raised here, not quoted from a sandbox."""
    return exception == "MemoryError" or (exception in _MACHINE_ERRORS and bool(_MACHINE_ERRNO.match(message)))


def main_problem(problems: Collection[Problem]) -> Problem | None:
    """What a rollout failed with: the first problem of its run, remarks of the agent's and on its repository aside."""
    stages = (NOT_STARTED, SET_UP, "agent", "harvest")
    return next((p for p in problems if p.stage in stages and p.kind != "agent_report"), None)


def kind_of(record: RunRecord) -> EndingKind:
    """The row of the table that a rollout's record belongs to."""
    if record.status is RunStatus.COMPLETED:
        return EndingKind.COMPLETED
    if record.status is RunStatus.DEADLINE:
        return EndingKind.DEADLINE
    return kind_of_failure(record.problems, final=record.status is RunStatus.AGENT_ERROR)


def kind_of_failure(problems: Collection[Problem], *, final: bool) -> EndingKind:
    """The same, of what went wrong; `final`: the rollout is graded as it stands."""
    names = {problem.kind for problem in problems}
    if "workspace_too_large" in names:
        return EndingKind.WORKSPACE_TOO_LARGE
    if "no_workspace" in names:
        return EndingKind.WORKSPACE_LOST_AGAIN if final else EndingKind.WORKSPACE_LOST
    main = main_problem(problems)
    if main is None:
        return EndingKind.AGENT_FAILED if final else EndingKind.SANDBOX_FAILED
    if is_machine_error(main.kind, main.message):
        return EndingKind.MACHINE_FAULT
    if main.stage == "agent" and main.kind == _SANDBOX_DIED:
        return EndingKind.SANDBOX_DIED
    if main.stage == "agent":
        return provider_trouble(main.kind, main.message) or EndingKind.AGENT_FAILED
    if main.stage == "harvest":
        return EndingKind.WORKSPACE_LOST
    return _before_the_agent(main)


def _before_the_agent(problem: Problem) -> EndingKind:
    if problem.kind == "MissingTools":
        return EndingKind.TOOL_MISSING
    if problem.kind in _TASK_ERRORS:
        return EndingKind.TASK_INVALID
    trouble = provider_trouble(problem.kind, problem.message)
    if trouble in (EndingKind.AUTH, EndingKind.QUOTA, EndingKind.MODEL_UNKNOWN):
        return trouble
    if problem.stage == SET_UP or problem.kind in _SET_UP_ERRORS:
        return EndingKind.AGENT_NOT_INSTALLED
    return EndingKind.SANDBOX_FAILED


def left_work(record: RunRecord) -> bool:
    """Whether an agent left anything of its own in a try; where that cannot be told it counts as left."""
    if record.timings.agent_sec is None:
        return False
    initial = {record.clean_initial, record.ambiguous_initial}
    return record.uncommitted is not False or any(commit.sha not in initial for commit in record.commits)


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


def stands(verification: Verification, deadline_sec: float) -> bool:
    """Whether a verification counts under the study's present deadline, or is to be done again."""
    return status_stands(verification.status, verification.verifier_timeout_sec, deadline_sec)


def status_stands(status: VerificationStatus, limit_sec: float, deadline_sec: float) -> bool:
    """The same, of a verification that ended so under the deadline `limit_sec`."""
    if status is VerificationStatus.TIMEOUT:
        return limit_sec >= deadline_sec
    return POLICY[VERIFICATION_KINDS[status]].fate is Fate.GRADED
