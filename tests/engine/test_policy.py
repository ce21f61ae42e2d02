"""The table of endings: every kind has its row, every record finds it, and no agent gains by failing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from finished_run import NOON, failure
from harbor.agents.installed import base
from harbor.models.trial.result import TrialResult
from hypothesis import given, settings
from hypothesis import strategies as st

from loopscope.engine import kinds
from loopscope.engine.ending import Ending, ending_of, ending_of_fault
from loopscope.engine.jobs import TrialOutcome
from loopscope.engine.kinds import VERIFICATION_KINDS, EndingKind, is_provider_trouble, kind_of
from loopscope.engine.policy import POLICY, Fate, When, fate_of, left_work, retried_at_once
from loopscope.models import (
    Commit,
    CommitOrigin,
    RunRecord,
    RunStatus,
    Timings,
    Usage,
    VerificationStatus,
)
from loopscope.records.completeness import settles

PAGE = Path(__file__).parents[2] / "docs/design/engine.md"
ENVIRONMENT, AGENT = RunStatus.ENVIRONMENT_ERROR, RunStatus.AGENT_ERROR


def record(status: RunStatus, *problems: tuple[str, str, str], worked: bool = True, **more: Any) -> RunRecord:
    """A record whose agent ran and, by default, left something uncommitted."""
    values = {
        "run_id": "t__a__s1",
        "study": "s",
        "task": "t",
        "task_hash": "h",
        "category": "c",
        "agent": "a",
        "harness": "a 1",
        "seed": 1,
        "status": status,
        "problems": [failure(*problem) for problem in problems],
        "started_at": NOON,
        "finished_at": NOON,
        "timings": Timings(agent_sec=5),
        "budget_sec": 60,
        "environment": "local",
        "usage": Usage(),
        "uncommitted": worked,
        **more,
    }
    return RunRecord.model_validate(values)


def commit(sha: str) -> Commit:
    return Commit(sha=sha, tree="t", scored_tree="t", parents=(), message="m", origin=CommitOrigin.HEAD)


def test_every_kind_has_its_row():
    assert set(POLICY) == set(EndingKind)
    assert set(VERIFICATION_KINDS) == set(VerificationStatus)


def test_the_page_on_the_engine_prints_the_table():
    lines = ["| ending | becomes | when again | how often | why |", "|---|---|---|---|---|"]
    for kind, row in POLICY.items():
        when = row.when.value if row.when else ""
        lines.append(f"| {kind.value.replace('_', ' ')} | {row.fate.value} | {when} | {row.bound} | {row.why} |")
    assert "\n".join(lines) in PAGE.read_text()


def test_rows_are_whole():
    for kind, row in POLICY.items():
        assert (row.fate is Fate.RETRIED) == (row.when is not None), kind
        assert row.fate is Fate.RETRIED or (row.tries, row.draws) == (None, None), kind


@pytest.mark.parametrize(
    ("ended", "kind", "fate"),
    [
        (record(RunStatus.COMPLETED), "completed", Fate.GRADED),
        (record(RunStatus.DEADLINE), "deadline", Fate.GRADED),
        (record(AGENT, ("RuntimeError", "agent", "model not found")), "agent_failed", Fate.GRADED),
        (record(AGENT, ("x", "agent", ""), ("workspace_too_large", "harvest", "")), "workspace_too_large", Fate.GRADED),
        (record(ENVIRONMENT, ("no_workspace", "harvest", "")), "workspace_lost", Fate.RETRIED),
        (record(AGENT, ("no_workspace", "harvest", "")), "workspace_lost_again", Fate.GRADED),
        (record(ENVIRONMENT, ("KeyError", "harvest", "traceback")), "workspace_lost", Fate.RETRIED),
        (record(ENVIRONMENT, ("SandboxError", "environment", "")), "sandbox_failed", Fate.RETRIED),
        (record(ENVIRONMENT, ("MissingTools", "environment", "lacks ghc")), "tool_missing", Fate.RETRIED),
        (record(ENVIRONMENT, ("AgentSetupTimeoutError", "environment", "")), "agent_not_installed", Fate.RETRIED),
        (record(ENVIRONMENT, ("NetworkConnectionError", "setup", "curl: (6)")), "agent_not_installed", Fate.RETRIED),
        (record(ENVIRONMENT, ("DockerfileError", "environment", "line 3")), "task_invalid", Fate.INVALID),
        (record(ENVIRONMENT, ("OSError", "agent", "[Errno 28] No space left on device")), "machine_fault", Fate.RETRIED),
        (record(AGENT, ("RuntimeError", "agent", "[Errno 28] No space left")), "agent_failed", Fate.GRADED),
        (record(ENVIRONMENT, ("ApiRateLimitError", "agent", "429")), "rate_limit", Fate.RETRIED),
        (record(ENVIRONMENT, ("ApiOverloadedError", "agent", "529")), "overload", Fate.RETRIED),
        (record(ENVIRONMENT, ("ApiConnectionClosedError", "agent", "")), "connection", Fate.RETRIED),
        (record(ENVIRONMENT, ("AgentAuthenticationError", "agent", "401")), "auth", Fate.RETRIED),
        (record(ENVIRONMENT, ("MissingModelCredentialError", "environment", "no key")), "auth", Fate.RETRIED),
        (record(ENVIRONMENT, ("ApiUsageLimitError", "agent", "")), "quota", Fate.RETRIED),
        (record(ENVIRONMENT, ("ModelNotFoundError", "agent", "")), "model_unknown", Fate.RETRIED),
        (record(ENVIRONMENT, ("UnknownApiError", "agent", "API Error: 529 overloaded_error")), "overload", Fate.RETRIED),
        (record(AGENT, ("UnknownApiError", "agent", "API Error: who knows")), "agent_failed", Fate.GRADED),
    ],
)  # fmt: skip
def test_each_record_finds_its_row(ended, kind, fate):
    assert (kind_of(ended), fate_of(ended)) == (EndingKind(kind), fate)


def test_remarks_are_not_taken_for_what_went_wrong():
    ended = record(AGENT, ("agent_report", "agent", "rate limit?"), ("ValueError", "agent", "x"))
    assert kind_of(ended) is EndingKind.AGENT_FAILED


def test_every_error_that_harbor_has_for_a_provider_is_placed():
    """A later Harbor with another kind of error fails here, rather than grading agents for their provider's trouble."""
    of_the_agent = {"OutputTokenExceededError", "ContextWindowExceededError", "AgentSafetyRefusalError"}
    found = {
        name
        for name, kind in vars(base).items()
        if isinstance(kind, type) and issubclass(kind, base.NonZeroAgentExitCodeError)
    }
    placed = {name for name in found if kinds.provider_trouble(name, "")}
    assert found - placed == {*of_the_agent, "NonZeroAgentExitCodeError", "ApiError", "UnknownApiError"}


