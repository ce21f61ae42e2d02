"""What an attack on the host would change: files, mounts, loop devices, cgroups, shared memory, processes, settings."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path

Manifest = dict[str, str]

_OWN = ("study/runs/", "study/study.lock.json", "study/study.yaml", "study/.lock", "study/.study-file")
"""Of the study, what running it writes."""
_SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/run", "/", "/mnt", "/media", "/srv", "/home")
_SYSTEM = (
    *(
        "/etc/passwd",
        "/etc/group",
        "/etc/shadow",
        "/etc/hosts",
        "/etc/ld.so.preload",
        "/etc/ld.so.cache",
        "/etc/profile",
    ),
    *(
        "/etc/environment",
        "/etc/resolv.conf",
        "/etc/crontab",
        "/bin/sh",
        "/usr/bin/git",
        "/usr/bin/tar",
        "/usr/bin/python3",
    ),
    *(
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/panic",
    ),
    *("/proc/self/mountinfo", "/proc/modules", "/proc/swaps", "/proc/self/limits", "/proc/self/oom_score_adj"),
)


def look(place: Path, mark: str) -> Manifest:
    """A description of everything bounded that an attack could change, by name.

    Args:
        place: all that belongs to the study; looked at whole, run directories aside.
        mark: a word that hostile agents put into names, looked for in places that others write to as well.
    """
    found: Manifest = {}
    for folder, names, files in os.walk(place):
        for name in (*names, *files):
            path = Path(folder, name)
            inside = str(path.relative_to(place))
            if not inside.startswith(_OWN) and inside != "study/runs" and inside != "study":
                found[inside] = _describe(path)
            elif inside.startswith("study/runs/") and _acts(path):
                found[f"acts: {inside}"] = _describe(path)
    for shared in _SHARED:
        for name in _names(shared):
            if mark in name:
                found[f"{shared}/{name}"] = "marked"
    for system in _SYSTEM:
        found[system] = _digest(Path(system))
    found["ids"] = f"{os.getresuid()} {os.getcwd()} {sorted(os.sched_getaffinity(0))}"
    found["loop devices"] = str([p for p in _backing_files() if str(place) in p])
    found["shared memory"] = str(_segments())
    return found


def changes(before: Manifest, after: Manifest) -> list[str]:
    """What differs, one line each."""
    names = sorted(before.keys() | after.keys())
    return [f"{n}: {before.get(n)} -> {after.get(n)}" for n in names if before.get(n) != after.get(n)]


def children(patience: float) -> list[str]:
    """Processes below this one, which must be a subreaper, after a time to end in."""
    end = time.monotonic() + patience
    while True:
        _reap()
        found = _descendants()
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def _describe(path: Path) -> str:
    info = path.lstat()
    what = f"{stat.filemode(info.st_mode)} {info.st_uid} {info.st_nlink if stat.S_ISREG(info.st_mode) else ''}"
    if stat.S_ISLNK(info.st_mode):
        return f"{what} -> {path.readlink()}"
    if stat.S_ISREG(info.st_mode):
        return f"{what} {info.st_size} {info.st_mtime_ns} {_digest(path)}"
    return what


def _acts(path: Path) -> bool:
    """Whether a file of a run directory is more than bytes: a link, a device, a pipe, or a program with rights."""
    mode = path.lstat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or bool(mode & 0o6000)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        return type(error).__name__


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _backing_files() -> list[str]:
    files = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            files.append(path.read_text().strip())
        except OSError:
            continue
    return files


def _segments() -> list[str]:
    """System V segments of this user; others may make theirs meanwhile."""
    try:
        lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    except OSError:
        return []
    return [line for line in lines if line.split()[7] == str(os.geteuid())]


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


def _descendants() -> list[str]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
    below = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    found = []
    for pid in sorted(below - {os.getpid()}):
        try:
            found.append(f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ')[:200]!r}")
        except OSError:
            continue
    return found
