"""A study of imported runs alone, from a log to its pages: what no verifier gave is never shown as official."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
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


def changed(site: Path, folder: Path, **tables: dict[str, Any]) -> Path:
    """The report of the same study with other values in its tables."""
    shutil.copytree(site.parent, folder / "s", ignore=shutil.ignore_patterns("report"))
    for name, values in tables.items():
        path = folder / "s" / "tables" / f"{name}.parquet"
        frame = pl.read_parquet(path)
        frame.with_columns(
            pl.lit(value).cast(frame.schema[key]).alias(key) for key, value in values.items()
        ).write_parquet(path)
    return build_report(folder / "s").parent


def test_what_was_not_seen_of_execution_is_shown_wherever_its_value_is(site: Path, tmp_path: Path) -> None:
    found = changed(site, tmp_path, runs={"c2": 0.9, "c2_low": 0.111, "c2_high": 1.0})
    assert "0.900 0.111–1.000" in words(found / "runs.html")
    assert "0.900 0.111–1.000, whatever was not seen" in words(next((found / "runs").glob("*.html")))
    assert "whatever was not seen" not in words(site / "runs.html"), "a point is a point"


def test_a_suspicious_jump_and_dips_within_the_noise_are_seen_without_opening_a_commit(
    site: Path, tmp_path: Path
) -> None:
    odd = {"suspicious": True, "remarks": ["suspicious: a jump of 0.4 to exactly 1.0"]}
    noise = {"n_dips": 2, "dips_within_noise": 2, "noise_band": 0.168}
    found = changed(site, tmp_path, checkpoints=odd, runs=noise)
    data = next((found / "runs").glob("*.html")).read_text("utf-8")
    text = " ".join(re.sub(r"<[^>]+>", " ", data).split())
    assert "Worth knowing Commit 1 : suspicious: a jump of 0.4 to exactly 1.0" in text
    assert "Commits 1, 2 make a suspicious jump: read what changed there." in text
    assert '<span class="chip odd">suspicious jump</span>' in data and 'class="key ring"' in data
    assert "2 dips, 2 within the noise" in text
    calm = words(next((site / "runs").glob("*.html")))
    assert "suspicious" not in calm and "within the noise" not in calm


def test_a_missing_final_score_says_what_became_of_the_last_state(site: Path, tmp_path: Path) -> None:
    log = json.loads((site.parents[1] / "run.json").read_bytes())
    log["messages"] += [said(("w3", "Write", {"file_path": "/app/solve.py", "content": "a = 3\n"})), answer("w3", "ok")]
    log["id"] = "another"
    (tmp_path / "run.json").write_text(json.dumps(log))
    import_logs([tmp_path / "run.json"], tmp_path / "s", Options(evaluators=(site.parents[1] / "sorting.yaml",)))
    analyze(tmp_path / "s")
    [page] = (build_report(tmp_path / "s").parent / "runs").glob("*.html")
    text = words(page)
    assert text.count("was not committed, and was not evaluated; the last commit with a score") == 2, (
        "story, final score"
    )
    assert "There is no final score. Its artifact was last changed in message" in text


def test_a_run_without_a_score_has_no_framing_of_nought(site: Path, tmp_path: Path) -> None:
    found = changed(site, tmp_path, runs={"c1": 0.0, "best_step_score": None})
    assert "missing: no checkpoint has a score" in words(found / "runs.html")
    assert "0.000" not in words(found / "runs.html")


def test_an_agents_text_stays_text(site: Path) -> None:
    [page] = (site / "runs").glob("*.html")
    data = page.read_text("utf-8")
    assert "<script>document.title" not in data and "&lt;script&gt;document.title" in data
    assert "\x1b" not in data
