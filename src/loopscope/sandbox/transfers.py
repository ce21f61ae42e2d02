"""Harbor's verbs for files, as tar streams into and out of a sandbox."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath

from harbor.environments.base import BaseEnvironment, ExecResult

from loopscope.sandbox.files import Files


class Transfers(BaseEnvironment):
    """The part of `LocalEnvironment` that copies files; paths inside count from its work directory."""

    _files: Files

    @abstractmethod
    def _cwd(self) -> str: ...

    def _absolute(self, path: str | PurePath) -> str:
        return str(PurePosixPath(self._cwd(), path))

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy one host file; mode and time kept; into `target_path` when that is a directory."""
        await self._files.upload_file(Path(source_path), self._absolute(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str, *, touch: bool = False) -> None:
        """Merge a host directory into one inside. Links travel as links; `touch` gives every file the present time."""
        await self._files.upload_dir(Path(source_dir), self._absolute(target_dir), touch=touch)

    async def extract_tar(self, source_file: Path | str, target_dir: str) -> ExecResult:
        """Unpack an uncompressed tar of the host into a directory that stands; it is streamed, never stored inside.

        Its files belong to root. The result is tar's own, whatever it refused.
        """
        code, err = await self._files.unpack(Path(source_file), self._absolute(target_dir))
        return ExecResult(stdout="", stderr=err, return_code=code)

    async def stream_tar(self, path: str, dest_file: Path | str, max_bytes: int) -> int:
        """Write an uncompressed tar of the directory `path` to a host file; returns its size.

        Raises TransferTooLarge past `max_bytes`, or twice what the sandbox may hold, and leaves no file then.
        """
        return await self._files.stream_tar(self._absolute(path), Path(dest_file), max_bytes)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy one file out. A link is resolved inside; anything but a regular file is refused."""
        await self._files.download_file(self._absolute(source_path), Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a directory out, merging. Special files and links that lead elsewhere are left out, and logged."""
        await self._download(source_dir, target_dir, ())

    async def download_dir_with_exclusions(
        self, *, source_dir: str, target_dir: Path | str, exclude: list[str]
    ) -> None:
        """The same without what matches tar's `exclude` patterns."""
        await self._download(source_dir, target_dir, exclude)

    async def _download(self, source_dir: str, target_dir: Path | str, exclude: Sequence[str]) -> None:
        skipped = await self._files.download_dir(self._absolute(source_dir), Path(target_dir), exclude)
        if skipped:
            self.logger.warning("%s: %d entries left out: %r", source_dir, len(skipped), skipped[:10])
