from __future__ import annotations

import sys
from pathlib import Path

import pytest

from loopscope.sandbox import interpreter, toolchain
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.interpreter import VERSION, Interpreter, this_interpreter

LOADER = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
INSIDE = "/opt/loopscope/python"


def made(monkeypatch: pytest.MonkeyPatch, prefix: Path, mapped: list[str], *, needs: str = "") -> Interpreter:
    """What is found of an interpreter below `prefix`, whose program names the libraries `needs`."""
    program = prefix / "bin" / f"python{VERSION}"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_bytes(b"\x7fELF\0" + needs.encode().replace(b" ", b"\0") + b"\0")
    library = prefix / "lib" / f"python{VERSION}"
    (library / "site-packages").mkdir(parents=True, exist_ok=True)
    (library / "os.py").touch()
    monkeypatch.setattr(sys, "base_prefix", str(prefix))
    monkeypatch.setattr(sys, "_base_executable", str(program), raising=False)
    return this_interpreter(mapped)


def places(found: Interpreter) -> set[str]:
    return {bind.target.removeprefix(f"{INSIDE}/") for bind in found.shown}


ALWAYS = {"bin/python", "bin/python3", f"bin/python{VERSION}", f"lib/python{VERSION}"}


def test_a_static_interpreter_below_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(monkeypatch, tmp_path / "cpython", [LOADER, "/usr/lib/libc.so.6"])
    assert places(found) == ALWAYS and found.loader is None
    assert found.executable == f"{INSIDE}/bin/python{VERSION}"


def test_a_shared_interpreter_is_shown_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = tmp_path / "versions" / VERSION
    library = prefix / "lib" / f"libpython{VERSION}.so.1.0"
    library.parent.mkdir(parents=True)
    library.touch()
    found = made(monkeypatch, prefix, [LOADER, str(library)], needs=library.name)
    assert (found.loader, found.library_path) == (LOADER, f"{INSIDE}/lib")
    assert places(found) == {*ALWAYS, f"lib/{library.name}"}


def test_of_a_prefix_full_of_other_things_only_the_interpreter_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As conda's: libraries lie beside many others, named by extension modules, by one another, or by wheels."""
    lib = tmp_path / "lib"
    dynload = lib / f"python{VERSION}" / "lib-dynload"
    dynload.mkdir(parents=True)
    (dynload / "_ssl.so").write_bytes(b"\0libssl.so.3\0libnot-there.so.1\0")
    (dynload / "_tkinter.so").write_bytes(b"\0libtk8.6.so\0")
    (lib / "libssl.so.3").write_bytes(b"\0libcrypto.so.3\0")
    for name in ("libcrypto.so.3", "libtk8.6.so", "libLLVM.so.15"):
        (lib / name).touch()
    (lib / "libstdc++.so.6.0.30").touch()
    (lib / "libstdc++.so.6").symlink_to("libstdc++.so.6.0.30")
    for other in ("envs/work/bin", "pkgs", "share", "include"):
        (tmp_path / other).mkdir(parents=True)
    found = made(monkeypatch, tmp_path, [LOADER])
    assert places(found) == {*ALWAYS, "lib/libssl.so.3", "lib/libcrypto.so.3", "lib/libstdc++.so.6"}
    assert found.hidden == (f"{INSIDE}/lib/python{VERSION}/site-packages",)


def test_an_interpreter_with_its_own_libc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usr = tmp_path / "python-trixie" / "usr"
    libs = usr / "lib" / "x86_64-linux-gnu"
    libs.mkdir(parents=True)
    for name in ("ld-linux-x86-64.so.2", "libc.so.6", "libother.so.1"):
        (libs / name).touch()
    mapped = [f"{libs}/ld-linux-x86-64.so.2", f"{libs}/libc.so.6", f"{usr}/lib/python3/lib-dynload/x.so"]
    found = made(monkeypatch, usr, mapped)
    there = "lib/x86_64-linux-gnu"
    assert places(found) == {*ALWAYS, f"{there}/libc.so.6", f"{there}/ld-linux-x86-64.so.2"}
    assert (found.loader, found.library_path) == (f"{INSIDE}/{there}/ld-linux-x86-64.so.2", f"{INSIDE}/{there}")
    with pytest.raises(SandboxError, match="its own libc"):
        interpreter._private(Path("/elsewhere/ld-linux.so"), Path("/usr"), [])


def test_the_systems_interpreter_needs_no_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(sys, "_base_executable", "/usr/bin/env", raising=False)
    found = this_interpreter([LOADER])
    assert found.shown == () and found.executable.startswith("/usr/")


def test_a_closed_installation_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(monkeypatch, tmp_path, [LOADER])
    library = tmp_path / "lib" / f"python{VERSION}"
    assert found.unreadable() is None
    library.chmod(0o750)
    assert found.unreadable() == library
    monkeypatch.setattr(toolchain, "base_interpreter", lambda: found)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(SandboxError, match=rf"chmod -R o\+rX {library}"):
        toolchain.build((), tmp_path / "cache")
