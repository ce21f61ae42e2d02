"""Read a Harbor task directory: tolerant where published tasks differ, strict where a run would fail."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from loopscope.models.task import Anchors, Direction, TaskInfo
from loopscope.tasks.dockerfile import final_workdir
from loopscope.tasks.errors import TaskError
from loopscope.tasks.layout import lists_workdir

DEFAULT_TIMEOUT_SEC = 600.0
"""Harbor's own default for agent and verifier."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_TIMED = re.compile(
    r"(?<![a-z])(run ?time|wall ?clock|time|timing|speed ?up|speed|latency|throughput|seconds?|secs?|millis\w*|ms|us|ns"
    r"|\w*ops(?=[/_ ]|$)|[gmk]b/s|tokens?[_ ]per[_ ]s\w*)(?![a-z])"
)
_DIRECTIONS: Mapping[str, Direction] = {
    **dict.fromkeys(("minimize", "minimise", "min", "lower", "lower_is_better", "down"), "minimize"),
    **dict.fromkeys(("maximize", "maximise", "max", "higher", "higher_is_better", "up"), "maximize"),
}


@dataclass(frozen=True)
class TaskReading:
    """A task's facts, and what was guessed or passed over on the way to them."""

    info: TaskInfo
    directory: Path
    notes: tuple[str, ...] = ()


class _Table:
    """A TOML table that knows its file and its own dotted name, so that every complaint can say where."""

    def __init__(self, file: Path, data: Any, name: str = "") -> None:
        self.file, self.name = file, name
        if not isinstance(data, Mapping):
            raise TaskError(file, f"is {_kind(data)}, not a table", field=name, remedy=f"write it as [{name}]")
        self.data: Mapping[str, Any] = data

    def _field(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def table(self, key: str) -> _Table:
        return _Table(self.file, self.data.get(key, {}), self._field(key))

    def text(self, *keys: str) -> str | None:
        """The first of these keys that is set; lists are joined (gpu_types and tags are)."""
        for key in keys:
            value = self.data.get(key)
            if isinstance(value, str) and value.strip():
                return value.strip()
            if isinstance(value, Sequence) and value and not isinstance(value, str):
                return " ".join(str(v) for v in value)
        return None

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key, ())
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
            raise TaskError(self.file, f"is {_kind(value)}, not a list of strings", field=self._field(key))
        return tuple(value)

    def seconds(self, key: str) -> float:
        value = self.data.get(key, DEFAULT_TIMEOUT_SEC)
        number = _decimal(value)
        if number is None or number <= 0:
            raise TaskError(
                self.file, f"{value!r} is not a time", field=self._field(key), remedy="give seconds above 0"
            )
        return float(number)


def _kind(value: Any) -> str:
    return {str: "text", bool: "a boolean", int: "a number", Decimal: "a number", list: "a list", dict: "a table"}.get(
        type(value), type(value).__name__
    )


