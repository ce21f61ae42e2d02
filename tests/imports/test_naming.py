"""Names of tasks and agents out of logs: safe for a directory, and different ones stay different."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.imports.naming import NAME, label_of, safe_name, seed_of, task_of
from loopscope.transcripts.canonical import Source


@given(st.text(max_size=200))
def test_a_safe_name_is_one_or_none(text: str) -> None:
    name = safe_name(text)
    assert name is None or NAME.fullmatch(name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("regex_engine", "regex_engine"),
        ("org/task one", "org-task-one"),
        ("../../etc", "etc"),
        ("..", None),
        ("", None),
        ("\u4efb\u52a1", None),
        ("Qwen3.5+x@2", "Qwen3.5+x@2"),
    ],
)
def test_what_becomes_of_names(text: str, name: str | None) -> None:
    assert safe_name(text) == name


@given(st.text("ab\u00e4\u00f6\u0394", min_size=1), st.text("ab\u00e4\u00f6\u0394", min_size=1))
def test_names_that_lose_letters_stay_different(one: str, other: str) -> None:
    names = safe_name(one), safe_name(other)
    assert one == other or None in names or names[0] != names[1]


def test_long_names_stay_different() -> None:
    names = {safe_name("x" * 100 + end) for end in "ab"}
    assert len(names) == 2 and all(name and len(name) <= 80 for name in names)


@pytest.mark.parametrize(
    ("seed", "number"),
    [("seed-3", 3), ("7", 7), ("s0", 0), (None, None), ("", None), ("first", None), ("3rd", None)]
    + [
        (text, None)
        for text in ("0.5", ".5", "seed-0.5", "-5", "seed--5", "seed=-5", "seed: -5", "1e5", "0x5", "9" * 5000)
    ]
    + [("seed_007", 7), ("trial.3", 3), ("run-1-3", 3), ("epoch2seed4", 4)],
)
def test_seeds(seed: str | None, number: int | None) -> None:
    assert seed_of(Source("page", seed=seed)) == number


@pytest.mark.parametrize(
    ("model", "agent", "label"),
    [
        ("anthropic/claude-x", "claude-code", "claude-x"),
        (None, "codex", "codex"),
        (None, None, None),
        ("m/", None, None),
    ],
)
def test_labels(model: str | None, agent: str | None, label: str | None) -> None:
    assert label_of(Source("page", model=model, agent=agent)) == label


def test_a_problem_of_inspects_is_a_task_of_its_own() -> None:
    assert task_of(Source("inspect", task="set", trial="a/b epoch 2")) == "set-a-b"
    assert task_of(Source("harbor", task="set", trial="a epoch 2")) == "set"
    assert task_of(Source("page")) is None
