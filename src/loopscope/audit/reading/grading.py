"""What a comparison says of the runs whose output is compared."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from loopscope.audit.reading.values import Label, Value


def outputs(value: Value, kind: str = "out") -> set[str]:
    """Runs whose output is in it."""
    return {label[1] for label in value.of(kind)}


def grades(left: Value, right: Value, grade: str) -> set[Label]:
    """What a comparison of these says of the runs whose output is on one side:

    full      equal to something that the verifier knows by itself
    partial   only a part is compared
    weak      only a length, a sum or the like
    order     larger or smaller than something that the verifier knows
    self      with something from the same run
    const     with a constant, or with what does not come from anything drawn
    """
    found: set[Label] = set()
    for one, other in ((left, right), (right, left)):
        for run in outputs(one):
            if run in outputs(other) | outputs(other, "weak"):
                found.add(("cmp", run, "const" if grade == "order" else "self"))
            elif not (other.has("drawn") or other.has("own") or other.has("fixed")):
                found.add(("cmp", run, "const"))
            else:
                found.add(("cmp", run, grade))
        for run in outputs(one, "weak") - outputs(one):
            known = other.has("drawn") or other.has("own") or other.has("fixed")
            found.add(("cmp", run, "weak" if known else "const"))
    return found


def weakened(labels: frozenset[Label]) -> frozenset[Label]:
    """Labels of a length, sum or the like."""
    return frozenset(("weak", label[1]) if label[0] == "out" else label for label in labels if label[0] != "told")


def sometimes(value: Value) -> Value:
    """A comparison that is not always made."""
    changed = {
        ("cmp", label[1], "sometimes") if label[0] == "cmp" and label[2] in ("full", "order", "weak") else label
        for label in value.labels
    }
    return replace(value, labels=frozenset(changed))


def unordered(node: ast.expr) -> bool:
    """Whether only what is in it counts, and not where."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("set", "sorted", "frozenset", "Counter", "sum")


def partial(node: ast.expr) -> bool:
    """Whether this is a written-down part of something."""
    if (
        isinstance(node, ast.Call)
        and node.args
        and re.fullmatch(r"bytes|list|tuple|sorted|set", ast.unparse(node.func))
    ):
        return partial(node.args[0])
    if not isinstance(node, ast.Subscript):
        return False
    index = node.slice
    if isinstance(index, ast.Slice):
        return True
    return isinstance(index, ast.Constant | ast.UnaryOp)
