"""Which lines of a call's output belong to which of its evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

from loopscope.evidence.shell.calls import Output, ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.rules import EvaluationRule, Role
from loopscope.evidence.shell.searching import find_all
from loopscope.evidence.shell.searching import found as found_in
from loopscope.models.value_types import value_type


@value_type
class Taken:
    """What an evaluation printed."""

    values: tuple[str, ...] = ()
    index: int | None = None
    """Of the message that shows the values."""
    wrong: bool = False
    """The solution was wrong, or broke."""


NOTHING = Taken()


@value_type
class _Line:
    """A value that an output shows."""

    output: Output
    value: str
    begin: int
    """Of its line."""
    end: int

    @property
    def place(self) -> tuple[int, int]:
        return self.output.index, self.begin

    @property
    def text(self) -> str:
        return self.output.text[self.begin : self.end]


class Waiting:
    """The rules of a call's evaluations that have not had their turn. Rules are few, evaluations may be many."""

    def __init__(self, rules: Iterable[EvaluationRule]) -> None:
        self._numbers: dict[int, int] = {}
        self._rules: dict[int, EvaluationRule] = {}
        for rule in rules:
            self._numbers[id(rule)] = self._numbers.get(id(rule), 0) + 1
            self._rules[id(rule)] = rule

    def remove(self, rule: EvaluationRule) -> None:
        """One evaluation by a rule has its turn now."""
        self._numbers[id(rule)] -= 1
        if not self._numbers[id(rule)]:
            del self._numbers[id(rule)], self._rules[id(rule)]

    def __bool__(self) -> bool:
        return bool(self._numbers)

    @property
    def rules(self) -> Iterable[EvaluationRule]:
        """Each rule once."""
        return self._rules.values()

    def only(self, rule: EvaluationRule) -> bool:
        """Whether all of them are by one rule."""
        return all(item is rule for item in self.rules)

    def printed(self, rule: EvaluationRule, lines: Sequence[_Line]) -> int:
        """How many of them may have printed one of some lines of a rule."""
        return sum(number for at, number in self._numbers.items() if _wants(self._rules[at], rule, lines))


class ValueLines:
    """The lines of one call's output that hold values. Each belongs to one evaluation, in the order of both."""

    def __init__(self, shell: ShellCall) -> None:
        self._shell = shell
        self._used: set[tuple[int, int]] = set()
        self._read: dict[int, int] = {}
        """By an output's index how far it belongs to evaluations that are done."""
        self._lines: dict[int, list[_Line]] = {}
        self._read_by: dict[tuple[int, int], list[_Line]] = {}
        """By rule and number of the output."""

    def take(self, command: SimpleCommand, rule: EvaluationRule, later: Waiting) -> Taken:
        """What an evaluation printed. A loop may print often, another command once if others wait for lines.

        Args:
            command: the evaluation.
            rule: by which it is one.
            later: rules of those behind it in the call.
        """
        lines = self._of(rule)
        if self._used:
            lines = [line for line in lines if line.place not in self._used]
        waiting = later.printed(rule, lines)
        if waiting:
            count = max(len(lines) - waiting, 1) if command.loop else 1
            # A check's line is worth less than a score's, where there are not enough for both.
            enough = len(lines) > waiting or rule.role is Role.SCORE or later.only(rule)
            lines = lines[: count if enough else 0]
        elif later and not command.loop:
            lines = self._before(lines, later)
        if _silent(command):
            lines = []
        elif rule.saves:
            return self._saved(rule, lines, last=not later)
        self._used.update(line.place for line in lines)
        return Taken(_values(lines), _index(lines), self._wrong(rule, lines, last=not later))

    def _saved(self, rule: EvaluationRule, lines: list[_Line], *, last: bool) -> Taken:
        """What a command that saves as it goes on printed last, in whichever output; broke is what ended it."""
        self._used.update(line.place for line in lines)
        if not last:
            lines = lines[-1:]
            return Taken(_values(lines), _index(lines), not lines and self._wrong(rule, lines, last=False))
        found = [line for number in range(len(self._shell.outputs)) for line in self._lines_in(number, rule)]
        end = max(found, key=lambda line: line.place, default=None)
        wrong = rule.failed is not None and any(
            found_in(rule.failed, output.text, end.end if end is not None and output is end.output else 0)
            for output in self._shell.outputs
            if end is None or output.index >= end.output.index
        )
        lines = [end] if end is not None else []
        return Taken(_values(lines), _index(lines), wrong)

    def _before(self, lines: list[_Line], later: Waiting) -> list[_Line]:
        """Lines that stand before what the next evaluation printed, which may show such values too."""
        if not lines:
            return lines
        first = lines[0]
        begins = [
            line.begin
            for rule in later.rules
            for line in self._of(rule)
            if line.output is first.output and line.begin > first.begin and line.place not in self._used
        ]
        end = min(begins, default=None)
        return lines if end is None else [line for line in lines if line.output is first.output and line.begin < end]

    def _of(self, rule: EvaluationRule) -> list[_Line]:
        """All values of a rule: in the call's own result, else in what was fetched later and shows most."""
        found = self._lines.get(id(rule))
        if found is None:
            count = len(self._shell.outputs) if rule.value is not None else 0
            found = self._lines_in(0, rule) if count and not self._shell.call.background else []
            if not found:
                found = max((self._lines_in(number, rule) for number in range(count)), key=len, default=[])
            self._lines[id(rule)] = found
        return found

    def _lines_in(self, number: int, rule: EvaluationRule) -> list[_Line]:
        """The values that one output shows of a rule, looked for once."""
        key = id(rule), number
        if key not in self._read_by:
            self._read_by[key] = _lines(self._shell.outputs[number], rule)
        return self._read_by[key]

    def _wrong(self, rule: EvaluationRule, lines: list[_Line], *, last: bool) -> bool:
        """Whether the part of the output that belongs to an evaluation says that the solution is wrong."""
        if rule.failed is None:
            return False
        if last and not lines:
            return any(
                found_in(rule.failed, output.text, self._read.get(output.index, 0)) for output in self._shell.outputs
            )
        if not lines:
            return found_in(rule.failed, self._shell.text)
        output, end = lines[-1].output, lines[-1].end
        begin = self._read.get(output.index, 0)
        self._read[output.index] = end
        return found_in(rule.failed, output.text, begin, len(output.text) if last else end)


def _lines(output: Output, rule: EvaluationRule) -> list[_Line]:
    found: list[_Line] = []
    text = output.text
    for match in find_all(rule.value, text) if rule.value is not None else ():
        first, last = match.span("value")
        if first >= 0:
            end = text.find("\n", last)
            found.append(
                _Line(output, text[first:last], text.rfind("\n", 0, first) + 1, end if end >= 0 else len(text))
            )
    return found


def _values(lines: Sequence[_Line]) -> tuple[str, ...]:
    return tuple(line.value for line in lines)


def _index(lines: Sequence[_Line]) -> int | None:
    return lines[0].output.index if lines else None


def _wants(other: EvaluationRule, rule: EvaluationRule, lines: Sequence[_Line]) -> bool:
    """Whether an evaluation by another rule may have printed one of some lines."""
    if other is rule:
        return True
    return other.value is not None and any(found_in(other.value, line.text) for line in lines)


def _silent(command: SimpleCommand) -> bool:
    """Whether nothing that it prints is shown."""
    return any(
        item.operator in (">", "&>", ">|") and item.descriptor in (None, 1) and item.target.text == "/dev/null"
        for item in command.redirects
    )


def number(text: str) -> Decimal | None:
    """A value that was printed as a number; None for what is none, and for what is not finite."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None
