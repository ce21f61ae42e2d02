"""What the evidence room finds in a run: windows, the proposal gate, grades (`runs/<run-id>/evidence.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from loopscope.models.base import Migration, Record, Versioned, same_fields


class Grade(StrEnum):
    """How well a checkpoint's score is known."""

    OFFICIAL = "official"
    """The task's verifier scored it, in a sandbox that the agent never touched."""
    REPORTED = "reported"
    """The task's verifier gave it in the agent's own sandbox, and the imported log says so. Only of final scores."""
    CONFIRMED = "confirmed"
    """Reconstructed: the commit is confirmed, and the task's own evaluation surely ran on exactly its state."""
    INFERRED = "inferred"
    """Reconstructed, with a doubt: about the commit, about the state, or about the order of the log."""
    PROXY = "proxy"
    """Only a claim or a partial evaluation: nothing that the task's formula was made for."""
    MISSING = "missing"
    """Nothing shows it."""


class EvidenceSource(StrEnum):
    """From where a checkpoint is known."""

    REPOSITORY = "repository"
    """From the repository that the agent left."""
    TRANSCRIPT = "transcript"
    """From the transcript alone."""
    BOTH = "both"
    """From the repository, and seen in the transcript."""


class BuildStatus(StrEnum):
    """How a build ended, as far as the transcript shows."""

    SUCCEEDED = "succeeded"
    """It made what it was to make."""
    CODE_FAILURE = "code_failure"
    """The code is wrong."""
    ENVIRONMENT_FAILURE = "environment_failure"
    """Something that it needs was absent: a compiler, a library, room."""
    UNKNOWN = "unknown"
    """Nothing shows it."""


class EvaluationStatus(StrEnum):
    """What became of an objective evaluation."""

    RESULT = "result"
    """It printed what is looked for."""
    FAILED = "failed"
    """It ran, and the solution was wrong or broke."""
    NO_RESULT = "no_result"
    """Nothing that is looked for is shown."""
    ENVIRONMENT_FAILURE = "environment_failure"
    """The environment failed it; it counts for nothing."""


class Moment(Record):
    """Where in the transcript something happened."""

    message: int
    """Index of the message, line or step that called, in the thread's own log."""
    call: int
    """Position of the call among the thread's calls."""
    order: int = 0
    """Of the command within the call's script; 0 for tools that hold one."""
    thread: str = "main"
    """Name of the thread, where it is a subagent's."""


class BuildSeen(Record):
    """One invocation of a build tool, or an evaluation that is known to build by itself."""

    at: Moment
    """Where it was called."""
    tool: str
    """`make`, `cargo build`, ...; of a built-in agent's step: the kind of the step."""
    status: BuildStatus
    """How it ended."""
    reason: str
    """By what that is known, in words."""
    runtime_failure: bool = False
    """It built, and what it then ran failed."""
    counted: bool = True
    """Enters b and, as a code failure, n. Scratch programs do not."""
    state: str | None = None
    """State of the artifact that it built: a name that is equal for equal states of the run; None when unknown."""
    checkpoint: int | None = None
    """Position of the checkpoint whose window it is in; None behind the last."""


class EvaluationSeen(Record):
    """One objective evaluation."""

    at: Moment
    """Where it was called."""
    command: str
    """Normalised: two that are equal on one state are one candidate pair."""
    role: str
    """`score` gives the number that counts, `part` that of a part, `check` only right or wrong."""
    status: EvaluationStatus
    """How it ended."""
    raw: tuple[Decimal, ...] = ()
    """What it printed, in the task's unit."""
    rewards: tuple[Decimal, ...] = ()
    """The same through the evaluator's formula; empty without one, or when the evaluation is not the task's own."""
    reason: str = ""
    """By what that is known, in words."""
    state: str | None = None
    """State of the artifact that it measured; None when unknown."""
    certain: bool = False
    """The state is surely the one that was measured."""
    builds: bool | None = None
    """It builds by itself; None where nothing shows it."""
    counted: bool = True
    """Enters a. Profiled runs do not."""
    checkpoint: int | None = None
    """Position of the checkpoint whose window it is in; None behind the last."""
    result_message: int | None = None
    """Index of the message that shows the values."""


class Reconstructed(Record):
    """A score made of evaluations in the transcript. Never an official one, and marked so wherever it is shown."""

    value: Decimal
    """Median of the rewards (the lower middle of an even number)."""
    low: Decimal
    """The lowest of the rewards."""
    high: Decimal
    """The highest of them."""
    evaluations: tuple[int, ...]
    """Positions in `RunEvidence.evaluations` of those that it is made of."""
    reason: str
    """How it came about, in words."""


