"""Replay small Python programs that rewrite files: what they write is computed, and nothing is run.

Agents edit with programs such as `text = open(p).read(); text = text.replace(old, new); open(p, "w").write(text)`.
The few statements and functions that these consist of are carried out here on texts; anything else gives up.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from loopscope.evidence.artifact.budget import PARSED, STATEMENT, Budget
from loopscope.evidence.artifact.replay_values import (
    MAX_WORK,
    EndedError,
    GivenUpError,
    OpenFile,
    Value,
    add,
    bounded,
    compare,
    harmless,
    joined,
    method,
    number_of,
    text_of,
)

_MAX_PROGRAM = 128 << 10
_MAX_STEPS = 5000

ReadText = Callable[[str], str | None]
"""The text of a file by the path that a program gives; None when it is not known."""


def replay(program: str, read: ReadText, budget: Budget) -> Mapping[str, str] | None:
    """The texts that a program leaves in the files that it writes, by the paths that it gives.

    Args:
        program: its source.
        read: tells the texts of files before it runs.
        budget: of the run.

    Returns:
        Nothing written is an empty mapping; None is a program that cannot be replayed.
    """
    if len(program) > _MAX_PROGRAM or not budget.spend(len(program) * PARSED):
        return None
    try:
        body = ast.parse(program).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    machine = _Machine(read, budget)
    try:
        machine.run(body)
    except EndedError:
        pass
    except (GivenUpError, RecursionError):
        return None
    return machine.written


@dataclass
class _Machine:
    read: ReadText
    budget: Budget
    written: dict[str, str] = field(default_factory=dict)
    names: dict[str, Value] = field(default_factory=lambda: {"__name__": "__main__"})
    steps: int = 0
    work: int = 0

    def run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        self._step()
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                pass
            case ast.Expr(value=value):
                self._bare(value)
            case ast.Assign(targets=[target], value=value):
                self._bind(target, self._value(value))
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                self.names[name] = self._weighed(add(self._name(name), self._value(value)))
            case ast.Assert(test=test):
                if not self._true(test):
                    raise EndedError
            case ast.If(test=test, body=body, orelse=other):
                self.run(body if self._true(test) else other)
            case ast.With(items=items, body=body):
                for item in items:
                    opened = self._value(item.context_expr)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, opened)
                self.run(body)
            case ast.For(target=target, iter=iterated, body=body, orelse=[]):
                values = self._value(iterated)
                if not isinstance(values, (list, tuple)):
                    raise GivenUpError
                for element in values:
                    self._bind(target, element)
                    self.run(body)
            case ast.Raise():
                raise EndedError
            case _:
                raise GivenUpError

    def _bare(self, node: ast.expr) -> None:
        """An expression that stands as a statement."""
        match node:
            case ast.Constant():
                pass
            case ast.Call(func=ast.Name(id="print"), args=arguments):
                # What it prints changes nothing; what it calls might.
                calls = [inner for item in arguments for inner in ast.walk(item) if isinstance(inner, ast.Call)]
                if not all(harmless(call) for call in calls):
                    raise GivenUpError
            case ast.Call(func=ast.Attribute(value=ast.Name(id="sys"), attr="exit") | ast.Name(id="exit" | "quit")):
                raise EndedError
            case _:
                self._value(node)

    def _value(self, node: ast.expr) -> Value:
        self._step()
        match node:
            case ast.Constant(value=str() | None as constant):
                return constant
            case ast.Constant(value=int() as number):
                return number_of(number)
            case ast.Name(id=name):
                return self._name(name)
            case ast.List(elts=elements):
                return [self._value(item) for item in elements]
            case ast.Tuple(elts=elements):
                return tuple([self._value(item) for item in elements])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._weighed(add(self._value(left), self._value(right)))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self._number(left) - self._number(right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._true(operand)
            case ast.BoolOp(op=operator, values=values):
                return (all if isinstance(operator, ast.And) else any)(self._true(item) for item in values)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return compare(self._weighed(self._value(left)), operator, self._weighed(self._value(right)))
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._value(body if self._true(test) else other)
            case ast.JoinedStr(values=values):
                return self._weighed(joined("", [self._piece(item) for item in values]))
            case ast.Subscript(value=base, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                text = text_of(self._weighed(self._value(base)))
                return text[self._bound(lower) : self._bound(upper)]
            case ast.Call(func=function, args=arguments, keywords=keywords):
                return self._call(function, arguments, {item.arg or "**": item.value for item in keywords})
        raise GivenUpError

    def _call(self, function: ast.expr, arguments: list[ast.expr], named: Mapping[str, ast.expr]) -> Value:
        match function:
            case ast.Name(id="open"):
                return self._open(arguments, named)
            case ast.Name(id="Path") | ast.Attribute(value=ast.Name(id="pathlib"), attr="Path"):
                return OpenFile(self._only_text(arguments), "path")
            case ast.Name(id="len"):
                return len(self._only_text(arguments))
            case ast.Attribute(value=base, attr=name):
                owner = self._weighed(self._value(base))
                if isinstance(owner, OpenFile) and not set(named) - {"encoding", "newline"}:
                    return self._of_file(owner, name, arguments)
                if isinstance(owner, str) and not named:
                    return self._weighed(method(owner, name, [self._value(item) for item in arguments]))
        raise GivenUpError

    def _open(self, arguments: list[ast.expr], named: Mapping[str, ast.expr]) -> OpenFile:
        if set(named) - {"encoding", "mode", "newline"} or not arguments:
            raise GivenUpError
        given = arguments[1] if len(arguments) > 1 else named.get("mode")
        mode = "r" if given is None else text_of(self._value(given)).replace("t", "")
        path = self._value(arguments[0])
        opened = OpenFile(path.path if isinstance(path, OpenFile) else text_of(path), mode)
        if mode == "w":
            self.written[opened.path] = ""
        elif mode not in ("r", "a"):
            raise GivenUpError
        return opened

    def _of_file(self, opened: OpenFile, name: str, arguments: list[ast.expr]) -> Value:
        path = opened.path
        match name, opened.mode:
            case (("close" | "flush"), _):
                return None
            case ("read", "r") | ("read_text", "path") if not arguments:
                return self._contents(path)
            case "write_text", "path":
                self.written[path] = text = self._only_text(arguments)
                return len(text)
            case "write", ("w" | "a"):
                text = self._only_text(arguments)
                self.written[path] = text_of(self._weighed(bounded(self._contents(path) + text)))
                return len(text)
        raise GivenUpError

    def _contents(self, path: str) -> str:
        text = self.written.get(path)
        if text is None:
            text = self.read(path)
        if text is None:
            raise GivenUpError
        return text

    def _piece(self, node: ast.expr) -> str:
        """A piece of an f-string."""
        match node:
            case ast.Constant(value=str() as text):
                return text
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                found = self._value(value)
                if isinstance(found, (str, int)):
                    return str(found)
        raise GivenUpError

    def _bind(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Tuple(elts=targets) if isinstance(value, (tuple, list)) and len(value) == len(targets):
                for inner, part in zip(targets, value, strict=True):
                    self._bind(inner, part)
            case _:
                raise GivenUpError

    def _name(self, name: str) -> Value:
        if name not in self.names:
            raise GivenUpError
        return self.names[name]

    def _true(self, node: ast.expr) -> bool:
        return bool(self._value(node))

    def _number(self, node: ast.expr) -> int:
        return number_of(self._value(node))

    def _bound(self, node: ast.expr | None) -> int | None:
        return None if node is None else self._number(node)

    def _only_text(self, arguments: list[ast.expr]) -> str:
        if len(arguments) != 1:
            raise GivenUpError
        return text_of(self._value(arguments[0]))

    def _weighed(self, value: Value) -> Value:
        """A value, whose length counts as work."""
        length = len(value) if isinstance(value, str) else 0
        self.work += length
        if self.work > MAX_WORK or not self.budget.spend(length):
            raise GivenUpError
        return value

    def _step(self) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS or not self.budget.spend(STATEMENT):
            raise GivenUpError
