"""The order of a study's agents, and how sure it is, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from loopscope.cli.explained_lines import Page
from loopscope.cli.shown import MISSING
from loopscope.cli.tables import counted
from loopscope.models.standing import C2, spelled_interval, spelled_range

if TYPE_CHECKING:
    from loopscope.analysis.explain.order import AgentInOrder, OrderAgainst, OrderTold
    from loopscope.models.interval_rows import StabilityRow

_FIRST = 3
"""Places whose shares are listed; of more agents, the others are summed up."""


def order_text(told: OrderTold, width: int) -> Text:
    """The agents with their places first, then the orders that theirs is held against."""
    page = Page(width)
    page.head(f"order by {told.measure}", f"{told.category}, {told.reading}")
    if told.draws:
        page.line(f"places in {told.draws:,} resamples, over {counted(told.n_tasks, 'task')} that all of them have")
    else:
        page.line("no places: fewer than two agents have a spread to draw from")
    if told.guard:
        page.line(f"note: {told.guard}", 2, "yellow")
    for agent in told.agents:
        _agent(page, told, agent)
    for ordered, title in (("agents", "would the order stand?"), ("", "do harnesses with the same models agree?")):
        rows = [row for row in told.stability if (row.ordered == "agents") == (ordered == "agents")]
        if rows:
            page.head(title, "brackets: 5 and 95 % points of the draws")
        for row in rows:
            page.line(against_words(row))
    return page.text


def _agent(page: Page, told: OrderTold, agent: AgentInOrder) -> None:
    value = MISSING if agent.value is None else f"{agent.value:.4f} {spelled_interval(agent.low, agent.high)}"
    page.line(f"{agent.agent} = {value}, k {agent.k}", 2, "bold")
    if agent.shares:
        named = [f"place {i}: {100 * share:.0f} %" for i, share in enumerate(agent.shares[:_FIRST], start=1)]
        rest = agent.shares[_FIRST:]
        page.line(", ".join([*named, *([f"below: {100 * sum(rest):.0f} %"] if rest else [])]), 4)
    if agent.best_place is not None and agent.worst_place is not None:
        whatever = "whatever was not seen" if told.measure == C2 else "whatever the missing scores are"
        page.line(f"by its number place {spelled_range(agent.best_place, agent.worst_place)}, {whatever}", 4)


def against_words(row: OrderAgainst | StabilityRow) -> str:
    """`50 % of the tasks: the same agent first in 71 % and the same order in 30 % of 1,000 draws; tau 0.6 [...]`."""
    return f"{row.what}: {'; '.join(_parts(row))}"


def _parts(row: OrderAgainst | StabilityRow) -> Iterator[str]:
    each = row.ordered.removesuffix("s")
    if row.same_first is not None and row.same_order is not None:
        if row.draws > 1:
            first, order = (f"{100 * share:.0f} %" for share in (row.same_first, row.same_order))
            yield f"the same {each} first in {first} and the same order in {order} of {row.draws:,} draws"
        else:
            first, order = ("" if share == 1 else "not " for share in (row.same_first, row.same_order))
            yield f"{first}the same {each} first, {order}the same order"
    if row.tau is None:
        yield "nothing is in order"
        return
    drawn = row.draws > 1 and row.tau_low is not None and row.tau_high is not None
    yield f"tau {row.tau:.2f}{f' {spelled_interval(row.tau_low, row.tau_high)}' if drawn else ''}"
    if row.ordered != "agents":
        held = drawn and (row.tau_low or 0.0) <= 0 <= (row.tau_high or 0.0)
        yield f"{counted(row.n_ordered, each)}{', no evidence that they agree' if held else ''}"
