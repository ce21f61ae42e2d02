"""Every build of a thread: what it built, and how it ended."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from enum import StrEnum

from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.shell.build_tools import BuildTool, build_tool
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.reached import hangs_on
from loopscope.evidence.shell.shares import shares
from loopscope.evidence.shell.signatures import Match, matches
from loopscope.models.value_types import value_type

_PLACE = re.compile(r"(?:-->\s*|^(?:vet: )?|of \")([\w./-]+\.(?:rs|go|cuh?|cpp|cc|c|h|hpp|py|s|S))(?:[:(]\d+|\")")
_ABSENT = re.compile(r": line \d+: \S+/\S+: No such file or directory$", re.MULTILINE)
"""The shell looked for a program that is not there."""
_MAKE_FAILED = re.compile(r"^make(?:\[\d+\])?: \*\*\* \[.*\] Error [12]\b", re.MULTILINE)
_HIDING = frozenset(["wc", "true", "sort", "uniq", "cut", "md5sum", "xargs"])
"""Programs behind a pipe that leave nothing of an error to be seen."""
_UNDEFINED = re.compile(r"\.go:\d+(?::\d+)?: undefined: |^too many errors$")
LEFT_OUT = "files left out"
"""Signature of builds of single files that miss what the others of their package hold."""
UP_TO_DATE = "up to date"
"""Signature of builds that found nothing to do: what was built before is still there."""
_KINDS = ("code", "environment", "runtime", "success")
_ERRORS_WANTED = re.compile(r"err|fail|fatal|warn|\.\*|\^", re.IGNORECASE)


class Outcome(StrEnum):
    """How a build ended."""

    SUCCEEDED = "succeeded"
    CODE_FAILURE = "code failure"
    ENVIRONMENT_FAILURE = "environment failure"
    UNKNOWN = "unknown"
    NOT_RUN = "not run"
    """A command before it failed, so that the shell never came to it."""


_FAILED = (Outcome.CODE_FAILURE, Outcome.ENVIRONMENT_FAILURE)
NOT_MADE = (*_FAILED, Outcome.NOT_RUN)
"""Outcomes that leave what was there before, and stop what hangs on the build."""


@value_type
class BuildFinding:
    """One invocation of a build tool."""

    index: int
    """Of the message that called."""
    position: int
    """Of the call among the thread's calls."""
    order: int
    """Of the command within the call's script."""
    tool: BuildTool
    outcome: Outcome
    reason: str
    scratch: bool
    """What it built, or what failed in it, is no part of the artifact."""
    runtime_failure: bool = False
    """It built, and then the program or a test that it ran failed."""
    file: str | None = None
    """The script file that holds the command, when the call starts one."""
    signature: str | None = None
    """Name of the expression that decided, in signatures.yaml."""


def find_builds(shells: Sequence[ShellCall], scope: ArtifactScope) -> list[BuildFinding]:
    """All builds, in order.

    Args:
        shells: the shell calls of a thread.
        scope: which files are the artifact, so that scratch programs are told apart.
    """
    found: list[BuildFinding] = []
    for shell in shells:
        builds = [
            (command, tool)
            for command in shell.script.commands
            if (tool := build_tool(command)) is not None and command.function is None
        ]
        if builds:
            found += _of_call(shell, builds, scope)
    return found


def _of_call(
    shell: ShellCall, builds: list[tuple[SimpleCommand, BuildTool]], scope: ArtifactScope
) -> list[BuildFinding]:
    lines = matches(shell.text, {tool.family for _, tool in builds})
    found: list[BuildFinding] = []
    stopped: SimpleCommand | None = None
    spent: set[str] = set()
    told = shares(shell.text, [item for item in builds if not shell.unreached(item[0])], lines)
    for command, tool in builds:
        scratch = _is_scratch(tool, scope)
        if stopped is not None and hangs_on(shell.script.commands, stopped, command):
            judged = _Judgement(Outcome.NOT_RUN, "a build before it failed")
        elif unreached := shell.unreached(command):
            judged = _Judgement(Outcome.NOT_RUN, unreached)
        else:
            left = [] if tool.family in spent else [line for line in lines if line.of(tool.family)]
            seen = told.get(command.order, left)
            again = next((item for item in found if _same_sources(item.tool, tool) and item.outcome in _FAILED), None)
            judged = _judge(shell, command, tool, seen, set() if told else spent)
            if again is not None and judged.outcome is Outcome.UNKNOWN:
                judged = _Judgement(
                    again.outcome, "the same sources had just failed to build", signature=again.signature
                )
        if judged.outcome in _FAILED:
            stopped = command
            spent.add(tool.family)
            if judged.outcome is Outcome.CODE_FAILURE and not scratch and _left_out(command, tool, seen):
                judged = _Judgement(
                    Outcome.ENVIRONMENT_FAILURE, "it was given some files of a package", signature=LEFT_OUT
                )
            scratch = scratch or (judged.outcome is Outcome.CODE_FAILURE and _elsewhere(shell, command, lines, scope))
        found.append(_finding(shell, command, tool, judged, scratch=scratch))
    return found


