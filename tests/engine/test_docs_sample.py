"""The agent that the documentation shows works as it stands there."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from toy_study import run

from loopscope.engine.plan import plan_study
from loopscope.models import RunStatus

PAGE = Path(__file__).parents[2] / "docs" / "study.md"


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_agent_in_the_documentation_commits(tmp_path: Path) -> None:
    found = re.search(r"^    # my_agent\.py\n(?:    .*\n|\n)+", PAGE.read_text(), re.M)
    assert found is not None
    (tmp_path / "my_agent.py").write_text(textwrap.dedent(found[0]))
    study = tmp_path / "s.yaml"
    study.write_text(
        "name: s\ntasks: [addition_chains]\nagents: ['my_agent:MyAgent']\nseeds: 1\nbudget: {agent_sec: 60}\n"
    )
    record = next(run(plan_study(study, tmp_path / "s")).runs()).record
    assert record.status is RunStatus.COMPLETED
    assert [commit.subject for commit in record.commits] == ["initial", "round 1: change=... hypothesis=..."]
