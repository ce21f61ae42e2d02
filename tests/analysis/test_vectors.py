"""The checker passes what is right, and says clearly what is wrong: a case's value, or the file itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopscope.analysis.vectors import VectorReport, verify_vectors

OURS = Path(__file__).parents[1] / "measures" / "vectors.json"
GIVEN = Path(__file__).parents[3] / "shared" / "data" / "metrics" / "cases.json"


def complaints(report: VectorReport) -> str:
    return "\n".join([*map(str, report.mismatches), *report.problems])


def check(tmp_path: Path, content: Any) -> VectorReport:
    file = tmp_path / "cases.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return verify_vectors(file)


def case(**changes: Any) -> dict[str, Any]:
    right = {"name": "one", "function": "c1", "inputs": {"scores": [0.5]}, "expected": {"c1": "1/2"}, "why": "flat"}
    return {**right, **changes}


def test_our_own_vectors_hold() -> None:
    report = verify_vectors(OURS)
    assert report.ok, complaints(report)
    assert report.cases >= 20
    assert set(report.by_function) == {"c1", "c2", "c3", "diagnostics", "aggregate"}
    assert all(entry["why"] for entry in json.loads(OURS.read_text()))


def test_the_designs_vectors_hold() -> None:
    if not GIVEN.exists():
        pytest.skip("the design's cases.json lies beside the repository, and is not there")
    report = verify_vectors(GIVEN)
    assert report.ok, complaints(report)
    assert report.cases >= 46


@pytest.mark.parametrize("position", range(len(json.loads(OURS.read_text()))))
def test_any_wrong_value_is_found(position: int, tmp_path: Path) -> None:
    """No vector of ours passes whatever the measures say: spoil each expected value in turn."""
    entries = json.loads(OURS.read_text())
    spoiled = entries[position]["expected"]
    for key, value in spoiled.items():
        if isinstance(value, dict):
            wrong: Any = dict.fromkeys(value, "5/7")
        else:
            wrong = (not value) if isinstance(value, bool) else "5/7"
        report = check(tmp_path, [{**entries[position], "expected": {**spoiled, key: wrong}}])
        assert not report.ok
        assert {m.key.split(".")[0] for m in report.mismatches} == {key}


def test_a_mismatch_names_case_key_values_and_why(tmp_path: Path) -> None:
    report = check(tmp_path, [case(), case(name="two", expected={"c1": 0.25, "early": "1/2"})])
    assert not report.ok
    assert (report.cases, report.passed, report.values) == (2, 1, 3)
    assert complaints(report) == "case 'two': c1 expected 1/4, got 1/2 (flat)"


def test_a_key_that_no_measure_gives_is_a_mismatch(tmp_path: Path) -> None:
    report = check(tmp_path, [case(expected={"c1": "1/2", "c9": None})])
    assert complaints(report) == (
        "case 'one': c9 expected null, got no such value; c1 gives c1, early, late, middle (flat)"
    )


def test_values_are_compared_exactly(tmp_path: Path) -> None:
    third = {"name": "third", "function": "c1", "inputs": {"scores": ["1/3"]}, "expected": {"c1": 0.3333333333333333}}
    assert not check(tmp_path, [third]).ok
    assert check(tmp_path, [{**third, "expected": {"c1": "2/6"}}]).ok


def test_numbers_are_read_as_they_are_written(tmp_path: Path) -> None:
    """Thirty digits survive; a binary float would round them away."""
    digits = "0.100000000000000000000000000001"
    text = f'[{{"name": "n", "function": "c1", "inputs": {{"scores": [{digits}]}}, "expected": {{"c1": "{digits}"}}}}]'
    assert check(tmp_path, text).ok
    assert not check(tmp_path, text.replace(f'"{digits}"', '"0.1"')).ok


@pytest.mark.parametrize("expected", [{"m": "1/2", "n": None}, {"m": "1/2"}])
def test_a_model_without_a_value_may_be_named_or_not(expected: dict[str, Any], tmp_path: Path) -> None:
    rows = [{"model": "m", "task": "a", "seed": 1, "v": 0.5}, {"model": "n", "task": "a", "seed": 1, "v": None}]
    entry = case(function="aggregate", inputs={"rows": rows, "value": "v"}, expected={"aggregate": expected})
    assert check(tmp_path, [entry]).ok


def test_a_model_that_nobody_expected_is_a_mismatch(tmp_path: Path) -> None:
    rows = [{"model": m, "task": "a", "seed": 1, "v": 0.5} for m in ("m", "n")]
    entry = case(function="aggregate", inputs={"rows": rows, "value": "v"}, expected={"aggregate": {"m": "1/2"}})
    assert complaints(check(tmp_path, [entry])) == ("case 'one': aggregate.n expected no such model, got 1/2 (flat)")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "line 1, column 1: not JSON"),
        ("[{]", "line 1, column 3: not JSON"),
        ("[]", "holds no case"),
        ("{}", "holds an object, not a list"),
        ("[" * 200_000, "nested too deeply"),
        ('[{"name": "a", "name": "b"}]', "the key 'name' stands twice"),
        ("[1e99999999999999999999]", "out of any range"),
        ("[" + "9" * 5000 + "]", "not a file of cases"),
        ([3], "case 1: a number, not an object"),
        ([case(), case()], "case 2 ('one'): name: stands twice"),
        ([case(name="")], "name: String should have at least 1 character"),
        ([case(name=7)], "case 1: name: Input should be a valid string, not 7"),
        ([{"name": "x"}], "case 1 ('x'): function: is missing; add it (and 2 more)"),
        ([case(function="c4")], "function: no measure is called 'c4'; write one of c1, c2, c3"),
        ([case(note="hm")], "note: no such field; remove or correct it"),
        ([case(expected={})], "expected: is empty"),
        ([case(expected={"c1": "half"})], "expected: c1: 'half' is no finite number"),
        ([case(expected={"c1": [1]})], "expected: c1: [1] (list) is no number"),
        ([case(inputs={})], "case 'one': inputs.scores: is missing; add it"),
        ([case(inputs={"scores": [0.1, "x"]})], "inputs.scores.1: 'x' is no finite number"),
        ([case(inputs={"scores": [True]})], "inputs.scores.0: True is a truth value"),
        ([case(inputs={"scores": ["1/0"]})], "inputs.scores.0: '1/0' is no finite number"),
        ([case(inputs={"scores": 0.5})], "inputs.scores: Input should be a valid list, not 0.5; correct it"),
        ([case(inputs={"scores": [], "horizon": 3})], "inputs.horizon: no such field"),
        (
            '[{"name": "i", "function": "c1", "inputs": {"scores": [Infinity]}, "expected": {"c1": 0}}]',
            "no finite number",
        ),
        (
            [case(function="c2", inputs={"checkpoints": [{"delivered": True, "build_failures": -1}]})],
            "inputs.checkpoints.0.build_failures: Input should be greater than or equal to 0, not -1",
        ),
        ([case(function="c2", inputs={"checkpoints": [{"delivered": "yes"}]})], "valid boolean, not 'yes'"),
        (
            [case(function="c2", inputs={"checkpoints": [{"observable": True}]})],
            "observable but `delivered` is unknown",
        ),
        ([case(function="c3", inputs={"scores": [0]})], "inputs.initial_is_boundary: is missing"),
        (
            [case(function="c3", inputs={"scores": [0], "initial_is_boundary": False, "candidate_counts": []})],
            "candidate_counts has 0 entries for 1 scores",
        ),
        (
            [case(function="diagnostics", inputs={"scores": [0, 1], "initial_is_boundary": True, "builds": []})],
            "builds has 0 entries for 1 agent rounds",
        ),
        (
            [case(function="diagnostics", inputs={"scores": [0], "initial_is_boundary": False, "builds": [[1]]})],
            "inputs.builds.0: List should have at least 2 items",
        ),
        (
            [case(function="aggregate", inputs={"rows": [{"model": "m", "task": "t", "seed": 1}], "value": "v"})],
            "no row has a field 'v'",
        ),
        (
            [
                case(
                    function="aggregate", inputs={"rows": [{"model": "m", "task": "t", "seed": 1}] * 2, "value": "seed"}
                )
            ],
            "row 1: the run m, t, 1 stands twice",
        ),
        (
            [case(function="aggregate", inputs={"rows": [{"model": "m", "seed": 1, "v": 1}], "value": "v"})],
            "row 0: task must be a string",
        ),
        (
            [case(function="aggregate", inputs={"rows": [{"model": "m", "task": "t", "v": "x"}], "value": "v"})],
            "rows.0.v: 'x' is no finite number",
        ),
    ],
)
def test_bad_files_are_reported_with_place_and_remedy(content: Any, says: str, tmp_path: Path) -> None:
    report = check(tmp_path, content)
    assert not report.ok
    assert says in complaints(report)
    assert all("\n" not in problem for problem in report.problems)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert "cannot be read" in complaints(verify_vectors(tmp_path / "none.json"))
    assert "cannot be read" in complaints(verify_vectors(tmp_path))
    (tmp_path / "latin.json").write_bytes(b'["\xe9"]')
    assert "not UTF-8" in complaints(verify_vectors(tmp_path / "latin.json"))
    assert not verify_vectors(tmp_path / "latin.json").ok


def test_one_bad_case_does_not_keep_the_others_from_being_run(tmp_path: Path) -> None:
    report = check(tmp_path, [case(name="a", inputs={"scores": None}), case(name="b", expected={"c1": 1}), case()])
    assert (report.cases, report.passed, len(report.mismatches), len(report.problems)) == (3, 1, 1, 1)
    assert not report.ok
