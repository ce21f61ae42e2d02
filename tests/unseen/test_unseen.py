"""`search` on two tasks whose author has not seen it, by the engine, to the official score."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from loopscope.engine.events import silent
from loopscope.engine.plan import plan_study
from loopscope.engine.study import run_study
from loopscope.models import RunStatus

TASKS = Path(__file__).parent / "tasks"


@pytest.mark.slow
@pytest.mark.sandbox
def test_search_improves_tasks_of_another_author(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", str(tmp_path))
    spec = {
        "name": "unseen",
        "tasks": [str(TASKS / "grey_codec"), str(TASKS / "paint_booths")],
        "agents": ["nop", {"name": "search", "kwargs": {"rounds": 50}}],
        "seeds": [2],
        "budget": {"agent_sec": 120},
        "scoring": {"max_checkpoints": 2, "repeats": 5},
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(spec))
    plan = plan_study(tmp_path / "study.yaml", tmp_path)
    asyncio.run(run_study(plan, silent))
    for task in ("grey_codec", "paint_booths"):
        untouched = plan.store.run(f"{task}__nop__s2").score("final").value
        searched = plan.store.run(f"{task}__search__s2")
        assert searched.record.status is RunStatus.COMPLETED
        assert searched.score("final").value > untouched + Decimal("0.01"), task