class CheckpointEvidence(Record):
    """One commit of the run, as the measures will take it."""

    sha: str
    """Of the commit; of an imported run as far as the log shows it, else `m<message>.<order>`."""
    canonical: bool
    """Passed the proposal gate."""
    initial: bool
    """The clean initial state: a score boundary, not an agent round."""
    ambiguous_initial: bool = False
    """The first commit, when the path audit can call it neither clean nor changed: no attempt, no boundary."""
    reason: str
    """Why the gate kept or removed it; for a person to audit."""
    grade: Grade
    """How well its score is known."""
    delivered: bool | None = None
    """g_i of Appendix C.3: ran to completion and, where there is a gate, passed it. None: not observable."""
    delivered_reason: str = ""
    """What shows that, in words."""
    builds: int | None = None
    """b_i: build invocations in the window since the previous retained commit, evaluations that build by themselves
    among them. None without a matched transcript, and where nothing shows whether the evaluations build."""
    build_failures: int | None = None
    """n_i: those that failed because of the code; None without a matched transcript."""
    env_failures: int | None = None
    """Builds and evaluations in the window that the environment failed; None without a matched transcript."""
    candidates: int | None = None
    """a: distinct (state, evaluation command) pairs in the window."""
    evaluated_before_commit: bool | None = None
    """The committed state had been evaluated locally before the commit."""
    builds_by_state: int | None = None
    """Build invocations on the very artifact that was committed, whenever in the run; None where unknown."""
    build_failures_by_state: int | None = None
    """Those of `builds_by_state` that failed because of the code; None where unknown."""
    candidates_by_state: int | None = None
    """Distinct evaluation commands that were run on it."""
    source: EvidenceSource = EvidenceSource.REPOSITORY
    """From where it is known."""
    subject: str = ""
    """First line of the message, as git shows it, else as the shell expanded it; an agent's text."""
    kind: str | None = None
    """What the transcript shows of it: initial, change+hypothesis, round, revert, administrative, other."""
    at: Moment | None = None
    """The call that made it; None where no transcript shows it."""
    confirmed_by: str | None = None
    """By what it is known that it happened: repository, output, history, exit, none."""
    state: str | None = None
    """State of the artifact that it holds, in the words of builds and evaluations; None when unknown."""
    reconstructed: Reconstructed | None = None
    """Its score by evaluations of its state in the transcript, beside an official one or in its place."""
    claimed: Decimal | None = None
    """The score or metric that the agent's own message claims; None when it claims none."""
    remarks: tuple[str, ...] = ()
    """What is odd about it: a gain within the noise, a changed seed, a suspicious jump, in words."""


class HarnessSupport(Record):
    """How the harness's own tools were used, the same classes for all harnesses. Counts over all threads."""

    plan_calls: int = 0
    """Calls of task and to-do tools and of plan mode."""
    failed_calls: int = 0
    """Tool calls that failed or that the harness refused as invalid."""
    failed_then_changed: int = 0
    """Those that the same tool was called again for, with changed arguments, before any other tool succeeded."""
    compactions: int = 0
    """How often the context was cut down to a summary."""
    resumes: int = 0
    """How often the session was taken up again."""
    subagents: int = 0
    """How many were started."""
    background: int = 0
    """Commands that went on in the background."""


class RunEvidence(Versioned):
    """All checkpoints of a run in order, and what holds for the whole run."""

    schema_version: int = 3
    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {1: same_fields, 2: same_fields}
    SEALED_SINCE: ClassVar[int | None] = 2

    run_id: str
    """Of the run."""
    checkpoints: tuple[CheckpointEvidence, ...]
    """One for each commit of the record, in its order; of an imported run, one for each commit of the transcript."""
    transcript_matched: bool
    """A transcript exists and its commits were found in the repository; of an imported run, it holds a commit."""
    tool_calls: int | None = None
    """Interaction steps of the transcript, all threads; None without a readable one."""
    warnings: tuple[str, ...] = ()
    """What was passed over or guessed, in words."""
    inputs: str = ""
    """Digest of everything that this was made of, the code's own version included: equal ones need no second look."""
    builds: tuple[BuildSeen, ...] = ()
    """In order; b and n of the windows can be counted from them."""
    evaluations: tuple[EvaluationSeen, ...] = ()
    """In order; a can be counted from them."""
    states: int | None = None
    """How many different states of the artifact the transcript shows; None without one."""
    final: Reconstructed | None = None
    """Score of the last state, of a run that no verifier scored."""
    final_grade: Grade = Grade.MISSING
    """How well the final score is known."""
    final_reason: str = ""
    """Why no final score could be reconstructed, in words; empty where one was, and where a verifier scored the run."""
    noise_band: Decimal | None = None
    """Median of the spreads of rewards of states that were measured more than once: by the verifier, else by the agent
    with the same command. None where none was."""
    order_checked: bool | None = None
    """The log's order is the order in time, as far as it can be checked; None without a transcript."""
    disagreements: tuple[str, ...] = ()
    """Where repository and transcript say different things, in words."""
    support: HarnessSupport | None = None
    """How the harness's tools were used; None without a transcript."""
