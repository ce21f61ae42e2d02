"""A sandbox that lasts a trial: its files, its limits, and one bubblewrap after another over them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable

from loopscope.models import Limit, LimitState
from loopscope.sandbox import bwrap, chroot
from loopscope.sandbox.bwrap import Bind
from loopscope.sandbox.errors import SandboxError, SandboxGoneError, SandboxUnavailableError
from loopscope.sandbox.limits import Limits
from loopscope.sandbox.namespace import Sandbox
from loopscope.sandbox.rootfs import Scratch
from loopscope.sandbox.runner import Runner
from loopscope.sandbox.storage import Storage, make
from loopscope.sandbox.storagewatch import Watch

DIED = "the sandbox was killed while it was in use"


class Box:
    """Files and limits that outlive any one bubblewrap; `freeze` replaces it, `end` ends all."""

    def __init__(
        self,
        runner: Runner,
        scratch: Scratch,
        ids: tuple[int, int] | None,
        *,
        binds: Iterable[Bind] = (),
        shm_bytes: int = bwrap.DEV_SHM_BYTES,
        logger: logging.Logger | None = None,
    ) -> None:
        """`runner` gets the running sandbox; `binds` are shown read-only; `ids` as `bwrap.choose_ids` gives them."""
        self.scratch = scratch
        self.storage: Storage | None = None
        self.limits: Limits | None = None
        self._runner = runner
        self._ids = ids
        self._binds = tuple(binds)
        self._shm_bytes = shm_bytes
        self._logger = logger or logging.getLogger(__name__)
        self._watch: asyncio.Task[None] | None = None
        self._stood = False

    async def open(self, limits: Limits, storage: str = "auto", storage_mb: int | None = None) -> None:
        """Make the file system, set the limits and start. Whatever this raises, `end` is to be called.

        Raises:
            SandboxUnavailableError: this machine cannot; says what to do.
            SandboxError: what is asked for is not to be had, such as more disk than is free.
        """
        chroot.refuse()
        self.limits = limits
        self.storage = await make(storage, storage_mb, self.scratch, self._ids is not None)
        await self._launch()
        self._stood = True
        self._watch = asyncio.create_task(self._watched(self.storage).run())

    async def freeze(self) -> None:
        """Kill every process that was ever started inside; a new bubblewrap stands over the same files."""
        if self._runner.sandbox is not None:
            if not await asyncio.shield(self._runner.sandbox.close()):
                self._runner.died = self._runner.died or DIED
            self._runner.sandbox = None
        await self._observe()
        await self._launch()

    async def end(self, delete: bool) -> None:
        """Kill everything, close the limits' groups and the file system; with `delete` remove the files too."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()
        await self._observe()
        sandbox, self._runner.sandbox = self._runner.sandbox, None
        if sandbox is not None:
            await sandbox.close()
        if self.limits is not None:
            await asyncio.to_thread(self.limits.finish)
        if self.storage is not None:
            await self.storage.close(delete)
        if delete:
            await asyncio.to_thread(self.scratch.remove)

    def read_limits(self) -> dict[str, Limit]:
        """By resource: what holds it and what was seen so far."""
        if not self._stood:
            return not_started()
        disk = {"disk": self.storage.limit()} if self.storage else {}
        held = self.limits.read() if self.limits else {}
        network = Limit(state=LimitState.ENFORCED, means="network namespace")
        return {**not_started(), "network": network, **held, **disk}

    async def _launch(self) -> None:
        if self._runner.ended:
            raise SandboxGoneError(self._runner.ended)
        layout = self.scratch.layout(self._binds, self._shm_bytes)
        stage = bwrap.staging_point() if self._ids else ""
        files = self.storage.fds if self.storage else ()
        launch = bwrap.build(layout, bwrap.find_bwrap(), self._ids, stage, files)
        held = self.limits
        try:
            self._runner.sandbox = await Sandbox.launch(
                launch, held.bounds() if held else None, held.board if held else None
            )
        except SandboxError as exc:
            raise SandboxUnavailableError(f"no sandbox can be started: {exc}; {bwrap.remedy(str(exc))}") from exc

    async def _observe(self) -> None:
        """Note what the files take, for the record."""
        if self.storage is not None and self.storage.fds:
            with contextlib.suppress(OSError):
                await self.storage.use()

    def _watched(self, storage: Storage) -> Watch:
        async def kill() -> None:
            self._logger.error("the sandbox wrote more than %d bytes: its processes are killed", storage.bytes)
            if self._runner.sandbox is not None:
                with contextlib.suppress(OSError):
                    await self._runner.sandbox.purge()

        async def give_up(why: str) -> None:
            self._logger.error("%s", why)
            self._runner.ended = why
            if self._runner.sandbox is not None:
                await self._runner.sandbox.close()

        return Watch(storage, self.scratch.root, kill, give_up)


def not_started() -> dict[str, Limit]:
    """The limits of a sandbox that does not stand yet, or never came to stand."""
    absent = Limit(state=LimitState.ABSENT, means="not started")
    return dict.fromkeys(("network", "cpu", "memory", "pids", "disk"), absent)
