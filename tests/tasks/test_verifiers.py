"""The built-in tasks in the real sandbox: what starter, reference and unusable files score."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from judged import MAIN_FILE, STARTER_AT_MOST, assert_worthless, at_levels, in_turn, valid
from sandboxed import Scored, Solution, score

from loopscope.tasks.catalog import SUITE, builtin_names

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

AS_USER = Path(__file__).parents[1] / "sandbox" / "as_user.py"
REFERENCE_BETWEEN = {
    "addition_chains": (0.75, 0.85),
    "coupled_forecast": (0.85, 1.0),
    "csv_groupby": (0.25, 0.75),
    "cyclic_automaton": (0.25, 0.75),
    "discrepancy": (0.47, 0.53),
    "label_noise": (0.93, 1.0),
    "segmented_scan": (0.48, 0.52),
    "strip_packing": (0.93, 1.0),
}


def check_anchors(name: str, starter: Scored, reference: Scored) -> None:
    assert valid(starter)["correctness"] == 1, starter.details
    assert starter.reward and starter.reward["reward"] <= STARTER_AT_MOST[name]
    assert valid(reference)["correctness"] == 1, reference.details
    low, high = REFERENCE_BETWEEN[name]
    assert low <= valid(reference)["reward"] <= high


@pytest.mark.parametrize(("name", "level"), at_levels(builtin_names()))
def test_starter_and_reference_are_worth_their_anchors(name: str, level: str) -> None:
    env = {"LOOPSCOPE_GUARD": level} if level else {}
    starter, reference = score(SUITE / name, Solution(env=env), Solution(reference=True, env=env))
    check_anchors(name, starter, reference)
    if level:
        assert starter.details["guard"] == level


@pytest.mark.parametrize("name", in_turn(builtin_names()))
def test_an_ordinary_user_gets_the_same(name: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(Path(__file__).with_name("sandboxed.py")),
        str(SUITE / name),
        "{}",
        '{"reference": true}',
    ]
    if os.geteuid() == 0:
        command = [sys.executable, str(AS_USER), "12345", *command]
    cache = Path("/tmp/loopscope-tests-12345")
    env = {**os.environ, "LOOPSCOPE_CACHE": str(cache), "HOME": "/tmp", "TMPDIR": "/tmp"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    starter, reference = (Scored(**each) for each in json.loads(done.stdout))
    check_anchors(name, starter, reference)
    assert starter.details["guard"] == "namespaces"


@pytest.mark.parametrize(("name", "level"), at_levels(builtin_names()))
def test_unusable_files_are_worth_nothing(name: str, level: str) -> None:
    file = MAIN_FILE[name]
    commands = {
        "missing": f"rm {file}",
        "empty": f": > {file}",
        "garbage": f"head -c 5000 /dev/urandom > {file}",
        "huge": f"head -c 3000000 /dev/zero > {file}",
        "link to the verifier": f"ln -sf /tests/verify.py {file}",
        "link to a device": f"ln -sf /dev/zero {file}",
        "pipe": f"rm {file}; mkfifo {file}",
        "directory": f"rm {file}; mkdir {file}",
    }
    env = {"LOOPSCOPE_GUARD": level} if level else {}
    solutions = [Solution(before=command, env=env) for command in commands.values()]
    for what, scored in zip(commands, score(SUITE / name, *solutions), strict=True):
        assert_worthless(scored, what)


@pytest.mark.parametrize("name", builtin_names())
def test_the_local_evaluation_points_the_same_way(name: str) -> None:
    both = score(SUITE / name, Solution(evaluate=True), Solution(evaluate=True, reference=True))
    starter, reference = (re.search(r"^score: ([-\d.]+)$", each.local, re.MULTILINE) for each in both)
    assert starter, both[0].local
    assert reference, both[1].local
    assert float(reference[1]) > float(starter[1]) + 0.3


COUNTERFACTUALS = {
    "addition_chains": [{"SEED": "7"}, {"INSTANCES": "2"}, {"TARGETS": "20"}, {"BITS": "20"}],
    "csv_groupby": [
        {"SEED": "7"},
        {"ROWS": "10000"},
        {"STATIONS": "100"},
        {"PAIRS": "3"},
        {"CALLS": "3", "PAIRS": "3"},
    ],
    "coupled_forecast": [{"SEED": "7"}, {"SYSTEMS": "2"}, {"WINDOWS": "100"}],
    "cyclic_automaton": [
        {"SEED": "7"},
        {"WIDTH": "320"},
        {"HEIGHT": "61"},
        {"STEPS": "67"},
        {"PAIRS": "3"},
        {"CALLS": "3", "PAIRS": "3"},
    ],
    "discrepancy": [{"SEED": "7"}, {"FIELDS": "3"}, {"PROBES": "30"}, {"SWAP": "2"}],
    "label_noise": [{"SEED": "7"}, {"COLLECTIONS": "2"}, {"TESTS": "500"}],
    "segmented_scan": [{"SEED": "7"}, {"ELEMENTS": "50001"}, {"MEAN": "100"}, {"INPUTS": "2"}, {"BACKEND": "counted"}],
    "strip_packing": [{"SEED": "7"}, {"SETS": "3"}, {"RECTANGLES": "60"}, {"WIDTH": "150"}],
}


@pytest.mark.parametrize("name", builtin_names())
def test_an_honest_solution_does_not_depend_on_the_switches(name: str) -> None:
    switches = [{f"LOOPSCOPE_{k}": v for k, v in one.items()} for one in COUNTERFACTUALS[name]]
    solutions = [Solution(reference=True, env=env) for env in switches]
    for switch, scored in zip(switches, score(SUITE / name, *solutions), strict=True):
        reward = valid(scored)
        assert reward["correctness"] == 1, (switch, scored.details)
        assert reward["reward"] > 0.2, switch


def test_a_fixed_seed_gives_the_same_score_and_a_fresh_one_another() -> None:
    fixed = Solution(reference=True, env={"LOOPSCOPE_SEED": "11"})
    first, second, fresh = score(SUITE / "addition_chains", fixed, fixed, Solution(reference=True))
    assert valid(first)["length_ratio"] == valid(second)["length_ratio"] != valid(fresh)["length_ratio"]


@pytest.mark.parametrize("name", builtin_names())
def test_files_left_in_the_way_are_replaced(name: str) -> None:
    """A planted reward is gone before anything runs, and a link in its place is not followed."""
    plant = "echo '{\"reward\": 1}' > /logs/verifier/reward.txt; ln -s /app/target /logs/verifier/reward.json"
    (scored,) = score(SUITE / name, Solution(before=f"{plant}; : > {MAIN_FILE[name]}; : > target"))
    assert_worthless(scored, "planted")
