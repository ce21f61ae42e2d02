"""Machines made up of the files that doctor reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loopscope.sandbox.doctor import Machine

OVERLAY = "1 0 0:50 / / rw - overlay overlay rw,lowerdir=/l\n"
DISK = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
V2 = "30 1 0:26 / /sys/fs/cgroup {mode},nosuid - cgroup2 cgroup2 rw\n"


def made(root: Path, files: Mapping[str, str], *, uid: int = 1000, env: Mapping[str, str] | None = None) -> Machine:
    """A machine with these files (by absolute path), for this user."""
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    program(root / "usr/bin/sudo", "false")
    return Machine(root, env or {}, uid)


def program(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


UBUNTU = {
    "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.2 LTS"\nNAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n',
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n",
    "/proc/sys/user/max_user_namespaces": "63000\n",
    "/sys/kernel/security/lsm": "lockdown,capability,yama,apparmor\n",
    "/sys/module/apparmor/parameters/enabled": "Y\n",
    "/proc/self/attr/apparmor/current": "unconfined\n",
    "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
    "/proc/self/mountinfo": DISK + V2.format(mode="rw"),
    "/etc/apparmor.d/abi/4.0": "",
}
