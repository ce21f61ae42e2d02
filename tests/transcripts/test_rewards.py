"""Rewards that logs themselves state: Harbor's results and reward files, Inspect's scores."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from log_seeds import archive, sample, seeds

from loopscope.transcripts import formats
from loopscope.transcripts.canonical import NoteKind, Reported, Transcript

ATIF: bytes = next(seed.data for seed in seeds() if seed.format == "atif")


def trial(folder: Path, result: Any, files: dict[str, str], steps: tuple[str, ...] = ("",)) -> list[Transcript]:
    """What is read of a trial with a result and files of its verifier."""
    for step in steps:
        (folder / step / "agent").mkdir(parents=True)
        (folder / step / "agent/trajectory.json").write_bytes(ATIF)
    (folder / "result.json").write_text(json.dumps({"task_name": "t", **result}))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return list(formats.read(folder))


IN_RESULT, IN_JSON, IN_TEXT = "result.json verifier_result.rewards", "verifier/reward.json", "verifier/reward.txt"


@pytest.mark.parametrize(
    ("result", "files", "reward", "where"),
    [
        ({"verifier_result": {"rewards": {"reward": 0.25}}}, {"verifier/reward.json": "1"}, "0.25", IN_RESULT),
        ({"verifier_result": {"rewards": {"accuracy": 0.5}}}, {}, "0.5", IN_RESULT),
        ({"verifier_result": {"reward": 1}}, {}, "1", "result.json verifier_result.reward"),
        ({"verifier_result": {"rewards": {"reward": 0.0}}}, {}, "0", IN_RESULT),
        ({}, {"verifier/reward.json": "0.75"}, "0.75", IN_JSON),
        ({}, {"verifier/reward.json": '{"reward": {"reward": 0.5}, "time": 3}'}, "0.5", IN_JSON),
        ({}, {"verifier/reward.txt": " 0.125\n"}, "0.125", IN_TEXT),
        ({"verifier_result": None}, {"verifier/reward.json": "null", "verifier/reward.txt": "0.5"}, "0.5", IN_TEXT),
    ],
)
def test_a_trials_reward_and_where_it_stands(
    tmp_path: Path, result: Any, files: dict[str, str], reward: str, where: str
) -> None:
    [found] = trial(tmp_path / "t__1", result, files)
    assert found.reported == Reported(Decimal(reward), where)


@pytest.mark.parametrize(
    ("result", "files"),
    [
        ({"exception_info": {"exception_type": "RewardFileNotFoundError"}, "verifier_result": None}, {}),
        ({"exception_info": {"exception_type": "X"}}, {"verifier/reward.json": "null"}),
        ({"verifier_result": {"rewards": {"reward": None}}}, {"verifier/reward.json": '{"reward": "none"}'}),
        ({"verifier_result": {"rewards": {"a": 0.5, "b": 1}}}, {}),
        ({"verifier_result": {"rewards": {"reward": float("nan")}}}, {"verifier/reward.txt": "inf"}),
        ({"verifier_result": {"rewards": {"reward": 1e200}}}, {"verifier/reward.txt": ""}),
        ({"verifier_result": [1]}, {"verifier/reward.json": "{"}),
    ],
)
def test_what_is_no_reward_is_missing_and_not_nothing(tmp_path: Path, result: Any, files: dict[str, str]) -> None:
    [found] = trial(tmp_path / "t__1", result, files)
    assert found.reported is None


def test_steps_have_rewards_of_their_own(tmp_path: Path) -> None:
    files = {"steps/one/verifier/reward.json": "0.5", "steps/two/verifier/reward.txt": "no"}
    result = {"verifier_result": {"rewards": {"reward": 1}}}
    found = trial(tmp_path / "t__1", result, files, ("steps/one", "steps/two"))
    assert [item.reported for item in found] == [Reported(Decimal("0.5"), "steps/one/verifier/reward.json"), None]


def test_a_reward_of_several_sessions_is_nobodys(tmp_path: Path) -> None:
    rollouts = [seed.data for seed in seeds() if seed.format == "codex"]
    folder = tmp_path / "t__1"
    (folder / "agent").mkdir(parents=True)
    for number, name in enumerate("ab"):
        data = rollouts[0].replace(b'"a"', f'"{name}{number}"'.encode())
        (folder / f"agent/rollout-{name}.jsonl").write_bytes(data)
    (folder / "result.json").write_text('{"verifier_result": {"rewards": {"reward": 1}}}')
    found = list(formats.read(folder))
    assert [item.reported for item in found] == [None, None]
    assert all(any("reward" in note.text for note in item.notes_of(NoteKind.SKIPPED)) for item in found)


@pytest.mark.parametrize(
    ("scores", "reward", "said"),
    [
        ({"match": {"value": "C"}}, "1", ""),
        ({"match": {"value": "I"}}, "0", ""),
        ({"match": {"value": "P"}}, "0.5", ""),
        ({"verify": {"value": 0.35}}, "0.35", ""),
        ({"verify": {"value": True}}, "1", ""),
        ({"verify": {"value": {"reward": 0.5, "time": 3}}}, "0.5", ""),
        ({"a": {"value": 0.1}, "reward": {"value": 0.9}}, "0.9", ""),
        ({"a": {"value": 0.1}, "b": {"value": 0.9}}, None, "2 scorers"),
        ({"verify": {"value": "good"}}, None, "no number"),
        ({"verify": {"value": None}}, None, "no number"),
        ({}, None, ""),
        (None, None, ""),
    ],
)
def test_the_score_of_a_sample(tmp_path: Path, scores: Any, reward: str | None, said: str) -> None:
    log = tmp_path / "log.eval"
    log.write_bytes(archive({"one": json.dumps(sample(scores=scores)).encode()}, {"status": "success"}))
    [found] = formats.read(log)
    assert (found.reported.reward if found.reported else None) == (Decimal(reward) if reward else None)
    notes = [note.text for note in found.notes_of(NoteKind.SKIPPED) if "score" in note.text]
    assert [said in note for note in notes] == ([True] if said else [])
