"""The record of one rollout: what ran, how it ended, what it left."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import Field

from loopscope.models.base import Migration, Record, Versioned, same_fields
from loopscope.models.usage import Usage


class RunStatus(StrEnum):
    """How a rollout ended. All but `environment_error` leave a workspace that is scored."""

    COMPLETED = "completed"
    """The agent ended by itself."""
    DEADLINE = "deadline"
    """The agent used its whole budget and was stopped; the normal end of a long run."""
    AGENT_ERROR = "agent_error"
    """The agent failed, or the last try that was allowed it did; what it left is scored."""
    ENVIRONMENT_ERROR = "environment_error"
    """Sandbox, provider or machine failed before there was a result; nothing of it is scored."""
    UNKNOWN = "unknown"
    """Imported, and its log does not say how it ended."""


class Problem(Record):
    """Something that went wrong, for people: what, where, and what to do."""

    kind: str
    """Short machine-readable name, e.g. `AgentTimeoutError`, `no_repository`, `history_rewritten`."""
    stage: str
    """plan, environment, agent, harvest, scoring."""
    message: str
    """One line, at most 2,000 characters; texts of an agent in it are hostile."""


class Timings(Record):
    """Seconds by phase; None when the phase did not happen."""

    environment_sec: float | None = None
    """Making and filling the sandbox."""
    agent_sec: float | None = None
    """The agent's own run, its installation left out."""
    harvest_sec: float | None = None
    """Reading what came out of the sandbox, until the record was written."""
    total_sec: float | None = None
    """From the start of the try to its record, waiting for the sandbox and bringing the workspace out among it."""


class CommitOrigin(StrEnum):
    """From where a commit is known, the strongest first."""

    HEAD = "head"
    """Reached from HEAD."""
    REF = "ref"
    """Reached from another branch or tag."""
    REFLOG = "reflog"
    """Named by a reflog alone: replaced or left behind."""
    DANGLING = "dangling"
    """An object that nothing names any more."""


class Commit(Record):
    """One commit of the agent's repository. Texts are the agent's and hostile; times are the agent's claim."""

    sha: str
    """Id, hexadecimal."""
    tree: str
    """Id of its whole tree."""
    scored_tree: str
    """Id of the tree without bookkeeping (journal, root .gitignore, snapshots)."""
    snapshot: str | None = None
    """Directory of the workspace that archives this commit's large outputs (`output_snapshot/<commit>_<time>`)."""
    snapshot_id: str | None = None
    """Digest of the snapshot's files."""
    parents: tuple[str, ...]
    """Shas, as the commit names them; some may be missing from the repository."""
    message: str
    """Whole message, decoded with replacement, cut at 64 KiB."""
    author_time: datetime | None = None
    """The agent's claim; None when it is no time."""
    commit_time: datetime | None = None
    """The agent's claim; None when it is no time."""
    origin: CommitOrigin
    """From where it is known."""
    superseded_by: str | None = None
    """Sha of the commit that replaced it (amend, re-created repository): counted once, the last."""

    @property
    def state(self) -> str:
        """What is replayed and scored: the tree and, where there is one, its snapshot. Names the score's file."""
        return f"{self.scored_tree}x{self.snapshot_id[:16]}" if self.snapshot_id else self.scored_tree

    @property
    def subject(self) -> str:
        """First line of the message."""
        return self.message.strip().split("\n", 1)[0].strip()


class LimitState(StrEnum):
    """Whether a resource limit of the sandbox really holds."""

    ENFORCED = "enforced"
    """The kernel holds it; what would pass it fails or is killed."""
    WATCHED = "watched"
    """Seen at intervals from outside: for a moment more may be used, then processes are killed."""
    ABSENT = "absent"
    """Nothing holds it."""


class Limit(Record):
    """One resource limit of a sandbox: what was set, by what, and what happened to it."""

    state: LimitState
    """Whether it held."""
    means: str = ""
    """What holds it, such as `cgroup v1`, `tmpfs`, `loop image`, `rlimit`, `watchdog`; or why it is absent."""
    value: int | None = None
    """What was set: bytes (memory, disk), processes (pids), thousandths of a processor (cpu); None for network."""
    peak: int | None = None
    """The greatest use that was seen, in the unit of `value` (cpu: over the whole rollout); None when not observed."""
    hits: int | None = None
    """How often it was met: processes killed or refused; None when that cannot be told."""


