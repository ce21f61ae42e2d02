"""A task is tried outside a study: the untouched starter, its own solution, and files and commands laid over either."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from loopscope.audit.trial import REFERENCE, STARTER, Act, try_task
from loopscope.models import VerificationStatus
from loopscope.tasks.catalog import SUITE

pytestmark = pytest.mark.sandbox
TASK = SUITE / "addition_chains"


def test_starter_reference_and_what_is_laid_over():
    broken = Act("broken", files={"chains.py": b"not python (\n"}, command="echo here; pwd; exit 3")
    starter, reference, third = (asyncio.run(try_task(TASK, act)) for act in (STARTER, REFERENCE, broken))
    assert (starter.status, starter.reward) == (VerificationStatus.OK, Decimal(0))
    assert reference.reward is not None
    assert reference.reward > Decimal("0.5")
    assert "reward.json" in reference.logs
    assert reference.seconds > 0
    assert third.metrics["correctness"] == 0
    assert third.acted == "3\nhere\n/app\n"