@dataclass
class Outcome:
    failure: tuple[str, str] | None


def test_a_provider_s_trouble_is_told_of_records_and_outcomes():
    assert is_provider_trouble(record(ENVIRONMENT, ("ApiRateLimitError", "agent", "429"))) is EndingKind.RATE_LIMIT
    assert is_provider_trouble(record(AGENT, ("ApiRateLimitError", "agent", "429"))) is EndingKind.RATE_LIMIT
    assert is_provider_trouble(record(RunStatus.COMPLETED)) is None
    assert is_provider_trouble(Outcome(("ApiOverloadedError", ""))) is EndingKind.OVERLOAD
    assert is_provider_trouble(Outcome(None)) is None
    assert is_provider_trouble(Outcome(("RuntimeError", "rate limit"))) is None, "an agent may write what it likes"


@pytest.mark.parametrize("kind", [k for k, row in POLICY.items() if row.tries and k not in VERIFICATION_KINDS.values()])
def test_what_fails_again_and_again_becomes_invalid(kind):
    problems = {
        EndingKind.SANDBOX_FAILED: ("SandboxError", "environment", ""),
        EndingKind.AGENT_NOT_INSTALLED: ("x", "setup", ""),
    }
    exception = next((name for name, k in kinds._BY_EXCEPTION.items() if k is kind), "")
    problem = problems.get(kind, (exception, "agent", ""))
    most = POLICY[kind].tries
    fates = [fate_of(record(ENVIRONMENT, problem, tries=n)) for n in range(1, most + 2)]
    assert fates == [Fate.RETRIED] * (most - 1) + [Fate.INVALID] * 2


def test_at_once_or_at_the_next_start():
    assert retried_at_once(record(ENVIRONMENT, ("ApiRateLimitError", "agent", "")))
    assert not retried_at_once(record(ENVIRONMENT, ("ApiRateLimitError", "agent", ""), tries=12))
    assert not retried_at_once(record(AGENT, ("ApiRateLimitError", "agent", "")))
    assert not retried_at_once(record(ENVIRONMENT, ("SandboxError", "environment", "")))
    assert {row.when for row in POLICY.values()} == {None, *When}


