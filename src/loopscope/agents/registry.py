"""Which agents there are: ours, Harbor's, and anybody's by import path."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from loopscope.models import AgentSpec


@dataclass(frozen=True)
class AgentKind:
    """How an agent is started."""

    harbor_name: str | None
    """Name that Harbor knows; None when it goes by import path."""
    import_path: str | None
    needs_model: bool
    takes_seed: bool
    """Its constructor takes `seed` and `budget_sec`."""
    summary: str = ""


BUILT_IN: dict[str, AgentKind] = {
    "nop": AgentKind("nop", None, False, False, "does nothing: what the untouched task scores"),
    "oracle": AgentKind(None, "loopscope.agents.oracle:OracleAgent", False, False, "the task's own reference solution"),
    "search": AgentKind(
        None, "loopscope.agents.search:SearchAgent", False, True, "mutates code and keeps what scores better; no model"
    ),
}
_IMPORT_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def harbor_agents() -> list[str]:
    """Names of Harbor's own agents."""
    from harbor.models.agent.name import AgentName

    return sorted(name.value for name in AgentName)


def find_agent(spec: AgentSpec) -> AgentKind:
    """How to start what a study file names.

    Raises:
        ValueError: no such agent, or it needs a model and has none.
    """
    if spec.name in BUILT_IN:
        return BUILT_IN[spec.name]
    if _IMPORT_PATH.fullmatch(spec.name):
        return AgentKind(None, spec.name, needs_model=False, takes_seed=False)
    names = harbor_agents()
    if spec.name in names:
        if spec.model is None:
            raise ValueError(f"{spec.name} drives a model; add `model: provider/name`")
        return AgentKind(spec.name, None, needs_model=True, takes_seed=False)
    close = difflib.get_close_matches(spec.name, [*BUILT_IN, *names], n=3, cutoff=0.5)
    raise ValueError(
        f"unknown agent {spec.name!r}; "
        + (f"did you mean {' or '.join(close)}?" if close else "`loopscope agents list` shows all")
    )
