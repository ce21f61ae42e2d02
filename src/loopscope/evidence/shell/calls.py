"""Shell calls of a thread: scripts, working directories, and outputs, those that are fetched later too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from loopscope.evidence.shell.commands import Script, SimpleCommand, resolve
from loopscope.evidence.shell.parse import parse
from loopscope.evidence.shell.reached import Stop, StopCause, stop_of
from loopscope.evidence.shell.scripts import expand
from loopscope.models.value_types import value_type
from loopscope.transcripts.canonical import Call, ToolKind

_KEEPS_DIRECTORY = frozenset(["Bash", "bash", "shell_session"])
"""Tools whose shell lives on between calls, so that `cd` lasts."""
_NO_CD = re.compile(r"cd: .{0,300}(?:No such file|Not a directory|Permission denied)")
_RESET = re.compile(r"Shell cwd was reset to (\S+)")
_TASK_FILE = re.compile(r"/tasks/([\w-]{1,100})\.output\b")
_READERS = frozenset(["cat", "tail", "head", "grep", "egrep", "less", "sed", "awk", "rg"])
_SYNTAX = re.compile(
    r"^(?:\S{0,100}/|-)?(?:ba|da|z|k)?sh: (?:eval: |-c: )?line \d+: (?:syntax error|unexpected EOF)", re.MULTILINE
)
"""What the shell says of the command string. Of a script's file it gives the name: `run.sh: line 3: ...`."""
_LAST = 64 << 10
"""Characters of an output in which the reason of a failure is looked for."""
_KILLED = frozenset([124, 130, 137, 143, 144])


@value_type
class Output:
    """A piece of what a command printed."""

    index: int
    """Of the message that shows it."""
    text: str


@value_type
class ShellCall:
    """A call of a shell tool, read."""

    position: int
    """Among the thread's calls."""
    call: Call
    script: Script
    outputs: tuple[Output, ...]
    """Its result, then what was fetched later, by tools for background commands or out of the files that it wrote."""
    exit_code: int | None
    """As stated, here or by what fetched the output later."""
    stop: Stop | None = None
    """Where the script ended early, as far as its output shows."""

    @property
    def index(self) -> int:
        """Index of the message that called."""
        return self.call.index

    @property
    def text(self) -> str:
        """All that it is known to have printed."""
        outputs = self.outputs
        return outputs[0].text if len(outputs) == 1 else "\n".join([output.text for output in outputs])

    @property
    def shown(self) -> str:
        """What its own result shows."""
        return self.outputs[0].text if self.outputs else ""

    @property
    def succeeded(self) -> bool | None:
        """Whether the last command's exit code was 0; None when nothing tells.

        Claude Code's shell tool states only failures: a result without one is a success, unless the command goes on in
        the background.
        """
        if self.exit_code is not None:
            return self.exit_code == 0
        result = self.call.result
        if result is None or result.is_error or self.call.background is not None:
            return None if result is None or not result.is_error else False
        return True if self.call.tool == "Bash" else None

    @property
    def killed(self) -> bool:
        """Whether a signal or a time limit ended it."""
        return self.exit_code in _KILLED

    def unreached(self, command: SimpleCommand) -> str | None:
        """Why a command was surely not run; None where nothing says so."""
        stop = self.stop
        return stop.reason if stop is not None and command.order > stop.order else None


def shell_calls(calls: Sequence[Call], cwd: str | None = None) -> list[ShellCall]:
    """The shell calls of one thread, in order.

    Args:
        calls: all calls of the thread.
        cwd: where its shell starts, `.` when the log does not tell.
    """
    start = cwd or "."
    where: str | None = start
    found: list[ShellCall] = []
    running: dict[str, int] = {}
    texts: dict[str, str] = {}
    for position, call in enumerate(calls):
        if call.kind is ToolKind.SHELL and call.command:
            own = call.arguments.get("workdir") or call.arguments.get("cwd")
            begin = resolve(where, own) if isinstance(own, str) and own else where
            shell = _shell_call(position, call, begin, texts)
            if call.background:
                running[call.background] = len(found)
            found.append(shell)
            where = _after(shell, begin) if call.tool in _KEEPS_DIRECTORY else start
            _read_task_file(found, running, shell)
        elif call.kind is ToolKind.WRITE and call.path and call.path.endswith((".sh", ".bash")):
            content = call.arguments.get("content", call.arguments.get("file_text"))
            if isinstance(content, str):
                texts[call.path] = content
        elif call.kind is ToolKind.SHELL_OUTPUT and call.background in running and call.result:
            _join(found, running[call.background], Output(call.result.index, call.result.text), call.result.exit_code)
    _join_files(found, calls, running)
    for number, shell in enumerate(found):
        if shell.succeeded is False and (stop := _stop(shell)) is not None:
            found[number] = replace(shell, stop=stop)
    return found


