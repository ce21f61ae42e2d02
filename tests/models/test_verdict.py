"""Everything a verifier may leave, and what is made of it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.models import VerificationStatus as S
from loopscope.models.verdict import read_verdict


@pytest.mark.parametrize(
    ("json", "txt", "status", "reward", "reason"),
    [
        (b'{"reward": 0.25}', None, S.OK, "0.25", None),
        (b"0.5", None, S.OK, "0.5", None),
        (b"true", None, S.OK, "1", "boolean"),
        (b'{"reward": false}', None, S.OK, "0", "boolean"),
        (b'{"reward": null}', None, S.NO_REWARD, None, "null"),
        (b"null", None, S.NO_REWARD, None, "null"),
        (b'{"reward": null}', b"0.3", S.OK, "0.3", "taken from reward.txt"),
        (b'{"reward": "0.125"}', None, S.OK, "0.125", "text"),
        (b'{"reward": "failed: no binary"}', None, S.UNREADABLE, None, "no finite number"),
        (b'{"reward": NaN}', None, S.UNREADABLE, None, "no finite number"),
        (b'{"reward": 1e999999999}', None, S.UNREADABLE, None, "no finite number"),
        (b'{"reward": Infinity}', b"0.5", S.OK, "0.5", "taken from reward.txt"),
        (b'{"reward": [1]}', None, S.UNREADABLE, None, "no finite number"),
        (b'{"reward": {"reward": 0.4, "x": 1}}', None, S.OK, "0.4", "object"),
        (b'{"score": 0.7, "bits_per_byte": 1.5}', None, S.OK, "0.7", "taken from `score`"),
        (b'{"psnr": 20}', None, S.NO_REWARD, None, "no key"),
        (b'{"reward": 0.5}', b"0.75", S.OK, "0.5", "the JSON counts"),
        (b'{"reward": 0.8}', b"1", S.OK, "0.8", "the JSON counts"),
        (b'{"reward": 0.62496244}', b"0.625", S.OK, "0.62496244", "the JSON counts"),
        (b'{"reward": 0.6249624421609278}', b"0.6249624422\n", S.OK, "0.6249624421609278", None),
        (b'{"reward": 0.62496244}', b"0.6250", S.OK, "0.62496244", None),
        (b'{"reward": 0.50}', b"0.5", S.OK, "0.50", None),
        (b'{"reward": 1.5}', None, S.OK, "1.5", "outside"),
        (None, b"0.5\n", S.OK, "0.5", None),
        (None, b"", S.NO_REWARD, None, "empty"),
        (None, b"nan", S.UNREADABLE, None, "no finite number"),
        (None, b"\xff\xfe", S.UNREADABLE, None, "no finite number"),
        (None, None, S.NO_REWARD, None, "neither"),
        (b"", None, S.NO_REWARD, None, "empty"),
        (b"{", None, S.UNREADABLE, None, "no JSON"),
        (b"{" * 100_000, b"0.1", S.OK, "0.1", "taken from reward.txt"),
        (b'{"reward": 0.1} trailing', None, S.UNREADABLE, None, "no JSON"),
    ],
)
def test_a_verdict(json, txt, status, reward, reason):
    verdict = read_verdict(json, txt)
    assert verdict.status is status
    assert verdict.reward == (None if reward is None else Decimal(reward))
    assert (reason is None) == (verdict.reason is None), verdict.reason
    assert reason is None or reason in verdict.reason


def test_a_reward_is_exact():
    assert str(read_verdict(b'{"reward": 0.10000000000000000001}', None).reward) == "0.10000000000000000001"


def test_other_numbers_are_metrics():
    found = read_verdict(
        b'{"reward": 0.5, "correctness": true, "t": {"best": 1.5, "note": "x"}, "big": 9223372036854775808}', None
    )
    assert found.metrics == {"correctness": 1, "t.best": Decimal("1.5"), "big": Decimal("9223372036854775808")}


def test_metrics_survive_a_missing_reward():
    assert read_verdict(b'{"reward": null, "correctness": 0}', None).metrics == {"correctness": 0}


@given(st.one_of(st.none(), st.binary(max_size=200)), st.one_of(st.none(), st.binary(max_size=50)))
def test_no_bytes_break_it(json, txt):
    verdict = read_verdict(json, txt)
    assert (verdict.reward is not None) == (verdict.status is S.OK)
    assert verdict.reward is None or verdict.reward.is_finite()


@pytest.mark.parametrize(
    ("written", "reward"),
    [("0e9999", "0"), ("-0.0", "0"), ("0." + "3" * 400, "0." + "3" * 50), ("1e-250", "1e-250")],
)
def test_numbers_that_would_break_arithmetic_are_tamed(written, reward):
    assert read_verdict(f'{{"reward": {written}}}'.encode(), None).reward == Decimal(reward)


@pytest.mark.parametrize("text", [b"1_0", "٣".encode(), b"0x10", b"1 2", b"inf", b"1e99999999"])
def test_what_only_python_takes_for_a_number_is_none(text):
    assert read_verdict(None, text).status is S.UNREADABLE
