from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from make_task import TOML, make_task

from loopscope.tasks import TaskError, load_task, read_task

TIMED = "[metadata.loopscope]\ntimed = false\n"


def optimization(body: str) -> str:
    return f'[metadata]\ndomain = "d"\n{TIMED}[optimization]\n{body}\n'


def test_reads_what_a_study_needs(tmp_path: Path) -> None:
    info = load_task(make_task(tmp_path / "my_task"))
    assert (info.name, info.title, info.category) == ("my_task", "my task", "puzzle")
    assert (info.workdir, info.agent_timeout_sec, info.verifier_timeout_sec) == ("/srv/work", 7200, 300)
    assert (info.anchors.metric, info.anchors.direction) == ("steps", "minimize")
    assert (info.anchors.baseline, info.anchors.reference) == (Decimal("20.0"), Decimal("0.04"))
    assert (info.timed, info.gpus, info.editable, info.builtin) == (False, 0, (), False)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("baseline_score = 412\nreference_score = 250", (412, 250)),
        ("baseline = 3\nreference = 4.50", (3, Decimal("4.50"))),
        ("[optimization.baseline]\nvalue = 1e3", (1000, None)),
        (
            '[optimization.baseline]\nscore = "20.5 s"\n[optimization.reference]\nscore = "~1,300 cycles"',
            ("20.5", 1300),
        ),
        ('[optimization.baseline]\nscore = "4_080"', (4080, None)),
        ("", (None, None)),
        ('[optimization.baseline]\nscore = "unknown"\n[optimization.reference]\nscore = nan', (None, None)),
        ("[optimization.baseline]\nscore = true", (None, None)),
        ('[optimization.baseline]\nmethod = "words only"', (None, None)),
    ],
)
def test_anchors_as_tasks_write_them(tmp_path: Path, body: str, expected: tuple[object, object]) -> None:
    anchors = load_task(make_task(tmp_path / "t", optimization(body))).anchors
    wanted = [None if value is None else Decimal(str(value)) for value in expected]
    assert [anchors.baseline, anchors.reference] == wanted


def test_a_value_that_is_no_anchor_is_told(tmp_path: Path) -> None:
    toml = optimization('direction = "sideways"\nbaseline = "none yet"\nreference_score = inf')
    notes = read_task(make_task(tmp_path / "t", toml)).notes
    assert [note.split(":")[0] for note in notes] == [
        "optimization.direction",
        "optimization.baseline",
        "optimization.reference",
    ]


@pytest.mark.parametrize(
    ("word", "direction"),
    [("lower", "minimize"), ("Higher is better", "maximize"), ("MAX", "maximize"), ("minimise", "minimize")],
)
def test_directions(tmp_path: Path, word: str, direction: str) -> None:
    assert load_task(make_task(tmp_path / "t", optimization(f'direction = "{word}"'))).anchors.direction == direction


@pytest.mark.parametrize(
    ("metric", "timed"),
    [
        ("runtime_seconds", True),
        ("throughput_mb_per_s", True),
        ("latency (ms)", True),
        ("speedup", True),
        ("wall clock", True),
        ("ops/s", True),
        ("perplexity", False),
        ("cycles", False),
        ("items", False),
        ("sentiment accuracy", False),
        ("bytes", False),
    ],
)
def test_timed_is_guessed_from_the_metric_and_said(tmp_path: Path, metric: str, timed: bool) -> None:
    reading = read_task(make_task(tmp_path / "t", f'[metadata]\ndomain = "x"\n[optimization]\nmetric = "{metric}"\n'))
    assert reading.info.timed is timed
    assert any("metadata.loopscope.timed is not set" in note for note in reading.notes)


def test_timed_as_stated_wins(tmp_path: Path) -> None:
    toml = '[metadata.loopscope]\ntimed = false\n[optimization]\nmetric = "seconds"\n'
    reading = read_task(make_task(tmp_path / "t", toml))
    assert (reading.info.timed, reading.notes) == (False, ())


