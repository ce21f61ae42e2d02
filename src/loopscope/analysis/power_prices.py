"""What one more run of a study costs, from what its runs cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopscope.analysis.power_report import Price

DOLLARS = ("cost_usd", "priced_usd")
"""What a run cost, by the agent or its log; else at list prices."""
OTHERWISE = ("agent_sec", "tokens")


def prices(rows: Sequence[Mapping[str, Any]], agents: Sequence[str]) -> tuple[Price, ...]:
    """What one more run costs: in dollars where each agent has a run that knows them, else in seconds and tokens.

    Where no run used any of a unit (agents without a model cost no dollar), that unit is no price.
    """
    every = ((unit, _price(rows, agents, unit)) for unit in (*DOLLARS, *OTHERWISE))
    found = {unit: price for unit, price in every if price is not None and price.per_run > 0}
    for unit in DOLLARS:
        if unit in found:
            return (found[unit],)
    return tuple(found[unit] for unit in OTHERWISE if unit in found)


def _price(rows: Sequence[Mapping[str, Any]], agents: Sequence[str], unit: Any) -> Price | None:
    cells: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row["agent"] in agents and row[unit] is not None:
            cells.setdefault(row["agent"], {}).setdefault(row["task"], []).append(float(row[unit]))
    if not agents or set(cells) != set(agents):
        return None
    by_agent = [_mean([_mean(amounts) for amounts in tasks.values()]) for tasks in cells.values()]
    known = sum(len(amounts) for tasks in cells.values() for amounts in tasks.values())
    return Price(unit=unit, per_run=_mean(by_agent), known=known, runs=sum(row["agent"] in agents for row in rows))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
