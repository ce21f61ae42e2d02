"""The study file as a person wrote it: where it lies, and what it says."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import ClassVar

from pydantic import ValidationError

from loopscope.models import StudySpec
from loopscope.records.durable import explain, first_of
from loopscope.records.yamlfile import read_mapping

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
    what = "a study is a mapping with name, tasks, agents and seeds"
    data = read_mapping(file, StudyError, what=what, most_bytes=MAX_STUDY_FILE)
    try:
        return StudySpec.model_validate(data)
    except ValidationError as error:
        raise StudyError(f"{file}: {explain(error)}{_hint(error)}") from None


def _hint(error: ValidationError) -> str:
    first = first_of(error)
    if first["type"] == "extra_forbidden":
        known = StudySpec.model_fields if len(first["loc"]) == 1 else {}
        close = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
        return f" (unknown field; did you mean `{close[0]}`?)" if close else " (unknown field; remove it)"
    if first["type"] == "missing":
        return " (add it)"
    return ""