def _finding(
    shell: ShellCall, command: SimpleCommand, tool: BuildTool, judged: _Judgement, *, scratch: bool
) -> BuildFinding:
    return BuildFinding(
        index=shell.index,
        position=shell.position,
        order=command.order,
        tool=tool,
        outcome=judged.outcome,
        reason=judged.reason,
        scratch=scratch,
        runtime_failure=judged.runtime_failure,
        file=command.file,
        signature=judged.signature,
    )


def _same_sources(left: BuildTool, right: BuildTool) -> bool:
    return left.family == right.family and left.directory == right.directory and not left.sources and not right.sources


@value_type
class _Judgement:
    """How a build ended, and what shows it."""

    outcome: Outcome
    reason: str
    runtime_failure: bool = False
    signature: str | None = None


def _judge(
    shell: ShellCall, command: SimpleCommand, tool: BuildTool, lines: list[Match], spent: set[str]
) -> _Judgement:
    """How a build ended, by the signatures that its output shows, then by the exit code."""
    if not shell.outputs:
        return _Judgement(Outcome.UNKNOWN, "the call has no result")
    by_kind = {kind: [line for line in lines if line.signature.kind == kind] for kind in _KINDS}
    environment, code = by_kind["environment"], by_kind["code"]
    if environment and not _real(code):
        first = environment[0]
        return _Judgement(
            Outcome.ENVIRONMENT_FAILURE, f"its output shows: {first.text}", signature=first.signature.name
        )
    if code:
        first = code[0]
        return _Judgement(Outcome.CODE_FAILURE, f"its output shows: {first.text}", signature=first.signature.name)
    if tool.family in spent:
        return _Judgement(Outcome.UNKNOWN, "another build of the call failed, and the output does not tell them apart")
    if tool.family == "make" and not tool.runs and ": *** [" in shell.text and _MAKE_FAILED.search(shell.text):
        return _Judgement(Outcome.CODE_FAILURE, "make says that a recipe failed", signature="make recipe")
    ran = bool(by_kind["runtime"]) and tool.runs
    if by_kind["success"]:
        text = by_kind["success"][0]
        if text.signature.name == "cargo finished" and not _compiled(shell, command):
            reason = f"its output shows: {text.text}, and that nothing was compiled"
            return _Judgement(Outcome.SUCCEEDED, reason, ran, UP_TO_DATE)
        return _Judgement(Outcome.SUCCEEDED, f"its output shows: {text.text}", ran, text.signature.name)
    if shell.succeeded and _decides(shell, command):
        return _Judgement(Outcome.SUCCEEDED, "the call succeeded, which hangs on it", ran)
    if shell.killed or (shell.call.background and len(shell.outputs) < 2):
        return _Judgement(Outcome.UNKNOWN, "the call was killed, or went on in the background")
    if tool.family == "make" and ": No such file or directory" in shell.text and _ABSENT.search(shell.text):
        return _Judgement(Outcome.UNKNOWN, "the program that it should have built is not there")
    hidden = _hidden(shell, command)
    if hidden:
        return _Judgement(Outcome.UNKNOWN, f"its output is not shown ({hidden})")
    if shell.succeeded is False and not tool.runs and _is_last(shell, command):
        return _Judgement(Outcome.UNKNOWN, f"exit code {shell.exit_code}, and no error that is known")
    ran = ran or _failed_run(shell, command, tool)
    return _Judgement(Outcome.SUCCEEDED, "nothing in its output says that it failed", ran)


def _compiled(shell: ShellCall, command: SimpleCommand) -> bool:
    """Whether cargo compiled anything, which it says; where what it says is not all shown, it may have."""
    whole = command.pipe is None and not command.redirects and shell.call.result is not None
    return "Compiling " in shell.text or not whole or (shell.call.result is not None and shell.call.result.cut)


