"""The search agent as Harbor sees it."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.options import AgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from pydantic import Field

from loopscope.agents.atif import TranscriptWriter
from loopscope.agents.search.loop import Progress, SearchLoop
from loopscope.agents.search.plant import Plant, PlantedLoop, PlantedTruth
from loopscope.agents.search.reading import Reading, read_instruction
from loopscope.agents.search.workspace import Workspace
from loopscope.models.annotation import PROBLEM_KEY

_LIST_COMMAND = "find . -maxdepth 4 -type f -not -path './.git/*' -printf '%P\\n' | head -n 2000"
_SHARE_OF_BUDGET = 0.95
"""Of a budget that only the instruction names; the rest covers what ran before the agent's own clock started."""


class SearchOptions(AgentOptions):
    """What the constructor takes; a plan is checked against it before any rollout."""

    seed: int = 0
    """Of every random choice. Equal seeds and equal scores give equal runs."""
    rounds: int | None = Field(default=None, ge=1)
    """Proposals at most."""
    budget_sec: float | None = Field(default=None, gt=0)
    """Wall clock in seconds; by default what the instruction grants, else until cancelled."""
    plant: Plant | None = None
    """Habits of known strength, for studies of the measures themselves; what was planted is told in `plant.json`."""


class SearchAgent(BaseAgent):
    """An optimizer without a model: mutates what parsing finds, keeps what the local evaluation says is better.

    It works through the environment and from the instruction alone, like any agent. Everything done so far is on disk
    in the sandbox, so it may be cancelled at any time; with a budget it ends in its best state by itself.

    Args:
        logs_dir: Harbor's directory for the agent's logs; receives `trajectory.json`.
        kwargs: `SearchOptions`, and what Harbor's base class takes.
    """

    capabilities = AgentCapabilities(atif=True)
    options_model = SearchOptions

    def __init__(self, logs_dir: Path, **kwargs: Any) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._options = SearchOptions.model_validate(self.options.model_dump() if self.options else {})

    @staticmethod
    @override
    def name() -> str:
        return "search"

    @override
    def version(self) -> str:
        return "1"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        return

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        started = time.monotonic()
        context.n_input_tokens = context.n_cache_tokens = context.n_output_tokens = 0
        context.cost_usd = 0.0
        told: PlantedTruth | None = None
        transcript = TranscriptWriter(
            self.logs_dir / "trajectory.json", self.name(), self.version(), self.session_id, instruction
        )

        def report(progress: Progress) -> None:
            context.metadata = {**asdict(progress), "seed": self._options.seed, "tool_calls": transcript.calls}
            if progress.best is None and progress.blind:
                context.metadata[PROBLEM_KEY] = progress.blind

        try:
            workspace = Workspace(environment, transcript)
            reading = await self._read(instruction, workspace)
            workspace.lower_is_better = reading.lower_is_better
            await workspace.load(reading.editable)
            budget = self._options.budget_sec or (reading.budget_sec and _SHARE_OF_BUDGET * reading.budget_sec)
            deadline = started + budget if budget else None
            options, plant = self._options, self._options.plant
            if plant is None:
                loop = SearchLoop(workspace, reading, options.seed, options.rounds, deadline, report)
            else:
                loop = PlantedLoop(workspace, reading, options.seed, options.rounds, deadline, report, plant=plant)
                told = loop.truth
            await loop.run()
        finally:
            transcript.flush()
            if told:
                told.write(self.logs_dir / "plant.json")

    async def _read(self, instruction: str, workspace: Workspace) -> Reading:
        workdir = (await workspace.probe("pwd")).strip()
        listing = sorted((await workspace.probe(_LIST_COMMAND)).splitlines())
        makefile = await workspace.probe("cat Makefile 2>/dev/null") if "Makefile" in listing else ""
        return read_instruction(instruction, listing, workdir, makefile)
