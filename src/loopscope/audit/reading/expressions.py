"""Values of expressions; calls are in the class below."""

from __future__ import annotations

import ast
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from loopscope.audit.reading.events import Condition
from loopscope.audit.reading.grading import grades, partial, sometimes, unordered, weakened
from loopscope.audit.reading.interpret import Interpreter
from loopscope.audit.reading.values import NOTHING, Ref, Value, join, union

FIRST = "[0]"
"""Under this a list whose length is not known keeps its first element."""
_SMALL = 1 << 20
"""So many seeds can be tried."""
_WEAK_ATTRIBUTES = {"shape", "size", "ndim", "dtype", "nbytes"}


class Expressions(Interpreter):
    """What an expression may be."""

    def value(self, node: ast.expr) -> Value:
        """An expression's value."""
        handler = getattr(self, "_of_" + type(node).__name__, None)
        if handler is None:
            return Value(union(self.value(c) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)))
        found: Value = handler(node)
        return found

    def _of_Constant(self, node: ast.Constant) -> Value:
        value = Value(const=node.value, text=str(node.value)[:80])
        if isinstance(node.value, str) and self.in_workdir(node.value):
            return value.plus(("src", node.value))
        if isinstance(node.value, str) and node.value in self.built:
            return value.plus(("src", node.value))
        return value

    def in_workdir(self, text: str) -> bool:
        """Whether this names a place in the solution's work dir."""
        place = self.workdir
        if place == "/" or place not in text:
            return False
        return text == place or bool(re.search(rf"(?:^|[\s=:\"']|-[IL]){re.escape(place)}(?:/|$|\s)", text))

    def _of_Name(self, node: ast.Name) -> Value:
        for scope in (self.names, self.frames[-1].module.names):
            if node.id in scope:
                return scope[node.id]
        return Value(ref=Ref("library", node.id), text=node.id)

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        holder = self.value(node.value)
        if holder.ref is not None:
            if holder.ref.kind == "module":
                return self.member(holder.ref, node.attr)
            if holder.ref.kind == "library":
                if holder.ref.name.endswith("verdict") and node.attr == "APP":
                    return Value(frozenset({("src", self.workdir), ("workdir",)}), const=self.workdir)
                if holder.ref.name.endswith("verdict") and node.attr == "LOGS":
                    return Value(const="/logs/verifier")
                return Value(holder.labels, ref=Ref("library", f"{holder.ref.name}.{node.attr}"))
        if holder.thing is not None:
            known = holder.thing.attributes.get(node.attr)
            if known is not None:
                return known
            method = holder.thing.attributes.get("()" + node.attr)
            if method is not None and method.ref is not None:
                return Value(ref=replace(method.ref, bound=holder.thing))
            return Value(holder.labels, thing=holder.thing, ref=Ref("method", node.attr, bound=holder.thing))
        labels = holder.labels
        if node.attr in _WEAK_ATTRIBUTES:
            labels = weakened(labels)
        return Value(labels, elem=holder.elem, fields=holder.fields if node.attr == "stdout" else None)

    def member(self, module: Ref, name: str) -> Value:
        """A name of a module."""
        found: Value = module.scope.names.get(name, NOTHING)
        return found

    def _of_Tuple(self, node: ast.Tuple | ast.List) -> Value:
        values = [self.value(e.value if isinstance(e, ast.Starred) else e) for e in node.elts]
        labels = union(values)
        if any(isinstance(e, ast.Starred) for e in node.elts):
            parts = [v.element() if isinstance(e, ast.Starred) else v for v, e in zip(values, node.elts, strict=True)]
            return Value(labels, elem=join(parts), fields={FIRST: values[0]})
        return Value(labels, items=tuple(values))

    _of_List = _of_Tuple

    def _of_Set(self, node: ast.Set) -> Value:
        return replace(self._of_Tuple(ast.List(node.elts, ast.Load())), items=None)

    def _of_Dict(self, node: ast.Dict) -> Value:
        fields: dict[str, Value] = {}
        values = []
        for key, part in zip(node.keys, node.values, strict=True):
            value = self.value(part)
            values.append(value)
            if key is None:
                fields.update(value.fields or {"**" + self.code(part): value})
            else:
                name = self.key(key)
                values.append(self.value(key))
                fields[name if name is not None else self.code(key)] = value
        return Value(union(values), fields=fields)

    def _of_JoinedStr(self, node: ast.JoinedStr) -> Value:
        values = [self.value(v.value) for v in node.values if isinstance(v, ast.FormattedValue)]
        text = "".join(str(v.value) for v in node.values if isinstance(v, ast.Constant))
        labels = union(values) | ({("src", text)} if self.in_workdir(text) else set())
        parts = [
            v.value if isinstance(v, ast.Constant) else self.value(v.value).const
            for v in node.values
            if isinstance(v, ast.Constant | ast.FormattedValue)
        ]
        known = "".join(str(p) for p in parts) if all(isinstance(p, str | int) for p in parts) else None
        return Value(labels, const=known, text=text)

    def _of_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        test, kept = self.value(node.test), self.conditions
        self.conditions = (*kept, Condition(self.where(node), self.code(node.test), test))
        one, two = self.value(node.body), self.value(node.orelse)
        self.conditions = kept
        joined = join([one, two])
        if one.has("cmp") != two.has("cmp"):
            joined = sometimes(joined)
        return joined.plus(*test.of("cmp"))

    def _of_BoolOp(self, node: ast.BoolOp, negated: bool = False) -> Value:
        values = [self.value(v) for v in node.values]
        if isinstance(node.op, ast.Or) is not negated:
            return join(values) if isinstance(node.op, ast.Or) else Value(union(values))
        runs = {label[1] for v in values for label in v.of("cmp")}
        if any(not any(label[0] in ("cmp", "out") and label[1] in runs for label in v.labels) for v in values) and runs:
            values = [sometimes(v) for v in values]
        return Value(union(values))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BoolOp):
            return Value(self._of_BoolOp(node.operand, negated=True).labels)
        inner = self.value(node.operand)
        const = -inner.const if isinstance(node.op, ast.USub) and isinstance(inner.const, int | float) else None
        return Value(inner.labels, const=const)

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        labels = left.labels | right.labels
        if left.has("raw") and isinstance(node.op, ast.Mod | ast.BitAnd | ast.RShift | ast.FloorDiv):
            size = right.const
            narrow = not isinstance(node.op, ast.Mod | ast.BitAnd) or (isinstance(size, int) and size < _SMALL)
            labels |= {("small",)} if narrow else set()
        if isinstance(node.op, ast.Mult) and left.has("drawn") and self.is_list(node.left, left):
            labels |= {("repeated",)}
        if isinstance(node.op, ast.Add) and left.has("drawn") and ast.dump(node.left) == ast.dump(node.right):
            labels |= {("repeated",)}
        if isinstance(node.op, ast.Sub | ast.BitXor):
            labels |= grades(left, right, "full")
        elem = None
        if left.items or left.elem or right.items or right.elem:
            elem = join([v.element() for v in (left, right) if v.items or v.elem])
        const: str | int | None = None
        if isinstance(node.op, ast.Add) and isinstance(left.const, str) and isinstance(right.const, str):
            const = left.const + right.const
        if isinstance(left.const, int) and isinstance(right.const, int):
            const = _folded(node.op, left.const, right.const)
        return Value(labels, elem=elem, const=const)

    def is_list(self, node: ast.expr, value: Value) -> bool:
        """Whether this is a list, which multiplying repeats, and no number or array."""
        if value.items is not None or isinstance(node, ast.List | ast.ListComp):
            return True
        ref = self.value(node.func).ref if isinstance(node, ast.Call) else None
        return value.elem is not None and ref is not None and ref.kind == "function"

    def _of_Compare(self, node: ast.Compare) -> Value:
        values = [self.value(node.left), *[self.value(c) for c in node.comparators]]
        labels = set(union(values))
        written = [node.left, *node.comparators]
        for index, op in enumerate(node.ops):
            left, right = values[index], values[index + 1]
            equal = isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn | ast.Is | ast.IsNot)
            grade = "full" if equal else "order"
            sides = (written[index], written[index + 1])
            known = [side for side, value in zip(sides, (left, right), strict=True) if not value.has("out")]
            if equal and any(partial(side) for side in known):
                grade = "partial"
            elif equal and any(unordered(side) for side in sides):
                grade = "weak"
            labels |= grades(left, right, grade)
            if equal and (left.has("out") or right.has("out")):
                self.happen("compare", node, left, self.code(node), right)
        return Value(weakened(frozenset(label for label in labels if label[0] != "repeated")))

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        holder = self.value(node.value)
        index = node.slice
        if isinstance(index, ast.Slice):
            for bound in (index.lower, index.upper, index.step):
                if bound is not None:
                    self.value(bound)
            short = (
                isinstance(index.upper, ast.Constant) and isinstance(index.upper.value, int) and index.upper.value < 4
            )
            labels = holder.labels | ({("small",)} if short and holder.has("raw") else set())
            return replace(
                holder,
                labels=labels,
                items=holder.items if index.step is not None else None,
                elem=holder.element() if holder.items or holder.elem else None,
                const=None,
            )
        inner = self.value(index)
        if holder.fields is not None and (name := self.key(index)) is not None and name in holder.fields:
            return holder.fields[name]
        if isinstance(inner.const, int) and not isinstance(inner.const, bool):
            return holder.at(inner.const)
        found = holder.element() if holder.elem is not None or holder.items else Value(holder.labels)
        kept = found if isinstance(inner.const, str) else found.without("told")
        return kept.plus(*inner.labels)

    def _of_Lambda(self, node: ast.Lambda) -> Value:
        return Value(ref=Ref("function", "lambda", node, (self.frames[-1].module, self.names)))

    def _of_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        def body() -> Value:
            value = self.value(node.elt)
            return Value(value.labels, elem=value)

        return self.comprehension(node.generators, body)

    _of_SetComp = _of_ListComp
    _of_GeneratorExp = _of_ListComp

    def _of_DictComp(self, node: ast.DictComp) -> Value:
        def body() -> Value:
            key, value = self.value(node.key), self.value(node.value)
            return Value(key.labels | value.labels, elem=value)

        return self.comprehension(node.generators, body)

    def comprehension(self, generators: Sequence[ast.comprehension], body: object) -> Value:
        """A comprehension: its generators from the outside in."""
        assert callable(body)
        if not generators:
            result: Value = body()
            return result
        first, *rest = generators
        source = self.value(first.iter)
        kept = dict(self.names)
        with self.loop(first.iter, source, first.iter) as element:
            self.bind(first.target, element)
            tests = [self.value(test) for test in first.ifs]
            result = self.comprehension(rest, body)
            loop = self.loops[-1]
            changes = ("iter", loop) in result.labels or any(loop in label[2:] for label in result.of("drawn"))
            if result.has("drawn") and not result.has("rng") and not changes:
                result = result.plus(("repeated",))
        bound = {n.id for n in ast.walk(first.target) if isinstance(n, ast.Name)}
        for name in bound:
            self.names.pop(name, None)
            if name in kept:
                self.names[name] = kept[name]
        picked = result.plus(*(label for t in tests for label in t.labels if label[0] in ("cmp", "out", "drawn")))
        return sometimes(picked) if self.thinned(first.iter) else picked

    def thinned(self, node: ast.expr) -> bool:
        """Whether only some of a range is gone through."""
        return isinstance(node, ast.Call) and self.code(node.func) == "range" and len(node.args) == 3

    def _of_Await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def _of_Starred(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def _of_Yield(self, node: ast.Yield) -> Value:
        return NOTHING if node.value is None else self.value(node.value)

    @abstractmethod
    def _of_Call(self, node: ast.Call) -> Value:
        """A call; the class that builds on this one goes through it."""


def _folded(op: ast.operator, left: int, right: int) -> int | None:
    """A constant of two."""
    if isinstance(op, ast.BitOr):
        return left | right
    if isinstance(op, ast.LShift) and 0 <= right < 128:
        return left << right
    if isinstance(op, ast.Add):
        return left + right
    return left * right if isinstance(op, ast.Mult) else None
