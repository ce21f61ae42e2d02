"""Checking measures against worked examples: a file of cases, each with inputs, exact expected values and a why.

A user vets a reading of the formulas by writing the examples they believe in. Format (a JSON list of objects):

    {"name": "c1_stage_edges", "function": "c1", "inputs": {"scores": [0, 0, 0, 0, 0.5, 1]},
     "expected": {"c1": "7/10"}, "why": "positions 5 and 6 lie on two sides of the edge"}

`function` is c1, c2, c3, diagnostics or aggregate. `expected` holds any of the keys the function gives. Numbers are
JSON numbers, decimal strings or fraction strings, and are compared exactly; null is a missing score or no value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loopscope.analysis.vector_cases import MEASURES, Case, Result
from loopscope.measures import exact


@dataclass(frozen=True)
class Mismatch:
    """One expected value that the measures do not give."""

    case: str
    key: str
    """The key in `expected`; for an aggregate with the model: `aggregate.<model>`."""
    expected: str
    got: str
    why: str
    """The case's own explanation."""

    def __str__(self) -> str:
        reason = f" ({self.why})" if self.why else ""
        return f"case {self.case!r}: {self.key} expected {self.expected}, got {self.got}{reason}"


@dataclass(frozen=True)
class VectorReport:
    """What came of a file of cases."""

    path: Path
    cases: int
    """Cases in the file, also the unreadable ones."""
    passed: int
    values: int
    """Expected values that were compared."""
    by_function: Mapping[str, int]
    """Cases that were run, per function."""
    mismatches: tuple[Mismatch, ...]
    problems: tuple[str, ...]
    """What kept the file or a case from being run: one line each, with case, field and remedy."""

    @property
    def ok(self) -> bool:
        """At least one case, all of them run, every value as expected."""
        return self.cases > 0 and self.passed == self.cases and not self.problems


def verify_vectors(path: str | PathLike[str]) -> VectorReport:
    """Run every case of the file. Never raises for what the file holds: that is what the report is for.

    A case that cannot be read does not keep the others from being run.
    """
    file = Path(path)
    try:
        entries = _load(file)
    except _Unreadable as error:
        return VectorReport(file, 0, 0, 0, {}, (), (f"{file}: {error}",))
    problems: list[str] = []
    mismatches: list[Mismatch] = []
    by_function: Counter[str] = Counter()
    passed = values = 0
    seen: set[str] = set()
    for position, entry in enumerate(entries, start=1):
        try:
            case = _read_case(position, entry, seen)
            result = _run(case)
        except _Unreadable as error:
            problems.append(f"{file}: {error}")
            continue
        differing, compared = _compare(case, result)
        by_function[case.function] += 1
        values += compared
        passed += not differing
        mismatches += differing
    return VectorReport(file, len(entries), passed, values, by_function, tuple(mismatches), tuple(problems))


class _Unreadable(Exception):
    """The file or one case cannot be run; the text says what is wrong and what to do."""


def _load(file: Path) -> list[Any]:
    try:
        # Decimals as they are written, and no silent last-one-wins for a key that is given twice.
        entries = json.loads(
            file.read_text(encoding="utf-8-sig"),
            parse_float=_decimal,
            parse_constant=_decimal,
            object_pairs_hook=_object,
        )
    except OSError as error:
        raise _Unreadable(f"cannot be read ({error.strerror}); give the path of a JSON file of cases") from None
    except UnicodeDecodeError as error:
        raise _Unreadable(f"is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise _Unreadable(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}; correct it") from None
    except RecursionError:
        raise _Unreadable("is nested too deeply to be a list of cases; write a plain list of objects") from None
    except ValueError as error:  # an integer of thousands of digits, a repeated key
        raise _Unreadable(f"not a file of cases: {str(error).split(';')[0]}; correct it") from None
    if not isinstance(entries, list):
        raise _Unreadable(f"holds {_kind(entries)}, not a list; write [ {{case}}, ... ]")
    if not entries:
        raise _Unreadable("holds no case, so it verifies nothing; write at least one")
    return entries


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if repeated:
        raise ValueError(f"the key {repeated[0]!r} stands twice in one object")
    return dict(pairs)


def _decimal(text: str) -> Decimal:
    """A number as written; also NaN, a missing score, and Infinity, which is refused where it is read."""
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(f"the number {text[:40]} is out of any range") from None


def _read_case(position: int, entry: Any, seen: set[str]) -> Case:
    name = entry.get("name") if isinstance(entry, dict) else None
    label = f"case {position}" + (f" ({name!r})" if isinstance(name, str) else "")
    if not isinstance(entry, dict):
        raise _Unreadable(f"{label}: {_kind(entry)}, not an object; write {{name, function, inputs, expected, why}}")
    try:
        case = Case.model_validate(entry)
    except ValidationError as error:
        raise _Unreadable(f"{label}: {_first(error)}") from None
    if case.name in seen:
        raise _Unreadable(f"{label}: name: stands twice in the file; give each case its own")
    seen.add(case.name)
    return case


def _run(case: Case) -> Result:
    inputs_type, measure = MEASURES[case.function]
    try:
        return measure(inputs_type.model_validate(case.inputs))
    except ValidationError as error:
        raise _Unreadable(f"case {case.name!r}: inputs.{_first(error)}") from None
    except ValueError as error:
        raise _Unreadable(f"case {case.name!r}: inputs: {error}") from None


def _compare(case: Case, result: Result) -> tuple[list[Mismatch], int]:
    expected, got = _flat(case.expected), _flat(result)
    mismatches = []
    for key, wanted in expected.items():
        if key not in got:
            known = ", ".join(sorted(got)) or "nothing"
            found = f"no such value; {case.function} gives {known}"
        elif _same(wanted, got[key]):
            continue
        else:
            found = _text(got[key])
        mismatches.append(Mismatch(case.name, key, _text(wanted), found, case.why))
    # `expected` may leave out keys of a function, but an aggregate is one value: a model nobody expected is a mismatch.
    for key in got.keys() - expected.keys() if "aggregate" in case.expected else ():
        if got[key] is not None:
            mismatches.append(Mismatch(case.name, key, "no such model", _text(got[key]), case.why))
    return mismatches, len(expected)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """{"aggregate": {"m": v}} as {"aggregate.m": v}; other keys as they are."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": inner_value for inner, inner_value in value.items()}
        else:
            flat[key] = value
    return flat


def _same(wanted: Any, got: Fraction | int | bool | None) -> bool:
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    return exact(wanted) == got


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    number = exact(value)
    return "null" if number is None else str(number)


def _first(error: ValidationError) -> str:
    """The first complaint of pydantic's as `field: what is wrong`, and how many more there are."""
    found = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in found["loc"]) or "(the object)"
    message = found["msg"].removeprefix("Value error, ")
    if found["type"] == "extra_forbidden":
        message = "no such field; remove or correct it"
    elif found["type"] == "missing":
        message = "is missing; add it"
    elif not message.endswith((")", "it")) and ";" not in message:
        message = f"{message}, not {_short(found['input'])}; correct it"
    more = error.error_count() - 1
    return f"{field}: {message}" + (f" (and {more} more)" if more else "")


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
