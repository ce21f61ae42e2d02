from __future__ import annotations

from pathlib import Path

import pytest
from make_task import make_task

from loopscope.tasks import TaskError, builtin_names, load_task, resolve


def test_the_built_in_suite() -> None:
    assert {
        "addition_chains",
        "coupled_forecast",
        "csv_groupby",
        "cyclic_automaton",
        "discrepancy",
        "label_noise",
        "segmented_scan",
        "strip_packing",
    } <= set(builtin_names())


def test_a_name_is_a_built_in_even_where_a_directory_has_it_too(tmp_path: Path) -> None:
    make_task(tmp_path / "csv_groupby")
    assert resolve("csv_groupby", tmp_path).origin == "builtin:csv_groupby"
    beside = resolve("./csv_groupby", tmp_path)
    assert (beside.builtin, beside.origin) == (False, "./csv_groupby")
    assert load_task(beside.directory).category == "puzzle"


def test_paths_are_relative_to_the_study_file(tmp_path: Path) -> None:
    make_task(tmp_path / "tasks" / "mine")
    assert resolve("tasks/mine", tmp_path).directory == tmp_path / "tasks" / "mine"
    assert resolve(str(tmp_path / "tasks" / "mine"), Path("/")).directory == tmp_path / "tasks" / "mine"


def test_an_unknown_name_offers_close_ones(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="did you mean csv_groupby"):
        resolve("csv_group", tmp_path)
    with pytest.raises(TaskError, match=r"built-in tasks are .*addition_chains"):
        resolve("zzz", tmp_path)
