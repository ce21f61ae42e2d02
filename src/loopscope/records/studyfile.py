"""The study file as a person wrote it: where it lies, and what it says."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import ClassVar

import yaml
from pydantic import ValidationError

from loopscope.models import StudySpec
from loopscope.records.durable import explain, first_of

STUDY_FILE = "study.yaml"
MAX_STUDY_FILE = 4 << 20
"""Bytes."""


class StudyError(Exception):
    """A study cannot be planned or continued. The message names file and field and says what to do."""

    midway: ClassVar[bool] = False
    """Something was done before: this machine is to blame, and the same command goes on later."""


class NoRoomError(StudyError):
    """The study stopped because this machine has too little disk. What is finished is kept."""

    midway = True


def locate(study: Path, out: Path | None = None) -> tuple[Path, Path]:
    """(study file, study directory) for what a person gave: a directory with `study.yaml`, or a YAML file.

    Results go to `out`, else beside `study.yaml`, else (for a file of another name) to a directory named like it.

    Raises:
        StudyError: there is no study file, or what the results' directory would be called is a file.
    """
    if study.is_dir():
        file = study / STUDY_FILE
        if not file.is_file():
            raise StudyError(f"{study}: holds no {STUDY_FILE}; write one, or give the path of a study file")
        return file, _directory(out or study)
    if not study.is_file():
        raise StudyError(f"{study}: no such file or directory; give a study file or a directory with {STUDY_FILE}")
    return study, _directory(out or (study.parent if study.name == STUDY_FILE else study.with_suffix("")))


def _directory(path: Path) -> Path:
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise StudyError(
            f"{str(path)!r}: is no UTF-8, which trials cannot be told of; rename it, or use --out"
        ) from None
    if path.exists() and not path.is_dir():
        raise StudyError(f"{path}: results would go here, but it is a file; name a directory with --out")
    return path


def load_study(file: Path) -> StudySpec:
    """Read a study file.

    Raises:
        StudyError: not YAML, or a field does not fit; names file, line or field, and the remedy.
    """
    if file.exists() and (not file.is_file() or file.stat().st_size > MAX_STUDY_FILE):
        raise StudyError(
            f"{file}: is no plain file of at most {MAX_STUDY_FILE >> 20} MiB; a study file is a short text"
        )
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{file}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", error)).split())
        raise StudyError(f"{file}:{where}: not valid YAML: {problem}") from None
    except (ValueError, RecursionError) as error:  # no date, a number of thousands of digits, nesting without end
        raise StudyError(f"{file}: a value cannot be read: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(data, dict):
        raise StudyError(f"{file}: a study is a mapping with name, tasks, agents and seeds; this is {_kind(data)}")
    try:
        return StudySpec.model_validate(data)
    except ValidationError as error:
        raise StudyError(f"{file}: {explain(error)}{_hint(error)}") from None


def _kind(value: object) -> str:
    return "empty" if value is None else f"a {type(value).__name__}"


def _hint(error: ValidationError) -> str:
    first = first_of(error)
    if first["type"] == "extra_forbidden":
        known = StudySpec.model_fields if len(first["loc"]) == 1 else {}
        close = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
        return f" (unknown field; did you mean `{close[0]}`?)" if close else " (unknown field; remove it)"
    if first["type"] == "missing":
        return " (add it)"
    return ""
