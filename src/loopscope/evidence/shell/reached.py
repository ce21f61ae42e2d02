"""Which command of a call failed, and which ones the shell therefore never came to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.git import git_call

_PLAIN = frozenset(
    ["cp", "mv", "rm", "cat", "sed", "awk", "patch", "cd", "pushd", "mkdir", "ls", "head", "tail", "grep", "diff",
     "tar", "unzip", "find", "chmod", "source", "touch", "ln", "test", "stat", "wget",
     "curl", "dd", "tee", "rsync", "install"]
)  # fmt: skip
"""Programs that write errors behind their name, and nothing else."""
_ABSENT = r"(?:command not found|No such file or directory|Permission denied|not found)$"
_SHELL = r"\S{0,100}sh: (?:line \d+: )?"
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*\Z")
_TRACEBACK = "Traceback (most recent call last)"
_RAISED = re.compile(r"^(?:SyntaxError|IndentationError|TabError): ", re.MULTILINE)
_GIT = (
    (re.compile(r"^(?:nothing to commit|nothing added to commit|no changes added to commit)", re.M), ("commit",)),
    (re.compile(r"^error: pathspec .{0,300} did not match any file\(s\) known to git", re.M),
     ("checkout", "switch", "restore", "commit")),
    (re.compile(r"^fatal: pathspec .{0,300} did not match any files|^The following paths are ignored by one of", re.M),
     ("add", "rm")),
    (re.compile(r"^fatal: |^error: (?:Your local changes|unknown (?:switch|option)|you need to resolve)", re.M), ()),
)  # fmt: skip
"""What git prints when it fails, with the verbs that do; without verbs any may have."""


class StopCause(StrEnum):
    """Why a script ended early."""

    FAILED = "failed"
    """A command failed, on which those behind it hang."""
    KILLED = "killed"
    """The script killed its own shell."""
    UNREAD = "unread"
    """The shell could not read it."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a script ended early."""

    order: int
    """Of the last command that was run."""
    reason: str
    cause: StopCause


def stop_of(commands: Sequence[SimpleCommand], output: str) -> Stop | None:
    """The command of a failed script whose failure its output shows, if its last commands are a chain of `&&`.

    Args:
        commands: of a script whose exit code was not 0.
        output: what it printed.
    """
    chain = last_chain(commands)
    if len(chain) < 2:
        return None
    for command in chain[:-1]:
        reason = _failure(command, [other for other in chain if other is not command], output)
        if reason is not None:
            return Stop(command.order, reason, StopCause.FAILED)
    return None


def last_chain(commands: Sequence[SimpleCommand]) -> list[SimpleCommand]:
    """The commands at the end that hang on each other by `&&`; of a pipeline the last one, which decides."""
    chain: list[SimpleCommand] = []
    joined = "&&"
    for command in reversed(commands):
        if command.substitution or command.function is not None:
            continue
        if command.background or command.loop or command.conditional:
            break
        if command.pipe is None or command.pipe.last:
            if joined != "&&":
                break
            chain.append(command)
        if command.pipe is None or command.pipe.position == 0:
            joined = command.joined
    chain.reverse()
    return chain


def hangs_on(commands: Sequence[SimpleCommand], failed: SimpleCommand, later: SimpleCommand) -> bool:
    """Whether a command is reached only if an earlier one succeeded.

    All of a loop hangs on what its first command hangs on.
    """
    if failed.pipe is not None and not failed.pipe.last:
        return False
    begin = later.loop_begin
    if begin is not None and failed.order < begin and hangs_on(commands, failed, commands[begin]):
        return True
    between = commands[failed.order + 1 : later.order + 1]
    return all(
        item.joined == "&&" or item.substitution or (item.pipe is not None and item.pipe.position > 0)
        for item in between
    )


def _failure(command: SimpleCommand, others: Sequence[SimpleCommand], output: str) -> str | None:
    """How a command is seen to have failed.

    Args:
        command: in question.
        others: those that it stands in a chain with, of which one may be meant as well.
        output: of all of them.
    """
    name = command.program
    if name == "git":
        return _git_failure(command, others, output)
    if _PYTHON.match(name):
        return _python_failure(command, others, output)
    if not name:
        return None
    if f"{command.words[0].text}: " not in output:  # most programs, and looking is quicker than an expression
        return None
    written = re.escape(command.words[0].text)
    said = rf"{_SHELL}{written}: {_ABSENT}"
    if name in _PLAIN:
        said += rf"|^(?:{_SHELL})?{written}: (?!warning).{{0,200}}"
    found = re.search(rf"^{said}", output, re.M)
    return f"`{name}` before it failed: {found[0][:120]}" if found else None


def _git_failure(command: SimpleCommand, others: Sequence[SimpleCommand], output: str) -> str | None:
    git = git_call(command)
    if git is None:
        return None
    for pattern, verbs in _GIT:
        found = pattern.search(output)
        if found is None:
            continue
        if (git.verb in verbs) if verbs else not any(other.program == "git" for other in others):
            return f"`git {git.verb}` before it failed: {found[0][:120]}"
    return None


def _python_failure(command: SimpleCommand, others: Sequence[SimpleCommand], output: str) -> str | None:
    if _TRACEBACK not in output and not _RAISED.search(output):
        return None
    script = next((item for item in command.arguments if not item.startswith("-")), "")
    named = bool(script) and f'{posixpath.basename(script)}", line' in output
    several = any(_PYTHON.match(other.program) for other in others)
    return f"`{command.program}` before it failed" if named or not several else None
