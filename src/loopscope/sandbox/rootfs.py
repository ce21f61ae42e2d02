"""What a sandbox sees as its file system: the host's programs read-only, a tiny /etc, private directories."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from loopscope.sandbox.bwrap import DEV_SHM_BYTES, Bind, Layout
from loopscope.sandbox.errors import SandboxError

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
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
    # Agents are told to commit; without a name git refuses, and a folder of another id it does not touch.
    "gitconfig": "[user]\nname = agent\nemail = agent@sandbox\n[safe]\ndirectory = *\n[init]\ndefaultBranch = main\n",
}


class Users:
    """Who exists inside: root, nobody and the users a Dockerfile adds; of numeric ids, those that are mapped."""

    def __init__(self, added: Iterable[tuple[str, int | None]], mapped: int) -> None:
        """`added`: (name, uid or None) as by useradd; `mapped`: how many ids there are, from 0."""
        self._by_name = {"root": 0, "nobody": 65534}
        self._mapped = mapped
        for name, uid in added:
            free = 1000 + len(self._by_name) - 2
            self._by_name.setdefault(name, free if uid is None else uid)

    def ids(self, user: str | int | None) -> tuple[tuple[int, int], bool]:
        """((uid, gid) to run as, whether that is the one asked for). Whoever does not exist runs as root."""
        if user is None:
            return (0, 0), True
        uid = self._by_name.get(str(user), -1)
        if uid < 0 and str(user).isdigit():
            uid = int(user)
        return ((uid, uid), True) if 0 <= uid < self._mapped else ((0, 0), False)

    def added(self) -> dict[str, int]:
        """Name and uid of the users beyond root and nobody."""
        return {name: uid for name, uid in self._by_name.items() if name not in ("root", "nobody")}

    def etc(self) -> dict[str, str]:
        """Texts of /etc/passwd and /etc/group."""
        more = self.added().items()
        return {
            "passwd": ETC["passwd"] + "".join(f"{n}:x:{u}:{u}::/home/{n}:/bin/bash\n" for n, u in more),
            "group": ETC["group"] + "".join(f"{n}:x:{u}:\n" for n, u in more),
        }


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
    """What one sandbox has on the host: /etc, and the writable directories or the place where they are mounted.

    It outlives a restart of the sandbox, until `remove`.
    """

    def __init__(
        self, root: Path, private: Iterable[str], ids: tuple[int, int] | None = None, users: Users | None = None
    ) -> None:
        """`ids`: the host ids mapped inside (first, count); None when the caller's own is the only one."""
        self.root = root
        self._files = root
        self.private = sorted({*STANDARD_PRIVATE, *private})
        self._ids = ids
        self._users = users or Users((), 1)

    @staticmethod
    def _name(inside: str) -> str:
        return inside.strip("/").replace("/", "@")

    @property
    def mount_point(self) -> Path:
        """An empty directory, for a file system that only the sandbox's launcher sees."""
        return self.root / ".disk"

    @property
    def places(self) -> list[Path]:
        """The writable directories as they lie on the host where no file system of their own holds them."""
        return [self.root / self._name(inside) for inside in self.private]

    def prepare(self) -> None:
        """Make what is not the sandbox's to write. The parent is closed to everybody else on the host."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        for place in (self.mount_point, self._shm):
            place.mkdir(exist_ok=True)
        etc = self.root / "etc"
        etc.mkdir(exist_ok=True)
        for name, text in {**ETC, **self._users.etc()}.items():
            (etc / name).write_text(text)
        for name in _LOADER_FILES:
            self._cover(Path("/etc", name), etc / name)

    @property
    def _shm(self) -> Path:
        return self.root / ".shm"

    def create(self, view: Path | None = None) -> None:
        """Make the writable directories: below `view`, which the launcher sees at `mount_point`, else on the host.

        A `view` is of what was mounted after `prepare`.
        """
        if view is None:
            self.prepare()
        self._files = self.root if view is None else self.mount_point
        at = view or self.root
        for inside in self.private:
            self._make(at / self._name(inside), 0, 0o1777 if inside in _OPEN_TO_ALL else 0o755)
        for name in ("agent", "verifier", "artifacts"):
            self._make(at / "logs" / name, 0, 0o777)
        for name, uid in self._users.added().items():
            self._make(at / "home" / name, uid, 0o755)

    def _make(self, place: Path, uid: int, mode: int) -> None:
        place.mkdir(exist_ok=True)
        if self._ids is not None and uid < self._ids[1]:
            os.chown(place, self._ids[0] + uid, self._ids[0] + uid)
        place.chmod(mode)

    @staticmethod
    def _cover(source: Path, target: Path) -> None:
        if source.is_dir():
            target.mkdir(exist_ok=True)
        elif source.exists():
            target.touch()

    def layout(self, extra: Iterable[Bind] = (), shm_bytes: int = DEV_SHM_BYTES) -> Layout:
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
        binds += [Bind(str(self._files / self._name(inside)), inside, writable=True) for inside in self.private]
        return Layout(binds=binds, symlinks=symlinks, dev_shm=str(self._shm), dev_shm_bytes=shm_bytes)

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
