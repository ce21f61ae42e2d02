"""The bound on what one sandbox may write: a loop image, a sized tmpfs, or plain directories that are watched."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from loopscope.models import Limit, LimitState
from loopscope.sandbox.bwrap import inodes_for
from loopscope.sandbox.errors import NoDiskError, SandboxError, SandboxUnavailableError
from loopscope.sandbox.keeper.storage import give_up, used
from loopscope.sandbox.namespace import ask_storage
from loopscope.sandbox.rootfs import Scratch
from loopscope.sandbox.toolchain import cache_root

if TYPE_CHECKING:
    from loopscope.sandbox.keeper.requests import MakeRequest, MeasureRequest

MIB = 1 << 20
DEFAULT_MB, *SMALLER_MB = 10240, 4096, 1024
"""Asked for where the task names no `storage_mb`; on a small disk less is given, see `_demand`."""
RESERVE_BYTES = 1 << 30
"""Never promised to a sandbox: an image is sparse, and the host's own disk must not be full below it."""
TMPFS_INODE_BYTES = 1024
"""Memory of an empty file in a tmpfs."""

_FULL_PART = 0.005
_FULL_BYTES = MIB
"""A file system with less than this part, or this much, free is full: an ext4 gives no more when some is left."""
_GONE_SEC = 2.0
"""How long to wait for the kernel to take a file system down that nobody holds any more."""
_MKFS = ("-q", "-F", "-m", "0", "-b", "4096", "-I", "256", "-O", "^has_journal,^resize_inode")
_MKFS_LATER = "lazy_itable_init=1,nodiscard,packed_meta_blocks=1,root_owner=0:0"


class Kind(StrEnum):
    """By what the writable directories are bounded."""

    LOOP = "loop"
    TMPFS = "tmpfs"
    DIRECTORY = "directory"


_MEANS = {Kind.LOOP: "loop image (ext4)", Kind.TMPFS: "tmpfs", Kind.DIRECTORY: "watchdog"}


@dataclass(frozen=True)
class Use:
    """What a sandbox's writable files take."""

    bytes: int
    inodes: int


class Storage:
    """The writable files of one sandbox. They outlive a restart of the sandbox, until `close`.

    Nothing on the host names them: they are there for whoever enters `fds`, and vanish with the last descriptor.
    """

    def __init__(
        self, kind: Kind, size: int, fds: Sequence[int], places: Sequence[Path] = (), refused: Sequence[str] = ()
    ) -> None:
        """`fds`: the root, then the namespaces to enter. `places`: the plain directories on the host, if they are.

        `refused`: stronger means that do not work here, and why.
        """
        self.refused = tuple(refused)
        self.kind, self.bytes, self.inodes = kind, size, inodes_for(size)
        self.fds = tuple(fds)
        self.peak = 0
        self.hits = 0
        self._places = tuple(places)

    @property
    def view(self) -> Path:
        """The root of the files as this process reaches it, which is in no namespace of theirs."""
        return Path(f"/proc/self/fd/{self.fds[0]}")

    async def use(self) -> Use:
        """What is in use now. Of plain directories every file is looked at; the others know."""
        if self.kind is Kind.DIRECTORY:
            request: MeasureRequest = {"at": [str(place) for place in self._places], "deep": self.inodes + 1}
            said, _ = await ask_storage(b"measure", request, self.fds[1:])
            found = Use(*map(int, said.split()))
        else:
            found = Use(*used(self.fds[0]))
            self.hits = max(self.hits, int(self._is_full()))
        self.peak = max(self.peak, found.bytes)
        return found

    def _is_full(self) -> bool:
        """Whether a file system that refuses by itself has (nearly) nothing left to give."""
        found = os.fstatvfs(self.fds[0])
        most = max(found.f_blocks * _FULL_PART, _FULL_BYTES / found.f_frsize)
        return found.f_bavail <= most or found.f_ffree == 0

    async def memory(self) -> int:
        """Bytes of the machine's memory that the files take: none, unless they lie in a tmpfs."""
        if self.kind is not Kind.TMPFS:
            return 0
        found = await self.use()
        return found.bytes + found.inodes * TMPFS_INODE_BYTES

    def limit(self) -> Limit:
        """The line of a record. A file system refuses by itself and counts nothing: full when looked at is one hit."""
        watched = self.kind is Kind.DIRECTORY
        return Limit(
            state=LimitState.WATCHED if watched else LimitState.ENFORCED,
            means=_MEANS[self.kind],
            value=self.bytes,
            peak=self.peak,
            hits=self.hits,
        )

    async def close(self, delete: bool = True) -> None:
        """Let go of the files, whatever is in them; every process that used them is dead. Plain ones may stay."""
        fds, self.fds = self.fds, ()
        if not fds:
            return
        if self.kind is Kind.DIRECTORY and delete:
            with contextlib.suppress(OSError):
                await ask_storage(b"remove", {"at": [str(place) for place in self._places]}, fds[1:])
        await asyncio.to_thread(_let_go, self.kind, fds)


def _let_go(kind: Kind, fds: Sequence[int]) -> None:
    if kind is Kind.LOOP:
        give_up(fds[0])
    device = os.fstat(fds[0]).st_dev
    for fd in fds:
        os.close(fd)
    # A process that was killed a moment ago may hold the mount for another: what is left then is not a leak.
    behind = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/loop/backing_file")
    until = time.monotonic() + _GONE_SEC
    while kind is Kind.LOOP and behind.exists() and time.monotonic() < until:
        time.sleep(0.001)


