"""The commits of a repository in the order they were made: reflog, ancestry, then claimed time.

A commit is never lost because history was rewritten: what reflog and object store still hold is found and
marked with its origin.
"""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from dulwich.objects import Commit as GitCommit

from loopscope.models import Commit, CommitOrigin
from loopscope.records.repository import Repository
from loopscope.records.salvage import check_commit

MAX_COMMITS = 5_000
MAX_MESSAGE = 64 << 10
MAX_MESSAGES = 4 << 20
"""Bytes of all messages together; those after it keep `SHORT_MESSAGE` each."""
SHORT_MESSAGE = 200
MAX_PARENTS = 64
"""Of one commit; git itself merges no more than 16 at once."""
_LOG_LINE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) [^\n]*?> (-?\d{1,12}) [+-]\d{4}(?:\t([^\n]*))?")


@dataclass(frozen=True)
class LogEntry:
    """One line of HEAD's reflog."""

    old: str
    new: str
    time: int
    message: str


@dataclass(frozen=True)
class History:
    """What a repository tells about the run."""

    commits: tuple[Commit, ...]
    head: str | None
    rewritten: bool
    """Some commit that was once made is not an ancestor of HEAD (reset, amend, rebase, deleted branch)."""
    notes: tuple[str, ...] = ()


def read_reflog(repository: Repository) -> list[LogEntry]:
    """HEAD's reflog, oldest first; lines that do not parse are skipped."""
    path = repository.path / "logs" / "HEAD"
    if not path.is_file():
        return []
    entries = []
    for line in path.read_bytes().splitlines():
        if match := _LOG_LINE.fullmatch(line):
            message = (match[4] or b"").decode("utf-8", "replace")
            entries.append(LogEntry(match[1].decode(), match[2].decode(), int(match[3]), message))
    return entries


def read_history(repository: Repository) -> History:
    """Find every commit, put them in order and mark those that were replaced."""
    log = read_reflog(repository)
    found = _all_commits(repository)
    notes: tuple[str, ...] = ()
    if len(found) > MAX_COMMITS:
        keep = sorted(found.values(), key=lambda c: c.commit_time)[:MAX_COMMITS]
        notes = (f"{len(found)} commits; the first {MAX_COMMITS} by time are read",)
        found = {c.id.decode(): c for c in keep}
    head = _head(repository, found)
    from_head = _ancestors(found, [head] if head else [])
    from_refs = _ancestors(found, [sha.decode() for sha in repository.repo.refs.as_dict().values()])
    in_log = {entry.new for entry in log}

    def origin(sha: str) -> CommitOrigin:
        if sha in from_head:
            return CommitOrigin.HEAD
        if sha in from_refs:
            return CommitOrigin.REF
        return CommitOrigin.REFLOG if sha in in_log else CommitOrigin.DANGLING

    ordered = _order(found, log)
    replaced = _superseded(found, ordered, log, repository)
    messages, left_out = _messages(found, ordered)
    notes += tuple(filter(None, (left_out, _many_parents(found, ordered))))
    commits = tuple(
        Commit(
            sha=sha,
            tree=found[sha].tree.decode(),
            scored_tree=repository.scored_tree(found[sha].tree),
            parents=tuple(p.decode() for p in found[sha].parents[:MAX_PARENTS]),
            message=messages[sha].decode("utf-8", "replace"),
            author_time=_time(found[sha].author_time),
            commit_time=_time(found[sha].commit_time),
            origin=origin(sha),
            superseded_by=replaced.get(sha),
        )
        for sha in ordered
    )
    return History(commits, head, any(c.origin is not CommitOrigin.HEAD for c in commits), notes)


