"""A python3 with numpy for the sandbox, built once per machine and interpreter, shown read-only in every sandbox.

What is built is a virtual environment for the path it has *inside*, `/opt/loopscope/venv`; its base is the interpreter
that loopscope itself runs on; what `interpreter.py` finds of it is shown at `/opt/loopscope/python`.
"""

from __future__ import annotations

import compileall
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from loopscope.sandbox.bwrap import Bind
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.interpreter import Interpreter, this_interpreter

VENV_INSIDE = "/opt/loopscope/venv"
DEFAULT_PACKAGES = ("numpy",)
_FORMAT = "3"


@dataclass(frozen=True)
class Toolchain:
    """A finished toolchain: what to bind, and the directory to put first on PATH."""

    binds: tuple[Bind, ...]
    bin_dir: str = f"{VENV_INSIDE}/bin"
    packages: tuple[str, ...] = DEFAULT_PACKAGES


@cache
def base_interpreter() -> Interpreter:
    """What sandboxes are shown of this interpreter.

    Looked at once: what is mapped into this process changes, and the answer names the toolchain.
    """
    return this_interpreter()


def cache_root() -> Path:
    """A writable cache directory: LOOPSCOPE_CACHE, XDG_CACHE_HOME, ~/.cache; else one of this user's under /tmp."""
    named = os.environ.get("LOOPSCOPE_CACHE")
    places = [Path(named)] if named else []
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        places.append(Path(xdg, "loopscope"))
    if home := os.environ.get("HOME"):
        places.append(Path(home, ".cache", "loopscope"))
    places.append(Path(tempfile.gettempdir(), f"loopscope-{os.geteuid()}"))
    for place in places:
        with contextlib.suppress(OSError):
            if place.is_absolute():
                place.mkdir(parents=True, exist_ok=True, mode=0o755)
                # A directory that somebody else made could be filled with a python of their choice.
                if place.stat().st_uid == os.geteuid() and os.access(place, os.W_OK):
                    return place
    raise SandboxError(f"no cache directory can be written: {', '.join(map(str, places))}; set LOOPSCOPE_CACHE")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def _installers(target: Path, packages: Sequence[str]) -> list[list[str]]:
    """Commands that can install packages into a directory, best first."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or os.environ.get("UV") or shutil.which("uv")
    commands = []
    if uv:
        commands.append(
            [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(target), *packages]
        )
    for python in dict.fromkeys((sys.executable, base)):
        commands.append(
            [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", str(target), *packages]
        )
    return commands


def _install(target: Path, packages: Sequence[str]) -> None:
    said: list[str] = []
    for command in _installers(target, packages):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode == 0:
            return
        said.append(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-300:]}")
        shutil.rmtree(target, ignore_errors=True)
    raise SandboxError(
        f"{', '.join(packages)} could not be installed for the sandbox's python; "
        f"see that uv or pip can reach a package index. {' | '.join(said)}"
    )


def _write_venv(venv: Path, python: Interpreter, packages: Sequence[str]) -> None:
    """A relocated virtual environment, written by hand: tools would write the host's paths into it."""
    bin_dir = venv / "bin"
    bin_dir.mkdir(parents=True)
    home = str(Path(python.executable).parent)
    (venv / "pyvenv.cfg").write_text(
        f"home = {home}\ninclude-system-site-packages = false\nversion = {python.version}\n"
    )
    if python.loader:
        script = bin_dir / "python3"
        script.write_text(
            f'#!/bin/sh\nexec {python.loader} --argv0 {VENV_INSIDE}/bin/python3 --library-path "{python.library_path}" '
            f'{python.executable} "$@"\n'
        )
        script.chmod(0o755)
    else:
        (bin_dir / "python3").symlink_to(python.executable)
    for name in ("python", f"python{python.version}"):
        (bin_dir / name).symlink_to("python3")
    site = venv / "lib" / f"python{python.version}" / "site-packages"
    site.mkdir(parents=True)
    if packages:
        _install(site, packages)
        shutil.rmtree(site / "bin", ignore_errors=True)  # scripts with the host's interpreter in their first line
    # Inside nothing can be written here, and numpy without bytecode takes a second to import.
    compileall.compile_dir(site, quiet=2, stripdir=str(venv), prependdir=VENV_INSIDE)
    _open_modes(venv)


def _open_modes(root: Path) -> None:
    """Readable for the sandbox's ids whatever the umask was; nobody's to write."""
    for folder, _, files in os.walk(root):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def location(packages: Sequence[str] = DEFAULT_PACKAGES, cache: Path | None = None) -> Path:
    """Where the toolchain with these packages lies, or will; it is finished when `pyvenv.cfg` is in it."""
    wanted = tuple(sorted(set(packages)))
    key = hashlib.sha256(repr((_FORMAT, wanted, base_interpreter(), sys.version)).encode()).hexdigest()[:16]
    return (cache or cache_root()) / "toolchain" / key


def build(packages: Sequence[str] = DEFAULT_PACKAGES, cache: Path | None = None) -> Toolchain:
    """The toolchain with these PyPI packages; built on first use, under a lock, and moved into place whole.

    Raises SandboxError when the packages cannot be had.
    """
    wanted = tuple(sorted(set(packages)))
    python = base_interpreter()
    if os.geteuid() == 0 and (closed := python.unreadable()):
        # Inside, root is another id of the host, which such an installation keeps out.
        raise SandboxError(f"{closed}: the sandbox's users cannot read this python: `chmod -R o+rX {closed}`")
    venv = location(wanted, cache)
    root, key = venv.parent, venv.name
    root.mkdir(parents=True, exist_ok=True)
    if not (venv / "pyvenv.cfg").is_file():
        with _locked(root / f"{key}.lock"):
            if not (venv / "pyvenv.cfg").is_file():
                fresh = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=root))
                try:
                    _write_venv(fresh / "venv", python, wanted)
                    (fresh / "venv").rename(venv)
                finally:
                    shutil.rmtree(fresh, ignore_errors=True)
    nothing = root / "nothing"
    nothing.mkdir(exist_ok=True)
    nothing.chmod(0o755)  # whatever the umask
    hiding = (Bind(str(nothing), place) for place in python.hidden)
    return Toolchain((Bind(str(venv), VENV_INSIDE), *python.shown, *hiding), packages=wanted)
