"""What the output of a build or an evaluation means."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from loopscope.models.annotation import StepKind, StepStatus

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rf"^\W*(?:local[ _])?(score|reward)\s*[:=]\s*(nan|[-+]?inf(?:inity)?|{_NUMBER})(.*)$", re.I | re.M)
_LOWER = re.compile(r"\blower\b.{0,20}\bbetter", re.I)
_HIGHER = re.compile(r"\bhigher\b.{0,20}\bbetter", re.I)
_TIMED_OUT = (124, 137)
_NOT_COMPILED = re.compile(
    r":\d+: (?:fatal )?error:|\b(?:gcc|g\+\+|cc1\w*|clang\S*|nvcc|collect2): (?:fatal )?error:|\bundefined reference to"
    r"|\b(?:Syntax|Indentation|Tab)Error\b|\berror\[E\d+\]|\bcould not compile|^\S+\.go:\d+:\d+: ",
    re.M,
)
_ENVIRONMENT = re.compile(
    r"command not found|\bError 127\b|: not found$|No space left on device|Read-only file system"
    r"|Cannot allocate memory|Permission denied",
    re.M,
)


@dataclass(frozen=True)
class Measured:
    """The local score of one evaluation."""

    text: str
    """As printed."""
    value: float
    """Finite; higher is better whatever the task's direction."""


def read_score(output: str, lower_is_better: bool) -> Measured | None:
    """The score that an evaluation printed: the last `score: NUMBER` line, else the last JSON object that has one.

    A gate that failed (`correctness` or `correct` is 0 or false) and a number that is not finite are no score. Words on
    the line itself about the direction overrule `lower_is_better`.
    """
    lines = _LINE.findall(output)
    if lines:
        _, text, rest = lines[-1]
        lower = not _HIGHER.search(rest) and (bool(_LOWER.search(rest)) or lower_is_better)
        return _measured(text, lower)
    for start in reversed([match.start() for match in re.finditer(r"^\s*\{", output, re.M)]):
        try:
            data, _ = json.JSONDecoder().raw_decode(output[start:].lstrip())
        except (ValueError, RecursionError):
            continue
        found = _of_object(data)
        if found is not None:
            return _measured(found, lower_is_better)
        if isinstance(data, dict) and {"score", "reward", "correctness", "correct"} & data.keys():
            return None
    return None


def _of_object(data: Any) -> str | None:
    if not isinstance(data, dict) or any(data.get(key, 1) in (0, False, None) for key in ("correctness", "correct")):
        return None
    for key in ("score", "reward"):
        value = data.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return repr(value)
    return None


def _measured(text: str, lower: bool) -> Measured | None:
    try:
        value = float(Decimal(text))
    except (InvalidOperation, OverflowError):
        return None
    return Measured(text, -value if lower else value) if math.isfinite(value) else None


def judge(kind: StepKind, exit_code: int, output: str) -> StepStatus:
    """How a build or evaluation ended, from its exit code and, where it failed, from what it printed."""
    if exit_code == 0:
        return StepStatus.OK
    if exit_code in _TIMED_OUT:
        return StepStatus.TIMEOUT
    if _NOT_COMPILED.search(output):
        return StepStatus.CODE_FAILURE
    if exit_code in (126, 127) or _ENVIRONMENT.search(output):
        return StepStatus.ENV_FAILURE
    return StepStatus.CODE_FAILURE if kind is StepKind.BUILD else StepStatus.RUNTIME_FAILURE
