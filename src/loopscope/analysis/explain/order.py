"""How sure the order of a study's agents is: their places, and whether it would stand if less were looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from loopscope.analysis.explain.number import rows_of, table_of
from loopscope.models import Record
from loopscope.models.interval_rows import EVERYONE, Finding
from loopscope.models.tables import OVERALL
from loopscope.records import StudyStore

_TOO_FEW = (
    "no difference could be significant with so few tasks or seeds: resamples of them hardly differ, and a share near "
    "100 % says that these agree, not that others would"
)


class AgentInOrder(Record):
    """An agent with its places."""

    agent: str
    """Label of the agent."""
    value: float | None
    """As in the table `intervals`, over all its tasks."""
    low: float | None
    """Of its interval; None where there is none."""
    high: float | None
    """The other end."""
    k: int
    """Rollouts per task."""
    shares: tuple[float, ...]
    """Share of the resamples with the agent in the first place, the second, ...; empty where nothing was drawn."""
    best_place: int | None
    """Best place of the number, whatever is missing; None where that is not told."""
    worst_place: int | None
    """Worst place, likewise."""


class OrderAgainst(Record):
    """A row of `stability`."""

    ordered: str
    """`agents`; of two harnesses `models` or `tasks`."""
    what: str
    """What was looked at, or which harnesses."""
    tau: float | None
    """Kendall's tau-b with the order of the whole; of two harnesses, of their orders."""
    tau_low: float | None
    """Its lower 5 % point over the draws."""
    tau_high: float | None
    """Its upper 5 % point."""
    same_first: float | None
    """Share of the draws with the same in front."""
    same_order: float | None
    """Share with the same order."""
    draws: int
    """1 where there is one alone."""
    n_ordered: int
    """Agents, models or tasks in the order."""
    n_tasks: int
    """Tasks that all of them have a number of."""


class OrderTold(Record):
    """The order of the agents by one number, and how sure it is."""

    measure: str
    """`avg_at_k`, `best_at_k` or `c2`."""
    category: str
    """The family, or `overall`."""
    reading: str
    """`random tasks` or `fixed tasks`."""
    n_tasks: int
    """Tasks that all of them have a number of; 0 where nothing was drawn."""
    draws: int
    """Resamples behind the shares."""
    guard: str | None
    """What to know before the shares are believed."""
    agents: tuple[AgentInOrder, ...]
    """By their estimate over the common tasks, best first; those without a place behind, by label."""
    stability: tuple[OrderAgainst, ...]
    """Over all families alone, of avg@k and best@k."""


def explain_order(directory: Path, measure: str, category: str = OVERALL, reading: str = "random tasks") -> OrderTold:
    """The order of a study's agents by a number of its tables.

    Raises:
        RecordError: there is no study, or its tables do not hold such a number.
    """
    store = StudyStore.open(directory)
    wanted = {"measure": measure, "category": category, "reading": reading}
    levels = [row for row in rows_of(store, "intervals", wanted).to_dicts() if row["agent"] != EVERYONE]
    places = table_of(store, "rankings")
    for name, value in wanted.items():
        places = places.filter(pl.col(name) == value)
    of_agent: dict[str, list[dict[str, Any]]] = {}
    for row in places.sort("rank", "place").to_dicts():
        of_agent.setdefault(row["agent"], []).append(row)
    order = {agent: at for at, agent in enumerate(of_agent)}
    levels.sort(key=lambda row: (order.get(row["agent"], len(order)), row["agent"]))
    stability = table_of(store, "stability").filter(pl.col("measure") == measure)
    compared = table_of(store, "comparisons")
    for name, value in wanted.items():
        compared = compared.filter(pl.col(name) == value)
    hopeless = compared.height > 0 and bool((compared["finding"] == Finding.TOO_FEW.value).all())
    return OrderTold(
        **wanted,
        guard=_TOO_FEW if hopeless and of_agent else None,
        n_tasks=max((rows[0]["n_tasks"] for rows in of_agent.values()), default=0),
        draws=max((rows[0]["draws"] for rows in of_agent.values()), default=0),
        agents=tuple(_agent(row, of_agent.get(row["agent"], [])) for row in levels),
        stability=tuple(
            OrderAgainst(**{name: row[name] for name in OrderAgainst.model_fields})
            for row in (stability.to_dicts() if category == OVERALL else ())
        ),
    )


def _agent(level: dict[str, Any], places: list[dict[str, Any]]) -> AgentInOrder:
    first: dict[str, Any] = next(iter(places), {})
    return AgentInOrder(
        **{name: level[name] for name in ("agent", "value", "low", "high", "k")},
        shares=tuple(row["probability"] for row in places),
        best_place=first.get("best_place"),
        worst_place=first.get("worst_place"),
    )
