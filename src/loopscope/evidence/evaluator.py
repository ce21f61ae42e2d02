"""Evaluator files: the one that a study brings along for a task, else the one that is shipped."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from loopscope.models import TaskFacts
from loopscope.models.evaluator import Claim, EvaluationEntry, Evaluator, Gate, RewardFormula
from loopscope.models.study_rows import OVERALL
from loopscope.records import RecordError
from loopscope.records.durable import explain, first_of
from loopscope.records.yamlfile import read_mapping

SHIPPED = Path(__file__).with_name("evaluators")
MAX_FILE = 1 << 20
"""Bytes."""


class EvaluatorError(RecordError):
    """An evaluator file cannot be used. The message names file and field and says what to do."""


def load_evaluator(path: Path) -> Evaluator:
    """Read an evaluator file.

    Raises:
        EvaluatorError: it cannot be read, is not YAML, or a field does not fit.
    """
    what = "an evaluator is a mapping with task, metric, direction and evaluations"
    data = read_mapping(path, EvaluatorError, what=what, most_bytes=MAX_FILE)
    try:
        found = Evaluator.model_validate(data)
    except ValidationError as error:
        raise EvaluatorError(
            f"{path}: {explain(error)}{_hint(error)} (docs/evaluators.md describes the file)"
        ) from None
    if found.category == OVERALL or not found.category.isprintable() or len(found.category.strip()) not in range(1, 81):
        # It names rows of tables beside the one for all families.
        raise EvaluatorError(f"{path}: category: is no name of a family; name another, or leave the field out")
    return found


_PARTS = (Evaluator, EvaluationEntry, RewardFormula, Gate, Claim)


def _hint(error: ValidationError) -> str:
    """What an unknown field may have been meant for, among the fields of all parts of the file."""
    first = first_of(error)
    if first["type"] != "extra_forbidden":
        return ""
    known = {name for part in _PARTS for name in part.model_fields}
    close = difflib.get_close_matches(str(first["loc"][-1]), sorted(known), n=1)
    return f": unknown field, did you mean `{close[0]}`?" if close else ": unknown field, remove it"


@cache
def shipped_evaluators() -> Mapping[str, Evaluator]:
    """The evaluators that come with loopscope, by task."""
    return {path.stem: load_evaluator(path) for path in sorted(SHIPPED.glob("*.yaml"))}


def evaluator_for(task: str | None, extra: Path | None = None) -> Evaluator | None:
    """The evaluator of a task; None when there is none.

    Args:
        task: its name.
        extra: directory with `<task>.yaml` files of the study's own, which come first.

    Raises:
        EvaluatorError: the study's own file cannot be used, or speaks of another task.
    """
    if not task:
        return None
    # A task's name comes from a log: it must not lead out of the directory.
    path = extra / f"{task}.yaml" if extra is not None and "/" not in task and "\0" not in task else None
    if path is None or not path.is_file():
        return shipped_evaluators().get(task)
    found = load_evaluator(path)
    if found.task != task:
        raise EvaluatorError(f"{path}: task: is {found.task!a}, but the file is named for {task!a}; rename one of them")
    return found


def completed(facts: TaskFacts, evaluator: Evaluator | None) -> TaskFacts:
    """Facts of a task with what only its evaluator knows."""
    if evaluator is None:
        return facts
    own = evaluator.facts
    return TaskFacts(
        name=facts.name,
        title=facts.title if facts.title and facts.title != facts.name else own.title,
        category=facts.category if facts.category and facts.category != "uncategorized" else own.category,
        timed=facts.timed if facts.timed is not None else own.timed,
        editable=facts.editable or own.editable,
        anchors=facts.anchors if facts.anchors.metric is not None else own.anchors,
    )
