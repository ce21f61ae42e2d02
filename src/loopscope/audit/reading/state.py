"""What a reader knows while it goes through a verifier's text: frames, names, loops, conditions."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from loopscope.audit.reading.events import Condition, Happening, Place, Story
from loopscope.audit.reading.values import NOTHING, Value, join

Scope = dict[str, Value]
MOST_DEEP = 14
"""Calls within calls; deeper ones are taken to give what they are given."""
MOST_STEPS = 60_000
"""Statements; a text that needs more is read in part."""


@dataclass
class Module:
    """A module of the verifier's: its text and its names."""

    file: str
    """Below the task."""
    tree: ast.Module
    names: Scope = field(default_factory=dict)
    ran: bool = False
    first: int = 0
    """Lines before its first one, where it stands in a shell script."""


@dataclass
class Frame:
    """A function under way."""

    module: Module
    names: Scope
    returned: list[Value] = field(default_factory=list)
    ended: bool = False
    """The rest of the block is not reached."""


@dataclass
class Handler:
    """An except clause around a call: what it catches, and whether the refusal lives on in it."""

    catches: tuple[str, ...]
    passes: bool
    where: str


class State(ABC):
    """Frames, names and what has happened so far."""

    def __init__(self, modules: Sequence[Module], workdir: str, editable: Sequence[str]) -> None:
        self.modules = {PurePosixPath(m.file).with_suffix("").name: m for m in modules}
        self.by_file = {m.file: m for m in modules}
        self.workdir, self.editable = workdir.rstrip("/") or "/", tuple(editable)
        self.story = Story()
        self.loops: tuple[str, ...] = ()
        self.conditions: tuple[Condition, ...] = ()
        self.chain: tuple[str, ...] = ()
        self.handlers: list[list[Handler]] = []
        self.frames: list[Frame] = []
        self.steps = 0
        self.memo: dict[object, Value] = {}
        self.built: set[str] = set()
        """Paths that programs of the solution's were written to."""
        self.repeating: set[str] = set()
        """Loops that go through the same thing more than once."""

    def where(self, node: ast.AST) -> str:
        """`file:line` of a node."""
        module = self.frames[-1].module
        return f"{module.file}:{getattr(node, 'lineno', 0) + module.first}"

    def place(self, node: ast.AST) -> Place:
        """Where something happens."""
        return Place(self.where(node), self.loops, self.conditions)

    def happen(self, kind: str, node: ast.AST, value: Value, text: str = "", other: Value = NOTHING) -> None:
        """Note that something happens."""
        self.story.happenings.append(Happening(kind, self.place(node), value, text or self.code(node), other))

    @staticmethod
    def code(node: ast.AST) -> str:
        """How a node is written, in short."""
        return " ".join(ast.unparse(node).split())[:160]

    @property
    def names(self) -> Scope:
        """Names of the function under way."""
        return self.frames[-1].names

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign; what is decided under a condition that hangs on a comparison hangs on it too."""
        hanging = frozenset(label for c in self.conditions for label in c.value.labels if label[0] == "cmp")
        value = value.plus(*hanging)
        if isinstance(target, ast.Name):
            self.names[target.id] = replace(value, text=target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            for index, part in enumerate(target.elts):
                inner = part.value if isinstance(part, ast.Starred) else part
                self.bind(inner, value.at(index))
        elif isinstance(target, ast.Subscript):
            self.value(target.slice)
            self.put(target.value, self.key(target.slice), value)
        elif isinstance(target, ast.Attribute):
            holder = self.value(target.value)
            if holder.thing is not None:
                holder.thing.attributes[target.attr] = value
            elif holder.ref is not None and holder.ref.kind in ("module", "library"):
                self.happen("fence", target, value, f"{self.code(target)} is set", Value(const=target.attr))

    def key(self, node: ast.expr) -> str | None:
        """A subscript's constant, or the text of its template."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return node.left.value
        return None

    def put(self, holder: ast.expr, key: str | None, value: Value) -> None:
        """Something goes into a container that is known by name."""
        old = self.value(holder)
        new = replace(old, labels=old.labels | value.labels, items=None)
        if key is not None:
            known = {**(old.fields or {})}
            known[key] = join([known[key], value]) if key in known else value
            new = replace(new, fields=known)
        elif old.fields is not None:
            new = replace(new, fields={k: join([v, Value(value.labels, elem=value)]) for k, v in old.fields.items()})
        elem = value if old.elem is None and not old.items else join([old.element(), value])
        new = replace(new, elem=elem, const=None)
        if isinstance(holder, ast.Name):
            scope = self.names if holder.id in self.names else self.frames[-1].module.names
            scope[holder.id] = new
        elif isinstance(holder, ast.Attribute):
            owner = self.value(holder.value)
            if owner.thing is not None:
                owner.thing.attributes[holder.attr] = new
        elif isinstance(holder, ast.Subscript):
            self.put(holder.value, self.key(holder.slice), new)

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """An expression's value; the classes that build on this one know."""
