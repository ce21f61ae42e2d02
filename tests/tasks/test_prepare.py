from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path

import pytest
from harbor.models.task.task import Task
from hypothesis import given
from hypothesis import strategies as st
from make_task import make_task

from loopscope.models.task import PreparedTask
from loopscope.records import StudyStore, publish, read_model
from loopscope.tasks import TaskError, TaskSource, builtin_names, prepare_task, prepared_dir, resolve
from loopscope.tasks.copying import tree_hash
from loopscope.tasks.prepare import budget_text

prepare = functools.partial(prepare_task, publish=publish)


@pytest.fixture
def source(tmp_path: Path) -> TaskSource:
    return TaskSource(make_task(tmp_path / "from" / "mine"), "./mine", builtin=False)


def test_the_study_holds_a_copy_with_the_addition(source: TaskSource, tmp_path: Path) -> None:
    prepared = prepare(source, tmp_path / "study", budget_sec=5400)
    copy = prepared_dir(tmp_path / "study", "mine")
    text = (copy / "instruction.md").read_text()
    assert text.startswith("# Do it\n")
    for needed in ("1 hour 30 minutes", "/srv/work/output/journal.md", "git init", "round N: change=", "hypothesis=",
                   "output_snapshot/<commit>_<time>", "Never rewrite history", "hardware", "stop and report"):  # fmt: skip
        assert needed in text
    assert "$" not in text
    assert (copy / "environment" / "start.py").read_text() == "print('start')\n"
    assert read_model(tmp_path / "study/tasks/mine.json", PreparedTask) == prepared
    assert (prepared.source, prepared.info.name) == ("./mine", "mine")
    assert sorted(p.name for p in (tmp_path / "study/tasks").iterdir()) == ["mine", "mine.json"]


def test_without_record_keeping_the_copy_is_exact(source: TaskSource, tmp_path: Path) -> None:
    prepare(source, tmp_path / "study", record_keeping=False)
    assert tree_hash(prepared_dir(tmp_path / "study", "mine")) == tree_hash(source.directory)


def test_doing_it_again_changes_nothing(source: TaskSource, tmp_path: Path) -> None:
    first = prepare(source, tmp_path / "study")
    before = {p: p.lstat().st_mtime_ns for p in (tmp_path / "study").rglob("*") if p.is_file()}
    assert prepare(source, tmp_path / "study") == first
    assert {p: p.lstat().st_mtime_ns for p in (tmp_path / "study").rglob("*") if p.is_file()} == before


def test_a_lost_record_is_written_again(source: TaskSource, tmp_path: Path) -> None:
    first = prepare(source, tmp_path / "study")
    (tmp_path / "study/tasks/mine.json").unlink()
    assert prepare(source, tmp_path / "study") == first
    assert (tmp_path / "study/tasks/mine.json").is_file()


class PowerCut(BaseException):
    """Nothing of the process runs after it."""


@pytest.mark.parametrize("survives", [0, 1])
def test_a_power_cut_leaves_nothing_half_done(source: TaskSource, tmp_path: Path, survives: int) -> None:
    """Whatever was not published may be torn; all of it lies under one name that the next start sweeps."""
    study = tmp_path / "study"
    done: list[str] = []

    def cut(scratch: Path, target: Path) -> None:
        assert [p.name.startswith(".tmp-") for p in target.parent.iterdir() if p.name not in done] == [True]
        assert scratch.relative_to(target.parent).parts[0].startswith(".tmp-")
        if len(done) == survives:
            raise PowerCut
        publish(scratch, target)
        done.append(target.name)

    with pytest.raises(PowerCut):
        prepare(source, study, publish=cut)
    assert sorted(done) == ["mine"][:survives]
    prepared = prepare(source, study)
    assert prepared.content_hash == tree_hash(prepared_dir(study, "mine"))
    assert StudyStore(study).task("mine") == prepared


def test_what_was_guessed_is_kept_with_the_task(source: TaskSource, tmp_path: Path) -> None:
    notes = prepare(source, tmp_path / "study").notes
    assert any("metadata.loopscope.timed is not set" in note for note in notes), notes
    assert StudyStore(tmp_path / "study").task("mine").notes == notes


def test_a_torn_record_is_named(source: TaskSource, tmp_path: Path) -> None:
    prepare(source, tmp_path / "study")
    (tmp_path / "study/tasks/mine.json").write_text('{"info": ')
    with pytest.raises(TaskError, match=r"mine\.json: is no record .*restore"):
        prepare(source, tmp_path / "study")


@pytest.mark.parametrize("side", ["source", "copy", "budget", "record"])
def test_a_study_never_changes_under_itself(source: TaskSource, tmp_path: Path, side: str) -> None:
    prepared = prepare(source, tmp_path / "study")
    budget = None
    if side == "source":
        (source.directory / "tests" / "test.sh").write_text("echo 0\n")
    elif side == "copy":
        (prepared_dir(tmp_path / "study", "mine") / "environment" / "more").write_text("")
    elif side == "budget":
        budget = 1.0
    else:
        other = prepared.model_copy(update={"content_hash": "0" * 64})
        (tmp_path / "study/tasks/mine.json").write_text(other.model_dump_json())
    with pytest.raises(TaskError, match=r"away and (it|the task) is prepared again"):
        prepare(source, tmp_path / "study", budget_sec=budget)


