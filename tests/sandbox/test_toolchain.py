from __future__ import annotations

from pathlib import Path

import pytest

from loopscope.sandbox import toolchain
from loopscope.sandbox.errors import SandboxError


def test_the_cache_is_found_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPSCOPE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/nonexistent")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert toolchain.cache_root().parent == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert toolchain.cache_root() == tmp_path / "home" / ".cache" / "loopscope"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert toolchain.cache_root() == tmp_path / "xdg" / "loopscope"


def test_built_once_and_free_of_the_hosts_paths(tmp_path: Path) -> None:
    first = toolchain.build((), tmp_path)
    venv = Path(first.binds[0].source)
    before = (venv / "pyvenv.cfg").stat().st_mtime_ns
    assert toolchain.build((), tmp_path) == first and (venv / "pyvenv.cfg").stat().st_mtime_ns == before
    assert "home = /" in (venv / "pyvenv.cfg").read_text() and str(tmp_path) not in (venv / "pyvenv.cfg").read_text()
    assert (venv / "bin" / "python").readlink() == Path("python3")
    assert [p.name for p in (tmp_path / "toolchain").iterdir() if "-" in p.name] == []


def test_a_failed_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        toolchain, "_installers", lambda target, packages: [["/bin/sh", "-c", "echo no index >&2; exit 1"]]
    )
    with pytest.raises(SandboxError, match=r"numpy could not be installed.*no index"):
        toolchain.build(("numpy",), tmp_path)
    assert [p for p in (tmp_path / "toolchain").iterdir() if p.suffix != ".lock"] == []
