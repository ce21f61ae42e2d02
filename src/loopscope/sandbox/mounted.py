"""Compilers and runtimes of the host that a study names, shown read-only in its sandboxes under a fixed path.

    environment: {type: local, kwargs: {toolchains: {go: /opt/go, rust: ~/.rustup}}}

Each is one directory with a `bin`; it appears as `/opt/loopscope/tools/<name>`, first on PATH. What a tool writes
(caches, for cargo its CARGO_HOME) goes to the sandbox's own home: nothing of the mount can be written.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loopscope.sandbox.bwrap import Bind
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.rootfs import SYSTEM_PATH

TOOLS_INSIDE = "/opt/loopscope/tools"
_NAME = re.compile(r"[a-z0-9][a-z0-9+._-]{0,39}")
_OFFLINE: Mapping[str, Mapping[str, str]] = {
    "go": {"GOROOT": "{}", "GOTOOLCHAIN": "local", "GOPROXY": "off"},
    "rust": {"CARGO_NET_OFFLINE": "true"},
    "java": {"JAVA_HOME": "{}"},
    "cuda": {"CUDA_HOME": "{}"},
}
"""By name: what these need to be told, `{}` being the place inside. They have no network, and should say so at once."""

_VERSION: Mapping[str, tuple[str, ...]] = {
    "go": ("go", "version"),
    "rust": ("rustc", "--version"),
    "java": ("java", "--version"),
    "cuda": ("nvcc", "--version"),
}
_CREDENTIALS = (".ssh", ".aws", ".gnupg", ".netrc", ".git-credentials", "credentials", "credentials.toml")


@dataclass(frozen=True)
class Mounted:
    """One directory of the host, as sandboxes see it."""

    name: str
    source: Path
    """On the host, without links."""
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def inside(self) -> str:
        """Where it is seen."""
        return f"{TOOLS_INSIDE}/{self.name}"

    @property
    def bind(self) -> Bind:
        """Read-only, as all that is bound without `writable`."""
        return Bind(str(self.source), self.inside)

    def version(self) -> str | None:
        """What the tool itself says, in a line; None for a tool that is not known, or that does not answer."""
        command = _VERSION.get(self.name)
        if command is None:
            return None
        argv = [str(self.source / "bin" / command[0]), *command[1:]]
        env = {"PATH": SYSTEM_PATH, "HOME": "/nonexistent", "GOTOOLCHAIN": "local", "GOCACHE": "/nonexistent"}
        try:
            done = subprocess.run(
                argv, env=env, capture_output=True, text=True, errors="replace", timeout=20, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return None
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        return lines[-1 if self.name == "cuda" else 0][:120] if done.returncode == 0 and lines else None


def mounted(toolchains: Mapping[str, Path]) -> tuple[Mounted, ...]:
    """What `toolchains` of a study's environment names, held against the host; in the study's order.

    Raises:
        SandboxError: a name or a directory that will not do; one line with what to write instead.
    """
    return tuple(_mounted(name, path) for name, path in toolchains.items())


def _mounted(name: str, written: Path) -> Mounted:
    where = f"toolchains.{name}"
    if not _NAME.fullmatch(name):
        raise SandboxError(f"{where}: a name is small letters, digits and + . _ - (at most 40)")
    path = written.expanduser()
    if not path.is_absolute():
        raise SandboxError(f"{where}: {written} is no absolute path; write it from / or ~ on")
    path = path.resolve()
    if name == "rust":
        path = _rust(where, path)
    if not path.is_dir():
        raise SandboxError(f"{where}: {path} is no directory; name where the toolchain is installed")
    home = Path("~").expanduser().resolve()
    if path == Path("/") or path == home or home.is_relative_to(path):
        raise SandboxError(f"{where}: {path} holds more than a toolchain; name the directory that has its bin/")
    if secret := next((entry for entry in _CREDENTIALS if (path / entry).exists()), None):
        raise SandboxError(
            f"{where}: {path / secret} may hold credentials, and agents would read it; name a directory without it"
        )
    if not _has_programs(path / "bin"):
        raise SandboxError(f"{where}: {path} has no bin/ with programs; name the directory above bin/")
    closed = next((p for p in (path, path / "bin") if p.stat().st_mode & 0o005 != 0o005), None)
    if closed is not None and os.geteuid() == 0:  # inside, root is another id of the host
        raise SandboxError(f"{where}: the sandbox's users cannot read {closed}: `chmod -R o+rX {path}`")
    inside = f"{TOOLS_INSIDE}/{name}"
    return Mounted(name, path, {key: value.format(inside) for key, value in _OFFLINE.get(name, {}).items()})


def _has_programs(folder: Path) -> bool:
    return folder.is_dir() and any(os.access(entry, os.X_OK) and not entry.is_dir() for entry in folder.iterdir())


def _rust(where: str, path: Path) -> Path:
    """The toolchain itself: rustup's home and cargo's hold proxies, caches and credentials beside it."""
    if (
        not (path / "toolchains").is_dir() and (path / "bin" / "rustup").exists()
    ):  # ~/.cargo: proxies for what lies beside
        path = path.with_name(".rustup")
    if not (path / "toolchains").is_dir():
        return path
    there = sorted(entry.name for entry in (path / "toolchains").iterdir() if (entry / "bin" / "rustc").exists())
    chosen = _default_toolchain(path / "settings.toml")
    if chosen not in there:
        chosen = there[0] if len(there) == 1 else ""
    if not chosen:
        listed = " or ".join(str(path / "toolchains" / name) for name in there) or "none is installed there"
        raise SandboxError(f"{where}: {path} has no default toolchain; name one: {listed}")
    return (path / "toolchains" / chosen).resolve()


def _default_toolchain(settings: Path) -> str:
    try:
        return str(tomllib.loads(settings.read_text(encoding="utf-8")).get("default_toolchain", ""))
    except (OSError, ValueError):
        return ""


def path_inside(tools: Iterable[Mounted], rest: str) -> str:
    """PATH inside: the mounted tools' programs, then `rest`."""
    return ":".join([*(f"{tool.inside}/bin" for tool in tools), rest])


def path_on_host(tools: Iterable[Mounted]) -> str:
    """Where the host has what a sandbox with these tools will offer."""
    return ":".join([*(str(tool.source / "bin") for tool in tools), SYSTEM_PATH])


def from_kwargs(kwargs: Mapping[str, object]) -> tuple[Mounted, ...]:
    """`mounted`, from environment kwargs that `options.parse` has taken; nothing where they name no toolchain."""
    named = kwargs.get("toolchains")
    return mounted({str(k): Path(str(v)) for k, v in named.items()}) if isinstance(named, Mapping) else ()
