"""A little arithmetic on Python expressions that nobody runs: names, numbers, comparisons, logarithms."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

Number = float | bool

_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: Mapping[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": round,
    "float": float,
    "int": int,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
}
_DEEPEST = 60


class Unknown(Exception):
    """It is no arithmetic on known numbers."""


def evaluate(node: ast.expr, known: Mapping[str, float], assigned: Mapping[str, ast.expr], depth: int = 0) -> Number:
    """The value of an expression.

    Args:
        node: the expression.
        known: values by name; they go before what the names are assigned.
        assigned: expressions by name, for names that are not known.
        depth: of names and brackets passed on the way here.

    Raises:
        Unknown: a name, a call or an operation that is none of the few that verifiers use, or no number comes out.
    """
    if depth > _DEEPEST:
        raise Unknown("too deep")

    def of(inner: ast.expr) -> Number:
        return evaluate(inner, known, assigned, depth + 1)

    try:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name) if name in known:
                return known[name]
            case ast.Name(id=name) if name in assigned:
                return of(assigned[name])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](of(left), of(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -of(operand)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return of(body) if of(test) else of(orelse)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return _COMPARE[type(op)](of(left), of(right))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _CALLS and args:
                if name == "round":
                    return of(args[0])  # to how many places does not matter here
                return _CALLS[name](*(of(arg) for arg in args))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Unknown(str(error)) from None
    raise Unknown(ast.dump(node)[:80])


@dataclass(frozen=True)
class Reached:
    """What an expression comes to when names that are only arithmetic are followed."""

    leaves: frozenset[str]
    """Names that are known, or that come from outside."""
    calls: frozenset[str]
    """Functions called on the way."""


def reach(node: ast.expr, known: Container[str], assigned: Mapping[str, ast.expr]) -> Reached:
    """Follow names through `assigned`, where that leads by arithmetic to something `known`; all others are leaves.

    So a metric that is itself computed from measurements is one leaf, and the anchors in a quotient are found.
    """
    return _reach(node, known, assigned, frozenset())


def _reach(node: ast.expr, known: Container[str], assigned: Mapping[str, ast.expr], above: frozenset[str]) -> Reached:
    leaves: set[str] = set()
    called = {_function(inner) for inner in ast.walk(node) if isinstance(inner, ast.Call)}
    no_values = {id(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call)}
    no_values |= {id(inner.value) for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
    for name in {i.id for i in ast.walk(node) if isinstance(i, ast.Name) and id(i) not in no_values}:
        leaves.add(name)
        if name in known or name in above or name not in assigned or not _arithmetic(assigned[name]):
            continue
        further = _reach(assigned[name], known, assigned, above | {name})
        if any(leaf in known for leaf in further.leaves):
            leaves.discard(name)
            leaves |= further.leaves
            called |= further.calls
    return Reached(frozenset(leaves), frozenset(called))


def _function(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _arithmetic(node: ast.expr) -> bool:
    """Made of names, numbers and the few functions alone, and of at least one operation."""
    parts = [inner for inner in ast.walk(node) if isinstance(inner, ast.expr)]
    few = (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.Attribute)
    return (
        any(isinstance(inner, ast.BinOp | ast.IfExp) for inner in parts)
        and all(isinstance(inner, few) for inner in parts)
        and all(_function(inner) in _CALLS for inner in parts if isinstance(inner, ast.Call))
    )
