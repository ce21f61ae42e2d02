"""Checkpoint replay: put one saved state into a fresh sandbox and stop, so that the task's verifier scores it.

The state comes as a tar made by the engine. Its names are the agent's and hostile: no name enters a shell command, and
an archive that could write outside the work dir is refused before anything is touched.
"""

from __future__ import annotations

import tarfile
import uuid
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, override, runtime_checkable

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.agent.context import AgentContext

from loopscope.models import Limit, LimitState

_SCRATCH = "/tmp/.state"  # noqa: S108 - in the sandbox, whose /tmp is private

_NAMES_REFUSED = ("File name too long", "Invalid argument", "Invalid or incomplete multibyte", "Too many levels of")
"""What tar says of names and links that no file system takes."""


_FULL = ("No space left on device", "Disk quota exceeded", "Wrote only")
"""What tar says where a file system is full; the last where a file was begun."""
_LAST_WORDS = "Exiting with failure status"
"""With these tar ends whatever went wrong; they say nothing."""


@runtime_checkable
class _Streaming(Protocol):
    """An environment that unpacks a tar without storing it, as loopscope's own sandbox does."""

    async def extract_tar(self, source_file: Path | str, target_dir: str) -> ExecResult: ...
    def limits(self) -> dict[str, Limit]: ...


class StateError(Exception):
    """The saved state cannot be replayed; the message says which file and why."""


class ReplayAgent(BaseAgent):
    """Makes the work dir equal to a saved state, file by file.

    Args:
        logs_dir: Harbor's directory for the agent's logs.
        state_tar: path on the host of an uncompressed tar with names relative to the work dir.
        workdir: absolute directory in the sandbox; the environment's working directory by default.
        remove: path on the host of a NUL-separated list of paths, relative to the work dir. They are removed before
            the state is laid over the rest; without the list the work dir is emptied, as the state is the whole of it.
        room_bytes: what the sandbox was to have room for, the state included. One that has it and is full all the same
            tells of the state; without a number a full disk is the machine's fault.
        kwargs: passed on to Harbor's base class.
    """

    def __init__(
        self,
        logs_dir: Path,
        state_tar: str | Path,
        workdir: str | None = None,
        remove: str | Path | None = None,
        room_bytes: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        if workdir is not None and (not workdir.startswith("/") or len(PurePosixPath(workdir).parts) < 2):
            raise ValueError(
                f"workdir {workdir!r}: give an absolute directory below /, it is emptied before the replay"
            )
        self._state_tar = Path(state_tar)
        self._workdir = workdir
        self._remove = Path(remove) if remove is not None else None
        self._room_bytes = room_bytes

    @staticmethod
    @override
    def name() -> str:
        return "replay"

    @override
    def version(self) -> str:
        return "1"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        return

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        stem = f"{_SCRATCH}-{uuid.uuid4().hex}"
        members = check_state(self._state_tar)
        clear = "find . -mindepth 1 -delete"
        if self._remove is not None:
            clear = f"xargs -0 rm -rf -- < {stem}.remove" if check_names(self._remove) else "true"
            await environment.upload_file(self._remove, f"{stem}.remove")
        # The work dir itself must stand: where it is a mount it cannot be removed, only emptied.
        clear = f'test "$PWD" != / && {clear}; code=$?; rm -f {stem}.remove; exit $code'
        result = await environment.exec(clear, cwd=self._workdir, user="root")
        if result.return_code == 0:
            result = await self._unpack(environment, f"{stem}.tar")
        if result.return_code != 0:
            raise self._refused(environment, result)
        context.metadata = {"replayed_files": members}

    async def _unpack(self, environment: BaseEnvironment, inside: str) -> ExecResult:
        if isinstance(environment, _Streaming):
            return await environment.extract_tar(self._state_tar, self._workdir or ".")
        await environment.upload_file(self._state_tar, inside)
        command = f"tar -xpof {inside}; code=$?; rm -f {inside}; exit $code"
        return await environment.exec(command, cwd=self._workdir, user="root")

    def _refused(self, environment: BaseEnvironment, result: ExecResult) -> Exception:
        """The error to raise: of the state, or of what is no fault of its own (a sandbox that is gone, say)."""
        said = [line for line in (result.stderr or result.stdout or "").splitlines() if line.strip()]
        telling = [line for line in said if _LAST_WORDS not in line] or said or ["no output"]
        full = next((line for word in _FULL for line in telling if word in line), None)
        words = f"{self._state_tar.name}: could not be unpacked in the sandbox: {full or telling[-1]}"
        if full:
            words += ": its disk is full"
            disk = environment.limits().get("disk") if isinstance(environment, _Streaming) else None
            if disk is not None and disk.value is not None:
                words += f" ({disk.value >> 20} MiB)"
                has_room = self._room_bytes is not None and disk.value >= self._room_bytes
                if has_room and disk.state is LimitState.ENFORCED:
                    return StateError(f"{words}, though it had room for the state besides what the task may write")
        if any(name in line for name in _NAMES_REFUSED for line in said):
            return StateError(words)
        return RuntimeError(words)


def check_names(path: Path) -> int:
    """Number of paths in a NUL-separated list that is safe to remove.

    Raises:
        StateError: a path is absolute or climbs out of the work dir.
    """
    names = [name for name in path.read_bytes().split(b"\0") if name]
    for name in names:
        if name.startswith(b"/") or not set(name.split(b"/")).isdisjoint((b"..", b".", b"")):
            raise StateError(f"{path}: {name!r} does not name something in the work dir; not replayed")
    return len(names)


def check_state(tar: Path) -> int:
    """Number of members of an archive that is safe to unpack.

    Raises:
        StateError: a member is absolute, climbs out, lies below a member that is no directory, is a hard link to
            something not in the archive, or is a device; or the file is no tar,
            or is not there.
    """
    leaves: set[PurePosixPath] = set()
    parents: set[PurePosixPath] = set()
    count = 0
    try:
        with tarfile.open(tar, "r:") as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                problem = _problem(member, name, leaves)
                if problem:
                    raise StateError(f"{tar}: member {member.name!r} {problem}; not replayed")
                if not member.isdir():
                    leaves.add(name)
                parents.update(name.parents)
                count += 1
    except tarfile.TarError as error:
        raise StateError(f"{tar}: is no tar archive ({error}); harvest the run again") from None
    except OSError as error:  # this machine's fault, which says nothing of the state
        raise RuntimeError(f"{tar}: the saved state cannot be read ({error})") from None
    below = sorted(str(p) for p in leaves & parents)
    if below:
        raise StateError(f"{tar}: member {below[0]!r} is a file or link with members below it; not replayed")
    return count


def _problem(member: tarfile.TarInfo, name: PurePosixPath, leaves: set[PurePosixPath]) -> str | None:
    if name.is_absolute() or ".." in name.parts:
        return "points outside the work dir"
    if member.ischr() or member.isblk() or member.isfifo():
        return "is a device or a pipe"
    if name in leaves:
        return "occurs twice"
    if member.islnk() and PurePosixPath(member.linkname) not in leaves:
        return "is a hard link to something that does not come before it"
    return None