def _real(code: list[Match]) -> bool:
    """Whether errors are the compiler's own, and not just the tool's word that something failed."""
    return any(line.signature.name not in ("make recipe", "cargo", "go package") for line in code)


def _failed_run(shell: ShellCall, command: SimpleCommand, tool: BuildTool) -> bool:
    return tool.runs and shell.succeeded is False and _is_last(shell, command)


def _decides(shell: ShellCall, command: SimpleCommand) -> bool:
    """Whether the call could not have succeeded, had this command failed."""
    if (command.pipe is not None and not command.pipe.last) or command.background or command.conditional:
        return False
    behind = shell.script.commands[command.order + 1 :]
    return all(item.joined == "&&" or item.substitution or _piped_on(item) for item in behind)


def _is_last(shell: ShellCall, command: SimpleCommand) -> bool:
    behind = shell.script.commands[command.order + 1 :]
    return all(_piped_on(item) for item in behind) and (command.pipe is None or command.pipe.last)


def _piped_on(command: SimpleCommand) -> bool:
    return command.pipe is not None and command.pipe.position > 0


def _hidden(shell: ShellCall, command: SimpleCommand) -> str | None:
    """What hides a command's errors; None when they would be seen."""
    for redirect in command.redirects:
        errors = redirect.descriptor == 2 or redirect.operator.startswith("&>")
        target = redirect.target.text
        if errors and not target.startswith("&") and target != "1" and len(shell.outputs) < 2:
            return f"{redirect.operator} {target}"
    merged = any(item.operator in (">&", "&>") and item.target.text == "1" for item in command.redirects)
    if merged and any(item.writes or item.target.text == "/dev/null" for item in command.redirects):
        return "written to a file" if len(shell.outputs) < 2 else None
    if not merged or command.pipe is None:
        return None
    for item in shell.script.commands[command.order + 1 :]:
        if item.pipe is None or item.pipe.number != command.pipe.number:
            break
        if item.program in _HIDING:
            return f"piped into {item.program}"
        if item.program in ("grep", "egrep", "rg") and not _shows_errors(item):
            return "piped into a filter"
    return None


def _shows_errors(grep: SimpleCommand) -> bool:
    if any(
        item.startswith("-") and not item.startswith("--") and ("c" in item or "q" in item) for item in grep.arguments
    ):
        return False
    inverted = any(item.startswith("-") and not item.startswith("--") and "v" in item for item in grep.arguments)
    patterns = " ".join(item for item in grep.arguments if not item.startswith("-"))
    return inverted or bool(_ERRORS_WANTED.search(patterns))


def _is_scratch(tool: BuildTool, scope: ArtifactScope) -> bool:
    """Whether a build leaves the artifact out."""
    inside = scope.inside(tool.directory)
    if tool.sources:
        if not scope.known:
            return all(scope.inside(path) is False for path in tool.sources)
        return not any(scope.name(path) for path in tool.sources)
    return inside is False


def _left_out(command: SimpleCommand, tool: BuildTool, lines: Sequence[Match]) -> bool:
    """Whether Go was given single files, and all that is wrong is that they name what is in none of them."""
    if tool.family != "go" or not tool.sources or any("*" in item for item in command.arguments):
        return False
    code = [line.text for line in lines if line.signature.kind == "code"]
    return bool(code) and all(_UNDEFINED.search(text) for text in code)


def _elsewhere(shell: ShellCall, command: SimpleCommand, lines: Sequence[Match], scope: ArtifactScope) -> bool:
    """Whether all errors that name a file are in files outside the artifact, such as an agent's own tests.

    So is a file that the same call removes behind the build: it was put beside the solution to look at something.
    """
    if not scope.known:
        return False
    errors = [line.text for line in lines if line.signature.kind == "code"]
    errors += [line.strip() for line in shell.text.split("\n") if line.lstrip().startswith("-->")]
    places = [found[1] for line in errors if (found := _PLACE.search(line[:500]))]
    removed = {
        posixpath.normpath(item)
        for later in shell.script.commands[command.order + 1 :]
        if later.program == "rm" and later.cwd == command.cwd
        for item in later.arguments
    }
    return bool(places) and not any(scope.name(place) for place in places if posixpath.normpath(place) not in removed)
