"""Abstract values: where data may come from, instead of what it is."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Label = tuple[str, ...]
"""What is known of a value's origin. The first word says what kind:

    src NAME        a file, path or text of the solution's
    parsed          text that the verifier has put together anew from what it understood of the solution's
    own NAME        a file of the verifier's
    out RUN         what a program printed that held code of the solution's
    told RUN        a number taken from there as it stands
    raw             entropy from the system
    small           of so few possible values that they can be tried
    perhaps         fixed on one of two ways
    env             from the environment
    clock           a time
    drawn SITE L... from a generator with a secret seed, inside these loops
    fixed SITE      from a generator whose seed is known
    iter LOOP       different each time round a loop
    repeated        the same element several times
    ret F I         the I-th result of a function of the verifier's
    cmp RUN GRADE   result of a comparison with the output of that run (see `interpret.grade`)
    file NAME       name of a file in a box
"""


@dataclass(frozen=True)
class Ref:
    """Something to call or look into: a function, class or module of the verifier's, or a library's name."""

    kind: str
    """`function`, `class`, `module`, `library`, or `method` (bound)."""
    name: str
    """Dotted."""
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | None = field(default=None, compare=False)
    scope: Any = field(default=None, compare=False)
    """Module or enclosing names."""
    bound: Thing | None = field(default=None, compare=False)


@dataclass(eq=False)
class Thing:
    """An object of a class of the verifier's, with its attributes; or a program under way."""

    what: str
    attributes: dict[str, Value] = field(default_factory=dict)
    run: str = ""
    """Of a program under way: the run's name."""


@dataclass(frozen=True)
class Value:
    """What may be known of a value."""

    labels: frozenset[Label] = frozenset()
    items: tuple[Value, ...] | None = None
    """Of a tuple or list written down: its elements."""
    elem: Value | None = None
    """What going through it yields."""
    fields: Mapping[str, Value] | None = None
    """Of a dictionary: what is under constant keys."""
    const: Any = None
    """A constant's value."""
    ref: Ref | None = None
    thing: Thing | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)
    """How it is written, for evidence."""

    def has(self, kind: str, name: str | None = None) -> bool:
        """Whether there is a label of this kind (and first name)."""
        return any(label[0] == kind and (name is None or label[1] == name) for label in self.labels)

    def of(self, kind: str) -> Iterator[Label]:
        """Its labels of a kind."""
        return (label for label in self.labels if label[0] == kind)

    def plus(self, *labels: Label) -> Value:
        """The same with more labels."""
        return self if set(labels) <= self.labels else replace(self, labels=self.labels | frozenset(labels))

    def without(self, *kinds: str) -> Value:
        """The same without labels of these kinds, inside too."""
        if not any(label[0] in kinds for label in self.labels):
            return self
        return replace(
            self,
            labels=frozenset(label for label in self.labels if label[0] not in kinds),
            items=None if self.items is None else tuple(v.without(*kinds) for v in self.items),
            elem=None if self.elem is None else self.elem.without(*kinds),
            fields=None if self.fields is None else {k: v.without(*kinds) for k, v in self.fields.items()},
        )

    def element(self) -> Value:
        """What one step through it yields."""
        if not self.items and self.elem is None:
            return Value(self.labels)
        inner = join(self.items) if self.items else self.elem or NOTHING
        return inner.plus(*self.of("iter"), *self.of("repeated"))  # parts of what changes each time change too

    def at(self, index: int) -> Value:
        """An element of a tuple; the whole's labels where it has none."""
        if self.items is not None and -len(self.items) <= index < len(self.items):
            return self.items[index]
        return self.element()


NOTHING = Value()


def union(values: Iterable[Value]) -> frozenset[Label]:
    """All labels of these."""
    return frozenset[Label]().union(*(value.labels for value in values))


def join(values: Iterable[Value]) -> Value:
    """Either of these values."""
    known = list(values)
    if not known:
        return NOTHING
    first, *rest = known
    for value in rest:
        first = _join(first, value)
    return first


def _join(a: Value, b: Value) -> Value:
    if a == b and a.thing is b.thing:
        return a
    labels = a.labels | b.labels
    if a.has("raw") != b.has("raw"):
        other = b if a.has("raw") else a
        if not other.has("env") and other != NOTHING:
            labels |= {("perhaps",)}
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(_join(x, y) for x, y in zip(a.items, b.items, strict=True))
    elem = None
    if items is None and (a.items or b.items or a.elem or b.elem):
        elem = _join(a.element(), b.element())
    fields = None
    if a.fields is not None or b.fields is not None:
        one, two = a.fields or {}, b.fields or {}
        fields = {
            k: _join(one[k], two[k]) if k in one and k in two else one.get(k, two.get(k, NOTHING))
            for k in {**one, **two}
        }
    thing = a.thing or b.thing
    return Value(
        labels, items, elem, fields, a.const if a.const == b.const else None, a.ref or b.ref, thing, a.text or b.text
    )


def joined_path(parts: list[Value]) -> str | None:
    """A path whose parts are all known."""
    texts = [p.const for p in parts]
    return "/".join(str(t).rstrip("/") for t in texts) if texts and all(isinstance(t, str) for t in texts) else None


def again(value: Value) -> Value:
    """The same each time, in all its parts."""
    items = None if value.items is None else tuple(again(v) for v in value.items)
    return replace(value.plus(("repeated",)), items=items)


def few_choices(arguments: list[Value]) -> bool:
    """Whether one of these is picked from so few that all can be tried."""
    last = arguments[-1] if arguments else NOTHING
    return bool(last.items) or (isinstance(last.const, int) and last.const < 1 << 20)
