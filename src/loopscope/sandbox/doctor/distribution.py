"""How this distribution installs a package, and what it calls the packages that Debian calls otherwise."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from dataclasses import dataclass

from loopscope.sandbox.doctor.machine import Machine

_MANAGERS = {
    "apt-get": "apt-get install -y",
    "dnf": "dnf install -y",
    "microdnf": "microdnf install -y",
    "pacman": "pacman -S --needed",
    "apk": "apk add",
    "zypper": "zypper install -y",
    "brew": "brew install",
}
_FEDORA = {
    "g++": "gcc-c++",
    "libc6-dev": "glibc-devel",
    "procps": "procps-ng",
    "golang-go": "golang",
    "chromium-driver": "chromedriver",
    "docker.io": "moby-engine",
    "docker-compose-v2": "docker-compose",
    "mount": "util-linux",
}
_NAMES: dict[str, dict[str, str]] = {
    "dnf": _FEDORA,
    "microdnf": _FEDORA,
    "pacman": {
        "g++": "gcc",
        "libc6-dev": "glibc",
        "procps": "procps-ng",
        "golang-go": "go",
        "cargo": "rust",
        "chromium-driver": "chromium",
        "docker.io": "docker",
        "docker-compose-v2": "docker-compose",
        "mount": "util-linux",
        "nvidia-cuda-toolkit": "cuda",
    },
    "apk": {
        "libc6-dev": "musl-dev",
        "golang-go": "go",
        "procps": "procps-ng",
        "chromium-driver": "chromium-chromedriver",
        "docker.io": "docker",
        "docker-compose-v2": "docker-cli-compose",
        "mount": "util-linux",
    },
    "zypper": {
        "g++": "gcc-c++",
        "libc6-dev": "glibc-devel",
        "golang-go": "go",
        "nodejs": "nodejs-default",
        "chromium-driver": "chromedriver",
        "docker.io": "docker",
        "docker-compose-v2": "docker-compose",
        "mount": "util-linux",
    },
    "brew": {"g++": "gcc", "golang-go": "go", "cargo": "rust", "nodejs": "node"},
}
"""By package manager: what Debian's package is called there; the same where nothing stands."""


@dataclass(frozen=True)
class Distribution:
    """The system's name and how it installs."""

    machine: Machine
    name: str
    """For people, such as `Debian GNU/Linux 12 (bookworm)`."""
    ident: str = ""
    """`ID` of os-release: debian, ubuntu, fedora, ..."""
    manager: str | None = None
    stale: bool = False
    """The manager knows no packages yet (Debian's container images come without lists)."""

    def install(self, *debian: str) -> tuple[str, ...]:
        """The command that installs these packages, given by Debian's names; nothing where no manager is known."""
        if self.manager is None:
            return ()
        names = _NAMES.get(self.manager, {})
        words = dict.fromkeys(names.get(package, package) for package in debian)
        command = f"{_MANAGERS[self.manager]} {shlex.join(words)}"
        if self.manager == "brew":
            return (command,)
        return (self.machine.as_root(*(("apt-get update",) if self.stale else ()), command),)


def distribution(machine: Machine) -> Distribution:
    """Read from os-release and from which package manager is there."""
    fields = os_release(machine)
    manager = next((m for m in _MANAGERS if machine.which_anywhere(m)), None)
    lists = [n for n in machine.names("/var/lib/apt/lists") if n not in ("lock", "partial", "auxfiles")]
    return Distribution(
        machine=machine,
        name=fields.get("PRETTY_NAME") or fields.get("NAME") or "an unknown system",
        ident=fields.get("ID", ""),
        manager=manager,
        stale=manager == "apt-get" and not lists,
    )


def pip_install(package: str) -> str:
    """The command that installs a package from PyPI beside loopscope; environments that uv made have no pip."""
    if importlib.util.find_spec("pip"):
        return f"{sys.executable} -m pip install {shlex.quote(package)}"
    return f"uv pip install --python {sys.executable} {shlex.quote(package)}"


def os_release(machine: Machine) -> dict[str, str]:
    """The fields of /etc/os-release."""
    text = machine.text("/etc/os-release") or machine.text("/usr/lib/os-release") or ""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}