@pytest.mark.parametrize(
    ("ended", "work"),
    [
        (record(AGENT, worked=True), True),
        (record(AGENT, worked=False), False),
        (record(AGENT, uncommitted=None), True),
        (record(AGENT, worked=False, commits=(commit("a"),), clean_initial="a"), False),
        (record(AGENT, worked=False, commits=(commit("a"),), ambiguous_initial="a"), False),
        (record(AGENT, worked=False, commits=(commit("a"), commit("b")), clean_initial="a"), True),
        (record(AGENT, timings=Timings()), False),
    ],
)
def test_what_counts_as_work(ended, work):
    assert left_work(ended) is work


def outcome(exception: str, message: str = "") -> TrialOutcome:
    """A trial whose agent ran and failed so."""
    result = TrialResult.model_construct(agent_execution=object(), agent_result=None, exception_info=None)
    return TrialOutcome(None, result, (exception, message) if exception else None)


def end(exception: str, *, has_workspace: bool = True, worked: bool = True, earlier: Any = ()) -> Ending:
    return ending_of(
        outcome(exception), has_workspace=has_workspace, too_large=False, worked=worked, earlier=earlier, redact=bytes
    )


@pytest.mark.parametrize("exception", ["", "AgentTimeoutError", "RuntimeError", "SandboxGoneError"])
def test_a_sandbox_that_died_decides_whatever_the_agent_says(exception):
    earlier: list[RunRecord] = []
    for expected in (ENVIRONMENT, AGENT):
        found = ending_of(
            outcome(exception),
            has_workspace=True,
            too_large=False,
            died="killed",
            worked=True,
            earlier=earlier,
            redact=bytes,
        )
        ended = record(found.status, *[(p.kind, p.stage, p.message) for p in found.problems])
        assert (found.status, kind_of(ended)) == (expected, EndingKind.SANDBOX_DIED)
        assert [p.kind for p in found.problems].count("SandboxGoneError") == 1
        earlier.append(ended)


AFTER_WORK = ["ApiRateLimitError", "ApiOverloadedError", "AgentAuthenticationError", "ApiUsageLimitError", "ModelNotFoundError", "OSError"]  # fmt: skip


@settings(deadline=None)
@given(
    tries=st.lists(
        st.tuples(st.sampled_from([*AFTER_WORK, "SandboxGoneError", ""]), st.booleans()), min_size=12, max_size=12
    )
)
def test_however_an_agent_fails_it_draws_three_times_at_most(tries):
    """Of all tries in which it left work, or lost its workspace, the third at the latest is graded."""
    earlier: list[RunRecord] = []
    for exception, has_workspace in tries:
        message = "[Errno 28] No space left on device" if exception == "OSError" else ""
        found = ending_of(
            outcome(exception, message),
            has_workspace=has_workspace,
            too_large=False,
            worked=True,
            earlier=earlier,
            redact=bytes,
        )
        if found.status is not ENVIRONMENT:
            break
        kept = {"uncommitted": True if has_workspace else None}
        earlier.append(record(found.status, *[(p.kind, p.stage, p.message) for p in found.problems], **kept))
    assert len(earlier) <= 2
    assert found.status is not ENVIRONMENT


def test_a_try_without_work_costs_no_draw_and_gains_none():
    earlier = [record(ENVIRONMENT, ("ApiRateLimitError", "agent", ""), worked=False)] * 9
    assert end("ApiRateLimitError", earlier=earlier).status is ENVIRONMENT
    assert end("ApiRateLimitError", worked=False, earlier=[record(ENVIRONMENT, ("ApiRateLimitError", "agent", ""))] * 2).status is ENVIRONMENT  # fmt: skip
    assert end("ApiRateLimitError", earlier=[record(ENVIRONMENT, ("ApiRateLimitError", "agent", ""))] * 2).status is AGENT  # fmt: skip


def test_our_own_fault_is_tried_once_more():
    fault = failure("KeyError", "harvest")
    first = ending_of_fault(fault, [])
    assert first.status is ENVIRONMENT
    assert ending_of_fault(fault, [record(ENVIRONMENT, ("KeyError", "harvest", ""), timings=Timings())]).status is AGENT
    assert ending_of_fault(failure("MissingTools", "environment"), []).status is ENVIRONMENT


@settings(deadline=None)
@given(status=st.sampled_from(VerificationStatus), limit=st.floats(1, 99), deadline=st.floats(1, 99))
def test_which_verifications_stand(status, limit, deadline):
    again = status is VerificationStatus.ERROR or (status is VerificationStatus.TIMEOUT and limit < deadline)
    assert settles(status, limit, deadline) is not again


def test_the_table_and_the_rule_for_verifications_agree():
    for status in VerificationStatus:
        graded = POLICY[VERIFICATION_KINDS[status]].fate is Fate.GRADED
        assert settles(status, 1, 1) is graded, status
