"""The study file: what a person writes in `study.yaml`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from loopscope.models.base import Record, Versioned
from loopscope.models.task import TaskInfo

_MOST = 1e9
"""Beyond every machine and every life; what is larger, infinity too, is a slip that arithmetic would stumble over."""
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,79}")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MEANT_AS_REFERENCE = re.compile(r"\$\{|\A\$[A-Za-z_][A-Za-z0-9_]*\Z")
_SECRET = re.compile(r"KEY|TOKEN(?!S)|SECRET|PASSW|AUTH(?!OR)|CREDENTIAL", re.IGNORECASE)


class AgentSpec(Record):
    """One row of the leaderboard: a harness, and the model it drives if it drives one."""

    name: str
    """Built-in (`nop`, `oracle`, `search`), a Harbor agent (`claude-code`, ...) or an import path `pkg.mod:Class`."""
    model: str | None = None
    """`provider/model`, for agents that call one."""
    label: str = ""
    """Name in tables; must be unique in the study. Defaults to the model or, without one, the agent's name."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Passed to the agent unchanged."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment of the agent. Each value is literal or, as a whole, a reference `${NAME}`; secrets are references."""
    allowed_hosts: list[str] = Field(default_factory=list)
    """Hosts the agent may reach besides its model's."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @field_validator("env")
    @classmethod
    def _secrets_are_references(cls, env: dict[str, str]) -> dict[str, str]:
        for key, value in env.items():
            if _REFERENCE.fullmatch(value):
                continue
            if _MEANT_AS_REFERENCE.search(value):
                raise ValueError(f"{key}: a reference is the whole value, written `${{NAME}}`; put all of it into NAME")
            if value and _SECRET.search(key):
                raise ValueError(
                    f"{key}: a secret is never written out, for studies are copied and kept; export it and write "
                    f'`{key}: "${{{key}}}"`'
                )
        return env

    @property
    def references(self) -> dict[str, str]:
        """Of `env`: which variable of the one who starts the study each reference names."""
        found = {key: _REFERENCE.fullmatch(value) for key, value in self.env.items()}
        return {key: match[1] for key, match in found.items() if match}

    @model_validator(mode="after")
    def _default_label(self) -> AgentSpec:
        if not self.label:
            text = (self.model or self.name).rsplit("/", 1)[-1].rsplit(":", 1)[-1]
            object.__setattr__(self, "label", re.sub(r"[^A-Za-z0-9._@+-]+", "-", text).strip("-.") or "agent")
        if not _LABEL.fullmatch(self.label):
            raise ValueError(f"label {self.label!r}: use letters, digits and . _ @ + - only (at most 80)")
        return self


class EnvironmentSpec(Record):
    """Where trials run: our local sandbox, or any environment of Harbor's."""

    type: str = "local"
    """`local`, a Harbor type (`docker`, `modal`, `daytona`, ...) or an import path."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Passed to the environment unchanged; docs/study.md names those of `local`."""
    cpus: float | None = Field(default=None, gt=0, le=_MOST)
    """Processors of each sandbox; the task's own by default."""
    memory_mb: int | None = Field(default=None, gt=0, le=_MOST)
    """MiB of memory of each sandbox; the task's own by default."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        return {"type": data} if isinstance(data, str) else data


class Budget(Record):
    """What one rollout may use. Unset means the task's own."""

    agent_sec: float | None = Field(default=None, gt=0, le=_MOST)
    """Wall clock of the agent, in seconds."""


class ScoringSpec(Record):
    """How checkpoints are verified."""

    repeats_timed: int = Field(default=3, ge=1, le=99)
    """Verifications of each state when the verifier measures time."""
    repeats: int = Field(default=1, ge=1, le=99)
    """Verifications of each state otherwise."""
    timeout_multiplier: float = Field(default=1.0, gt=0, le=_MOST)
    """On the task's verifier timeout, for slow machines; recorded with every score."""
    max_checkpoints: int | None = Field(default=None, ge=1)
    """Score at most this many commits of a run (first, last and evenly between); the rest stay missing."""

    def repeats_of(self, task: TaskInfo) -> int:
        """Verifications of each state of a task."""
        return self.repeats_timed if task.timed else self.repeats

    def deadline_of(self, task: TaskInfo) -> float:
        """Seconds that each verification of a task may take."""
        return task.verifier_timeout_sec * self.timeout_multiplier


class ScheduleSpec(Record):
    """How much runs at once. Nothing here decides a result, so all of it may change at any time."""

    cpus: float | None = Field(default=None, gt=0, le=_MOST)
    """Cpus that running units may hold together; the machine's by default, uncounted where trials run elsewhere."""
    per_provider: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Most rollouts at once by model provider (the part of `model` before the slash)."""
    disk_gb: float | None = Field(default=None, gt=0, le=_MOST)
    """What running units may write together (10^9 bytes); by default, what is free."""
    disk_reserve_gb: float = Field(default=2.0, ge=0, le=_MOST)
    """Stays free on the study's file system: no unit starts that could use it up."""


class StudySpec(Versioned):
    """A study: agents x tasks x seeds, under one budget, in one kind of environment."""

    name: str = Field(min_length=1, max_length=80)
    """For people; the report's head."""
    tasks: list[str] = Field(min_length=1)
    """Names of built-in tasks, or paths of Harbor task directories (relative to the study file)."""
    agents: list[AgentSpec] = Field(min_length=1)
    """The rows of the leaderboard."""
    seeds: list[int] = Field(min_length=1)
    """Seeds; an integer n in the file means 1..n."""
    budget: Budget = Budget()
    """What one rollout may use."""
    environment: EnvironmentSpec = EnvironmentSpec()
    """Where trials run."""
    scoring: ScoringSpec = ScoringSpec()
    """How states are verified."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 1
    """Rollouts at the same time, as far as `schedule` lets them. Timed verifications run alone on the machine."""
    schedule: ScheduleSpec = ScheduleSpec()
    """How much runs at once."""
    record_keeping: Literal["standard", "none"] = "standard"
    """Whether the record-keeping addition is appended to the instruction."""

    @field_validator("seeds", mode="before")
    @classmethod
    def _count(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= 10_000:
                raise ValueError("a number of seeds lies between 1 and 10000")
            return list(range(1, value + 1))
        return value

    @field_validator("seeds")
    @classmethod
    def _short(cls, value: list[int]) -> list[int]:
        """They are a part of directories' names, and some generators take no more."""
        if wide := [seed for seed in value if not -(2**63) <= seed < 2**63]:
            raise ValueError(f"{str(wide[0])[:40]}...: a seed has at most 64 bits")
        return value

    @field_validator("tasks", "seeds")
    @classmethod
    def _unique(cls, value: list[Any]) -> list[Any]:
        if len(set(value)) != len(value):
            raise ValueError(f"named twice: {sorted({v for v in value if value.count(v) > 1})}")
        return value

    @model_validator(mode="after")
    def _labels_unique(self) -> StudySpec:
        labels = [a.label.casefold() for a in self.agents]
        twice = sorted({x for x in labels if labels.count(x) > 1})
        if twice:
            raise ValueError(f"agents: two agents share the label {twice}; give each its own `label:`")
        return self

    @model_validator(mode="after")
    def _providers_are_used(self) -> StudySpec:
        used = sorted({agent.model.split("/", 1)[0] for agent in self.agents if agent.model})
        if unknown := sorted(self.schedule.per_provider.keys() - set(used)):
            raise ValueError(
                f"schedule.per_provider.{unknown[0]}: no agent's `model` is of this provider; "
                f"{'the study uses ' + ', '.join(used) if used else 'no agent has a model'}"
            )
        return self
