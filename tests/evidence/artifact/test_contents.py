"""What a numbered listing shows of a file."""

from __future__ import annotations

import pytest

from loopscope.evidence.artifact.contents import shown_whole


@pytest.mark.parametrize("listing", ["1→a\n2→b", "     1\ta\n     2\tb", "1: a\n2: b", "1→a\n02→b"])
def test_a_listing_from_the_first_line_on_is_the_file(listing: str) -> None:
    assert shown_whole(listing) == "a\nb\n"


@pytest.mark.parametrize("number", ["9" * 5000, "0" * 5000, "٢", "3", "1"])
def test_any_number_that_is_not_the_next_makes_it_none(number: str) -> None:
    assert shown_whole(f"1→a\n{number}→b") is None
