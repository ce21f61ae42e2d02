"""Which agents there are: ours, Harbor's, and anybody's by import path."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from loopscope.models import AgentSpec

if TYPE_CHECKING:  # only running agents needs Harbor
    from harbor.agents.base import BaseAgent


class AgentRefused(ValueError):
    """An agent cannot be started as the study file has it.

    Attributes:
        field: the field of the agent that is to blame, such as `name` or `kwargs.rounds`.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(problem)


@dataclass(frozen=True)
class AgentKind:
    """How an agent is started."""

    harbor_name: str | None
    """Name that Harbor knows; None when it goes by import path."""
    import_path: str | None
    needs_model: bool
    given: tuple[str, ...] = ()
    """Arguments of its constructor that the engine gives: `seed`, `budget_sec`, `task_dir`."""
    summary: str = ""
    commits: bool = True
    """False: an agent that makes no repository, by design; its absence is no problem."""
    harness: str | None = None
    """Name and version as its records will tell them; None where only a rollout tells."""


BUILT_IN: dict[str, AgentKind] = {
    "nop": AgentKind(
        "nop", None, False, summary="does nothing: what the untouched task scores", commits=False, harness="nop 1.0.0"
    ),
    "oracle": AgentKind(
        None,
        "loopscope.agents.oracle:OracleAgent",
        False,
        ("task_dir",),
        "the task's own reference solution",
        harness="oracle 1",
    ),
    "search": AgentKind(
        None,
        "loopscope.agents.search:SearchAgent",
        False,
        ("seed", "budget_sec"),
        "mutates code and keeps what scores better; no model",
        harness="search 1",
    ),
}
_IMPORT_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def harbor_agents() -> list[str]:
    """Names of Harbor's own agents."""
    from harbor.models.agent.name import AgentName

    return sorted(name.value for name in AgentName)


def find_agent(spec: AgentSpec) -> AgentKind:
    """How to start what a study file names; its class can be imported and takes the kwargs written there.

    Raises:
        AgentRefused: no such agent, it needs a model and has none, or it does not take these kwargs.
    """
    kind = _kind(spec)
    agent = _agent_class(kind)
    for name in spec.kwargs:
        if name in kind.given:
            raise AgentRefused(
                f"kwargs.{name}", f"{spec.name} gets it from the study, for each rollout; remove it here"
            )
    _check_options(spec, agent, kind.given)
    return kind


def _check_options(spec: AgentSpec, agent: type[BaseAgent], given: Collection[str]) -> None:
    """Hold kwargs against what the agent's class declares, which its constructor would do for each rollout."""
    from harbor.agents.options import apply_env_fallbacks

    model = agent.options_model
    if model is None:
        if spec.name in BUILT_IN and spec.kwargs:
            raise AgentRefused(f"kwargs.{min(spec.kwargs)}", f"{spec.name} takes no kwargs; remove it")
        return

    def look_up(name: str) -> str | None:
        reference = spec.references.get(name)
        return os.environ.get(reference) if reference else spec.env.get(name, os.environ.get(name))

    try:
        model.model_validate(apply_env_fallbacks(model, spec.kwargs, look_up))
        agent.parse_options(spec.kwargs, {key: look_up(key) or "" for key in spec.env})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        remedy = ""
        if first["type"] == "extra_forbidden":
            close = difflib.get_close_matches(name, model.model_fields, n=1)
            taken = ", ".join(sorted(set(model.model_fields) - set(given)))
            remedy = f"; did you mean `{close[0]}`?" if close else f"; {spec.name} takes {taken or 'none'}, remove it"
        raise AgentRefused(f"kwargs.{name}", first["msg"].removeprefix("Value error, ") + remedy) from None
    except ValueError as error:
        raise AgentRefused("kwargs", " ".join(str(error).split())) from None


def _kind(spec: AgentSpec) -> AgentKind:
    if spec.name in BUILT_IN:
        return BUILT_IN[spec.name]
    if _IMPORT_PATH.fullmatch(spec.name):
        return AgentKind(None, spec.name, needs_model=False)
    names = harbor_agents()
    if spec.name in names:
        if spec.model is None:
            raise AgentRefused("name", f"{spec.name} drives a model; add `model: provider/name`")
        return AgentKind(spec.name, None, needs_model=True)
    close = difflib.get_close_matches(spec.name, [*BUILT_IN, *names], n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(close)}?" if close else "`loopscope agents list` shows all"
    raise AgentRefused("name", f"unknown agent {spec.name!r}; {remedy}")


def _agent_class(kind: AgentKind) -> type[BaseAgent]:
    from harbor.agents.base import BaseAgent
    from harbor.agents.factory import AgentFactory
    from harbor.models.trial.config import AgentConfig

    try:
        found = AgentFactory.get_agent_class_from_config(
            AgentConfig(name=kind.harbor_name, import_path=kind.import_path)
        )
    except Exception as error:  # whatever a stranger's module does when it is imported
        raise AgentRefused(
            "name", f"{' '.join(str(error).split())}; install its package, or put its folder on PYTHONPATH"
        ) from None
    if not issubclass(found, BaseAgent):
        raise AgentRefused(
            "name", f"{kind.import_path} is no Harbor agent; derive it from harbor.agents.base.BaseAgent"
        )
    return found
