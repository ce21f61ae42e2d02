"""Statements of a verifier's Python text, with abstract values: branches are joined, loops gone round twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath

from loopscope.audit.reading.events import Condition
from loopscope.audit.reading.refusals import Refusals
from loopscope.audit.reading.state import MOST_STEPS, Frame, Handler, Module
from loopscope.audit.reading.values import NOTHING, Label, Ref, Value, join

_FORGET = ("told",)
"""What does not survive being taken apart: a number as it stood."""


class Interpreter(Refusals):
    """The walk over statements; expressions and calls build on it."""

    def run_module(self, module: Module, main: bool) -> None:
        """Its top level; once."""
        if module.ran:
            return
        module.ran = True
        module.names["__name__"] = Value(const="__main__" if main else "module")
        module.names["__file__"] = Value(frozenset({("own", "")}), const=f"/tests/{PurePosixPath(module.file).name}")
        self.frames.append(Frame(module, module.names))
        kept = self.loops, self.conditions
        self.block(module.tree.body)
        self.loops, self.conditions = kept
        self.frames.pop()

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Statements in order; what follows a conditional way out is itself conditional."""
        kept = self.conditions
        for statement in body:
            if self.frames[-1].ended or self.steps > MOST_STEPS:
                break
            self.steps += 1
            handler = getattr(self, "_do_" + type(statement).__name__, None)
            if handler is not None:
                handler(statement)
            else:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        self.value(child)
        self.conditions = kept

    def _do_FunctionDef(self, node: ast.FunctionDef) -> None:
        frame = self.frames[-1]
        scope = frame.module if frame.names is frame.module.names else (frame.module, frame.names)
        self.names[node.name] = Value(ref=Ref("function", node.name, node, scope))

    def _do_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.names[node.name] = Value(ref=Ref("function", node.name, node, self.frames[-1].module))

    def _do_ClassDef(self, node: ast.ClassDef) -> None:
        self.names[node.name] = Value(ref=Ref("class", node.name, node, self.frames[-1].module))

    def _do_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            first = alias.name.split(".")[0]
            self.names[alias.asname or first] = self.imported(node, alias.name if alias.asname else first)

    def _do_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        for alias in node.names:
            own = self.modules.get(base.split(".")[-1]) if base else None
            if own is not None:
                self.run_module(own, main=False)
                self.names[alias.asname or alias.name] = own.names.get(alias.name, NOTHING)
            elif alias.name in self.modules and not base:
                self.names[alias.asname or alias.name] = self.imported(node, alias.name)
            else:
                found = self.imported(node, base) if base and not node.level else NOTHING
                name = f"{found.ref.name if found.ref else base}.{alias.name}".lstrip(".")
                self.names[alias.asname or alias.name] = Value(found.labels, ref=Ref("library", name))

    def imported(self, node: ast.AST, name: str) -> Value:
        """A module by name; the solution's own is one of the things that happen."""
        own = self.modules.get(name.split(".")[-1])
        if own is not None:
            self.run_module(own, main=False)
            return Value(ref=Ref("module", own.file, scope=own))
        files = {PurePosixPath(f).with_suffix("").name: f for f in self.editable if f.endswith((".py", ".so"))}
        if name in files:
            value = Value(frozenset({("src", files[name])}), ref=Ref("library", name))
            self.happen("load", node, value)
            return value
        return Value(ref=Ref("library", name))

    def _do_Return(self, node: ast.Return) -> None:
        frame = self.frames[-1]
        frame.returned.append(NOTHING if node.value is None else self.value(node.value))
        frame.ended = True

    def _do_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.value(node.exc)
        self.frames[-1].ended = True

    def _do_Continue(self, node: ast.Continue) -> None:
        self.frames[-1].ended = True

    def _do_Break(self, node: ast.Break) -> None:
        self.frames[-1].ended = True

    def _do_Expr(self, node: ast.Expr) -> None:
        value = self.value(node.value)
        if isinstance(node.value, ast.Yield):
            self.frames[-1].returned.append(Value(value.labels, elem=value))

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        read = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
        self.bind(node.target, self.value(read))

    def _do_Assert(self, node: ast.Assert) -> None:
        value = self.value(node.test)
        if not self.handlers_swallow("AssertionError"):
            self.gate(node, value, "")
        else:
            self.gate(node, value, self.handlers_swallow("AssertionError"))

    def _do_If(self, node: ast.If) -> None:
        test = self.value(node.test)
        chosen = node.body if test.const is True else node.orelse if test.const is False and node.test else None
        if chosen is not None and isinstance(node.test, ast.Compare) and "__name__" in self.code(node.test):
            self.block(chosen)
            return
        self.refusal(node, test, node.body, node.orelse)
        condition = Condition(self.where(node), self.code(node.test), test)
        self.conditions = (*self.conditions, condition)
        ended = self.branches([node.body, node.orelse])
        self.conditions = self.conditions[:-1]
        if ended[0] != ended[1] and not self.refuses(node.body if ended[0] else node.orelse):
            self.conditions = (
                *self.conditions,
                replace(condition, text=f"not ({condition.text})" if ended[0] else condition.text),
            )

    def branches(self, bodies: Sequence[Sequence[ast.stmt]]) -> list[bool]:
        """Each from here on its own; afterwards the names hold either's. Whether each leaves the block."""
        frame = self.frames[-1]
        before, results, ended = dict(frame.names), [], []
        for body in bodies:
            frame.names.clear()
            frame.names.update(before)
            frame.ended = False
            self.block(body)
            ended.append(frame.ended)
            results.append(dict(frame.names))
        going = [names for names, end in zip(results, ended, strict=True) if not end] or results
        frame.names.clear()
        for name in {name for names in going for name in names}:
            frame.names[name] = join(names[name] for names in going if name in names)
        frame.ended = all(ended)
        return ended

    def _do_For(self, node: ast.For) -> None:
        source = self.value(node.iter)
        with self.loop(node, source, node.iter) as element:
            for _ in range(2):
                self.bind(node.target, element)
                self.branches([node.body, ()])
        self.block(node.orelse)

    _do_AsyncFor = _do_For

    @contextmanager
    def loop(self, node: ast.AST, source: Value, written: ast.expr) -> Iterator[Value]:
        """Around a loop's body; gives what its target is bound to."""
        name = self.where(node) + f":{getattr(node, 'col_offset', 0)}"
        kept, self.loops = self.loops, (*self.loops, name)
        element = source.element().without(*_FORGET)
        same = self.goes_round_the_same(source, written)
        if not same or source.has("repeated"):
            element = _iterated(element, ("repeated",) if same else ("iter", name))
        yield element
        self.loops = kept

    def goes_round_the_same(self, source: Value, written: ast.expr) -> bool:
        """Whether what is gone through holds one thing more than once."""
        if source.has("repeated"):
            return True
        if isinstance(written, ast.Tuple | ast.List):
            texts = [ast.dump(e) for e in written.elts]
            return len(set(texts)) < len(texts)
        return False

    def _do_While(self, node: ast.While) -> None:
        name = self.where(node)
        kept, self.loops = self.loops, (*self.loops, name)
        for _ in range(2):
            test = self.value(node.test)
            self.refusal_of_loop(test)
            self.branches([node.body, ()])
        self.loops = kept
        self.frames[-1].ended = False

    def refusal_of_loop(self, test: Value) -> None:
        """A loop's condition refuses nothing by itself."""

    def _do_With(self, node: ast.With) -> None:
        group: list[Handler] = []
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
            if isinstance(item.context_expr, ast.Call) and self.code(item.context_expr.func).endswith("suppress"):
                names = tuple(self.code(a).split(".")[-1] for a in item.context_expr.args)
                group.append(Handler(names, False, self.where(node)))
        self.handlers.append(group)
        self.block(node.body)
        self.handlers.pop()

    _do_AsyncWith = _do_With

    def _do_Try(self, node: ast.Try) -> None:
        group = [self.handler(h) for h in node.handlers]
        self.handlers.append(group)
        frame = self.frames[-1]
        self.block([*node.body])
        ended, after = frame.ended, dict(frame.names)
        frame.ended = False
        self.handlers.pop()
        self.block(node.orelse if not ended else ())
        ways = [] if ended or frame.ended else [dict(frame.names)]
        for clause in node.handlers:
            frame.names.clear()
            frame.names.update(after)
            frame.ended = False
            if clause.name:
                frame.names[clause.name] = NOTHING
            kept, self.conditions = (
                self.conditions,
                (*self.conditions, Condition(self.where(clause), "an exception", NOTHING)),
            )
            self.block(clause.body)
            self.conditions = kept
            if not frame.ended:
                ways.append(dict(frame.names))
        frame.names.clear()
        for name in {n for names in (ways or [after]) for n in names}:
            frame.names[name] = join(names[name] for names in (ways or [after]) if name in names)
        frame.ended = not ways
        self.block(node.finalbody)


def _loaded(target: ast.expr) -> ast.expr:
    copy: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
    for node in ast.walk(copy):
        if isinstance(node, ast.expr):
            ast.copy_location(node, target)
    return copy


def _iterated(value: Value, label: Label) -> Value:
    """Different each time round, in all its parts."""
    return replace(
        value,
        labels=value.labels | {label},
        items=None if value.items is None else tuple(_iterated(v, label) for v in value.items),
        const=None,
    )
