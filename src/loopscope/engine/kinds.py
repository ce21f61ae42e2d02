"""What kind of ending a rollout or a verification had: one of the rows of the table in `policy.py`. Needs no Harbor."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Protocol, runtime_checkable

from loopscope.models import Problem, RunRecord, RunStatus, VerificationStatus

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
SANDBOX_DIED = "SandboxGoneError"
"""Name of the problem that a sandbox was gone while the agent worked in it, raised by the agent or told by its end."""
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
    if main.stage == "agent" and main.kind == SANDBOX_DIED:
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
