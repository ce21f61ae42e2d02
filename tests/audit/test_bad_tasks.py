"""Tasks that behave badly when they are run: each ends with a named reason, and the task's own files stay whole."""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from loopscope.audit.trial import STARTER, Trial, try_task
from loopscope.models import EnvironmentSpec, VerificationStatus
from loopscope.tasks.copying import tree_hash

sys.path.append(str(Path(__file__).parents[1] / "tasks"))
from make_task import make_task

HERE = EnvironmentSpec(kwargs={"python_packages": []})
NEEDS_NO_TIME = False


def tried(directory: Path, timeout_sec: float | None = None) -> Trial:
    before = tree_hash(directory)
    trial = asyncio.run(try_task(directory, STARTER, environment=HERE, timeout_sec=timeout_sec, alone=NEEDS_NO_TIME))
    assert tree_hash(directory) == before
    return trial


@pytest.mark.sandbox
def test_a_test_script_that_deletes_itself_costs_nothing_outside(tmp_path: Path) -> None:
    directory = make_task(tmp_path / "mit Leerzeichen ☃" / "mine")
    script = 'rm -f -- "$0"; rm -rf /tests\necho \'{"reward": 0.25, "note": null}\' > /logs/verifier/reward.json\n'
    (directory / "tests/test.sh").write_text(script)
    for _ in range(2):  # the second verification has the script again
        trial = tried(directory)
        assert (trial.status, trial.reward) == (VerificationStatus.OK, Decimal("0.25"))


@pytest.mark.sandbox
def test_a_verifier_longer_than_its_limit_has_no_reward_and_says_so(tmp_path: Path) -> None:
    directory = make_task(tmp_path / "mine")
    (directory / "tests/test.sh").write_text("echo 1 > /logs/verifier/reward.txt\nsleep 60\n")
    trial = tried(directory, timeout_sec=1.0)
    assert trial.status is VerificationStatus.TIMEOUT
    assert trial.reward is None
    assert trial.seconds < 30


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("dockerfile", "said"),
    [
        (None, "Dockerfile: not found"),
        ("FROM debian\nCOPY --from=x /a /b\n", "multi-stage builds are not followed"),
        ("FROM debian\nFETCH x\n", "not an instruction that the local sandbox follows"),
    ],
)
def test_a_dockerfile_that_cannot_be_followed_is_told_with_its_line(
    tmp_path: Path, dockerfile: str | None, said: str
) -> None:
    directory = make_task(tmp_path / "mine", dockerfile=dockerfile or "")
    if dockerfile is None:
        (directory / "environment/Dockerfile").unlink()
    trial = tried(directory)
    assert (trial.status, trial.reward) == (VerificationStatus.ERROR, None)
    assert said in (trial.reason or "")
