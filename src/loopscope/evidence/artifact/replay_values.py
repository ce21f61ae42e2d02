"""Values of programs that are replayed, and what may be done with them, bounded in size and work."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

MAX_TEXT = 4 << 20
MAX_WORK = 200 << 20
"""Characters that one program may go through in all."""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that the program opened, or a path that it made."""

    path: str
    mode: str
    """As given to `open`; `path` for a path."""


type Value = str | int | OpenFile | list[Value] | tuple[Value, ...] | None


class GivenUpError(Exception):
    """The program does something that is not carried out here."""


class EndedError(Exception):
    """The program ended early, by an assertion or `sys.exit`."""


def text_of(value: Value) -> str:
    """A value that must be a text."""
    if not isinstance(value, str):
        raise GivenUpError
    return value


def number_of(value: Value) -> int:
    """A value that must be a number, and no huge one."""
    if not isinstance(value, int) or abs(value) > MAX_WORK:
        raise GivenUpError
    return value


def bounded(text: str) -> str:
    """A text that is not too long."""
    if len(text) > MAX_TEXT:
        raise GivenUpError
    return text


def joined(separator: str, parts: Sequence[str]) -> str:
    """`separator.join(parts)`; how long that is, is known before it is made."""
    if sum(map(len, parts)) + len(separator) * len(parts) > MAX_TEXT:
        raise GivenUpError
    return separator.join(parts)


def add(left: Value, right: Value) -> Value:
    """`left + right`."""
    if isinstance(left, str) and isinstance(right, str):
        return bounded(left + right)
    return number_of(left) + number_of(right)


def method(owner: str, name: str, values: list[Value]) -> Value:
    """What a method of a text gives."""
    match name, values:
        case "replace", [str() as old, str() as new]:
            return _replace(owner, old, new, -1)
        case "replace", [str() as old, str() as new, int() as count]:
            return _replace(owner, old, new, number_of(count))
        case "count", [str() as wanted]:
            return owner.count(wanted)
        case (("find" | "index" | "rfind" | "rindex"), [str() as wanted, *bounds]):
            return _find(owner, name, wanted, [number_of(bound) for bound in bounds])
        case "startswith", [str() as wanted]:
            return owner.startswith(wanted)
        case "endswith", [str() as wanted]:
            return owner.endswith(wanted)
        case "strip", []:
            return owner.strip()
        case "rstrip", []:
            return owner.rstrip()
        case "lstrip", []:
            return owner.lstrip()
        case "join", [list() | tuple() as parts]:
            return joined(owner, [text_of(part) for part in parts])
    raise GivenUpError


def _replace(text: str, old: str, new: str, count: int) -> str:
    there = text.count(old)
    times = there if count < 0 else min(there, count)
    if len(text) + times * (len(new) - len(old)) > MAX_TEXT:
        raise GivenUpError
    return text.replace(old, new, count)


def _find(text: str, name: str, wanted: str, bounds: list[int]) -> int:
    backwards = name.startswith("r")
    if backwards and len(text) * len(wanted) > MAX_WORK:  # from behind Python may compare each with each
        raise GivenUpError
    search = text.rfind if backwards else text.find
    found = search(wanted, *bounds)
    if found < 0 and name.endswith("index"):
        raise EndedError
    return found


def compare(left: Value, operator: ast.cmpop, right: Value) -> bool:
    """A comparison of two values."""
    match operator:
        case ast.In():
            return text_of(left) in text_of(right)
        case ast.NotIn():
            return text_of(left) not in text_of(right)
        case ast.Eq():
            return _plain(left) == _plain(right)
        case ast.NotEq():
            return _plain(left) != _plain(right)
        case ast.Is() if right is None:
            return left is None
        case ast.IsNot() if right is None:
            return left is not None
        case ast.Lt():
            return number_of(left) < number_of(right)
        case ast.LtE():
            return number_of(left) <= number_of(right)
        case ast.Gt():
            return number_of(left) > number_of(right)
        case ast.GtE():
            return number_of(left) >= number_of(right)
    raise GivenUpError


def _plain(value: Value) -> Value:
    """A value that is no list: few names hold lists within lists without end, which are equal only after all of it."""
    if isinstance(value, (list, tuple)):
        raise GivenUpError
    return value


def harmless(node: ast.Call) -> bool:
    """Whether a call inside `print` changes nothing."""
    match node.func:
        case ast.Name(id="len" | "str" | "repr" | "sorted" | "min" | "max" | "sum" | "range"):
            return True
        case ast.Attribute(attr="count" | "find" | "index" | "strip" | "split" | "splitlines" | "join" | "format"):
            return True
    return False
