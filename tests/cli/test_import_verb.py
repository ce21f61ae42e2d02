"""`loopscope import`, as a person calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cli_study import error_line
from click.testing import Result
from made_logs import page_log


def test_what_was_imported_and_what_comes_next(cli: Callable[..., Result], tmp_path: Path) -> None:
    page_log(tmp_path / "logs" / "a.json", "a", seed=1)
    page_log(tmp_path / "logs" / "b.json", "b", seed=2, task="other")
    done = cli("import", "logs", "--into", "s")
    assert "t__model__s1" in done.stdout and "other__model__s2" in done.stdout
    assert "2 runs imported" in done.stdout and "next: loopscope analyze s" in done.stdout
    again = cli("import", "logs", "--into", "s")
    assert "0 runs imported, 2 logs known already" in again.stdout
    assert "units: 2 imported" in cli("status", "s").stdout
    assert "2 runs looked at; 0 damaged" in cli("study", "verify", "s").stdout


def test_one_log_of_several_fails(cli: Callable[..., Result], tmp_path: Path) -> None:
    page_log(tmp_path / "logs" / "a.json")
    page_log(tmp_path / "logs" / "b.json", "b", task=None, seed=2)
    done = cli("import", "logs", "--into", "s", "--json", check=1)
    assert "not imported: b.json: its log names no task; import it again with --task NAME" in done.stderr
    found = json.loads(done.stdout)
    assert [run["run_id"] for run in found["runs"]] == ["t__model__s1"]
    assert [log["log"] for log in found["not_imported"]] == ["b.json"]


def test_bad_input_is_told_in_a_line_and_leaves_nothing(cli: Callable[..., Result], tmp_path: Path) -> None:
    page_log(tmp_path / "a.json")
    assert "no such file" in error_line(cli("import", "nowhere", "--into", "s", check=2))
    assert "is no format; take one of" in error_line(cli("import", "a.json", "--into", "s", "--format", "x", check=2))
    assert "use letters, digits" in error_line(cli("import", "a.json", "--into", "s", "--task", "a/b", check=2))
    assert "No such file" in error_line(cli("import", "a.json", "--into", "s", "--evaluator", "x.yaml", check=2))
    assert not (tmp_path / "s").exists()


def test_hostile_names_move_no_terminal(cli: Callable[..., Result], tmp_path: Path) -> None:
    page_log(tmp_path / "logs" / "a\x1b[31m.json", task=None)
    done = cli("import", "logs", "--into", "s", check=2)
    assert "\x1b" not in done.stderr and "a\\x1b" in done.stderr


def test_status_says_what_a_study_of_imported_runs_still_wants(cli, tmp_path):
    page_log(tmp_path / "logs" / "a.json", "a", seed=1)
    cli("import", "logs", "--into", "s")
    assert "next: loopscope analyze s" in cli("status", "s").stdout
    cli("analyze", "s")
    assert "next: loopscope report s" in cli("status", "s").stdout
    cli("report", "s")
    assert "next:" not in cli("status", "s").stdout
    page_log(tmp_path / "logs" / "b.json", "b", seed=2)
    cli("import", "logs", "--into", "s")
    assert "next: loopscope analyze s" in cli("status", "s").stdout, "there is a run that the tables have not"
