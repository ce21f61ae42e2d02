"""Whatever stands in a study file, the answer is a study or one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.models import StudySpec
from loopscope.records import StudyError, load_study

GOOD = "name: s\ntasks: [t]\nagents: [nop]\nseeds: 1\n"


def answer(folder: Path, data: bytes) -> StudySpec | str:
    file = folder / "study.yaml"
    file.write_bytes(data)
    try:
        return load_study(file)
    except StudyError as error:
        return str(error)


@pytest.mark.parametrize(
    "text",
    [
        "name: 2001-99-99\n",
        f"seeds: {'9' * 10_000}\n",
        "[" * 20_000,
        "{a: " * 20_000,
        "a: &a [*a]\n",
        "? [1]\n: 2\n",
        "\x00",
        "name: !!python/object/apply:os.system [true]\n",
        "",
        "- 1\n",
        GOOD + "color: red\n",
        "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\ntasks: [*c,*c,*c]\n",
    ],
)
def test_what_is_no_study_is_one_line_that_names_the_file(tmp_path, text):
    line = answer(tmp_path, text.encode())
    assert isinstance(line, str)
    assert line.startswith(str(tmp_path / "study.yaml"))
    assert len(line.splitlines()) == 1
    assert len(line) < 1000


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: (GOOD + text).encode("utf-8", "replace")))
def test_any_bytes_are_answered(tmp_path_factory, data):
    found = answer(tmp_path_factory.mktemp("any"), data)
    assert isinstance(found, StudySpec) or len(found.splitlines()) == 1


def test_a_pipe_or_a_giant_is_not_read(tmp_path):
    file = tmp_path / "study.yaml"
    os.mkfifo(file)
    with pytest.raises(StudyError, match="no plain file"):
        load_study(file)
    file.unlink()
    with file.open("wb") as giant:
        giant.truncate(1 << 40)
    with pytest.raises(StudyError, match="no plain file of at most"):
        load_study(file)


def test_an_unknown_field_is_named_before_the_one_that_it_may_stand_for(tmp_path):
    said = answer(tmp_path, GOOD.replace("tasks:", "task:").encode())
    assert "task: " in said
    assert "did you mean `tasks`?" in said
