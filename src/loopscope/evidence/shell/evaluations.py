"""Every objective evaluation of a thread, with what it printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.shell.builds import NOT_MADE, BuildFinding
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.reached import hangs_on, last_chain
from loopscope.evidence.shell.rules import EvaluationRule, Role, names_of
from loopscope.evidence.shell.tracebacks import broke_inside
from loopscope.evidence.shell.values import NOTHING, Taken, ValueLines, Waiting
from loopscope.evidence.shell.wrappers import PROFILERS
from loopscope.models.value_types import value_type

_ABSENT = re.compile(
    r"(?:No such file or directory|command not found|can't open file|not found$|"
    r"^(?:taskset: failed to|timeout: failed to run|nice: cannot)\b)",
    re.MULTILINE,
)
_INSTRUMENTED = re.compile(r"PROF|DEBUG|TRACE|SANITIZE")


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


@value_type
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


_NO_SCOPE = ArtifactScope()


def find_evaluations(
    shells: Sequence[ShellCall],
    rules: Sequence[EvaluationRule],
    builds: Iterable[BuildFinding] = (),
    scope: ArtifactScope = _NO_SCOPE,
) -> list[EvaluationFinding]:
    """All evaluations, in order. Commands that only read a log are none.

    Args:
        shells: the shell calls of a thread.
        rules: what an evaluation is; the first rule that fits counts.
        builds: the thread's builds, so that evaluations behind a failed one are known not to have run.
        scope: which files are the artifact, so that a script that broke in one of them is known to have failed.
    """
    failed: dict[int, list[BuildFinding]] = {}
    for item in builds:
        if item.outcome in NOT_MADE:
            failed.setdefault(item.position, []).append(item)
    found: list[EvaluationFinding] = []
    by_name: dict[str, list[EvaluationRule]] = {}
    for shell in shells:
        chosen = [
            (command, rule)
            for command in shell.script.commands
            if command.function is None and (rule := _rule_for(command, rules, by_name)) is not None
        ]
        if chosen:
            found += _of_call(shell, chosen, [build.order for build in failed.get(shell.position, ())], scope)
    return found


def _rule_for(
    command: SimpleCommand, rules: Sequence[EvaluationRule], by_name: dict[str, list[EvaluationRule]]
) -> EvaluationRule | None:
    """The first rule that fits. `by_name` keeps the few rules that know a program, of which few are many times run."""
    for name in names_of(command):
        if name not in by_name:
            by_name[name] = [rule for rule in rules if rule.program.fullmatch(name)]
        possible = by_name[name]
        arguments = " ".join(command.arguments) if possible else ""
        for rule in possible:
            if rule.fits(name, arguments):
                return rule
    return None


def _of_call(
    shell: ShellCall, chosen: list[tuple[SimpleCommand, EvaluationRule]], failed: list[int], scope: ArtifactScope
) -> list[EvaluationFinding]:
    lines = ValueLines(shell)
    found: list[EvaluationFinding] = []
    broken: SimpleCommand | None = None
    waiting = Waiting([rule for _, rule in chosen])
    for command, rule in chosen:
        waiting.remove(rule)
        reason = _not_run(shell, command, failed, broken)
        if reason is not None:
            status, taken = EvaluationStatus.NOT_RUN, NOTHING
        else:
            taken = lines.take(command, rule, waiting)
            status, reason = _status(shell, command, rule, taken)
            if status is EvaluationStatus.NO_RESULT and (broke := broke_inside(shell, command, scope)):
                status, reason = EvaluationStatus.FAILED, f"it broke in the solution: {broke}"
        if status is EvaluationStatus.FAILED and shell.succeeded is False and broken is None:
            broken = command
        found.append(_finding(shell, command, rule, status, taken, reason))
    return found


def _finding(
    shell: ShellCall, command: SimpleCommand, rule: EvaluationRule, status: EvaluationStatus, taken: Taken, reason: str
) -> EvaluationFinding:
    return EvaluationFinding(
        index=shell.index,
        position=shell.position,
        order=command.order,
        rule=rule,
        command=_plain(command),
        directory=command.cwd,
        program=_program(command),
        status=status,
        values=taken.values,
        result_index=taken.index,
        profiled=_is_profiled(command),
        background=command.background or shell.call.background is not None,
        reason=reason,
        file=command.file,
    )


_UNFITTED = EvaluationRule(Role.PART, re.compile(r"(?!)"), source="none")


def unfitted_run(shell: ShellCall, command: SimpleCommand) -> EvaluationFinding:
    """A run that looks like an evaluation and fits no rule: it gives no result and counts for nothing."""
    return _finding(shell, command, _UNFITTED, EvaluationStatus.NO_RESULT, NOTHING, "it fits no rule")


def _not_run(shell: ShellCall, command: SimpleCommand, failed: list[int], broken: SimpleCommand | None) -> str | None:
    """Why an evaluation did not take place; None where nothing says so."""
    if unreached := shell.unreached(command):
        return unreached
    commands = shell.script.commands
    for order in failed:
        if order == command.order:
            return "it did not compile"
        if order < command.order and hangs_on(commands, commands[order], command):
            return "the build before it failed"
    if broken is not None and hangs_on(commands, broken, command) and command in last_chain(commands):
        return "the evaluation before it failed"
    return None


def _status(
    shell: ShellCall, command: SimpleCommand, rule: EvaluationRule, taken: Taken
) -> tuple[EvaluationStatus, str]:
    if taken.wrong:
        return EvaluationStatus.FAILED, "its output says that the solution is wrong"
    if taken.values:
        return EvaluationStatus.RESULT, f"its output shows {', '.join(taken.values[:3])}"
    name, text = command.words[0].text, shell.text
    # Looking for the name is quicker than an expression, and most texts do not hold it.
    absent = f"{name}: " in text and re.search(rf"{re.escape(name)}: {_ABSENT.pattern}", text)
    if absent or (_ABSENT.search(text[-2000:]) and shell.succeeded is not True):
        return EvaluationStatus.NOT_RUN, "the program, or something before it, is not there or does not start"
    if rule.value is None and shell.succeeded:
        return EvaluationStatus.RESULT, "the call succeeded; the task says of no value what it looks like"
    if not shell.outputs:
        return EvaluationStatus.NO_RESULT, "the call has no result"
    if shell.killed:
        return EvaluationStatus.NO_RESULT, f"the call was killed (exit code {shell.exit_code})"
    return EvaluationStatus.NO_RESULT, "no value in its output"


def _is_profiled(command: SimpleCommand) -> bool:
    if not command.assignments and not command.wrappers:  # most
        return False
    names = (name for name, value in command.assignments if value.text not in ("", "0"))
    return bool(PROFILERS.intersection(command.wrappers)) or any(_INSTRUMENTED.search(name) for name in names)


def _plain(command: SimpleCommand) -> str:
    return " ".join(" ".join([word.text for word in command.words]).split())


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
