"""What commit messages claim, by the patterns of the evaluator files that are shipped."""

from __future__ import annotations

from decimal import Decimal

import pytest

from loopscope.evidence.claims import claimed
from loopscope.evidence.evaluator import evaluator_for

BPB, SEARCH, ICP, FRAMES, REGEX = (
    "adaptive_compression", "bm25_search_go", "icp_correspondence_step_cuda", "moving_mnist_world_model", "regex_engine"
)  # fmt: skip


@pytest.mark.parametrize(
    ("task", "message", "worth"),
    [
        (REGEX, "A table.\n\nSpeed: 0.5s -> 0.37s. pi=3 (0.010s -> 0.001s), pi=20 (0.008s -> 0.002s).", "0.37"),
        (REGEX, "pi=20 (0.019s -> 0.008s) and others. Overall\n0.8s -> 0.37s.", "0.37"),
        (REGEX, "Speed: 0.37s (unchanged).", "0.37"),
        (REGEX, "Final: 0.37s", "0.37"),
        (REGEX, "faster: pi=3 (0.010s -> 0.001s)", None),
        (SEARCH, "inverted index; from 3.79s to 0.031s", "0.031"),
        (SEARCH, "3.0s -> 0.25ms (12000x)\n\n- runs cached, part=2 (9s -> 8s)", "0.00025"),
        (SEARCH, "bring the 800ms of the profile down", None),
        (BPB, "blend; periodic_noisy 2.47, overall 4.62", "4.62"),
        (BPB, "laplace=0.05, run conf 0.95-0.99, overall 4.03 bpb", "4.03"),
        (BPB, "better overall 4.5% of the time", None),
        (ICP, "tree and reductions (64.65ms -> 0.235ms)", "0.235"),
        (FRAMES, "fix dims (spatial=[3,4]) -> 17.11 dB", "17.11"),
    ],
)
def test_the_whole_is_claimed_and_not_a_part_or_what_it_came_from(task: str, message: str, worth: str | None) -> None:
    evaluator = evaluator_for(task, None)
    assert evaluator is not None
    expected = None if worth is None else evaluator.score(Decimal(worth))
    assert claimed(message, evaluator) == expected


def test_a_line_without_end_holds_nothing_up_and_claims_nothing_behind_its_bound() -> None:
    evaluator = evaluator_for(REGEX, None)
    assert evaluator is not None
    endless = "time " * 40_000
    assert claimed(f"{endless} to 0.37s", evaluator) is None
    assert claimed(f"{endless}\nto 0.37s", evaluator) == evaluator.score(Decimal("0.37"))