async def make(wanted: str, storage_mb: int | None, scratch: Scratch, has_ids: bool) -> Storage:
    """Storage of `storage_mb` MiB by the means `wanted`: `auto` (the strongest that works), or the name of one.

    The writable directories of `scratch` are made in it. `has_ids`: this process is root and maps a block of ids.
    Raises SandboxUnavailableError where the means that was asked for does not work, or the disk is too full.
    """
    kinds = _kinds(wanted, has_ids)
    scratch.prepare()
    refused: list[str] = []
    for kind in kinds:
        size = _demand(kind, storage_mb, scratch.root)
        at = scratch.root if kind is Kind.DIRECTORY else scratch.mount_point
        request: MakeRequest = {
            "kind": kind.value,
            "at": str(at),
            "as_user": not has_ids,
            "bytes": size,
            "inodes": inodes_for(size),
        }
        try:
            image = [await asyncio.to_thread(_image, size, scratch.root)] if kind is Kind.LOOP else []
            try:
                _, fds = await ask_storage(b"make", request, image)
            finally:
                for fd in image:
                    os.close(fd)
        except (OSError, SandboxError) as exc:
            refused.append(f"{kind.value}: {exc}")
            continue
        storage = Storage(kind, size, fds, scratch.places, refused)
        try:
            scratch.create(None if kind is Kind.DIRECTORY else storage.view)
        except BaseException:
            await storage.close()
            raise
        return storage
    raise SandboxUnavailableError(
        f"the sandbox's files cannot be bounded: {'; '.join(refused)}; see `loopscope doctor`"
    )


def _kinds(wanted: str, has_ids: bool) -> list[Kind]:
    if wanted != "auto":
        if wanted not in list(Kind):
            raise SandboxError(f"storage: {wanted!r} is none of auto, {', '.join(Kind)}")
        if wanted == Kind.LOOP and not has_ids:
            raise SandboxUnavailableError("storage: a loop image takes root; say `storage: tmpfs` or `auto`")
        return [Kind(wanted)]
    return [Kind.LOOP, Kind.TMPFS, Kind.DIRECTORY] if has_ids else [Kind.TMPFS, Kind.DIRECTORY]


def _demand(kind: Kind, storage_mb: int | None, root: Path) -> int:
    """Bytes to bound the files to; on a disk, what must be free above the reserve. What nobody asked for may shrink."""
    if kind is Kind.TMPFS:
        half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        return min((storage_mb or DEFAULT_MB) * MIB, half // MIB * MIB)
    free = free_bytes(root)
    wanted = [storage_mb] if storage_mb else [DEFAULT_MB, *SMALLER_MB]
    for size in wanted:
        if size * MIB <= free - RESERVE_BYTES:
            return size * MIB
    needed = wanted[-1] + RESERVE_BYTES // MIB
    raise NoDiskError(
        f"{_mount_of(root)}: make room: a sandbox needs {needed} MiB ({wanted[-1]} that it may write, "
        f"{RESERVE_BYTES // MIB} that stay free), {free // MIB} are free: free {needed - free // MIB} MiB, lower the "
        "task's `storage_mb`, or keep its files in memory (`environment.kwargs.storage: tmpfs` in the study file)"
    )


def _mount_of(place: Path) -> Path:
    """Where the file system of a place is mounted: what a person knows it by."""
    place = place.resolve()
    return next((p for p in (place, *place.parents) if p.is_mount()), place)


def free_bytes(place: Path) -> int:
    """What this process may still write where `place` is."""
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def _image(size: int, folder: Path) -> int:
    """A nameless file in `folder` with an empty ext4 of `size` bytes; the descriptor."""
    template = os.open(_template(size), os.O_RDONLY | os.O_CLOEXEC)
    image = _nameless(folder)
    try:
        os.truncate(image, size)
        at = 0
        while (at := _next(template, at, os.SEEK_DATA)) < size:
            end = _next(template, at, os.SEEK_HOLE)
            while at < end:
                at += os.pwrite(image, os.pread(template, min(end - at, MIB), at), at)
    except BaseException:
        os.close(image)
        raise
    finally:
        os.close(template)
    return image


def _next(fd: int, at: int, what: int) -> int:
    try:
        return os.lseek(fd, at, what)
    except OSError:  # no data behind `at`
        return os.fstat(fd).st_size


def _nameless(folder: Path) -> int:
    with contextlib.suppress(OSError):  # some file systems have no such thing
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fd, name = tempfile.mkstemp(dir=folder)
    Path(name).unlink()
    return fd


def _template(size: int) -> Path:
    """An empty ext4 of `size` bytes in the cache, made once: a sparse file of some hundred KiB."""
    folder = cache_root() / "storage"
    folder.mkdir(parents=True, exist_ok=True)
    found = folder / f"ext4-1-{size}-{inodes_for(size)}.img"
    if not found.is_file():
        program = shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if program is None:
            raise SandboxError("mkfs.ext4 is not installed (Debian: apt-get install e2fsprogs)")
        fd, name = tempfile.mkstemp(dir=folder)
        try:
            os.truncate(fd, size)
            argv = [program, *_MKFS, "-N", str(inodes_for(size)), "-E", _MKFS_LATER, name]
            done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                raise SandboxError(f"mkfs.ext4: {done.stderr.strip()[-300:]}")
            Path(name).rename(found)
        finally:
            os.close(fd)
            Path(name).unlink(missing_ok=True)
    return found
