"""Files in and out of a sandbox: tar runs inside, so that links resolve inside; the host's end trusts nothing."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from loopscope.sandbox import transfer
from loopscope.sandbox.errors import TransferError
from loopscope.sandbox.runner import TIMED_OUT, Runner, Sink

_TAR = "/usr/bin/tar"
_PACK = [_TAR, "-c", "--format=posix", "--hard-dereference"]
_EXTRACT = 'mkdir -p -- "$1" && exec tar -x --same-owner --numeric-owner -p $2 -C "$1" -f -'
_WRITE_FILE = """
target=$1; [ -d "$target" ] && target="${target%/}/$2"
mkdir -p -- "${target%/*}/" && cat > "$target" && chmod "$3" -- "$target" && touch -d "@$4" -- "$target"
"""


@dataclass(frozen=True)
class Files:
    """Transfers for one environment. All paths inside are absolute."""

    runner: Runner
    max_bytes: int
    """Cap of one download."""
    room: Callable[[], int | None]
    """Bytes that the sandbox may hold, once that is known. See `cap`."""
    timeout_sec: float
    """Cap of one transfer's time."""

    def cap(self, asked: int) -> int:
        """The most that one download may bring out: what is asked for, and never more than twice what the sandbox may
        hold. A hard link counts once inside and once for each of its names outside; a hole counts only outside."""
        room = self.room()
        return asked if room is None else min(asked, 2 * room)

    async def _transfer(self, what: str, argv: Sequence[str], **how: Any) -> None:
        code, _, err = await self.runner.run(argv, timeout=self.timeout_sec, **how)
        # tar says 1 when a file changed while it was read, which is no failure.
        if code and not (code == 1 and argv[0] == _TAR):
            late = " (timed out)" if code == TIMED_OUT else ""
            raise TransferError(f"{what}{late}: {err[-500:].strip() or f'exit code {code}'}")

    async def extract(self, archive: IO[bytes], target: str, *, touch: bool = False) -> None:
        """Extract an uncompressed tar, an open file at its beginning, into `target`, merging."""
        argv = ["/bin/sh", "-c", _EXTRACT, "sh", target, "-m" if touch else ""]
        await self._transfer(f"upload to {target}", argv, stdin=archive.fileno())

    async def unpack(self, archive: Path, target: str) -> tuple[int, str]:
        """Unpack an uncompressed tar into the directory `target`, which stands, its files owned by root.

        The tar is streamed in and takes no room inside. Returns tar's exit status and what it said; raises nothing
        for what it refuses.
        """
        with archive.open("rb") as f:
            argv = [_TAR, "-xpo", "-C", target, "-f", "-"]
            code, _, err = await self.runner.run(argv, timeout=self.timeout_sec, stdin=f.fileno())
        return code, f"{err}\nnot done after {self.timeout_sec:g} s" if code == TIMED_OUT else err

    async def upload_file(self, source: Path, target: str) -> None:
        """Copy one host file, mode and time kept; into `target` when that is a directory."""
        with source.open("rb") as f:
            found = os.fstat(f.fileno())
            time = f"{found.st_mtime_ns // 10**9}.{found.st_mtime_ns % 10**9:09d}"
            argv = ["/bin/sh", "-c", _WRITE_FILE, "sh", target, source.name, f"{found.st_mode & 0o777:o}", time]
            await self._transfer(f"upload {source} to {target}", argv, stdin=f.fileno())

    async def upload_dir(self, source: Path, target: str, *, touch: bool = False) -> None:
        """Merge a host directory into `target`. Links travel as links."""
        with tempfile.TemporaryFile() as archive:
            await asyncio.to_thread(transfer.pack, transfer.walk(source), archive)
            archive.seek(0)
            await self.extract(archive, target, touch=touch)

    async def _tar_out(self, path: str, out: IO[bytes], max_bytes: int, exclude: Sequence[str] = ()) -> int:
        sink = Sink(out, path, self.cap(max_bytes))
        argv = [*_PACK, "--sort=name", *(f"--exclude={pattern}" for pattern in exclude), "-f", "-", "-C", path, "."]
        await self._transfer(f"download {path}", argv, into=sink)
        await asyncio.to_thread(sink.finish)
        return sink.total

    async def stream_tar(self, path: str, dest: Path, max_bytes: int) -> int:
        """Write a tar of the directory `path` to `dest`; its size. TransferTooLarge past the caps: no file."""
        try:
            with dest.open("wb") as f:
                return await self._tar_out(path, f, max_bytes)
        except BaseException:
            dest.unlink(missing_ok=True)
            raise

    async def download_file(self, path: str, target: Path) -> None:
        """Copy one file out. A link is resolved inside; anything but a regular file is refused."""
        with tempfile.TemporaryFile() as archive:
            argv = [*_PACK, "--dereference", "-P", "-f", "-", "--", path]
            most = self.cap(self.max_bytes)
            sink = Sink(archive, path, most)
            await self._transfer(f"download {path}", argv, into=sink)
            sink.finish()
            archive.seek(0)
            await asyncio.to_thread(transfer.unpack_file, archive, target, label=path, max_bytes=most)

    async def download_dir(self, path: str, target: Path, exclude: Sequence[str] = ()) -> list[str]:
        """Copy a directory out, merging; returns what was left out."""
        with tempfile.TemporaryFile() as archive:
            await self._tar_out(path, archive, self.max_bytes, exclude)
            archive.seek(0)
            done = await asyncio.to_thread(transfer.unpack, archive, target, label=path, max_bytes=self.max_bytes)
        return done.skipped
