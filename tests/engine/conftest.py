"""Studies of scripted agents on a tiny task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from toy_study import write_task

from loopscope.engine.plan import Plan, plan_study


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", str(tmp_path))


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Plan]:
    """Plan a study of one tiny task (or of several, by path) with agents by label: scripted commands, or a whole entry."""

    def make(agents: dict[str, Any], tasks: list[Path] | None = None, **more: Any) -> Plan:
        tasks = tasks or [write_task(tmp_path / "toy")]
        spec = {
            "name": "t",
            "tasks": [str(task) for task in tasks],
            "agents": [
                agent
                if isinstance(agent, str) or "name" in agent
                else {"name": "scripted_agent:ScriptedAgent", "label": label, "kwargs": agent}
                for label, agent in agents.items()
            ],
            "seeds": 1,
            **more,
        }
        file = tmp_path / "s.yaml"
        file.write_text(yaml.safe_dump(spec))
        return plan_study(file, tmp_path / "study")

    return make