def _shell_call(position: int, call: Call, cwd: str | None, texts: dict[str, str]) -> ShellCall:
    result = call.result
    outputs = (Output(result.index, result.text),) if result else ()
    script = expand(parse(call.command or "", cwd), texts)
    return ShellCall(position, call, script, outputs, result.exit_code if result else None)


def _after(shell: ShellCall, before: str | None) -> str | None:
    """Where the next call starts."""
    reset = _RESET.search(shell.shown[-400:])
    if reset:
        return reset[1]
    # Claude Code notes the directory only behind a command that succeeded.
    if shell.succeeded is False or _NO_CD.search(shell.shown) or shell.call.background:
        return before
    return shell.script.cwd


def _join(found: list[ShellCall], at: int, output: Output, exit_code: int | None = None) -> None:
    shell = found[at]
    code = exit_code if exit_code is not None else shell.exit_code
    found[at] = replace(shell, outputs=(*shell.outputs, output), exit_code=code)


def _read_task_file(found: list[ShellCall], running: dict[str, int], shell: ShellCall) -> None:
    """Claude Code keeps the output of a background command in a file, which agents read with the shell."""
    if "/tasks/" not in (shell.call.command or "") or not shell.outputs:
        return
    for name in dict.fromkeys(_TASK_FILE.findall(shell.call.command or "")):
        if name in running and running[name] != len(found) - 1:
            _join(found, running[name], shell.outputs[0])


def written_files(command: SimpleCommand) -> Iterator[str]:
    """Files that take a command's standard output, of itself or of the `tee` behind it."""
    for redirect in command.redirects:
        if redirect.writes and (path := command.path(redirect.target.text)):
            yield path
    if command.program == "tee":
        for name in command.arguments:
            if not name.startswith("-") and (path := command.path(name)):
                yield path


def _stop(shell: ShellCall) -> Stop | None:
    """Where a script that failed ended early."""
    if _SYNTAX.search(shell.shown):
        return Stop(-1, "the shell could not read the script", StopCause.UNREAD)
    died = _died_at(shell) if shell.killed else None
    if died is not None:
        return Stop(died, "the script killed its own shell before it", StopCause.KILLED)
    return stop_of(shell.script.commands, (shell.text if shell.call.background else shell.shown)[-_LAST:])


def _died_at(shell: ShellCall) -> int | None:
    """Order of the command by which a script killed its own shell: `pkill -f` finds the words in it, too."""
    text = shell.call.command or ""
    for command in shell.script.commands:
        if command.program == "pkill" and any(item.startswith("-") and "f" in item for item in command.arguments):
            pattern = command.arguments[-1]
            if pattern in text:
                return command.order
    return None


def _join_files(found: list[ShellCall], calls: Sequence[Call], running: Mapping[str, int]) -> None:
    """Join what is read out of a log file to the command that last wrote it."""
    writers: dict[str, int] = {}
    number_at = {shell.position: number for number, shell in enumerate(found)}
    for position, call in enumerate(calls):
        number = number_at.get(position)
        if number is not None:
            _join_read(found, number, writers)
        elif call.kind is ToolKind.READ and call.path and call.result:
            task = _TASK_FILE.search(call.path)
            if task and task[1] in running:
                _join(found, running[task[1]], Output(call.result.index, call.result.text))
                continue
            seen = resolve(".", call.path)
            if seen in writers:
                _join(found, writers[seen], Output(call.result.index, call.result.text))


def _join_read(found: list[ShellCall], number: int, writers: dict[str, int]) -> None:
    """Join what a call reads to the calls that wrote it; a file that it wrote itself before is its own output."""
    shell = found[number]
    meant: dict[int, None] = {}
    for command in shell.script.commands:
        if command.program in _READERS and not (command.pipe and command.pipe.position):
            meant.update((writers[path], None) for path in _read_files(command) if path in writers)
        if command.program not in ("cat", "echo", "printf") and (command.redirects or command.program == "tee"):
            writers.update(dict.fromkeys(written_files(command), number))
    meant.pop(number, None)
    for at in meant if shell.outputs else ():
        _join(found, at, shell.outputs[0])


def _read_files(command: SimpleCommand) -> Iterator[str]:
    for name in command.arguments:
        if not name.startswith("-") and (path := command.path(name)):
            yield path
