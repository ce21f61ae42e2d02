"""Every `git commit` of a thread: whether it happened, and by what that is confirmed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.commit_lines import CallReading, Lines, Shown, held_files
from loopscope.evidence.shell.commit_types import CommitFailure, CommitFinding, Confirmation
from loopscope.evidence.shell.git import GitCall, git_call
from loopscope.evidence.shell.history import Listing, confirm, histories
from loopscope.evidence.shell.messages import CommitOptions, commit_options, subject
from loopscope.evidence.shell.reached import StopCause
from loopscope.evidence.shell.staging import named_files

_MADE = re.compile(r"^\[([^\]\n]{1,200}?) ([0-9a-f]{7,40})\] ?(.*)$", re.MULTILINE)
"""What git prints when it has committed: `[branch (root-commit) hash] subject`."""
_COMMITTING = frozenset(["commit", "revert", "cherry-pick", "merge", "am"])
_SHOWING = frozenset(["cat", "tail", "head", "grep", "sed", "awk", "less", "echo", "printf", "git"])
_BY_CAUSE = {
    StopCause.FAILED: None,
    StopCause.KILLED: CommitFailure.KILLED,
    StopCause.UNREAD: CommitFailure.SYNTAX,
}
_NO_OPTIONS = CommitOptions(message=None, literal=False, amend=False, quiet=False, dry=False)
"""Of other verbs than `commit`."""


def find_commits(shells: Sequence[ShellCall]) -> list[CommitFinding]:
    """All invocations that make commits, in order.

    Args:
        shells: the shell calls of a thread.
    """
    found: list[CommitFinding] = []
    known: set[str] = set()
    for shell in shells:
        text = shell.text
        if "git" not in (shell.call.command or "") and "[" not in text[:20000]:
            continue
        shown = [
            Shown(
                match[1].split(" ")[0],
                "(root-commit)" in match[1],
                match[2],
                match[3].strip(),
                held_files(text, match.end()),
            )
            for match in (_MADE.finditer(text) if text.startswith("[") or "\n[" in text else ())
        ]
        made, left = _of_call(shell, shown)
        known.update(item.hash[:7] for item in made if item.hash)
        found += made
        found += _unread(shell, left, known)
    return _with_names(_with_roots(_with_history(found, shells)), shells)


def _with_names(found: list[CommitFinding], shells: Sequence[ShellCall]) -> list[CommitFinding]:
    places = Counter((item.position, item.order) for item in found if item.happened is not False)
    named = named_files(shells, places)
    # Of several commits by one command, which held what is not told.
    return [
        replace(item, named=named[place])
        if (place := (item.position, item.order)) in named and item.happened is not False and places[place] == 1
        else item
        for item in found
    ]


def _invocations(shell: ShellCall) -> list[tuple[SimpleCommand, GitCall, CommitOptions]]:
    result = []
    for command in shell.script.commands:
        git = git_call(command)
        if git is None or git.verb not in _COMMITTING:
            continue
        if git.verb != "commit" and git.has("--abort", "--no-commit", "-n", "--quit", "--skip"):
            continue
        options = commit_options(git, command.stdin_text) if git.verb == "commit" else _NO_OPTIONS
        if not options.dry:
            result.append((command, git, options))
    return result


def _of_call(shell: ShellCall, shown: Sequence[Shown]) -> tuple[list[CommitFinding], list[Shown]]:
    """(the commits that a call was told to make, the lines that belong to none of them)."""
    invocations = _invocations(shell)
    lines, call = Lines(shown), CallReading(shell)
    found = []
    for number, (command, git, options) in enumerate(invocations):
        left = len(invocations) - number
        base = CommitFinding(
            index=shell.index,
            position=shell.position,
            order=command.order,
            verb=git.verb,
            happened=None,
            confirmation=Confirmation.NONE,
            reason="",
            directory=git.directory,
            subject=subject(options.message) if options.message else None,
            message=options.message,
            amend=options.amend,
        )
        line = _take_line(lines, base.subject, options.literal, left)
        if line is not None:
            found.append(_confirmed(base, line))
            # A loop commits more than once.
            while command.loop and left == 1 and lines:
                found.append(_confirmed(base, lines.first()))
        else:
            found.append(_unconfirmed(base, call, command, len(invocations)))
    return found, lines.left()


def _take_line(lines: Lines, title: str | None, literal: bool, left: int) -> Shown | None:
    """The line that belongs to an invocation: the one with its subject, else the next if there is one for each."""
    if title is not None:
        line = lines.titled(title)
        if line is not None:
            return line
    if lines and (title is None or not literal or len(lines) >= left):
        return lines.first()
    return None


def _confirmed(base: CommitFinding, line: Shown) -> CommitFinding:
    return replace(
        base,
        happened=True,
        confirmation=Confirmation.OUTPUT,
        reason=f"its output shows [{line.branch} {line.hash}]",
        hash=line.hash,
        branch=line.branch,
        root=line.root,
        subject=line.subject or base.subject,
        named=line.held,
    )


def _unconfirmed(base: CommitFinding, call: CallReading, command: SimpleCommand, count: int) -> CommitFinding:
    shell = call.shell
    if not shell.outputs:
        return replace(base, reason="the call has no result")
    failure = call.failure
    succeeded = shell.succeeded
    if failure in (CommitFailure.OTHER, CommitFailure.NOT_REACHED, CommitFailure.DIRECTORY) and succeeded:
        # Another command of the script may have said so; the commit itself would have failed the call.
        failure = failure if not call.decides(command) else None
    if failure is CommitFailure.SYNTAX and (succeeded is not False or call.absent_later(command)):
        failure = None
    unreached = shell.unreached(command)
    if unreached:
        kind = _BY_CAUSE[shell.stop.cause] if shell.stop is not None else None
        return replace(base, happened=False, failure=kind or failure or CommitFailure.NOT_REACHED, reason=unreached)
    if shell.killed and failure is None:
        return replace(base, failure=CommitFailure.KILLED, reason=f"the call was killed (exit code {shell.exit_code})")
    if failure is not None and count == 1:
        return replace(base, happened=False, failure=failure, reason=f"its output says so: {failure.value}")
    if succeeded and call.decides(command):
        return replace(
            base, happened=True, confirmation=Confirmation.EXIT, reason="the call succeeded, which hangs on the commit"
        )
    if failure is not None:
        return replace(base, failure=failure, reason="a failure among several commits of one call")
    if succeeded is False and command.joined == "&&" and _loud(call.text, shell):
        return replace(
            base, happened=False, failure=CommitFailure.NOT_REACHED, reason="the call failed, and git printed nothing"
        )
    return replace(base, reason="nothing shows whether it happened")


def _loud(text: str, shell: ShellCall) -> bool:
    """Whether git would have said on the screen that it committed."""
    return not any(flag in (shell.call.command or "") for flag in (" -q", "--quiet", "/dev/null")) and bool(text)


def _unread(shell: ShellCall, shown: Sequence[Shown], known: set[str]) -> list[CommitFinding]:
    """Commits that an output shows although no invocation was read: a script or another program made them."""
    commands = shell.script.commands
    if not shown or all(command.program in _SHOWING or not command.words for command in commands):
        return []
    if _invocations(shell):
        return []
    found = []
    for line in shown:
        if line.hash[:7] not in known:
            known.add(line.hash[:7])
            base = CommitFinding(
                index=shell.index,
                position=shell.position,
                order=-1,
                verb="commit",
                happened=True,
                confirmation=Confirmation.OUTPUT,
                reason="",
                directory=None,
                subject=line.subject,
            )
            found.append(replace(_confirmed(base, line), reason="only the output shows it; a script committed"))
    return found


def _with_roots(found: list[CommitFinding]) -> list[CommitFinding]:
    """A commit that is shown and is no root had one before it: if only one can have been it, it happened."""
    first = next((number for number, item in enumerate(found) if item.hash and item.root is not None), None)
    if first is None or found[first].root:
        return found
    before = [number for number in range(first) if found[number].happened is not False]
    if len(before) != 1 or found[before[0]].happened:
        return found
    at = before[0]
    index = found[first].index
    made = replace(
        found[at],
        happened=True,
        confirmation=Confirmation.HISTORY,
        reason=f"the commit of message {index} has a parent, and no other can be it",
    )
    return [*found[:at], made, *found[at + 1 :]]


def _with_history(found: list[CommitFinding], shells: Sequence[ShellCall]) -> list[CommitFinding]:
    """Confirm what is left by later listings of the history."""
    open_ones = [item for item in found if item.confirmation in (Confirmation.NONE, Confirmation.EXIT)]
    wanted = [item for item in open_ones if item.happened is not False and item.subject]
    if not wanted:
        return found
    taken = {item.hash[:7] for item in found if item.hash}
    listing: dict[tuple[int, int], Listing] = {}
    listed = histories(shells)
    repeats = Counter(item.subject for item in found if item.happened is not False)
    for item in wanted:
        line = confirm(item.subject or "", item.position, listed, taken, repeats[item.subject])
        if line is not None:
            taken.add(line.hash[:7])
            listing[item.position, item.order] = line
    result = []
    chosen = {id(item) for item in wanted}
    for item in found:
        line = listing.get((item.position, item.order))
        if line is not None and id(item) in chosen:
            item = replace(
                item,
                happened=True,
                confirmation=Confirmation.HISTORY,
                hash=line.hash,
                reason=f"message {line.index} lists it as {line.hash}",
                failure=None,
            )
        result.append(item)
    return result
