"""Who did how well: the leaderboard with its figure, overall and within each category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from loopscope.models.interval_rows import COMMON_AVG, PAIRED_AVG, PAIRED_BEST, Finding, IntervalRow
from loopscope.models.standing import (
    FIXED,
    REVERSIBLE,
    chosen_pairs,
    ordered_pairs,
    pair_words,
    places,
    reversible,
    spelled_range,
    standing,
)
from loopscope.models.standing import told_apart as is_apart
from loopscope.models.tables import OVERALL, OutcomeRow
from loopscope.report import format as fmt
from loopscope.report.bars import Bar, bars
from loopscope.report.figures import Figure
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.chart import Chart, chart
from loopscope.report.pages.intervals import bracketed, ends, guards, interval, note, possible, span, with_span
from loopscope.report.pages.process import category_name
from loopscope.report.pages.reconstruction import among, harness, unofficial
from loopscope.report.text import file_name, one_line

_GUARDED = ("avg_at_k", "best_at_k", COMMON_AVG, PAIRED_AVG, PAIRED_BEST)
_NAMED = 3
"""Pairs of a category that are told by name; more are counted."""


@dataclass(frozen=True)
class AgentLine:
    """One row of the leaderboard table."""

    place: str
    """Best and worst place that the comparisons leave open; empty where nobody is ranked."""
    agent: str
    harness: str
    model: str
    avg: Cell
    best: Cell
    common: Cell
    """avg@k over the tasks that all agents share."""
    support: str
    missing: int
    reconstructed: str
    """How many of its scores no verifier gave; empty for none."""
    paired: str
    """The same two numbers of the paired rewards, with their intervals; empty where no task is calibrated."""


@dataclass(frozen=True)
class CategoryPanel:
    """The outcome within one family of tasks."""

    title: str
    note: str
    chart: Chart
    apart: str
    """What may be said of the agents against each other."""
    rows: tuple[tuple[str, Cell, Cell], ...]
    """Agent, avg@k, best@k."""


def outcome_of(rows: Iterable[OutcomeRow], category: str) -> dict[str, OutcomeRow]:
    """The rows of a category by agent."""
    return {r.agent: r for r in rows if r.category == category}


def scored_agents(inputs: StudyInputs, category: str = OVERALL) -> tuple[str, ...]:
    """The agents with a score in a category, in the order of every figure."""
    found = outcome_of(inputs.outcome, category)
    return tuple(a for a in inputs.agents if a in found and found[a].avg_at_k is not None)


def outcome_figure(inputs: StudyInputs, category: str, name: str) -> Figure:
    """avg@k and best@k of each agent, with their intervals."""
    found = outcome_of(inputs.outcome, category)
    k = inputs.k
    # Of a family, those alone that were given a task of it.
    agents = [agent for agent in inputs.agents if category == OVERALL or agent in found]
    rows = [_bar(inputs, agent, category, found.get(agent)) for agent in agents]
    where = "over all tasks" if category == OVERALL else f"in {category_name(category)}"
    title = f"avg@{k} (solid) and best@{k} (whole bar) {where}"
    words = unofficial(found.values(), sum(row.n_runs for row in found.values()))
    title += f", scores {words}" if words else ""
    if any(row.interval or row.best_interval for row in rows):
        title += f"; lines across: 95 % intervals for tasks like these (upper: avg@{k}, lower: best@{k})"
    if any(row.has_range for row in rows):
        title += f"; dashed: avg@{k} whatever is missing"
    return bars(name, title, rows, solid=f"avg@{k}", total=f"best@{k}")


def _bar(inputs: StudyInputs, agent: str, category: str, row: OutcomeRow | None) -> Bar:
    avg, best = (interval(inputs, agent, category, measure) for measure in ("avg_at_k", "best_at_k"))
    low, high = possible(avg) or (None, None)
    return Bar(
        one_line(agent, 90),
        row.avg_at_k if row else None,
        row.best_at_k if row else None,
        _bar_note(row),
        low,
        high,
        ends(avg),
        ends(best),
    )


def _bar_note(row: OutcomeRow | None) -> str:
    if row is None or row.avg_at_k is None:
        return f"{row.n_missing} missing" if row and row.n_missing else "no score"
    words = (f"{row.n_missing} missing" if row.n_missing else "", unofficial([row], row.n_runs))
    return ", ".join(filter(None, words))


def category_panels(inputs: StudyInputs) -> tuple[tuple[CategoryPanel, Figure], ...]:
    """Each family of tasks with its figure."""
    return tuple(_category_panel(inputs, category) for category in inputs.categories)


def _category_panel(inputs: StudyInputs, category: str) -> tuple[CategoryPanel, Figure]:
    figure = outcome_figure(inputs, category, f"category-{file_name(category)}")
    found = outcome_of(inputs.outcome, category)
    agents = [a for a in inputs.agents if a in found]
    rows = tuple((one_line(a, 60), *_numbers(inputs, a, found[a])) for a in agents)
    panel = CategoryPanel(
        category_name(category),
        _support(inputs, category),
        chart(figure, 420),
        told_apart(inputs, category),
        rows,
    )
    return panel, figure


def told_apart(inputs: StudyInputs, category: str) -> str:
    """What may be said of the agents of a category against each other; empty of fewer than two."""
    agents = scored_agents(inputs, category)
    pairs = ordered_pairs(agents, chosen_pairs(inputs.comparisons, category=category))
    if not pairs:
        return ""
    found = [r for r in pairs if is_apart(r)]
    open_ = [r for r in pairs if reversible(r)]
    if not found and all(r.finding == Finding.TOO_FEW for r in pairs):
        return "Too few tasks here for any difference between agents to be significant."
    if not found and not open_:
        return "No two agents can be told apart here." if len(pairs) > 1 else "The two cannot be told apart here."
    words = [pair_words(r, f"avg@{inputs.k}", lambda a: one_line(a, 40)) for r in (found or open_)[:_NAMED]]
    more = f"; {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    of = fmt.plural(len(pairs), "pair")
    if not found:
        return f"{len(open_)} of {of} can be told apart only {REVERSIBLE}: {'; '.join(words)}."
    kept = f"; {len(open_)} more only {REVERSIBLE}" if open_ else ""
    return f"{len(found)} of {of} can be told apart: {'; '.join(words)}{more}{kept}."


def _support(inputs: StudyInputs, category: str) -> str:
    tasks = sum(t.category == category for t in inputs.study.tasks)
    runs = [r for r in inputs.runs if r.category == category]
    missing = sum(r.final_score is None for r in runs)
    text = f"{fmt.plural(tasks, 'task')}, n = {fmt.plural(len(runs), 'run')}"
    compared = standing(r for r in inputs.outcome if r.category == category)
    alone = "" if compared.same_tasks else "not the same tasks for all: no comparison"
    words = (text, f"{missing} without a score" if missing else "", among(runs), alone)
    return ", ".join(filter(None, words))


def agent_lines(inputs: StudyInputs) -> tuple[AgentLine, ...]:
    """The rows of the leaderboard table."""
    agents = scored_agents(inputs)
    ranked = inputs.standing.ranked and len(agents) > 1
    open_places = places(agents, chosen_pairs(inputs.comparisons)) if ranked else {}
    return tuple(_agent_line(inputs, agent, open_places.get(agent)) for agent in inputs.agents)


def _agent_line(inputs: StudyInputs, agent: str, place: tuple[int, int] | None) -> AgentLine:
    row = outcome_of(inputs.outcome, OVERALL).get(agent)
    entry = next((a for a in inputs.study.agents if a.label == agent), None)
    avg, best = _numbers(inputs, agent, row)
    return AgentLine(
        place=spelled_range(*place) if place else "",
        agent=one_line(agent, 90),
        harness=harness(entry.harness if entry else None),
        model=one_line((entry.model if entry else None) or "", 60),
        avg=avg,
        best=best,
        common=with_span(_cell(row.common_avg if row else None), interval(inputs, agent, OVERALL, COMMON_AVG)),
        support=_line_support(row, inputs) if row else "no runs",
        missing=row.n_missing if row else 0,
        reconstructed=unofficial([row], row.n_runs) if row else "",
        paired=_paired(inputs, agent),
    )


def _paired(inputs: StudyInputs, agent: str) -> str:
    """What the rewards are with anchors that were measured here, their intervals, and of how many runs."""
    names = (PAIRED_AVG, "avg"), (PAIRED_BEST, "best")
    rows = [(row, name) for m, name in names if (row := interval(inputs, agent, OVERALL, m)) and row.value is not None]
    if not rows:
        return ""
    told = ", ".join(f"{name}@{row.k} {fmt.score(row.value)} {bracketed(row)}{_open(row)}" for row, name in rows)
    row = rows[0][0]
    support = f"k = {row.k}, {fmt.plural(row.n_tasks, 'task')}, n = {fmt.plural(row.n_runs, 'run')}"
    return f"paired with this machine's anchors: {told} ({support}; not compared between agents)"


def _open(row: IntervalRow) -> str:
    """Between what the number lies, whatever is missing; empty where nothing is."""
    between = possible(row)
    return "" if between is None else f", whatever is missing {fmt.score(between[0])} to {fmt.score(between[1])}"


def _numbers(inputs: StudyInputs, agent: str, row: OutcomeRow | None) -> tuple[Cell, Cell]:
    """avg@k and best@k, each with its interval in both readings."""
    if row is None:
        return _cell(None), _cell(None)

    def number(measure: str, value: float | None) -> Cell:
        cell = with_span(_cell(value), interval(inputs, agent, row.category, measure))
        fixed = interval(inputs, agent, row.category, measure, FIXED)
        if cell.missing is not None or fixed is None or fixed.value is None:
            return cell
        return replace(cell, fixed=f"these: {span(fixed)}", fixed_note=note(fixed))

    return number("avg_at_k", row.avg_at_k), number("best_at_k", row.best_at_k)


def _cell(value: float | None) -> Cell:
    return Cell(fmt.score(value), None if value is not None else "no run of this agent has a final score")


def _line_support(row: OutcomeRow, inputs: StudyInputs) -> str:
    text = f"{fmt.plural(row.n_tasks, 'task')}, n = {row.n_runs}"
    return text if inputs.k != "k" else f"{text}, k = {spelled_range(row.k_min, row.k)}"


def outcome_guards(inputs: StudyInputs) -> tuple[str, ...]:
    """What to know before the numbers of the leaderboard are believed; of best@k what is not said of avg@k."""
    agents = scored_agents(inputs)
    shown = {m: {a: interval(inputs, a, OVERALL, m) for a in agents} for m in _GUARDED}

    def more(measure: str, than: str = "avg_at_k") -> tuple[str, ...]:
        rest = []
        for agent, row in shown[measure].items():
            said = ((avg.guard if (avg := shown[than][agent]) else None) or "").split("; ")
            parts = [part for part in ((row.guard if row else None) or "").split("; ") if part and part not in said]
            rest.append((one_line(agent, 60), row and replace(row, guard="; ".join(parts) or None)))
        return guards(rest, len(agents))

    avg = guards(((one_line(a, 60), row) for a, row in shown["avg_at_k"].items()), len(agents))
    best = tuple(f"best@{inputs.k}: {line}" for line in more("best_at_k"))
    common = tuple(f"Common tasks: {line}" for line in more(COMMON_AVG)) if inputs.standing.by_common else ()
    paired = tuple(f"Paired: {line}" for line in more(PAIRED_AVG))
    paired += tuple(f"Paired, best@{inputs.k}: {line}" for line in more(PAIRED_BEST, PAIRED_AVG))
    return (*avg, *best, *common, *paired)
