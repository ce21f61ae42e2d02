"""`tasks new`: what it makes is a whole task that runs, with the suite's own guard, and nothing is ever overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged import assert_worthless, valid
from sandboxed import Solution, score

from loopscope.records.durable import publish_new
from loopscope.tasks import TaskError, load_task
from loopscope.tasks.skeleton import Language, new_task
from loopscope.tasks.vendor import vendored_files

LANGUAGES: tuple[Language, ...] = ("python", "c")
EDITED = {"python": "solve.py", "c": "solve.c"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_a_task_with_everything_that_the_contract_names(language: Language, tmp_path: Path) -> None:
    task = new_task(tmp_path / "my_task-2", language, publish=publish_new)
    info = load_task(task)
    assert (info.name, info.title, info.timed) == ("my_task-2", "My task 2", language == "c")
    assert info.editable[0] == EDITED[language]
    assert info.repertoire
    assert info.anchors.baseline is not None
    assert "{{" not in "".join(p.read_text() for p in task.rglob("*") if p.is_file())
    for name, data in vendored_files(task).items():
        assert (task / "tests" / name).read_bytes() == data
    starter = task / "environment" / "starter"
    for copy in (task / "tests").iterdir():
        if copy.is_file() and (starter / copy.name).exists():
            assert copy.read_bytes() == (starter / copy.name).read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["my_task-2"], "nothing unfinished is left"


def test_nothing_is_overwritten_and_a_name_that_names_no_task_is_refused(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    with pytest.raises(TaskError, match="is there already"):
        new_task(tmp_path / "there", "python", publish=publish_new)
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(TaskError, match="cannot name a task"):
        new_task(tmp_path / "two words", "c", publish=publish_new)
    assert [p.name for p in tmp_path.iterdir()] == ["there"]


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_it_runs_the_starter_is_worth_about_nothing_and_the_reference_much(language: Language, tmp_path: Path) -> None:
    task = new_task(tmp_path / "mine", language, publish=publish_new)
    honest = {"python": {"LOOPSCOPE_SCALE": "7"}, "c": {"LOOPSCOPE_CALLS": "2", "LOOPSCOPE_PAIRS": "2"}}[language]
    broken = Solution(files={EDITED[language]: "not a program ("})
    starter, reference, changed, failed = score(
        task, Solution(evaluate=True), Solution(reference=True), Solution(reference=True, env=honest), broken
    )
    assert valid(starter)["reward"] <= 0.15
    assert "score: " in starter.local
    assert starter.details["guard"]
    assert valid(reference)["reward"] >= 0.35
    assert valid(changed)["reward"] == pytest.approx(reference.reward["reward"] if reference.reward else 0, abs=0.15)
    assert_worthless(failed, "no program")
