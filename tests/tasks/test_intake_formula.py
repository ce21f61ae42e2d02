"""What is read of a verification without running it: form, anchors, the reward at both ends, and where it stands."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from make_task import make_task

from loopscope.models.task import Anchors
from loopscope.tasks.intake import Form, Mismatch, mismatches, read_scoring
from loopscope.tasks.intake.sources import MOST_BYTES

SHELL = """#!/bin/bash
BASELINE={b}   # seconds
{ref}={r}
RESULT=$(python3 - "$SCORE" "$BASELINE" "${ref}" <<'PY'
import math, sys
score = float(sys.argv[1])
baseline = float(sys.argv[2])
reference = float(sys.argv[3])
{body}
print(reward)
PY
)
"""
LOG = """speedup = baseline / score
ref_speedup = baseline / reference
if speedup <= 1.0:
    reward = 0.0
else:
    reward = min(1.0, 0.5 * math.log(speedup) / math.log(ref_speedup))
reward = round(max(0.0, reward), 4)"""
LINEAR = """if score >= baseline:
    reward = 0.0
elif score <= reference:
    reward = 1.0
else:
    reward = (baseline - score) / (baseline - reference)"""


def task(tmp_path: Path, shell: str, **files: str) -> Path:
    directory = make_task(tmp_path / "mine")
    (directory / "tests/test.sh").write_text(shell)
    for name, text in files.items():
        (directory / "tests" / f"{name}.py").write_text(text)
    return directory


def filled(body: str, b: str = "20.0", r: str = "0.04", ref: str = "REFERENCE") -> str:
    return SHELL.format(b=b, r=r, ref=ref, body=body)


def test_a_logarithmic_reward_in_a_script_within_the_shell(tmp_path: Path) -> None:
    found = read_scoring(task(tmp_path, filled(LOG)))
    assert found.form is Form.LOG
    assert found.where == "tests/test.sh:14"
    assert found.baseline and (found.baseline.value, found.baseline.where) == (Decimal("20.0"), "tests/test.sh:2")
    assert found.reference and (found.reference.name, found.reference.value) == ("REFERENCE", Decimal("0.04"))
    assert (found.at_baseline, found.at_reference) == (Decimal("0.0"), Decimal("0.5"))
    assert found.direction == "minimize"


def test_a_linear_reward_whose_best_is_called_otherwise(tmp_path: Path) -> None:
    found = read_scoring(task(tmp_path, filled(LINEAR, "128", "53", "BEST_KNOWN")))
    assert (found.form, found.at_reference) == (Form.LINEAR, Decimal("1.0"))
    stated = Anchors(direction="minimize", baseline=Decimal(128), reference=Decimal(88))
    assert mismatches(stated, found) == (
        Mismatch(field="reference", stated="88", read="BEST_KNOWN 53", where="tests/test.sh:3"),
    )


def test_numbers_among_the_arguments(tmp_path: Path) -> None:
    shell = (
        "R=$(python3 - \"$X\" 5.0 3.8 <<'PY'\nimport math, sys\n"
        "agent, baseline, ref = float(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])\n"
        "r = 0.5 * math.log(baseline / agent) / math.log(baseline / ref)\nPY\n)\n"
    )
    found = read_scoring(task(tmp_path, shell))
    assert found.baseline and found.reference
    assert (found.baseline.value, found.reference.value, found.at_reference) == (
        Decimal("5.0"),
        Decimal("3.8"),
        Decimal("0.5"),
    )


def test_a_python_verifier_with_a_metric_that_is_computed(tmp_path: Path) -> None:
    text = (
        "import math\nBASELINE_PSNR = 14.0\nREFERENCE_PSNR = 20.0\ndef main(mse):\n    psnr = 0.0\n"
        "    psnr = 10 * math.log10(1.0 / mse)\n"
        "    reward = max(0.0, min(1.0, (psnr - BASELINE_PSNR) / (REFERENCE_PSNR - BASELINE_PSNR)))\n"
    )
    found = read_scoring(task(tmp_path, "python3 /tests/verify.py\n", verify=text))
    assert (found.form, found.where) == (Form.LINEAR, "tests/verify.py:7")
    assert (found.at_baseline, found.at_reference) == (Decimal("0.0"), Decimal("1.0"))
    assert found.direction == "maximize"


def test_a_share_of_the_baseline_uses_no_reference(tmp_path: Path) -> None:
    text = "BASELINE_PARAMS = 400\ntotal = load()\nreward = float((BASELINE_PARAMS - total) / BASELINE_PARAMS)\n"
    found = read_scoring(task(tmp_path, "", verify=text))
    assert (found.form, found.reference, found.at_baseline) == (Form.SHARE, None, Decimal("0.0"))
    told = mismatches(Anchors(baseline=Decimal(400), reference=Decimal(100)), found)
    assert [(m.field, m.stated, m.read) for m in told] == [("reference", "100", "not used")]


def test_a_direction_that_the_anchors_deny(tmp_path: Path) -> None:
    found = read_scoring(task(tmp_path, filled(LINEAR, "1", "2")))
    told = mismatches(Anchors(direction="minimize", baseline=Decimal("1.0"), reference=Decimal(2)), found)
    assert [(m.field, m.stated, m.read) for m in told] == [("direction", "minimize", "maximize")]


@pytest.mark.parametrize(
    "shell",
    [
        "echo 1 > /logs/verifier/reward.txt\n",
        "python3 - <<'PY'\nthis is no python\nPY\n",
        "python3 - <<'PY'\nreward = 0.5\n",
        "x=$((1/0))\n" * 10,
        "python3 - 'unclosed <<PY\nreward = (baseline - x) / baseline\nPY\n",
    ],
)
def test_what_cannot_be_read_is_unknown(tmp_path: Path, shell: str) -> None:
    found = read_scoring(task(tmp_path, shell))
    assert (found.baseline, found.reference, found.at_baseline) == (None, None, None)


def test_an_anchor_that_is_measured_is_unknown(tmp_path: Path) -> None:
    shell = "python3 - <<PY\nbaseline = float('$MEASURED')\nreference = float('$R')\nreward = (x - baseline) / (reference - baseline)\nPY\n"
    found = read_scoring(task(tmp_path, shell))
    assert (found.form, found.baseline, found.reference) == (Form.LINEAR, None, None)
    assert mismatches(Anchors(baseline=Decimal(1), reference=Decimal(2)), found) == ()


def test_hostile_verifiers_are_read_within_bounds(tmp_path: Path) -> None:
    deep = "reward = baseline / " + "(" * 150 + "x" + ")" * 150 + "\n"
    round_and_round = "BASELINE = 3\nreward = r / BASELINE\nr = reward + BASELINE\n"
    directory = task(
        tmp_path, "", deep=deep, loop=round_and_round, power="BASELINE = 2\nreward = BASELINE ** 9 ** 9 ** 9 / x\n"
    )
    (directory / "tests/huge.py").write_text("BASELINE = 7\n" + "#" * MOST_BYTES)
    (directory / "tests/link.py").symlink_to("/etc/passwd")
    (directory / "tests/gone.py").symlink_to("nowhere")
    found = read_scoring(directory)
    assert found.at_baseline is None
