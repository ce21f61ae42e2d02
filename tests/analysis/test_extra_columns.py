"""The extra measures in the tables, by hand."""

from __future__ import annotations

from decimal import Decimal
from statistics import NormalDist

import pytest
from made_run import MadeRun, Round
from made_transcript import EVALUATOR

from loopscope.analysis.quantities import DIAGNOSTICS
from loopscope.analysis.rows import checkpoint_rows, dip_rows
from loopscope.analysis.run_row import run_row
from loopscope.analysis.tabled import tabled
from loopscope.analysis.tables import study_tables
from loopscope.models import BuildStatus, Grade, Timings, Usage

FAILED, BUILT = BuildStatus.CODE_FAILURE, BuildStatus.SUCCEEDED


def imported(*rounds: Round, final: tuple[str, ...] | None = None) -> MadeRun:
    """100 ms are worth 0, 10 ms 0.5, 1 ms 1."""
    return MadeRun(list(rounds), final, EVALUATOR)


def test_a_dip_of_noisy_rounds_says_how_sure_it_is():
    noisy = imported(Round(("10", "11", "14")), Round(("15", "10.5", "20")), Round(("10",)))
    [dip] = dip_rows(noisy.analysis())
    # .4269, .4793, .5 against .3495, .412, .4894: all but (.4269, .4894) and (.4793, .4894) fall by more than .01
    assert (dip.before, dip.low, dip.confidence_pairs) == (0.4793, 0.412, 9)
    assert (dip.confidence, dip.confidence_method) == (pytest.approx(7 / 9), "pairs")
    assert dip.depth_in_noise == pytest.approx((0.4793 - 0.412) / 0.02)
    assert run_row(noisy.analysis()).dip_confidence == pytest.approx(7 / 9)


def test_a_dip_between_two_single_measurements_goes_by_the_noise_of_other_states():
    alone = MadeRun([Round(("0.5",)), Round(("0.4",))], None).analysis()
    [dip] = dip_rows(alone)
    assert (dip.confidence, dip.confidence_method, dip.confidence_pairs) == (None, None, None), "it says nothing itself"
    assert run_row(alone).dip_confidence is None
    beside = MadeRun([Round(("0.5",)), Round(("0.4",)), Round(("0.6", "0.7"))], None).analysis()
    [dip] = dip_rows(beside)
    sd = 0.05 * 2**0.5  # of .6 and .7: squares of .005, one degree of freedom
    expected = NormalDist().cdf((0.5 - 0.4 - 0.01) / (sd * 2**0.5))
    assert (dip.confidence, dip.confidence_method) == (pytest.approx(expected), "pooled noise")
    assert run_row(beside).dip_confidence == pytest.approx(expected)


def test_official_repeats_make_the_band_of_our_own_runs():
    run = MadeRun([Round(("0",), initial="clean"), Round(("0.5", "0.56")), Round(("0.52",))], ("0.52", "0.53"))
    row = run_row(run.analysis())
    assert (row.noise_band, row.n_dips, row.dips_within_noise) == (0.06, 0, 0)
    deep = run_row(MadeRun([Round(("0.5", "0.56")), Round(("0.47",))], None).analysis())
    assert (deep.n_dips, deep.dips_within_noise) == (1, 1)
    once = run_row(MadeRun([Round(("0.5",)), Round(("0.4",))], None).analysis())
    assert (once.noise_band, once.dips_within_noise) == (None, None)


def test_candidates_and_what_was_left_behind():
    run = imported(
        Round(("50",), evaluations=(("x", "./bench"), ("y", "./bench"))),
        Round(("10",), evaluations=(("x", "./bench --check"),)),
        final=("5",),
    )
    row = run_row(run.analysis())
    # s0, s1, x, y and the last state; commits hold s0 and s1
    assert (row.candidates_evaluated, row.candidates_committed, row.committed_share) == (5, 2, 0.4)
    assert row.left_behind == pytest.approx(0.6505 - 0.5)
    silent = MadeRun([Round(("0.5",), seen=False)], None)
    assert (run_row(silent.analysis()).candidates_evaluated, run_row(silent.analysis()).n_builds) == (None, None)


def test_claims_saturation_jumps_and_grades():
    run = imported(
        Round(("50",), claimed="0.2"),
        Round(("1",), claimed="0.9", remarks=("suspicious: a jump of 0.8495 to exactly 1.0",)),
        Round(("1",), remarks=("its gain of 0.0000 lies within the noise band",)),
        Round(),
    )
    row = run_row(run.analysis())
    assert row.claim_gap == pytest.approx(-0.1)
    assert (row.saturation, row.jumps, row.suspicious, row.n_remarks) == (pytest.approx(2 / 3), 1, 1, 2)
    assert (row.grade_confirmed, row.grade_missing, row.grade_official) == (0.75, 0.25, 0.0)
    assert [c.metric for c in checkpoint_rows(run.analysis())] == [50.0, 1.0, 1.0, None]


