"""Every objective evaluation of a thread, with what it printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from loopscope.evidence.shell.builds import BuildFinding, Outcome
from loopscope.evidence.shell.calls import Output, ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.rules import EvaluationRule, Role, names_of
from loopscope.evidence.shell.wrappers import PROFILERS

_ABSENT = re.compile(r"(?:No such file or directory|command not found|can't open file|not found$)", re.MULTILINE)
_INSTRUMENTED = re.compile(r"PROF|DEBUG|TRACE|SANITIZE")
_SPACES = re.compile(r"\s+")


class EvaluationStatus(StrEnum):
    """What became of an evaluation."""

    RESULT = "result"
    """It printed what is looked for."""
    FAILED = "failed"
    """It ran, and the solution was wrong or broke."""
    NO_RESULT = "no result"
    """Nothing that is looked for is shown."""
    NOT_RUN = "not run"
    """A command before it failed, or the program is not there."""


@dataclass(frozen=True, slots=True)
class EvaluationFinding:
    """One command that evaluates the solution."""

    index: int
    """Of the message that called."""
    position: int
    """Of the call among the thread's calls."""
    order: int
    """Of the command within the call's script."""
    rule: EvaluationRule
    command: str
    """The command with white space collapsed and without wrappers and redirections: two that are equal count once."""
    directory: str | None
    program: str | None
    """Path of the program, or of the interpreter's script; None when unknown."""
    status: EvaluationStatus
    values: tuple[str, ...]
    """What the rule's expression found, in order; more than one when the command ran in a loop."""
    result_index: int | None
    """Of the message that shows the values."""
    profiled: bool
    """It ran under a profiler or checker, or was told to print measurements; its times mean nothing."""
    background: bool
    reason: str
    file: str | None = None
    """The script file that holds the command, when the call starts one."""

    @property
    def counts(self) -> bool:
        """Whether it is an objective evaluation that took place: profiled ones are none."""
        return not self.profiled and self.status in (EvaluationStatus.RESULT, EvaluationStatus.FAILED)

    @property
    def role(self) -> Role:
        """What it tells."""
        return self.rule.role


def find_evaluations(
    shells: Sequence[ShellCall], rules: Sequence[EvaluationRule], builds: Iterable[BuildFinding] = ()
) -> list[EvaluationFinding]:
    """All evaluations, in order. Commands that only read a log are none.

    Args:
        shells: the shell calls of a thread.
        rules: what an evaluation is; the first rule that fits counts.
        builds: the thread's builds, so that evaluations behind a failed one are known not to have run.
    """
    failed = {(item.position, item.order): item for item in builds if item.outcome in _STOPPING}
    found: list[EvaluationFinding] = []
    for shell in shells:
        chosen = [
            (command, rule)
            for command in shell.script.commands
            if command.function is None and (rule := _rule_for(command, rules)) is not None
        ]
        if chosen:
            found += _of_call(shell, chosen, [order for position, order in failed if position == shell.position])
    return found


_STOPPING = (Outcome.CODE_FAILURE, Outcome.ENVIRONMENT_FAILURE, Outcome.NOT_RUN)


def _rule_for(command: SimpleCommand, rules: Sequence[EvaluationRule]) -> EvaluationRule | None:
    arguments = " ".join(command.arguments)
    for name in names_of(command):
        for rule in rules:
            if rule.fits(name, arguments):
                return rule
    return None


def _of_call(
    shell: ShellCall, chosen: list[tuple[SimpleCommand, EvaluationRule]], failed: list[int]
) -> list[EvaluationFinding]:
    left = {id(rule): _values(shell, rule) for _, rule in chosen}
    found = []
    for number, (command, rule) in enumerate(chosen):
        output, values = left[id(rule)]
        later = sum(other is rule for _, other in chosen[number + 1 :])
        take = len(values) if not later else max(len(values) - later, 1) if command.loop else 1
        mine, left[id(rule)] = values[:take], (output, values[take:])
        status, reason = _status(shell, command, rule, mine, failed)
        if status is EvaluationStatus.NOT_RUN:
            mine, left[id(rule)] = [], (output, values)
        found.append(
            EvaluationFinding(
                index=shell.index,
                position=shell.position,
                order=command.order,
                rule=rule,
                command=_plain(command),
                directory=command.cwd,
                program=_program(command),
                status=status,
                values=tuple(mine),
                result_index=output.index if output is not None and mine else None,
                profiled=_is_profiled(command),
                background=command.background or shell.call.background is not None,
                reason=reason,
                file=command.file,
            )
        )
    return found


def _values(shell: ShellCall, rule: EvaluationRule) -> tuple[Output | None, list[str]]:
    """The values and the output that shows them; of output that is fetched again and again, the last."""
    if rule.value is None:
        return None, []
    for output in reversed(shell.outputs):
        values = [found["value"] for found in rule.value.finditer(output.text) if found["value"] is not None]
        if values:
            return output, values
    return None, []


def _status(
    shell: ShellCall, command: SimpleCommand, rule: EvaluationRule, values: list[str], failed: list[int]
) -> tuple[EvaluationStatus, str]:
    if unreached := shell.unreached(command):
        return EvaluationStatus.NOT_RUN, unreached
    for order in failed:
        if order < command.order and _hangs_on(shell, order, command):
            return EvaluationStatus.NOT_RUN, "the build before it failed"
    if rule.failed is not None and rule.failed.search(shell.text):
        return EvaluationStatus.FAILED, "its output says that the solution is wrong"
    if values:
        return EvaluationStatus.RESULT, f"its output shows {', '.join(values[:3])}"
    absent = re.search(rf"{re.escape(command.words[0].text)}: {_ABSENT.pattern}", shell.text)
    if absent or (_ABSENT.search(shell.text[-2000:]) and shell.succeeded is not True):
        return EvaluationStatus.NOT_RUN, "the program, or something before it, is not there"
    if rule.value is None and shell.succeeded:
        return EvaluationStatus.RESULT, "the call succeeded; the task says of no value what it looks like"
    if not shell.outputs:
        return EvaluationStatus.NO_RESULT, "the call has no result"
    if shell.killed:
        return EvaluationStatus.NO_RESULT, f"the call was killed (exit code {shell.exit_code})"
    return EvaluationStatus.NO_RESULT, "no value in its output"


def _hangs_on(shell: ShellCall, order: int, later: SimpleCommand) -> bool:
    failed = shell.script.commands[order]
    if failed.pipe is not None and not failed.pipe.last:
        return False
    between = shell.script.commands[order + 1 : later.order + 1]
    return all(
        item.joined == "&&" or item.substitution or (item.pipe is not None and item.pipe.position > 0)
        for item in between
    )


def _is_profiled(command: SimpleCommand) -> bool:
    names = (name for name, value in command.assignments if value.text not in ("", "0"))
    return bool(PROFILERS.intersection(command.wrappers)) or any(_INSTRUMENTED.search(name) for name in names)


def _plain(command: SimpleCommand) -> str:
    return _SPACES.sub(" ", " ".join(word.text for word in command.words)).strip()


def _program(command: SimpleCommand) -> str | None:
    """Where the program or the script lies."""
    name = command.words[0].text
    if "/" in name:
        return command.path(name) if not names_of(command)[0].endswith((".py", ".sh")) else _script(command)
    return _script(command)


def _script(command: SimpleCommand) -> str | None:
    for item in command.arguments:
        if not item.startswith("-"):
            return command.path(item)
    return None
