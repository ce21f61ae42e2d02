"""Evaluator files: formulas against hand-computed values, and what a bad file is told."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from loopscope.evidence.claims import claimed
from loopscope.evidence.evaluator import EvaluatorError, completed, evaluator_for, load_evaluator, shipped_evaluators
from loopscope.models import TaskFacts
from loopscope.models.evaluator import Evaluator, RewardFormula

DOCS = Path(__file__).parents[2] / "docs" / "evaluators.md"


def example() -> str:
    """The worked example of the documentation."""
    return DOCS.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]


@pytest.mark.parametrize(
    ("task", "value", "reward"),
    [
        # By hand: 0.5 * ln(2.1 / t) / ln(2.1 / 0.03) and so on, to four decimals.
        ("bm25_search_go", "2.1", "0.0000"),
        ("bm25_search_go", "0.03", "0.5000"),
        ("bm25_search_go", "0.031", "0.4961"),
        ("bm25_search_go", "3.79", "0.0000"),
        ("bm25_search_go", "0.0001", "1.0000"),
        ("regex_engine", "0.37", "0.5000"),
        ("regex_engine", "0.097", "0.9782"),
        ("icp_correspondence_step_cuda", "0.28", "0.5000"),
        ("icp_correspondence_step_cuda", "0.171", "0.5453"),
        ("adaptive_compression", "3.8", "0.5000"),
        ("adaptive_compression", "4.74", "0.0973"),
        ("adaptive_compression", "4.75", "0.0000"),
        ("adaptive_compression", "5.34", "0.0000"),
        ("moving_mnist_world_model", "17.27", "0.5450"),
        ("moving_mnist_world_model", "13", "0.0000"),
        ("moving_mnist_world_model", "26", "1.0000"),
    ],
)
def test_the_shipped_formulas(task: str, value: str, reward: str) -> None:
    assert str(shipped_evaluators()[task].score(Decimal(value))) == reward


def test_a_time_of_nothing_is_no_measurement() -> None:
    assert shipped_evaluators()["bm25_search_go"].score(Decimal("0.000000")) is None
    assert shipped_evaluators()["bm25_search_go"].score(Decimal("NaN")) is None
    assert shipped_evaluators()["bm25_search_go"].score(Decimal("1e-999999999")) is None
    assert shipped_evaluators()["bm25_search_go"].score(Decimal("9" * 20_000)) == 0


def test_the_five_tasks_are_shipped_and_say_what_tables_need() -> None:
    assert set(shipped_evaluators()) == {
        "adaptive_compression",
        "bm25_search_go",
        "icp_correspondence_step_cuda",
        "moving_mnist_world_model",
        "regex_engine",
    }
    facts = shipped_evaluators()["icp_correspondence_step_cuda"].facts
    assert (facts.category, facts.timed, facts.anchors.baseline) == ("cuda", True, Decimal("64.65"))
    bare = TaskFacts(name="icp_correspondence_step_cuda", title="", category="uncategorized")
    assert completed(bare, shipped_evaluators()["icp_correspondence_step_cuda"]) == facts
    own = bare.model_copy(update={"title": "Mine", "category": "other", "timed": False})
    kept = completed(own, shipped_evaluators()["icp_correspondence_step_cuda"])
    assert (kept.title, kept.category, kept.timed) == ("Mine", "other", False)
    assert completed(bare, None) == bare


@given(
    st.decimals("0.001", "1000", places=3),
    st.decimals("0.001", "1000", places=3),
    st.decimals("0.001", "1000", places=3),
)
def test_rewards_stay_in_bounds_and_follow_the_direction(value: Decimal, base: Decimal, reference: Decimal) -> None:
    if base == reference:
        return
    for kind in ("log", "linear"):
        formula = RewardFormula(kind=kind, base=base, reference=reference)  # type: ignore[arg-type]
        assert formula.reward(base) == 0
        assert formula.reward(reference) == 1
        reward, better = formula.reward(value), formula.reward(value * 2)
        assert reward is not None and better is not None
        assert 0 <= min(reward, better) <= max(reward, better) <= 1
        assert better >= reward if reference > base else better <= reward


THIRTY = Context(prec=30, rounding=ROUND_HALF_EVEN)


def by_hand(formula: RewardFormula, value: Decimal) -> str:
    """Every step with 30 digits."""
    above, below = (THIRTY.ln(THIRTY.divide(formula.base, x)) for x in (value, formula.reference))
    raw = THIRTY.multiply(formula.factor, THIRTY.divide(above, below))
    clipped = max(formula.low, min(formula.high, raw))
    return str(clipped.quantize(Decimal(1).scaleb(-formula.decimals), context=THIRTY))


POSITIVE = st.one_of(
    st.decimals("0.001", "1000", places=3),
    st.decimals("1e-40", "1e40", allow_nan=False).filter(lambda x: x > 0),
    st.builds(lambda x: Decimal(1) + Decimal(1).scaleb(-x), st.integers(1, 28)),
)
ANY = st.one_of(st.decimals("-9", "9", places=5), st.sampled_from([Decimal(0), Decimal("-0"), Decimal(1)]))


@given(POSITIVE, POSITIVE, POSITIVE, ANY, st.tuples(ANY, ANY), st.integers(0, 12), st.integers(-9999, 9999))
def test_a_logarithm_by_doubles_changes_no_digit(
    value: Decimal, base: Decimal, reference: Decimal, factor: Decimal, clip: tuple[Decimal, Decimal], n: int, edge: int
) -> None:
    low, high = sorted(clip)
    assume(base != reference and factor)
    try:
        formula = RewardFormula(
            kind="log", base=base, reference=reference, factor=factor, low=low, high=high, decimals=n
        )
    except ValueError:
        return  # the two are too close for 30 digits
    # A value whose reward lies on an edge of rounding, as nearly as 30 digits can say, and its neighbours.
    raw = (Decimal(edge) + Decimal("0.5")).scaleb(-n)
    below = THIRTY.ln(THIRTY.divide(base, reference))
    exponent = THIRTY.multiply(THIRTY.divide(raw, factor), below)
    on_edge = THIRTY.divide(base, THIRTY.exp(exponent)) if abs(exponent) < 1000 else base
    for near in (value, base, reference, on_edge, on_edge.next_plus(THIRTY), on_edge.next_minus(THIRTY)):
        assert str(formula.reward(near)) == by_hand(formula, near)


def test_what_doubles_cannot_tell_is_computed_with_all_digits() -> None:
    formula = RewardFormula(kind="log", base=Decimal(4), reference=Decimal(1), low=Decimal(-1), decimals=0)
    assert str(formula.reward(Decimal(2))) == "0", "exactly half, so to the even number"
    assert str(formula.reward(Decimal("1.99999999999999999999999"))) == "1"
    assert str(formula.reward(Decimal("2.00000000000000000000001"))) == "0"
    assert str(formula.reward(Decimal("4.00000000000000000000001"))) == "-0"


def test_the_documented_example_is_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "sort_fast.yaml").write_text(example(), encoding="utf-8")
    found = evaluator_for("sort_fast", tmp_path)
    assert found is not None
    assert found.score(Decimal(20)) == Decimal("0.2500")
    assert found.score(Decimal(5)) == Decimal("0.5")
    assert claimed("round 2: from 80 ms to 20 ms", found) == Decimal("0.2500")
    assert claimed("tidy up", found) is None


def test_the_studys_own_file_comes_first_and_must_speak_of_its_task(tmp_path: Path) -> None:
    assert evaluator_for("regex_engine", tmp_path) == shipped_evaluators()["regex_engine"]
    assert evaluator_for("nobody", tmp_path) is None
    assert evaluator_for("../x", tmp_path) is None
    (tmp_path / "regex_engine.yaml").write_text(example(), encoding="utf-8")
    with pytest.raises(EvaluatorError, match=r"regex_engine\.yaml: task: is 'sort_fast', but the file is named for"):
        evaluator_for("regex_engine", tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metric": None}, "metric"),
        ({"direction": "up"}, "direction"),
        ({"evaluations": []}, "evaluations"),
        ({"evaluations": [{"role": "score", "program": "(", "value": "(?P<value>.)"}]}, r"evaluations\.0\.program.*regular expression"),
        ({"evaluations": [{"role": "score", "program": "a", "value": "x"}]}, r"evaluations\.0\.value.*group"),
        ({"evaluations": [{"role": "check", "program": "a"}]}, "no evaluation of role `score`"),
        ({"reward": {"kind": "log", "base": 1, "reference": 1}}, "equal"),
        ({"reward": {"kind": "log", "base": -1, "reference": 2}}, "above 0"),
        ({"reward": {"kind": "log", "base": 1, "reference": 2}}, "the other way"),
        ({"reward": {"kind": "cubic", "base": 2, "reference": 1}}, "reward.kind"),
        ({"reward": {"kind": "log", "base": 80, "reference": 5, "factor": 0}}, "factor is 0"),
        ({"reward": {"kind": "log", "base": "1e999999999", "reference": 5}}, "reward: cannot be computed"),
        ({"reward": {"kind": "log", "base": "5.0000000000000000000000000000000000001", "reference": 5}}, "too close"),
        ({"reward": {"kind": "linear", "base": 80, "reference": 5, "high": "1e30"}}, "too large"),
        ({"gate": {"below": 1, "above": 1}}, "gate: no value"),
        ({"evaluations": [{"role": "part", "program": "a{99999999999999999999}"}]}, r"evaluations\.0\.program.*too many"),
        ({"evaluations": [{"role": "part", "program": "(" * 900 + ")" * 900}]}, r"evaluations\.0\.program.*too many"),
        ({"evaluations": [{"role": "part", "program": "[[a]"}]}, r"evaluations\.0\.program.*nested set"),
        ({"evaluations": [{"role": "part", "program": "a", "saves": True}]}, r"evaluations\.0: `saves` belongs to an entry of role"),
        ({"category": "overall"}, "category: is no name"),
        ({"category": "a\x1b[2J"}, "category: is no name"),
        ({"category": " "}, "category: is no name"),
        ({"colour": "red"}, "colour"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_refused_in_one_line(tmp_path: Path, change: dict[str, object], said: str) -> None:
    data = {**yaml.safe_load(example()), **change}
    file = tmp_path / "sort_fast.yaml"
    file.write_text(yaml.safe_dump({name: value for name, value in data.items() if value is not None}))
    with pytest.raises(EvaluatorError, match=said) as caught:
        load_evaluator(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["a: [", "- 1", "", "x: 2026-99-99", "\0", "a: &a [*a]"])
def test_what_is_no_mapping_or_no_yaml_is_said_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "e.yaml").write_text(text)
    with pytest.raises(EvaluatorError, match=r"e\.yaml"):
        load_evaluator(tmp_path / "e.yaml")
    with pytest.raises(EvaluatorError, match="is no plain file"):
        load_evaluator(tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("metric: seconds", r"e\.yaml: line \d+, column 1: .*'metric' stands there twice; remove one"),
        ("category: x\n'category': y", "'category' stands there twice"),
        *[
            (f"extra: {n}", f"'{n}' is a number that not everybody reads alike")
            for n in ("1:30", "1_000", "010", "1_0.5")
        ],
    ],
)
def test_what_a_reader_may_take_for_something_else_is_refused(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "e.yaml").write_text(f"{example()}\n{line}\n")
    with pytest.raises(EvaluatorError, match=said):
        load_evaluator(tmp_path / "e.yaml")


def test_a_file_that_is_not_there_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EvaluatorError, match=r"e\.yaml: cannot be read \(No such file or directory\); name a file"):
        load_evaluator(tmp_path / "e.yaml")


def test_a_linear_formula_with_a_gate_above() -> None:
    found = Evaluator.model_validate(
        {
            "task": "t",
            "metric": "points",
            "direction": "maximize",
            "evaluations": [{"role": "score", "program": "e", "value": "(?P<value>.+)"}],
            "reward": {"kind": "linear", "base": 0, "reference": 3, "decimals": 2},
            "gate": {"above": 1},
        }
    )
    assert [str(found.score(Decimal(value))) for value in ("1", "1.5", "2", "9")] == ["0.00", "0.50", "0.67", "1.00"]


@pytest.mark.parametrize("stated", ["9e999999", "-9e999999", "1e-9999999", "inf", "NaN", "sNaN", "nothing"])
@pytest.mark.parametrize("is_reward", [True, False])
def test_a_claim_that_is_no_number_is_none(stated: str, is_reward: bool) -> None:
    data = yaml.safe_load(example())
    data["claims"] = [{"pattern": r"to (?P<value>\S+)", "factor": 1000, "is_reward": is_reward}]
    assert claimed(f"from 80 to {stated}", Evaluator.model_validate(data)) in (None, 0)
    assert claimed("from 80 to 0.02", Evaluator.model_validate(data)) == (20 if is_reward else Decimal("0.25"))
