"""What holds a sandbox's use of each resource here, as `loopscope.sandbox.limits` would choose it for a trial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loopscope.models import LimitState
from loopscope.sandbox.doctor.finding import Area, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine
from loopscope.sandbox.holding import Fact, survey

PREFIX = "limit on "
_GROUPS = "give loopscope a control group of its own: see the row `control groups`"


@dataclass(frozen=True)
class _Words:
    """What a resource is called, and what its limit's absence costs."""

    name: str
    cost: str
    remedy: str = _GROUPS


_WORDS = {
    "network": _Words("network", "agents can reach the network", "see the row on user namespaces"),
    "memory": _Words(
        "memory", "a hog is killed a moment late: it can push others, or the whole machine, out of memory meanwhile"
    ),
    "pids": _Words("processes", "a fork bomb is stopped a moment late, and slows others down meanwhile"),
    "cpu": _Words("processors", "an agent can take more processors than its task has; times of others scatter"),
    "disk": _Words("disk", "an agent can fill the disk", "see the row `loop images`"),
}
_STATES = {LimitState.ENFORCED: State.OK, LimitState.WATCHED: State.WEAK, LimitState.ABSENT: State.MISSING}


def look(machine: Machine) -> Iterator[Finding]:
    """One row per resource."""
    for fact in survey():
        if words := _WORDS.get(fact.resource):
            yield row(fact, words.name, words.cost, words.remedy)


def row(fact: Fact, name: str, cost: str, remedy: str) -> Finding:
    """A fact of the survey as a row."""
    state = _STATES[fact.state]
    said = f"{fact.state.value}, by {fact.means}" if fact.means else fact.state.value
    why = f" ({fact.why})" if fact.why else ""
    if state is State.OK:
        return Finding(Area.LIMITS, f"{PREFIX}{name}", state, said)
    return Finding(Area.LIMITS, f"{PREFIX}{name}", state, said + why, cost, remedy, (), Need.ADVISED)
