"""Alignment of a repository's commits with a transcript's."""

from __future__ import annotations

from functools import cache

from hypothesis import example, given
from hypothesis import strategies as st

from loopscope.evidence.align import Title, align, normalised

KEPT = st.builds(Title, st.sampled_from("abA "), st.sampled_from(["11", "12", "21", "22"]))
TOLD = st.builds(Title, st.sampled_from("ab "), st.sampled_from([None, None, "1", "21", "3"]))


def same(kept: Title, told: Title) -> bool:
    if told.hash:
        return (kept.hash or "").startswith(told.hash)
    return bool(told.subject.strip()) and normalised(kept.subject) == normalised(told.subject)


def exhaustive(kept: list[Title], told: list[Title]) -> dict[int, int]:
    """The earliest of the largest monotone matchings, by trying all."""

    @cache
    def best(row: int, column: int) -> tuple[tuple[int, int], ...]:
        if row == len(kept):
            return ()
        options = [best(row + 1, column)]
        for at in range(column, len(told)):
            if same(kept[row], told[at]):
                options.append(((row, at), *best(row + 1, at + 1)))
        size = max(map(len, options))
        return min(option for option in options if len(option) == size)

    return dict(best(0, 0))


@given(st.lists(KEPT, max_size=7), st.lists(TOLD, max_size=7))
@example([Title("a", "11"), Title("a", "12")], [Title("a"), Title("a", "11")])
def test_the_matching_is_the_earliest_of_the_largest(kept: list[Title], told: list[Title]) -> None:
    assert align(kept, told) == exhaustive(kept, told)


def test_a_shown_hash_decides_and_else_the_subject_as_it_is_compared() -> None:
    kept = [Title("Round 1:  x", "aa1"), Title("round 1: x", "bb2"), Title("Ünï", "cc3")]
    assert align(kept, [Title("round 1: x", "bb"), Title("u\u0308ni\u0308")]) == {1: 0, 2: 1}
    assert align(kept, [Title("ROUND 1: X")]) == {0: 0}
    assert align(kept, [Title("round 1: x", "dd")]) == {}
    assert align([], [Title("a")]) == {} == align(kept, [])


def test_a_thousand_equal_subjects_are_matched_one_to_one_in_order() -> None:
    kept = [Title("update", f"{number:040x}") for number in range(1000)]
    assert align(kept, [Title("Update")] * 999) == {number: number for number in range(999)}