class ReportedReward(Record):
    """A reward that an imported log states: the task's verifier gave it, but in the agent's own sandbox."""

    reward: Decimal
    """As the log has it."""
    where: str
    """File and field of the log that it was read from."""


class Imported(Record):
    """Where a run comes from that loopscope did not do itself."""

    format: str
    """Of its log, as `loopscope import --format` names it."""
    format_version: str | None = None
    """As the log states it."""
    log: str
    """Name of what was read, relative to the path that was given: an agent's text may be in it."""
    digest: str
    """sha256 of the canonical transcript (`canonical.json.zst`, unpacked): the same log is imported once."""
    sessions: tuple[str, ...] = ()
    """Ids of the sessions, as the log names them."""
    usage_source: str = "none"
    """Which field of the log tokens were taken from."""
    usage_completeness: str = "unknown"
    """complete, partial or unknown."""
    claimed_cost_usd: Decimal | None = None
    """Money as the log claims it."""
    reported: ReportedReward | None = None
    """The final reward that the log itself states; None where it states none."""
    notes: tuple[str, ...] = ()
    """What its reader could not take, or took with a reservation."""


def _v1_to_v2(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 told of each limit only whether it holds, and named no unit."""
    limits = data.get("limits")
    if isinstance(limits, dict):
        data["limits"] = {name: {"state": state} for name, state in limits.items()}
    return data


class RunRecord(Versioned):
    """`runs/<run-id>/record.json`: written once, when the rollout is harvested."""

    schema_version: int = 3
    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {1: _v1_to_v2, 2: same_fields}
    SEALED_SINCE: ClassVar[int | None] = 2

    run_id: str
    """`<task>__<label>__s<seed>`; the name of its directory."""
    unit: str | None = None
    """The rollout's name by content: digest of its `UnitIdentity`. None in records of version 1."""
    tries: int = 1
    """How many times the rollout was begun, this one included; earlier ones lie in `attempts/`."""
    study: str
    """Name of the study."""
    task: str
    """Name of the task."""
    task_hash: str | None
    """Content hash of the prepared task, as in `PreparedTask`; None for an imported run."""
    category: str
    """The task's family."""
    agent: str
    """The label in tables."""
    harness: str
    """Agent name and version, e.g. `search 1`."""
    model: str | None = None
    """`provider/model`; None for an agent that calls none."""
    seed: int
    """As the agent was given it."""
    status: RunStatus
    """How it ended."""
    problems: tuple[Problem, ...] = ()
    """What went wrong: first that which decided the status, then remarks on what was left."""
    started_at: datetime | None
    """When this try began; None where an imported log has no times."""
    finished_at: datetime | None
    """When the record was written; never before `started_at`, whatever the clock did. Of an imported run, the last time
    in its log."""
    timings: Timings
    """Seconds by phase."""
    budget_sec: float | None
    """Seconds that the agent was given; None where an imported log does not say."""
    environment: str
    """`local`, Harbor's type or an import path."""
    limits: dict[str, Limit] = Field(default_factory=dict)
    """By resource: network, cpu, memory, pids, disk."""
    usage: Usage
    """Tokens and money."""
    commits: tuple[Commit, ...] = ()
    """In the order they were made, as far as the repository tells (reflog, then ancestry, then time)."""
    clean_initial: str | None = None
    """Sha of the first commit, when a path audit shows every artifact path as the prepared task had it."""
    ambiguous_initial: str | None = None
    """Sha of the first commit, when no prepared path that it tracks differs but some are left out or others were added:
    no attempt of the agent's, and no sure boundary either."""
    head: str | None = None
    """Sha that HEAD named at the end; None without a commit."""
    uncommitted: bool | None = None
    """The frozen workspace differs from HEAD's tree; None when there is no repository."""
    has_transcript: bool = False
    """`transcript.json` is there."""
    versions: dict[str, str] = Field(default_factory=dict)
    """loopscope, harbor, python."""
    imported: Imported | None = None
    """Where it comes from, of an imported run: no workspace, no repository and no official score."""
