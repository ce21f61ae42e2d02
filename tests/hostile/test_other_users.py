"""What another user of the machine can do: read nothing of a sandbox, and give it nothing of theirs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from loopscope.sandbox.toolchain import cache_root


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory somebody else's")
def test_a_cache_that_somebody_else_made_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they could fill it with a python of their choice."""
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o777)
    os.chown(theirs, 54_323, 54_323)
    monkeypatch.setenv("LOOPSCOPE_CACHE", str(theirs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    found = cache_root()
    assert found == tmp_path / "mine" / "loopscope"
    assert not stat.S_IMODE(found.stat().st_mode) & 0o022
