"""List prices, by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from made_run import MadeRun, Round
from made_transcript import EVALUATOR

from loopscope.analysis.explain.outcome import usage as explained_usage
from loopscope.analysis.explain.rows import Told
from loopscope.analysis.prices import cost_doubt, price_of, priced
from loopscope.analysis.run_row import run_row
from loopscope.analysis.runs import measured
from loopscope.models import RunRecord, Usage

USED = Usage(input_uncached=1_000_000, cache_read=2_000_000, cache_write=400_000, output=100_000, source="transcript")


def record(cost: str | None, usage: Usage = USED, model: str | None = "anthropic/claude-opus-4-7") -> RunRecord:
    own = MadeRun([Round(("0.5",))], None).analysis().record
    return own.model_copy(
        update={"model": model, "usage": usage.model_copy(update={"cost_usd": Decimal(cost) if cost else None})}
    )


def test_each_kind_of_token_at_its_price_and_all_input_at_the_full_one():
    found = price_of(record(None))
    assert found is not None
    # 5 + 2 * .5 + .4 * 6.25 + .1 * 25, and 3.4 * 5 + .1 * 25
    assert (found.cached, found.full) == (Decimal("11"), Decimal("19.5"))


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("claude-opus-4-7", "claude-opus-4-7"),
        ("anthropic/claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("openai/gpt-5.4-2026-03-05", "gpt-5.4"),
        ("google/gemini-3.1-pro-preview", "gemini-3.1-pro"),
        ("openrouter/z-ai/GLM-5.2", "glm-5.2"),
        ("gpt-5.44", None),
        ("", None),
        (None, None),
    ],
)
def test_a_models_name(name: str | None, listed: str | None):
    found = priced(name, USED)
    assert (found.model if found else None) == listed


@pytest.mark.parametrize("missing", ["input_uncached", "output"])
def test_tokens_that_are_not_known_have_no_price(missing: str):
    assert priced("gpt-5.4", USED.model_copy(update={missing: None})) is None


@pytest.mark.parametrize(
    ("claim", "doubted"),
    [("11", False), ("22", False), ("5.5", False), ("22.01", True), ("5.49", True), ("0", True), (None, False)],
)
def test_a_claimed_cost_far_from_the_priced_tokens_is_warned_of(claim: str | None, doubted: bool):
    found = cost_doubt(record(claim))
    assert (found is not None) is doubted
    if found is not None and claim is not None:
        assert f"cost {claim} USD" in found and "worth 11 USD" in found
    assert cost_doubt(record(claim, model="a/model-of-nobody")) is None


@pytest.mark.parametrize("claim", ["NaN", "Infinity", "-1", "1e200"])
def test_claims_that_are_no_amount_say_nothing(claim: str):
    assert cost_doubt(record(claim)) is None


def test_an_imported_logs_claim_and_the_price_stand_side_by_side_with_a_warning():
    run = MadeRun([Round(("10",))], None, EVALUATOR).analysis()
    assert run.record.imported is not None
    claims = run.record.imported.model_copy(
        update={"claimed_cost_usd": Decimal("9999.5"), "usage_completeness": "complete"}
    )
    usage = USED.model_copy(update={"cost_usd": None})
    told = run.record.model_copy(update={"imported": claims, "usage": usage, "model": "claude-opus-4-7"})
    found = measured(told, run.task, run.evidence, {})
    row = run_row(found)
    assert (row.cost_usd, row.priced_usd, row.priced_full_usd) == (9999.5, 11.0, 19.5)
    assert [flag for flag in row.flags if "said to have cost 9999.5 USD" in flag]
    steps = {step.name: step for step in explained_usage(Told(found))}
    assert steps["priced_usd"].terms == "(5 * 1000000 + 0.5 * 2000000 + 6.25 * 400000 + 25 * 100000) / 1000000"
    assert "worth 11 USD" in steps["cost_usd"].note
    partial = claims.model_copy(update={"usage_completeness": "partial"})
    partly = run_row(measured(told.model_copy(update={"imported": partial}), run.task, run.evidence, {}))
    assert (partly.usage_completeness, partly.priced_usd) == ("partial", 11.0)
    assert not [flag for flag in partly.flags if "said to have cost" in flag]
    before = run_row(run)
    assert before.priced_usd is None and not [flag for flag in before.flags if "said to have cost" in flag]
