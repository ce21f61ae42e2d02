"""What a sandbox sees as its file system: the host's programs read-only, a tiny /etc, private directories."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from loopscope.sandbox.bwrap import Bind, Layout
from loopscope.sandbox.errors import SandboxError

STANDARD_PRIVATE = (
    "/app",
    "/tests",
    "/logs",
    "/orig",
    "/solution",
    "/tmp",  # noqa: S108 - paths inside the sandbox
    "/run",
    "/var",
    "/root",
    "/home",
    "/data",
    "/workspace",
    "/installed-agent",
)
_OPEN_TO_ALL = frozenset({"/tmp"})  # noqa: S108
_SYSTEM = frozenset(["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "proc", "dev", "sys", "boot"])
_LOADER_FILES = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives")

ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "hostname": "sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "resolv.conf": "",
}


def user_ids(user: str | int | None) -> tuple[int, int]:
    """(uid, gid) of a user inside: a number, `root` or `nobody`. Raises SandboxError for another name."""
    known = {"root": (0, 0), "nobody": (65534, 65534)}
    if user is None:
        return 0, 0
    if isinstance(user, str) and user in known:
        return known[user]
    try:
        uid = int(user)
    except ValueError:
        raise SandboxError(f"user {user!r}: the local sandbox knows root, nobody and numeric ids") from None
    return uid, uid if uid != 65534 else 65534


def private_root(path: str) -> str | None:
    """The directory to make private so that `path` can be written; None for the read-only system's and for /.

    Usually the first component; below /opt, where our own mounts are, the second.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or parts[0] in _SYSTEM:
        return None
    if parts[0] == "opt":
        return f"/opt/{parts[1]}" if len(parts) > 1 and parts[1] != "loopscope" else None
    return f"/{parts[0]}"


def mentioned_roots(text: str) -> set[str]:
    """Private directories for every absolute path that a Dockerfile's text mentions."""
    found = re.findall(r"(?<![\w./:$}~-])(/[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+-]*)?)", text)
    return {root for path in found if (root := private_root(path))}


class Scratch:
    """The writable directories of one sandbox on the host. They outlive a restart of the sandbox, until `remove`."""

    def __init__(self, root: Path, private: Iterable[str], owner: int | None) -> None:
        """`owner` is the host id that is 0 inside; None when it is the caller's own."""
        self.root = root
        self.private = sorted({*STANDARD_PRIVATE, *private})
        self._owner = owner

    def _host(self, inside: str) -> Path:
        return self.root / inside.strip("/").replace("/", "@")

    def create(self) -> None:
        """Make the directories. The parent is closed to everybody else on the host."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        etc = self.root / "etc"
        etc.mkdir(exist_ok=True)
        for name, text in ETC.items():
            (etc / name).write_text(text)
        for name in _LOADER_FILES:
            self._mount_point(Path("/etc", name), etc / name)
        for inside in self.private:
            place = self._host(inside)
            place.mkdir(exist_ok=True)
            if self._owner is not None:
                os.chown(place, self._owner, self._owner)
            place.chmod(0o1777 if inside in _OPEN_TO_ALL else 0o755)

    @staticmethod
    def _mount_point(source: Path, target: Path) -> None:
        if source.is_dir():
            target.mkdir(exist_ok=True)
        elif source.exists():
            target.touch()

    def layout(self, extra: Iterable[Bind] = ()) -> Layout:
        """The whole file system: the host's system directories, /etc, `extra` (read-only caches), the private ones."""
        binds = [Bind("/usr", "/usr")]
        symlinks = []
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            host = Path("/", name)
            if host.is_symlink():
                symlinks.append((str(host.readlink()), f"/{name}"))
            elif host.is_dir():
                binds.append(Bind(f"/{name}", f"/{name}"))
        binds.append(Bind(str(self.root / "etc"), "/etc"))
        binds += [Bind(f"/etc/{n}", f"/etc/{n}") for n in _LOADER_FILES if Path("/etc", n).exists()]
        binds += extra
        binds += [Bind(str(self._host(inside)), inside, writable=True) for inside in self.private]
        return Layout(binds=binds, symlinks=symlinks)

    def remove(self) -> None:
        """Delete it all, whatever modes and names were left. Raises SandboxError naming what would not go."""
        if not self.root.exists():
            return

        def unlock(function: object, path: str, error: BaseException) -> None:
            # rmtree opens directories without following links, so chmod of the parent is safe: all processes are dead.
            for place in (Path(path).parent, Path(path)):
                try:
                    if stat.S_ISDIR(place.lstat().st_mode):
                        place.chmod(0o700)
                except OSError:
                    continue

        for _ in range(64):
            shutil.rmtree(self.root, onexc=unlock)
            if not self.root.exists():
                return
        raise SandboxError(f"{self.root}: not everything could be deleted; remove it by hand")