@pytest.mark.parametrize(
    ("toml", "category"),
    [
        ('[metadata]\ndomain = "a"\ncategory = "b"\n', "a"),
        ('[metadata]\ncategory = "b"\n', "b"),
        ("", "uncategorized"),
        ('[metadata]\ndomain = ""\n', "uncategorized"),
    ],
)
def test_category(tmp_path: Path, toml: str, category: str) -> None:
    assert load_task(make_task(tmp_path / "t", toml)).category == category


@pytest.mark.parametrize(
    ("environment", "gpus"),
    [("gpus = 2", 2), ('gpu_type = "H100"', 1), ('gpu_types = ["H100", "A100"]', 1), ("gpus = 0", 0), ("cpus = 2", 0)],
)
def test_gpus(tmp_path: Path, environment: str, gpus: int) -> None:
    assert load_task(make_task(tmp_path / "t", f"{TOML}[environment]\n{environment}\n")).gpus == gpus


def test_workdir_of_the_task_file_wins_and_app_is_the_default(tmp_path: Path) -> None:
    assert load_task(make_task(tmp_path / "a", dockerfile="FROM x\n")).workdir == "/app"
    task = make_task(tmp_path / "b", TOML + '[environment]\nworkdir = "/elsewhere"\n')
    assert load_task(task).workdir == "/elsewhere"
    (tmp_path / "a" / "environment" / "Dockerfile").unlink()
    assert load_task(tmp_path / "a").workdir == "/app"


@pytest.mark.parametrize("missing", ["task.toml", "instruction.md", "tests/test.sh"])
def test_a_directory_that_cannot_run_is_refused(tmp_path: Path, missing: str) -> None:
    task = make_task(tmp_path / "t")
    (task / missing).unlink()
    with pytest.raises(TaskError, match=r"test\.sh|instruction\.md|task\.toml") as caught:
        load_task(task)
    assert str(task) in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("version = \n", "line 1"),
        ("[metadata]\nx = 1\ny == 2\n", "line 3"),
        ('metadata = "text"\n', "metadata: is text, not a table"),
        ("[agent]\ntimeout_sec = -5\n", "agent.timeout_sec: .*not a time"),
        ('[verifier]\ntimeout_sec = "soon"\n', "verifier.timeout_sec: .*'soon'"),
        ('[metadata.loopscope]\ntimed = "yes"\n', "metadata.loopscope.timed: 'yes' is not true or false"),
        ("[metadata.loopscope]\neditable = 3\n", "metadata.loopscope.editable"),
        ('[[steps]]\nname = "one"\n', "steps: .*not supported"),
    ],
)
def test_malformed_task_files_say_where(tmp_path: Path, toml: str, says: str) -> None:
    task = make_task(tmp_path / "t", toml)
    with pytest.raises(TaskError, match=says) as caught:
        load_task(task)
    assert str(caught.value).startswith(str(task / "task.toml"))
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    task = make_task(tmp_path / "t")
    (task / "task.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TaskError, match="cannot be read"):
        load_task(task)


def test_a_name_that_cannot_name_a_task(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="rename it"):
        load_task(make_task(tmp_path / "with space"))
    with pytest.raises(TaskError, match="not a directory"):
        load_task(tmp_path / "absent")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("FILES=$(find /srv/work -mindepth 1 -type f)", True),
        ('find "$APP_DIR" -type f', True),
        ("EXTRA=$(find /srv/work)", True),
        ("# find /srv/work -type f", False),
        ("find /srv/work/target -name x", False),
        ("find /tests -type f", False),
    ],
)
def test_a_verifier_that_lists_the_working_directory_is_told_of(tmp_path: Path, line: str, told: bool) -> None:
    task = make_task(tmp_path / "mine")
    (task / "tests/test.sh").write_text(f"set -e\n{line}\n")
    notes = [note for note in read_task(task).notes if "lists the files of /srv/work" in note]
    assert [note.partition(": ")[0] for note in notes] == (["tests/test.sh:2"] if told else [])