def _messages(found: dict[str, GitCommit], ordered: list[str]) -> tuple[dict[str, bytes], str]:
    """The messages, cut, and what is to be said of that: the record that holds them must stay one that can be read."""
    left, cut, messages = MAX_MESSAGES, 0, {}
    for sha in ordered:
        whole = found[sha].message[:MAX_MESSAGE]
        messages[sha] = whole if len(whole) <= left else whole[:SHORT_MESSAGE]
        cut += messages[sha] != whole
        left -= len(messages[sha])
    if not cut:
        return messages, ""
    return messages, f"{cut} messages are cut: all together they have more than {MAX_MESSAGES >> 20} MiB"


def _many_parents(found: dict[str, GitCommit], ordered: list[str]) -> str:
    many = sum(len(found[sha].parents) > MAX_PARENTS for sha in ordered)
    return f"{many} commits name more than {MAX_PARENTS} parents; the others are left out" if many else ""


def _all_commits(repository: Repository) -> dict[str, GitCommit]:
    commits = {}
    for sha in repository.repo.object_store:
        try:
            obj = repository.repo.object_store[sha]
            if isinstance(obj, GitCommit):
                # Attributes are parsed on first access: do it here, where a damaged commit costs only itself.
                check_commit(obj)
                commits[sha.decode()] = obj
        except Exception:  # noqa: S112  # dulwich raises many kinds on damaged objects
            continue
    return commits


def _head(repository: Repository, found: dict[str, GitCommit]) -> str | None:
    try:
        sha = repository.repo.head().decode()
    except (KeyError, ValueError):
        return None
    return sha if sha in found else None


def _ancestors(found: dict[str, GitCommit], tips: list[str]) -> set[str]:
    seen: set[str] = set()
    stack = [sha for sha in tips if sha in found]
    while stack:
        sha = stack.pop()
        if sha not in seen:
            seen.add(sha)
            stack += [p.decode() for p in found[sha].parents if p.decode() in found]
    return seen


def _order(found: dict[str, GitCommit], log: list[LogEntry]) -> list[str]:
    """Parents before children; among those ready, the earliest by reflog time (else commit time), then by log line."""
    line: dict[str, tuple[int, int]] = {}
    for index, entry in enumerate(log):
        line.setdefault(entry.new, (entry.time, index))
    key = {sha: (*line.get(sha, (c.commit_time, len(log))), sha) for sha, c in found.items()}
    waiting = {sha: {p.decode() for p in c.parents if p.decode() in found} for sha, c in found.items()}
    children: dict[str, list[str]] = {}
    for sha, parents in waiting.items():
        for parent in parents:
            children.setdefault(parent, []).append(sha)
    ready = [key[sha] for sha, parents in waiting.items() if not parents]
    heapq.heapify(ready)
    ordered = []
    while ready:
        sha = heapq.heappop(ready)[-1]
        ordered.append(sha)
        for child in children.get(sha, []):
            waiting[child].discard(sha)
            if not waiting[child]:
                heapq.heappush(ready, key[child])
    return ordered


def _superseded(
    found: dict[str, GitCommit], ordered: list[str], log: list[LogEntry], repository: Repository
) -> dict[str, str]:
    """Commits that were replaced by a later one: amended, or an initial commit that was made again.

    Without a reflog an amend is known by equal parents and an equal author date, which git keeps.
    """
    replaced = {e.old: e.new for e in log if "(amend)" in e.message and e.old in found and e.new in found}
    rank = {sha: index for index, sha in enumerate(ordered)}
    latest: dict[tuple[tuple[bytes, ...], int, bytes], str] = {}
    roots: dict[str, str] = {}
    for sha in ordered:
        commit = found[sha]
        identity = (tuple(commit.parents), commit.author_time, commit.author)
        if not log and identity in latest and commit.commit_time != found[latest[identity]].commit_time:
            replaced.setdefault(latest[identity], sha)
        latest[identity] = sha
        if not commit.parents:
            tree = repository.scored_tree(commit.tree)
            if tree in roots:
                replaced.setdefault(roots[tree], sha)
            roots[tree] = sha
    return {old: new for old, new in replaced.items() if old != new and rank[old] < rank[new]}


def _time(seconds: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
