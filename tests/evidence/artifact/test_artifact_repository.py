"""Revisions as agents write them."""

from __future__ import annotations

import pytest

from loopscope.evidence.artifact.contents import known
from loopscope.evidence.artifact.repository import Repository


def three_commits() -> Repository:
    repository = Repository()
    for number in range(3):
        repository.stage(["a.c"], {"a.c": known(str(number))})
        repository.commit(f"abcdef{number}")
    return repository


@pytest.mark.parametrize(
    ("revision", "commit"),
    [("HEAD", 2), ("@~", 1), ("HEAD~2", 0), ("HEAD^^", 0), ("master~1^", 0), ("abcdef1", 1), ("abcdef2~1~1", 0), ("HEAD~3", None)],
)  # fmt: skip
def test_a_revision_names_a_commit(revision: str, commit: int | None) -> None:
    assert three_commits().find(revision) == commit


@pytest.mark.parametrize(
    "steps",
    ["~" + "9" * 5000, "~" + "9" * 250, "^" * 1_000_000, "~1" * 500_000, "~²", "~" + "0" * 5000, "~99999999999"],
)
def test_a_revision_made_to_hold_up_the_search_names_none(steps: str) -> None:
    assert three_commits().find(f"HEAD{steps}") is None
