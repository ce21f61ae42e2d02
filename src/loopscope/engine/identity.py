"""What a rollout is, by content: told before it runs, read from what lies there, and compared. Needs no Harbor."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from loopscope.agents.registry import BUILT_IN
from loopscope.models import AgentSpec, EnvironmentSpec, PreparedTask, RunRecord, StudyLock, UnitFile, UnitIdentity
from loopscope.records import RecordError, RunDir, read_model
from loopscope.records.manifest import UNIT

_DECIDES_NOTHING: Mapping[str, frozenset[str]] = MappingProxyType({"local": frozenset({"scratch_dir"})})
"""By environment: kwargs that cannot change a result, such as where on this machine it works. Of environments that are
not ours nobody can know, so all of theirs decide."""
_SHOWN = 60
"""Characters of a value in a message."""


def identity(
    task: PreparedTask, agent: AgentSpec, environment: EnvironmentSpec, seed: int, budget_sec: float
) -> UnitIdentity:
    """The unit that a study names; where it lies and how many run beside it are no part of it."""
    kind = BUILT_IN.get(agent.name)
    return _unit(
        task=task.info.name,
        task_hash=task.content_hash,
        agent=agent,
        harness=kind.harness if kind else None,
        environment=environment,
        seed=seed,
        budget_sec=budget_sec,
    )


def _unit(*, agent: AgentSpec, environment: EnvironmentSpec, **more: Any) -> UnitIdentity:
    without = _DECIDES_NOTHING.get(environment.type, frozenset())
    kwargs = {name: value for name, value in environment.kwargs.items() if name not in without}
    return UnitIdentity(
        agent=agent.model_copy(update={"allowed_hosts": sorted(set(agent.allowed_hosts))}),
        environment=environment.model_copy(update={"kwargs": kwargs}),
        **more,
    )


def read_identity(run: RunDir, lock: StudyLock | None) -> UnitIdentity | None:
    """What unit lies in a run directory; None where nothing readable tells.

    Args:
        run: the directory.
        lock: the study's; runs of version 1 are told by it and their record.
    """
    try:
        if (run.path / UNIT).is_file():
            return read_model(run.path / UNIT, UnitFile).unit
        return _of_version_1(run.record, lock) if lock else None
    except RecordError:
        return None


def _of_version_1(record: RunRecord, lock: StudyLock) -> UnitIdentity | None:
    """As the study of version 1 would have named it: what the lock says of the agent, the record of the rest."""
    agent = lock.agents.get(record.agent)
    if agent is None or record.imported is not None:
        return None
    kind = BUILT_IN.get(agent.name)
    told = record.harness if " " in record.harness else kind and kind.harness  # a failed start tells no version
    return _unit(
        task=record.task,
        task_hash=record.task_hash,
        agent=agent,
        harness=told if kind else None,
        environment=lock.environment,
        seed=record.seed,
        budget_sec=record.budget_sec,
    )


def differences(was: UnitIdentity, now: UnitIdentity) -> Iterator[str]:
    """In what two units of one run id differ, in the study file's own words: `agents.a.kwargs.rounds: 5 -> 8`."""
    before, after = _flat(was), _flat(now)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield f"{_in_study(name, now)}: {_shown(old)} -> {_shown(new)}"


def _flat(unit: UnitIdentity) -> dict[str, Any]:
    content = unit.model_dump(mode="json")
    del content["agent"]["label"]
    return dict(_leaves(content, ""))


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict | list):
        yield name, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(item, f"{name}.{key}" if name else str(key))


def _in_study(name: str, unit: UnitIdentity) -> str:
    top, _, rest = name.partition(".")
    if top == "agent":
        return f"agents.{unit.agent.label}.{rest}"
    names = {
        "task_hash": f"tasks.{unit.task} (its content)",
        "budget_sec": "budget.agent_sec",
        "harness": f"agents.{unit.agent.label} (its version)",
    }
    return names.get(top, name)


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) == 64 and not set(text) - set("0123456789abcdef"):
        return text[:8]
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