def test_what_decides_a_score_has_a_hash_of_its_own(source: TaskSource, tmp_path: Path) -> None:
    first = prepare(source, tmp_path / "a")
    (source.directory / "instruction.md").write_text("# Do it well\n")
    (source.directory / "solution" / "solve.sh").write_text("false\n")
    other_words = prepare(source, tmp_path / "b")
    assert other_words.verifier_hash == first.verifier_hash
    assert other_words.content_hash != first.content_hash
    (source.directory / "tests" / "helper.py").write_text("x = 1\n")
    assert prepare(source, tmp_path / "c").verifier_hash != first.verifier_hash
    (source.directory / "tests" / "helper.py").unlink()
    with (source.directory / "task.toml").open("a") as file:
        file.write("[environment]\nmemory_mb = 77\n")
    assert prepare(source, tmp_path / "d").verifier_hash != first.verifier_hash


def test_modes_and_times_are_kept(source: TaskSource, tmp_path: Path) -> None:
    file = source.directory / "environment" / "start.py"
    file.chmod(0o750)
    os.utime(file, ns=(10**18, 10**18 + 7))
    os.utime(source.directory / "environment", ns=(10**18, 10**18 + 9))
    prepare(source, tmp_path / "study")
    copy = prepared_dir(tmp_path / "study", "mine") / "environment"
    assert (copy / "start.py").stat().st_mode & 0o777 == 0o750
    assert (copy / "start.py").stat().st_mtime_ns == 10**18 + 7
    assert copy.stat().st_mtime_ns == 10**18 + 9


def test_the_hash_does_not_depend_on_umask_time_or_litter(source: TaskSource, tmp_path: Path) -> None:
    first = prepare(source, tmp_path / "a")
    (source.directory / "environment" / "start.py").chmod(0o600)
    os.utime(source.directory / "instruction.md", (1, 1))
    (source.directory / "tests" / "__pycache__").mkdir()
    (source.directory / "tests" / "__pycache__" / "x.pyc").write_bytes(b"x")
    (source.directory / ".git").mkdir()
    (source.directory / ".git" / "config").write_text("[core]\n")
    assert prepare(source, tmp_path / "b").content_hash == first.content_hash
    assert not (prepared_dir(tmp_path / "b", "mine") / ".git").exists()
    (source.directory / "environment" / "start.py").chmod(0o755)
    assert prepare(source, tmp_path / "c").content_hash != first.content_hash


def test_links_inside_the_task_stay_links(source: TaskSource, tmp_path: Path) -> None:
    (source.directory / "environment" / "alias.py").symlink_to("start.py")
    prepare(source, tmp_path / "study")
    copy = prepared_dir(tmp_path / "study", "mine") / "environment" / "alias.py"
    assert copy.is_symlink()
    assert os.readlink(copy) == "start.py"


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../secret", "../environment/../../outside"])
def test_links_out_of_the_task_are_refused(source: TaskSource, tmp_path: Path, target: str) -> None:
    (source.directory / "environment" / "leak").symlink_to(target)
    with pytest.raises(TaskError, match="link out of the task"):
        prepare(source, tmp_path / "study")
    assert not list((tmp_path / "study" / "tasks").iterdir())


def test_pipes_are_refused(source: TaskSource, tmp_path: Path) -> None:
    os.mkfifo(source.directory / "tests" / "pipe")
    with pytest.raises(TaskError, match="neither a file"):
        prepare(source, tmp_path / "study")


@pytest.mark.parametrize("name", builtin_names())
def test_prepared_tasks_are_tasks_to_harbor(name: str, tmp_path: Path) -> None:
    prepared = prepare(resolve(name, tmp_path), tmp_path / "study")
    task = Task(prepared_dir(tmp_path / "study", name))
    assert task.name == name
    assert "output/journal.md" in task.instruction
    assert task.config.verifier.timeout_sec == prepared.info.verifier_timeout_sec
    assert prepared.info.builtin


@given(st.dictionaries(st.sampled_from("abcdef"), st.binary(max_size=20), min_size=1, max_size=4), st.data())
def test_any_change_of_name_or_byte_changes_the_hash(files: dict[str, bytes], data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for name, content in files.items():
            (root / name).write_bytes(content)
        before = tree_hash(root)
        assert tree_hash(root) == before
        chosen = root / data.draw(st.sampled_from(sorted(files)))
        if data.draw(st.booleans()):
            chosen.write_bytes(chosen.read_bytes() + b"x")
        else:
            shutil.move(chosen, root / "other")
        assert tree_hash(root) != before


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (600, "10 minutes"),
        (3600, "1 hour"),
        (43200, "12 hours"),
        (45.5, "45.5 seconds"),
        (90, "1 minute 30 seconds"),
        (7261, "2 hours 1 minute 1 second"),
    ],
)
def test_budgets_as_an_agent_reads_them(seconds: float, text: str) -> None:
    assert budget_text(seconds) == text


def test_a_study_of_before_git_was_added_keeps_its_task(
    source: TaskSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study"
    with monkeypatch.context() as before:
        before.setattr("loopscope.tasks.prepare._add_git", lambda fresh: [])
        old = prepare_task(source, study, publish=publish)
    assert prepare_task(source, study, publish=publish) == old
    (study / "tasks/mine.json").unlink()
    assert prepare_task(source, study, publish=publish) == old
    fresh = prepare_task(source, tmp_path / "new", publish=publish)
    assert fresh.content_hash != old.content_hash
    assert any("git is added" in note for note in fresh.notes)
