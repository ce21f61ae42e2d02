"""When a solution is refused: branches that raise, leave or give nothing, and handlers that forget it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from loopscope.audit.reading.events import Gate
from loopscope.audit.reading.state import Handler, State
from loopscope.audit.reading.values import Value

_EXITS = {"exit", "_exit", "fail", "abort", "die", "quit", "gate", "reject", "fail_zero", "write_zero", "fail_reward"}


class Refusals(State):
    """Conditions on which a solution is refused."""

    def refuses(self, body: Sequence[ast.stmt]) -> bool:
        """Whether this ends in a refusal: it raises, leaves the program, or gives nothing."""
        for statement in body:
            if isinstance(statement, ast.Raise):
                return True
            if isinstance(statement, ast.Return):
                value = statement.value
                first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
                return first is None or (isinstance(first, ast.Constant) and not first.value)
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                called = self.code(statement.value.func)
                if called.split(".")[-1] in _EXITS or self.always_ends(called):
                    return True
        return False

    def always_ends(self, called: str) -> bool:
        """Whether a function of this name ends in a refusal whatever it is given."""
        value = self.names.get(called) or self.frames[-1].module.names.get(called)
        node = value.ref.node if value and value.ref else None
        return isinstance(node, ast.FunctionDef) and self.refuses(node.body[-2:])

    def refusal(self, node: ast.If, test: Value, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        """Note the condition on which a branch refuses the solution."""
        for branch in (body, other):
            if self.refuses(branch):
                raised = next((s for s in branch if isinstance(s, ast.Raise)), None)
                kind = (
                    "" if raised is None or raised.exc is None else self.code(raised.exc).split("(")[0].split(".")[-1]
                )
                refused = test
                if branch is other and isinstance(node.test, ast.BoolOp):
                    refused = self.value(ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test))
                self.gate(node, refused, self.handlers_swallow(kind) if raised else "")

    def handlers_swallow(self, kind: str) -> str:
        """Where an exception of this kind is caught and forgotten; empty where it is not."""
        for group in reversed(self.handlers):
            for handler in group:
                if {kind, "Exception", "BaseException", ""} & set(handler.catches):
                    if handler.passes:
                        return ""
                    return handler.where
        return ""

    def gate(self, node: ast.AST, value: Value, swallowed: str) -> None:
        """Note a refusal."""
        self.story.gates.append(Gate(self.place(node), value, swallowed))

    def handler(self, clause: ast.ExceptHandler) -> Handler:
        """What an except clause catches."""
        kinds: list[ast.expr] = []
        if clause.type is not None:
            kinds = list(clause.type.elts) if isinstance(clause.type, ast.Tuple) else [clause.type]
        names = tuple(self.code(kind).split(".")[-1] for kind in kinds) or ("",)
        inner = any(isinstance(n, ast.Raise) for s in clause.body for n in ast.walk(s))
        return Handler(names, inner or self.refuses(clause.body), self.where(clause))