def _decimal(value: Any) -> Decimal | None:
    """An exact finite number from a TOML number or from text that holds one (`"20.0 s"`, `"1e6"`, `"4_080"`)."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value)
    if isinstance(value, str):
        match = _NUMBER.search(value.replace(",", ""))
        text = match[0].replace("_", "") if match else ""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _anchor(table: _Table, kind: str, notes: list[str]) -> Decimal | None:
    """`[optimization.baseline] score`, `baseline = 20` or `baseline_score = 20`."""
    nested = table.data.get(kind)
    value = nested.get("score", nested.get("value")) if isinstance(nested, Mapping) else nested
    if value is None:
        value = table.data.get(f"{kind}_score")
    if value is None:
        return None
    number = _decimal(value)
    if number is None:
        notes.append(f"optimization.{kind}: {value!r} is not a number; treated as absent")
    return number


def _anchors(document: _Table, notes: list[str]) -> Anchors:
    table = document.table("optimization")
    written = table.text("direction")
    direction = _DIRECTIONS.get(written.lower().replace(" ", "_").replace("-", "_")) if written else None
    if written and direction is None:
        notes.append(f"optimization.direction: {written!r} is neither minimize nor maximize; treated as absent")
    return Anchors(
        metric=table.text("metric"),
        direction=direction,
        baseline=_anchor(table, "baseline", notes),
        reference=_anchor(table, "reference", notes),
    )


def _gpus(environment: _Table, notes: list[str]) -> int:
    value = environment.data.get("gpus")
    if value is None:
        return 1 if environment.text("gpu_types", "gpu_type") else 0
    number = _decimal(value)
    if number is None or number < 0:
        notes.append(f"environment.gpus: {value!r} is not a count; treated as 0")
        return 0
    return int(number)


def _timed(own: _Table, anchors: Anchors, category: str, notes: list[str]) -> bool:
    stated = own.data.get("timed")
    if isinstance(stated, bool):
        return stated
    if stated is not None:
        raise TaskError(own.file, f"{stated!r} is not true or false", field=f"{own.name}.timed")
    text = f"{anchors.metric or ''} {category}".lower().replace("_", " ")
    found = _TIMED.search(text)
    why = f"its metric speaks of {found[0]!r}" if found else "nothing in metric or domain speaks of time"
    notes.append(f"metadata.loopscope.timed is not set; taken as {'true' if found else 'false'} because {why}")
    return bool(found)


def _document(directory: Path) -> _Table:
    file = directory / "task.toml"
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        remedy = "a task is a directory in Harbor's format: see docs/tasks.md"
        raise TaskError(directory, "has no task.toml", remedy=remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(file, f"cannot be read ({error})") from None
    try:
        return _Table(file, tomllib.loads(text, parse_float=Decimal))
    except tomllib.TOMLDecodeError as error:
        raise TaskError(file, f"is not valid TOML: {error}", remedy="mend that line") from None


def _check_parts(directory: Path, document: _Table) -> None:
    if "steps" in document.data:
        raise TaskError(
            document.file,
            "tasks of several steps are not supported",
            field="steps",
            remedy="split it into one task per step",
        )
    if not (directory / "instruction.md").is_file():
        raise TaskError(directory, "has no instruction.md", remedy="write what the agent is told there")
    if not (directory / "tests" / "test.sh").is_file():
        raise TaskError(
            directory, "has no verifier (tests/test.sh)", remedy="add one that writes /logs/verifier/reward.json"
        )


def _workdir(directory: Path, environment: _Table) -> str:
    if stated := environment.text("workdir"):
        return stated
    file = directory / "environment" / "Dockerfile"
    if not file.is_file():
        return "/app"
    return final_workdir(file.read_text(encoding="utf-8", errors="replace")) or "/app"


def read_task(directory: Path | str, *, builtin: bool = False) -> TaskReading:
    """Read one task directory, with notes on everything that was guessed.

    Raises `TaskError` for a directory that could not be run: no task.toml, instruction or verifier, malformed TOML, a
    field of the wrong kind. Missing anchors, metric or family are not errors.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise TaskError(directory, "is not a directory", remedy="give the path of a Harbor task directory")
    name = directory.resolve().name
    if not _NAME.fullmatch(name):
        raise TaskError(
            directory,
            f"the directory name {name!r} cannot name a task",
            remedy="rename it to letters, digits and . _ - (at most 100)",
        )
    document = _document(directory)
    _check_parts(directory, document)
    notes: list[str] = []
    metadata = document.table("metadata")
    own = metadata.table("loopscope")
    environment = document.table("environment")
    anchors = _anchors(document, notes)
    category = metadata.text("domain", "category") or "uncategorized"
    info = TaskInfo(
        name=name,
        title=own.text("title") or metadata.text("title") or name.replace("_", " ").replace("-", " "),
        category=category,
        workdir=_workdir(directory, environment),
        agent_timeout_sec=document.table("agent").seconds("timeout_sec"),
        verifier_timeout_sec=document.table("verifier").seconds("timeout_sec"),
        timed=_timed(own, anchors, category, notes),
        editable=own.strings("editable"),
        repertoire=own.strings("repertoire"),
        anchors=anchors,
        gpus=_gpus(environment, notes),
        builtin=builtin,
    )
    if where := lists_workdir(directory, info.workdir):
        notes.append(
            f"{where}: its verifier lists the files of {info.workdir}; a journal that is kept there may "
            "cost the reward (`record_keeping: none` asks for none)"
        )
    return TaskReading(info=info, directory=directory, notes=tuple(notes))


def load_task(directory: Path | str, *, builtin: bool = False) -> TaskInfo:
    """`read_task` without the notes."""
    return read_task(directory, builtin=builtin).info