def test_counts_by_state_stand_beside_the_windows():
    rounds = [Round(("50",), builds=(FAILED, BUILT)), Round(("10",), builds=(BUILT,))]
    run = MadeRun(rounds, None, EVALUATOR)
    row = run_row(run.analysis())
    assert (row.builds_per_round, row.rounds_with_build_errors, row.n_builds, row.n_build_failures) == (1.5, 0.5, 3, 1)
    moved = run.evidence.checkpoints[1].model_copy(update={"builds_by_state": 3, "build_failures_by_state": 2})
    run.evidence = run.evidence.model_copy(update={"checkpoints": (run.evidence.checkpoints[0], moved)})
    row = run_row(run.analysis())
    assert (row.builds_per_round, row.rounds_with_build_errors) == (1.5, 0.5)
    assert (row.builds_per_round_by_state, row.rounds_with_build_errors_by_state) == (2.5, 1.0)


def test_c2_has_its_interval_beside_it():
    row = run_row(imported(Round(("50",)), Round(("10",), delivered=None), Round(("5",), builds=(FAILED,))).analysis())
    assert (row.c2, row.c2_unobserved_as_zero) == (pytest.approx(0.925), pytest.approx(1.85 / 3))
    assert (row.c2_low, row.c2_high) == (pytest.approx(1.85 / 3), pytest.approx(2.85 / 3))


def test_a_reconstruction_never_counts_in_a_run_of_our_own():
    """Nor does a grade that evidence gives by mistake."""
    run = imported(Round(("10",)), Round(("5",)))
    made = run.evidence.checkpoints[1].model_copy(update={"grade": Grade.OFFICIAL})
    own = MadeRun([Round(("0.4",)), Round()], None)
    own.evidence = own.evidence.model_copy(
        update={
            "checkpoints": (own.evidence.checkpoints[0], made.model_copy(update={"sha": "x"})),
            "evaluations": run.evidence.evaluations,
        }
    )
    _, second = checkpoint_rows(own.analysis())
    assert (second.score, second.score_source, second.grade) == (None, None, "missing")
    assert second.reconstructed == pytest.approx(0.6505)
    run.evidence = run.evidence.model_copy(update={"checkpoints": (run.evidence.checkpoints[0], made)})
    _, second = checkpoint_rows(run.analysis())
    assert (second.score_source, second.grade) == ("reconstructed", "inferred")


def test_support_is_counted_or_unknown():
    row = run_row(imported(Round(("10",))).analysis())
    assert (row.plan_calls, row.failed_calls, row.compactions) == (3, 2, 0)
    assert run_row(MadeRun([Round(("0.5",))], None).analysis()).plan_calls is None


def test_what_is_aggregated_is_what_the_row_holds():
    found = tabled(imported(Round(("50",), claimed="0.2"), Round(("1",)), Round(("20",))).analysis())
    for name in DIAGNOSTICS.keys() - {"rounds", "runs_with_dip"}:
        held, exact = getattr(found.run, name), found.quantities[name]
        assert held is None if exact is None else held == pytest.approx(float(exact)), name


@pytest.mark.parametrize(
    ("tokens", "usd", "seconds"), [(10**400, "1E+500", float("inf")), (10**19, "-1", -1.0), (0, "NaN", float("nan"))]
)
def test_an_absurd_amount_says_nothing(tokens: int, usd: str, seconds: float):
    run = imported(Round(("10",)))
    usage = Usage.model_construct(input_uncached=tokens, output=0, cost_usd=Decimal(usd), source="transcript")
    times = Timings(agent_sec=seconds, total_sec=seconds)
    claims = run.record.imported.model_copy(update={"claimed_cost_usd": Decimal(usd)})
    run.record = run.record.model_copy(
        update={"usage": usage, "timings": times, "imported": claims, "model": "claude-opus-4-7"}
    )
    found = tabled(run.analysis())
    assert (found.run.tokens, found.run.cost_usd, found.run.agent_sec) == (0 if tokens == 0 else None, None, None)
    frames = study_tables([found], [], {"t": "toy"})
    known = {r["resource"]: r["runs"] for r in frames["resources"].to_dicts() if r["category"] == "overall"}
    priced = dict.fromkeys(["tokens", "priced_usd", "priced_full_usd"], int(tokens == 0))
    assert known == {**priced, "cost_usd": 0, "agent_sec": 0, "tool_calls": 1}
