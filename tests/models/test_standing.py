"""Who may be ranked."""

from __future__ import annotations

import pytest

from loopscope.models.standing import spelled_range, standing
from loopscope.models.tables import OutcomeRow


def row(agent: str, tasks: int, common: int, *, reconstructed: int = 0, avg: float | None = 0.5) -> OutcomeRow:
    return OutcomeRow(
        agent=agent, category="overall", k=1, k_min=1, n_tasks=tasks, n_runs=tasks, n_missing=0, n_common=common,
        n_reconstructed=reconstructed, n_reported=0, avg_at_k=avg, best_at_k=avg, common_avg=avg, common_best=avg,
            n_paired=0, paired_avg=None, paired_best=None,
    )  # fmt: skip


def test_the_same_tasks_and_kinds_rank() -> None:
    found = standing([row("a", 3, 3), row("b", 3, 3), row("without", 0, 3, avg=None)])
    assert (found.ranked, found.by_common, found.note) == (True, False, "")
    assert standing([]).ranked, "of nobody there is nothing to say"


@pytest.mark.parametrize(("common", "said"), [(1, "Over the 1 task that all of them share"), (0, "No task is common")])
def test_different_tasks_rank_nobody(common: int, said: str) -> None:
    found = standing([row("a", 3, common), row("b", 2, common)])
    assert (found.ranked, found.same_tasks, found.by_common) == (False, False, common > 0)
    assert "different tasks (2 to 3 tasks each)" in found.note and said in found.note


def test_as_many_tasks_are_not_yet_the_same() -> None:
    assert not standing([row("a", 2, 1), row("b", 2, 1)]).same_tasks


def test_scores_of_different_kinds_rank_nobody() -> None:
    found = standing([row("a", 2, 2), row("b", 2, 2, reconstructed=2)])
    assert found.same_tasks and not found.ranked and "official, reconstructed" in found.note
    mixed = [row("a", 2, 2, reconstructed=1), row("b", 2, 2, reconstructed=1)]
    assert standing(mixed).ranked, "both kinds in both"


def test_a_range_of_one_number_is_the_number() -> None:
    assert (spelled_range(2, 2), spelled_range(1, 3)) == ("2", "1–3")
