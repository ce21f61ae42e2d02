"""A study of imported runs alone, from a log to its pages: what no verifier gave is never shown as official."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from log_seeds import answer, page, said
from study_shape import HOSTILE

from loopscope.analysis.build import analyze
from loopscope.imports import Options, import_logs
from loopscope.report import build_report

EVALUATOR = """\
schema_version: 1
task: sorting
title: Sort a list
category: speed
metric: time
unit: s
direction: minimize
evaluations:
  - {role: score, program: bench.py, value: 'time (?P<value>[0-9.]+)'}
reward: {kind: log, base: 2, reference: 1}
"""


def bash(name: str, command: str, output: str) -> list[Any]:
    return [said((name, "Bash", {"command": command})), answer(name, output)]


def log() -> bytes:
    subject = f"round 2: change=y hypothesis=z {HOSTILE}".replace("\x00", "").replace("'", "")
    return page(
        {"role": "user", "content": "Optimize `/app/solve.py` for speed."},
        said(("w1", "Write", {"file_path": "/app/solve.py", "content": "a = 1\n"})),
        answer("w1", "ok"),
        *bash("b1", "cd /app && python3 bench.py", "time 1.6\n"),
        *bash("c1", "cd /app && git add -A && git commit -m 'round 1: change=x hypothesis=y'",
              "[main 1234567] round 1: change=x hypothesis=y\n 1 file changed\n"),
        said(("w2", "Write", {"file_path": "/app/solve.py", "content": "a = 2\n"})),
        answer("w2", "ok"),
        *bash("b2", "cd /app && python3 bench.py", "time 1.2\n"),
        *bash("c2", f"cd /app && git add -A && git commit -m '{subject}'", f"[main 89abcde] {subject}\n 1 file changed\n"),
        task="sorting", synthetic="a-model", category="ignored", id="0123456789abcdef0123",
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a study of one imported run."""
    folder = tmp_path_factory.mktemp("imported")
    (folder / "run.json").write_bytes(log())
    (folder / "sorting.yaml").write_text(EVALUATOR)
    import_logs([folder / "run.json"], folder / "s", Options(evaluators=(folder / "sorting.yaml",)))
    result = analyze(folder / "s")
    [run] = result.frames["runs"].to_dicts()
    assert (run["final_score"], run["final_source"], run["n_commits"]) == (0.737, "reconstructed", 2)
    return build_report(folder / "s").parent


def words(path: Path) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", path.read_text("utf-8")).split())


def test_the_first_page_calls_no_score_official(site: Path) -> None:
    text = words(site / "index.html")
    assert "Reconstructed final scores" in text and "Official final scores" not in text
    assert "all scored, scores reconstructed" in text
    assert "a-model 1 task, n = 1 reconstructed" in text, "the model's name is the agent's, and stands once"


def test_the_list_says_so_below_each_score(site: Path) -> None:
    text = words(site / "runs.html")
    assert re.search(r"0\.737 reconstructed, \w+", text) and "imported" in text


def test_the_runs_page_shows_what_its_scores_are_made_of(site: Path) -> None:
    [page] = (site / "runs").glob("*.html")
    text = words(page)
    assert "Imported from run.json (page). loopscope did not do this run" in text
    assert "scores reconstructed" in text and "no verifier ran" in text
    assert "Reconstructed score 0.322 reconstructed, " in text
    assert re.search(r"python3 bench\.py|bench\.py", text) and "0.7370" in text
    assert "an imported run has no repository, so there is no diff" in text
    assert "Use of the harness" in text and "canonical.json.zst" in text
    assert "verified apart from all commits" not in text and "The agent left no repository" not in text


def test_an_agents_text_stays_text(site: Path) -> None:
    [page] = (site / "runs").glob("*.html")
    data = page.read_text("utf-8")
    assert "<script>document.title" not in data and "&lt;script&gt;document.title" in data
    assert "\x1b" not in data
