from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from made_root import made

from loopscope.models import LimitState
from loopscope.sandbox.doctor import Area, Check, Finding, Machine, Need, State, Survey, checks, examine, limits
from loopscope.sandbox.holding import Fact


def good(name: str, need: Need = Need.ADVISED) -> Check:
    return Check(Area.TOOLS, name, lambda _: [Finding(Area.TOOLS, name, State.OK, "there", need=need)], need)


def test_a_check_that_breaks_costs_only_its_row() -> None:
    def breaks(_: Machine) -> Iterator[Finding]:
        yield Finding(Area.TOOLS, "before", State.OK, "said in time")
        raise ValueError("odd\nmachine")

    survey = examine([good("one"), Check(Area.TOOLS, "breaks", breaks), good("two")])
    assert {f.name: f.state for f in survey.findings} == {
        "one": State.OK,
        "before": State.OK,
        "breaks": State.UNKNOWN,
        "two": State.OK,
    }
    assert survey.findings[2].fact == "the check failed: ValueError: odd machine"


def test_a_check_that_hangs_costs_only_its_row() -> None:
    never = threading.Event()

    def hangs(_: Machine) -> list[Finding]:
        never.wait()
        return []

    survey = examine([Check(Area.SANDBOX, "hangs", hangs, Need.REQUIRED, timeout_sec=0.05), good("one")])
    never.set()
    assert [(f.name, f.state, f.fact) for f in survey.findings] == [
        ("hangs", State.UNKNOWN, "did not answer in 0.05 s"),
        ("one", State.OK, "there"),
    ]
    assert not survey.runs, "what is needed and does not answer is not there"


def test_quiet_checks_are_done_before_any_other() -> None:
    order: list[str] = []

    def noted(name: str) -> Check:
        return Check(Area.TOOLS, name, lambda _: order.append(name) or [], quiet=name == "quiet")  # type: ignore[func-returns-value]

    examine([noted("loud"), noted("quiet")])
    assert order == ["quiet", "loud"]


@pytest.mark.parametrize(
    ("need", "state", "runs", "mend"),
    [
        (Need.REQUIRED, State.MISSING, False, True),
        (Need.REQUIRED, State.UNKNOWN, False, True),
        (Need.REQUIRED, State.WEAK, True, True),
        (Need.ADVISED, State.MISSING, True, True),
        (Need.OPTIONAL, State.MISSING, True, False),
    ],
)
def test_what_prevents_and_what_is_to_mend(need: Need, state: State, runs: bool, mend: bool) -> None:
    row = Finding(Area.SANDBOX, "x", state, "", "c", "m", need=need)
    survey = examine([Check(Area.SANDBOX, "x", lambda _: [row])])
    assert survey.runs is runs and survey.to_mend == (("x",) if mend else ())
    assert ("CANNOT" in survey.summary) is not runs and ("1 thing to mend: x" in survey.summary) is mend


def test_what_lies_in_a_sandbox_prevents_nothing_elsewhere() -> None:
    row = Finding(Area.SANDBOX, "x", State.MISSING, "", need=Need.REQUIRED)
    survey = examine([Check(Area.SANDBOX, "x", lambda _: [row])], sandboxed=False, subject="the study 's'")
    assert survey.runs and survey.summary == "the study 's' can run here; nothing to mend"


def test_limits_are_told_by_their_state() -> None:
    rows = [
        limits.row(Fact(name, state, "means", "why"), name, "cost", "remedy")
        for name, state in zip(
            ("a", "b", "c"), (LimitState.ENFORCED, LimitState.WATCHED, LimitState.ABSENT), strict=True
        )
    ]
    assert [row.state for row in rows] == [State.OK, State.WEAK, State.MISSING]
    assert (
        rows[0].fact == "enforced, by means"
        and rows[1].fact == "watched, by means (why)"
        and not rows[0].cost
        and rows[1].cost
    )
    survey = examine([Check(Area.LIMITS, "limits", lambda _: rows)])
    assert "limits enforced: a;" in survey.summary and survey.to_mend == ("limit on b", "limit on c")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    with pytest.MonkeyPatch.context() as patch:  # the checkout may be somebody else's
        patch.chdir(tmp_path_factory.mktemp("study"))
        return examine(checks())


@pytest.mark.sandbox
def test_this_machine(here: Survey) -> None:
    rows = {f.name: f for f in here.findings}
    assert here.runs, [f for f in here.findings if f.prevents]
    assert rows["a sandbox starts"].state is State.OK and rows["isolation"].state is State.OK
    assert rows["Harbor"].state is State.OK and rows["limit on network"].state is State.OK
    assert len(rows) == len(here.findings), "no two rows share a name"


@pytest.mark.sandbox
def test_every_row_that_is_not_fine_says_what_it_costs_and_what_to_do(here: Survey) -> None:
    for row in here.findings:
        assert row.fact and row.name
        if row.state is State.OK:
            assert not row.cost and not row.commands, row
        elif row.state is not State.UNKNOWN:
            assert row.cost, row
            assert row.remedy or row.commands or row.need is Need.OPTIONAL, row


@pytest.mark.sandbox
def test_json_is_as_its_schema_says(here: Survey) -> None:
    said = json.loads(here.model_dump_json())
    jsonschema.validate(said, Survey.model_json_schema(mode="serialization"))
    assert set(said) == {"subject", "findings", "seconds", "runs", "to_mend", "summary"}
    keys = {"area", "name", "state", "fact", "cost", "remedy", "commands", "need"}
    assert all(set(row) == keys for row in said["findings"])
    assert [Finding(**{**row, "commands": tuple(row["commands"])}) for row in said["findings"]] == list(here.findings)


@pytest.mark.sandbox
def test_on_a_machine_that_shows_nothing_no_check_fails(tmp_path: Path) -> None:
    """Not even /proc: rows may be unknown or missing, but none says that its check broke."""
    survey = examine(checks(tmp_path), made(tmp_path, {"/x": ""}, env={"PATH": ""}))
    assert not [row for row in survey.findings if row.fact.startswith("the check failed")]


def test_it_loads_without_harbor() -> None:
    code = (
        "import sys; sys.modules['harbor'] = None\n"
        "import loopscope.sandbox.doctor as d\n"
        "print(len(d.checks()), [m for m in sys.modules if m.startswith('harbor.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{len(checks())} []"


def test_a_harbor_that_does_not_load_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from loopscope.sandbox.doctor import ourselves

    monkeypatch.setattr(ourselves, "version", lambda name: "0.30.0")
    (row,) = ourselves.look_harbor(Machine())
    assert row.state is State.WEAK and "0.30.0; loopscope is tried with" in row.fact

    def absent(name: str) -> str:
        raise ourselves.PackageNotFoundError(name)

    monkeypatch.setattr(ourselves, "version", absent)
    (row,) = ourselves.look_harbor(Machine())
    assert row.prevents and row.fact == "missing" and row.commands == ("pip install 'loopscope[run]'",)
