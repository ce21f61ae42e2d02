"""The demo writes where a demo may be and nowhere else. The demo itself is `benchmarks/bench_demo.py`'s business."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from cli_study import error_line, scripted, write_study
from toy_study import START

from loopscope.cli import demonstration as demo
from loopscope.records import StudyStore, load_study

DEMO = files("loopscope.cli").joinpath("demo.yaml").read_text()


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A demo of one tiny task in the place of the real one."""
    source = tmp_path / "source"
    source.mkdir()
    write_study(source, [scripted("a", START)])
    text = demo.MARKER + "\n" + (source / "s.yaml").read_text().replace("name: s\n", "name: demo\n")
    (source / "demo.yaml").write_text(text)
    monkeypatch.setattr(demo, "files", lambda _: source)
    return text


def test_the_marker_is_what_the_demo_begins_with():
    assert DEMO.startswith(demo.MARKER)


@pytest.mark.parametrize("fresh", [[], ["--fresh"]])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.txt", "mine"),
        ("study.yaml", DEMO.split("\n", 1)[1]),
        ("study.yaml", DEMO.replace("name: demo", "name: x")),
    ],
)
def test_a_directory_of_something_else_is_left_alone(cli, tmp_path, name, text, fresh):
    other = tmp_path / "other"
    (other / "runs").mkdir(parents=True)
    (other / name).write_text(text)
    message = error_line(cli("demo", "--out", "other", *fresh, check=2))
    assert "other: is not empty and holds no demo; name a new or empty directory with --out" in message
    assert sorted(path.name for path in other.iterdir()) == sorted(["runs", name])
    assert (other / name).read_text() == text


@pytest.mark.sandbox
def test_a_demo_is_begun_gone_on_with_and_begun_afresh(cli, tmp_path, small, monkeypatch):
    (tmp_path / "demo").mkdir()
    monkeypatch.setenv(demo.SET_UP_SEC, "12.5")
    first = json.loads(cli("demo", "--json", "--no-open").stdout)
    assert (first["rollouts_done_now"], first["scores"]["states"]) == (1, 2)
    seconds = first["seconds"]
    assert {"prepare", "rollout", "score", "analyze", "report", "total"} <= seconds.keys()
    assert seconds["total_with_set_up"] == pytest.approx(seconds["total"] + 12.5)
    assert (tmp_path / "demo/study.yaml").read_text() == small
    assert load_study(tmp_path / "demo/study.yaml").name == "demo"
    again = cli("demo", "--no-open").stdout
    assert "1 rollout (0 done now), 2 of 2 states scored (0 verifications now)" in again
    assert "total with set up" in again
    (tmp_path / "demo/mine.txt").write_text("kept")
    fresh = json.loads(cli("demo", "--json", "--no-open", "--fresh").stdout)
    assert fresh["rollouts_done_now"] == 1
    assert (tmp_path / "demo/mine.txt").read_text() == "kept"


def test_a_demo_in_use_is_not_touched(cli, tmp_path):
    (tmp_path / "demo/runs").mkdir(parents=True)
    (tmp_path / "demo/study.yaml").write_text(DEMO)
    with StudyStore(tmp_path / "demo").hold():
        assert "another loopscope is running this study" in error_line(cli("demo", "--fresh", check=2))
    assert (tmp_path / "demo/runs").is_dir()
