"""Planted habits are really acted out, and told; nothing else about the agent changes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from lab import TASKS, annotations, in_loop, logs_dir, run_agent, sandbox, sh, transcript

from loopscope.agents.search import SearchAgent
from loopscope.agents.search.mutate import error_count
from loopscope.agents.search.plant import PlantedTruth, without_a_bracket
from loopscope.models.annotation import StepKind, StepStatus

STATES = "for c in $(git rev-list --reverse HEAD); do git rev-parse $c:smooth.py; done"


def planted(where: Path, task: str, look: str, rounds: int, **plant: Any) -> tuple[PlantedTruth | None, str]:
    """Run the agent with a plant (or without, when it is empty); what it says that it planted, and what the look prints."""
    kwargs = {"plant": plant} if plant else {}
    agent = SearchAgent(logs_dir=logs_dir(where), rounds=rounds, seed=4, **kwargs)
    source = TASKS / task

    async def body() -> str:
        async with sandbox(where, source) as env:
            await sh(env, "rm instruction.md")
            await run_agent(agent, env, (source / "instruction.md").read_text())
            return await sh(env, look)

    seen = in_loop(body)
    told = logs_dir(where) / "plant.json"
    return (PlantedTruth.read(told) if told.exists() else None), seen


@pytest.mark.sandbox
def test_a_plant_of_nothing_changes_nothing(tmp_path: Path) -> None:
    none, plain = planted(tmp_path / "a", "smoothing", STATES + "; cat output/journal.md", 5)
    some, same = planted(tmp_path / "b", "smoothing", STATES + "; cat output/journal.md", 5, build_failures=0)
    assert same == plain
    assert none is None
    assert some is not None
    assert [r.failed_builds + r.candidates for r in some.rounds] == [0] * 5


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("hidden", [0, 1])
def test_planted_builds_really_fail_and_are_mended_before_the_commit(tmp_path: Path, hidden: int) -> None:
    """In a task that compiles, and its commits all compile."""
    look = "for c in $(git rev-list HEAD); do git checkout -q $c -- count.c Makefile && make -B 2>&1 | grep -c error; done; true"
    truth, seen = planted(tmp_path, "counting_words", look, 4, build_failures=0.7, hidden=hidden)
    assert truth is not None
    failed = sum(r.failed_builds for r in truth.rounds)
    assert failed >= 3
    assert sum(r.hidden_failed_builds for r in truth.rounds) == failed * hidden
    noted = [a for a in annotations(transcript(tmp_path)) if a.status is StepStatus.CODE_FAILURE]
    assert len(noted) == failed * (1 - hidden)
    assert {a.kind for a in noted} <= {StepKind.BUILD}
    assert set(seen.split()) == {"0"}


@pytest.mark.sandbox
@pytest.mark.slow
def test_dips_are_planted_and_left_after_the_delay(tmp_path: Path) -> None:
    truth, seen = planted(tmp_path, "smoothing", "git log --reverse --format=%s", 14, dips=0.5, recovery_delay=2)
    assert truth is not None
    ways = [r.went for r in truth.rounds]
    assert "to a worse state" in ways
    subjects = seen.splitlines()[1:]
    for number, way in enumerate(ways):
        assert ("change=back to the best state" in subjects[number]) == (way == "back to the best")
        if way == "to a worse state" and "back to the best" in ways[number : number + 4]:
            assert ways[number + 1 : number + 4] == ["on", "on", "back to the best"]
    assert "back to the best" in ways


@pytest.mark.sandbox
def test_the_first_move_is_the_one_that_the_plant_asks_for(tmp_path: Path) -> None:
    scores = {}
    for rank in ("worst", "best"):
        truth, _ = planted(tmp_path / rank, "smoothing", "true", 1, first_move=rank, first_candidates=5)
        assert truth is not None
        assert truth.rounds[0].candidates == 5
        notes = annotations(transcript(tmp_path / rank), StepKind.EVALUATE)
        tried = [float(n.score) for n in notes[2:7] if n.score]
        scores[rank] = float(notes[7].score or "nan")
        assert scores[rank] == (max(tried) if rank == "worst" else min(tried)), "the score is an error: lower is better"
    assert scores["best"] < scores["worst"]


@pytest.mark.sandbox
def test_what_is_hidden_happens_all_the_same(tmp_path: Path) -> None:
    """Equal commits; only the transcript has no candidates."""
    shown, open_states = planted(tmp_path / "a", "smoothing", STATES, 3, candidates=3)
    hidden, hidden_states = planted(tmp_path / "b", "smoothing", STATES + "; ls /tmp", 3, candidates=3, hidden=1)
    assert shown is not None
    assert hidden is not None
    assert hidden_states == open_states, "and nothing is left behind"
    assert [r.hidden_candidates for r in hidden.rounds] == [r.candidates for r in shown.rounds] == [3, 3, 3]
    seen = {
        where: {(a.state, a.round) for a in annotations(transcript(tmp_path / where), StepKind.EVALUATE)}
        for where in "ab"
    }
    assert seen["b"] < seen["a"]
    assert len(seen["a"]) > 9


@pytest.mark.parametrize("name", ["smoothing/smooth.py", "counting_words/count.c"])
def test_a_missing_bracket_is_seen_by_a_parser(name: str) -> None:
    data = (TASKS / name).read_bytes()
    for seed in range(20):
        broken = without_a_bracket({"notes.txt": b"(see there)", name: data}, random.Random(seed))
        assert broken is not None
        assert len(broken[name]) == len(data) - 1
        assert error_count(name, broken[name]) > 0


def test_files_that_no_parser_reads_are_left_alone() -> None:
    assert without_a_bracket({"notes.txt": b"(see there)"}, random.Random(1)) is None


def test_a_plant_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"build_failures[\s\S]*less than or equal to 0.95"):
        SearchAgent(logs_dir=tmp_path, plant={"build_failures": 1.5})
    with pytest.raises(ValueError, match=r"Unknown option .plant\.build_failure."):
        SearchAgent(logs_dir=tmp_path, plant={"build_failure": 0.5})
