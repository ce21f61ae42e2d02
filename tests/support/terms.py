"""Works out the terms of an explanation by hand, as its reader would: exactly, with another pen than ours."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from statistics import median_high

_DIGITS = Context(prec=60, rounding=ROUND_HALF_EVEN)
_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def worked_out(terms: str) -> Fraction:
    """The value of terms; anything but the arithmetic that docs/explain.md names is an error."""
    return _value(ast.parse(terms, mode="eval").body, terms)


def _value(node: ast.expr, terms: str) -> Fraction:
    match node:
        case ast.Constant():
            return Fraction(ast.get_source_segment(terms, node) or "")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, terms)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, terms), _value(right, terms))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return FUNCTIONS[name](*(_value(arg, terms) for arg in args))
    raise AssertionError(f"no arithmetic: {terms}")


def _ln(value: Fraction) -> Fraction:
    return Fraction(_DIGITS.ln(_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))))


def _round(value: Fraction, decimals: Fraction) -> Fraction:
    return round(value, int(decimals))


def _median(*values: Fraction) -> Fraction:
    return sorted(values)[(len(values) - 1) // 2]


FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "median": _median,
    "median_high": lambda *values: median_high(values),
    "ln": _ln,
    "round": _round,
}
