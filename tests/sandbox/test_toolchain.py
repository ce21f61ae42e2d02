from __future__ import annotations

import sys
from pathlib import Path

import pytest

from loopscope.sandbox import toolchain
from loopscope.sandbox.errors import SandboxError


def interpreter(monkeypatch: pytest.MonkeyPatch, prefix: Path, mapped: list[str]) -> toolchain.Interpreter:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    program = prefix / "bin" / version
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch()
    monkeypatch.setattr(sys, "base_prefix", str(prefix))
    monkeypatch.setattr(sys, "_base_executable", str(program), raising=False)
    return toolchain.this_interpreter(mapped)


LOADER = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"


def test_a_static_interpreter_below_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = interpreter(monkeypatch, tmp_path / "cpython", [LOADER, "/usr/lib/libc.so.6"])
    assert found.root == tmp_path / "cpython" and found.loader is None
    assert found.executable.startswith("/opt/loopscope/python/bin/python3.")


def test_a_shared_interpreter_is_shown_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = tmp_path / "versions" / "3.12"
    found = interpreter(monkeypatch, prefix, [LOADER, f"{prefix}/lib/libpython3.12.so.1.0"])
    assert (found.loader, found.library_path) == (LOADER, "/opt/loopscope/python/lib")


def test_an_interpreter_with_its_own_libc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usr = tmp_path / "python-trixie" / "usr"
    libs = usr / "lib" / "x86_64-linux-gnu"
    mapped = [f"{libs}/ld-linux-x86-64.so.2", f"{libs}/libc.so.6", f"{usr}/lib/python3/lib-dynload/x.so"]
    found = interpreter(monkeypatch, usr, mapped)
    inside = "/opt/loopscope/python/lib/x86_64-linux-gnu"
    assert found.root == usr and found.loader == f"{inside}/ld-linux-x86-64.so.2" and found.library_path == inside
    with pytest.raises(SandboxError, match="its own libc"):
        toolchain._private(Path("/elsewhere/ld-linux.so"), Path("/usr"), [])


def test_the_systems_interpreter_needs_no_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(sys, "_base_executable", "/usr/bin/env", raising=False)
    found = toolchain.this_interpreter([LOADER])
    assert found.root is None and found.executable.startswith("/usr/")


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
