"""The command in this process, in a directory of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from loopscope.cli import app

Cli = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Call a verb and hold it to an exit code; only our own bugs leave as anything but an exit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", str(tmp_path))

    def call(*args: str, check: int = 0) -> Result:
        done = CliRunner().invoke(app, args)
        assert done.exit_code == check, (done.exit_code, done.output, done.exception)
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done

    return call
