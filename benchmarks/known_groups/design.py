"""What is planted: the factors of `factors.yaml`, and the study file that follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from loopscope.agents.search.plant import Plant

FACTORS = Path(__file__).with_name("factors.yaml")
Direction = Literal["up", "down"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Level(_Strict):
    """One dose of a factor."""

    label: str
    """The agent's label in the study; factors may share one."""
    value: float
    plant: Plant | None = None


class Factor(_Strict):
    """One thing that is planted."""

    name: str
    meaning: str
    moves: dict[Literal["c1", "c2", "c3"], Direction]
    """What should move, and how, as the dose rises; everything else is cross-talk."""
    levels: tuple[Level, ...]
    """The control first."""


class Design(_Strict):
    """The whole study."""

    rounds: int
    agent_sec: float
    factors: tuple[Factor, ...]

    @property
    def agents(self) -> dict[str, Plant | None]:
        """What each label plants, each once, in order."""
        return {level.label: level.plant for factor in self.factors for level in factor.levels}


def load_design() -> Design:
    """The design as it stands beside this module."""
    return Design.model_validate(yaml.safe_load(FACTORS.read_text()))


def study_text(design: Design, tasks: list[str], seeds: list[int], concurrency: int) -> str:
    """A study file that runs every arm of the design."""
    agents = [
        {
            "name": "search",
            "label": label,
            "kwargs": {"rounds": design.rounds} | ({"plant": plant.model_dump(exclude_defaults=True)} if plant else {}),
        }
        for label, plant in design.agents.items()
    ]
    study = {
        "name": "known groups",
        "tasks": tasks,
        "agents": agents,
        "seeds": seeds,
        "budget": {"agent_sec": design.agent_sec},
        "concurrency": concurrency,
    }
    return yaml.safe_dump(study, sort_keys=False)
