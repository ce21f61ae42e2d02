"""Workspaces as an agent would leave them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from git_work import Work

from loopscope.records.repository import Repository
from loopscope.records.salvage import salvage


@pytest.fixture
def work(tmp_path: Path) -> Work:
    made = Work(tmp_path / "app")
    made.git("init", "-q", "-b", "main")
    return made


@pytest.fixture
def salvaged(tmp_path: Path) -> Callable[[Work], Repository]:
    def make(work: Work) -> Repository:
        target = tmp_path / "repository"
        report = salvage(work.tar(tmp_path / "w.tar"), target)
        assert report.found, report
        return Repository(target)

    return make
