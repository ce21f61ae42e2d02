"""A task under audit: its sources, and trials of it that every probe shares."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from loopscope.audit.sources import TaskSources
from loopscope.audit.trial import REFERENCE, STARTER, Act, Trial, try_task
from loopscope.models import EnvironmentSpec
from loopscope.models.task import TaskInfo


@dataclass
class Subject:
    """What a probe is given. Trials of the starter and the reference are made once, whoever asks."""

    directory: Path
    info: TaskInfo
    sources: TaskSources
    environment: EnvironmentSpec | None = None
    """Where trials run; the local sandbox by default."""
    repeats: int = 3
    """Verifications of the reference that the spread is taken from."""
    told: Callable[[Trial], None] = lambda trial: None
    """Called with every trial that ended."""
    _known: dict[str, asyncio.Task[Trial]] = field(default_factory=dict)

    async def starter(self) -> Trial:
        """The untouched workspace, verified."""
        return await self._once(STARTER)

    async def reference(self) -> Trial:
        """The task's own solution, verified."""
        return await self._once(REFERENCE)

    async def attempt(self, act: Act, *, timeout_sec: float | None = None) -> Trial:
        """A further act, in a fresh sandbox; not remembered.

        Args:
            act: what is done before the verifier looks.
            timeout_sec: of the verifier; the task's own by default.
        """
        trial = await try_task(self.directory, act, environment=self.environment, timeout_sec=timeout_sec)
        self.told(trial)
        return trial

    async def _once(self, act: Act) -> Trial:
        if act.name not in self._known:
            self._known[act.name] = asyncio.ensure_future(self.attempt(act))
        return await asyncio.shield(self._known[act.name])
