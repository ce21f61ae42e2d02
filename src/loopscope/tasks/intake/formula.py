"""Formula and anchors of a reward, read from the verification and held against task.toml. What is not found is None."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from math import isclose
from pathlib import Path

from loopscope.models.task import Anchors, Direction
from loopscope.tasks.intake.expressions import Reached, Unknown, evaluate, reach
from loopscope.tasks.intake.records import Form, Mismatch, ReadNumber, Scoring
from loopscope.tasks.intake.sources import Constant, Script, scripts

_BASELINE = re.compile(
    r"(?i)zero_at|(?:m_)?(?:b|base|baseline)(?:_(?:score|params|psnr|ppl|time|value|measured|cer|acc\w*))?"
)
_REFERENCE = re.compile(
    r"(?i)one_at|(?:m_)?(?:r|ref|reference|best_known|optimal|target|best)(?:_(?:score|params|psnr|ppl|time|value|cer|acc\w*))?"
)
_ONE_LETTER = re.compile(r"(?i)[br]")
_RESULT = re.compile(r"(?i)(?:\w*reward\w*|r|score|return)")
_LOGS = {"log", "log2", "log10", "log1p"}


def read_scoring(task_dir: Path) -> Scoring:
    """What the files below `tests/` say of the reward; nothing of them is run."""
    found, shell = scripts(task_dir)
    best = max(
        ((weight, -index, script, node) for index, script in enumerate(found) for weight, node in _rewards(script)),
        key=lambda choice: choice[:2],
        default=None,
    )
    everywhere = {**shell, **{name: c for other in found for name, c in other.constants.items()}}
    if best is None:
        baseline, reference = _lone(everywhere, _BASELINE), _lone(everywhere, _REFERENCE)
        return Scoring(baseline=_read(baseline), reference=_read(reference), direction=_direction(baseline, reference))
    _, _, script, node = best
    constants = {**everywhere, **script.constants}
    reached = reach(node, _anchor_names(constants), dict(script.assignments))
    # What a verifier states beside its formula counts also where the formula has another number.
    baseline = _named(reached.leaves, constants, _BASELINE) or _lone(shell, _BASELINE)
    reference = _named(reached.leaves, constants, _REFERENCE) or _lone(shell, _REFERENCE)
    at_baseline, at_reference = _at_anchors(node, script, constants, reached.leaves, baseline, reference)
    return Scoring(
        form=_form(reached),
        expression=ast.unparse(node)[:300],
        where=script.where(node),
        baseline=_read(baseline),
        reference=_read(reference),
        at_baseline=at_baseline,
        at_reference=at_reference,
        direction=_direction(baseline, reference),
    )


def _rewards(script: Script) -> Iterator[tuple[int, ast.expr]]:
    """Expressions that may be the reward, with a weight: those that speak of logarithms, quotients and anchors win."""
    assigned = dict(script.assignments)
    for name, node in script.assignments:
        if not _RESULT.fullmatch(name):
            continue
        reached = reach(node, _anchor_names(script.constants), assigned)
        anchors = sum(any(_is(pattern, n) for n in reached.leaves) for pattern in (_BASELINE, _REFERENCE))
        logs = bool(reached.calls & _LOGS)
        itself = any(isinstance(inner, ast.Div) for inner in ast.walk(node))
        if anchors and (itself or logs):
            yield 8 * itself + 4 * anchors + 2 * logs + ("reward" in name.lower()), node


def _anchor_names(constants: Mapping[str, Constant]) -> frozenset[str]:
    return frozenset(name for name in constants if _is(_BASELINE, name) or _is(_REFERENCE, name))


def _is(pattern: re.Pattern[str], name: str) -> bool:
    return bool(pattern.fullmatch(name)) and not _ONE_LETTER.fullmatch(name)


def _named(used: Iterable[str], constants: Mapping[str, Constant], pattern: re.Pattern[str]) -> Constant | None:
    """The constant that the formula uses under such a name."""
    return next((constants[name] for name in sorted(used) if _is(pattern, name) and name in constants), None)


def _lone(constants: Mapping[str, Constant], pattern: re.Pattern[str]) -> Constant | None:
    found = [constant for name, constant in sorted(constants.items()) if _is(pattern, name)]
    return found[0] if len(found) == 1 else None


def _form(reached: Reached) -> Form:
    if reached.calls & _LOGS:
        return Form.LOG
    reference = any(_is(_REFERENCE, name) for name in reached.leaves)
    baseline = any(_is(_BASELINE, name) for name in reached.leaves)
    if reference and baseline:
        return Form.LINEAR
    return Form.SHARE if baseline else Form.UNKNOWN


def _at_anchors(
    node: ast.expr,
    script: Script,
    constants: Mapping[str, Constant],
    leaves: frozenset[str],
    baseline: Constant | None,
    reference: Constant | None,
) -> tuple[Decimal | None, Decimal | None]:
    """The reward at both anchors, where all but one name of the formula (the metric) is known."""
    changed = {name for name, count in Counter(name for name, _ in script.assignments).items() if count > 1}
    known = {name: float(constants[name].value) for name in leaves - changed if name in constants}
    free = leaves - known.keys()
    if len(free) != 1:
        return None, None
    (metric,) = free

    def at(anchor: Constant | None) -> Decimal | None:
        if anchor is None:
            return None
        try:
            value = evaluate(node, known | {metric: float(anchor.value)}, dict(script.assignments))
        except Unknown:
            return None
        return Decimal(str(round(float(value), 6) + 0.0))

    return at(baseline), at(reference)


def _read(constant: Constant | None) -> ReadNumber | None:
    return None if constant is None else ReadNumber(value=constant.value, name=constant.name, where=constant.where)


def _direction(baseline: Constant | None, reference: Constant | None) -> Direction | None:
    if baseline is None or reference is None or baseline.value == reference.value:
        return None
    return "minimize" if reference.value < baseline.value else "maximize"


def mismatches(anchors: Anchors, scoring: Scoring) -> tuple[Mismatch, ...]:
    """Where both say something and not the same."""
    found = []
    for field, stated, read in (
        ("baseline", anchors.baseline, scoring.baseline),
        ("reference", anchors.reference, scoring.reference),
    ):
        if stated is not None and read is not None and not isclose(stated, read.value, rel_tol=1e-9):
            found.append(Mismatch(field=field, stated=str(stated), read=f"{read.name} {read.value}", where=read.where))
    if anchors.direction and scoring.direction and anchors.direction != scoring.direction:
        where = scoring.reference.where if scoring.reference else ""
        found.append(Mismatch(field="direction", stated=anchors.direction, read=scoring.direction, where=where))
    if anchors.reference is not None and scoring.form is Form.SHARE and scoring.reference is None:
        found.append(
            Mismatch(field="reference", stated=str(anchors.reference), read="not used", where=scoring.where or "")
        )
    return tuple(found)
