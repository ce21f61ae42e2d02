"""The first page: who did how well, by category, how they worked, and every task at a glance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from loopscope.models.standing import Standing, chosen_pairs, not_below, spelled_interval, spelled_range
from loopscope.models.tables import OVERALL
from loopscope.report import figures as fig
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.glossary import DIAGNOSTICS, GROUPS, PROCESS, term
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.apart import Apart, apart
from loopscope.report.pages.chart import Chart, chart
from loopscope.report.pages.intervals import bracketed, interval, share
from loopscope.report.pages.leaderboard import (
    AgentLine,
    CategoryPanel,
    agent_lines,
    category_panels,
    outcome_figure,
    outcome_guards,
    scored_agents,
)
from loopscope.report.pages.process import Panel, category_name, process_figure, process_panel, spanned_cell
from loopscope.report.pages.reconstruction import among, outcome_words, unofficial
from loopscope.report.pages.resources import UseLine, use_lines
from loopscope.report.pages.sure import Sure, sure
from loopscope.report.text import one_line


@dataclass(frozen=True)
class Grid:
    """Rows by columns of cells."""

    columns: tuple[tuple[str, str, str], ...]
    """Name, anchor on the definitions page, group."""
    groups: tuple[tuple[str, int], ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class TaskLine:
    """One task with the score of each agent."""

    name: str
    title: str
    category: str
    facts: str
    cells: tuple[tuple[Cell, str, str], ...]
    """avg@k, best@k as text, link to the runs."""


@dataclass(frozen=True)
class OverviewPage:
    """Everything of index.html."""

    lead: str
    standing: Standing
    """Whether the agents can be ranked, and if not, why."""
    best_of: str
    """Of how many rollouts best@k is the best, in words."""
    scores: str
    """What kind of scores the first figure shows."""
    facts: tuple[tuple[str, str, str], ...]
    """Name, number, note."""
    leaderboard: tuple[AgentLine, ...]
    chart: Chart | None
    guards: tuple[str, ...]
    """What to know before the intervals of the leaderboard are believed."""
    placed: bool
    """Whether the agents have places."""
    apart: Apart | None
    sure: Sure | None
    categories: tuple[CategoryPanel, ...]
    process: tuple[Panel, ...]
    diagnostics: Grid
    detail: Grid
    """The rarer diagnostics, folded away."""
    resources: tuple[UseLine, ...]
    agents: tuple[str, ...]
    tasks: tuple[TaskLine, ...]
    figures: tuple[fig.Figure, ...]
    """To be written as files beside the page."""


def overview(inputs: StudyInputs) -> OverviewPage:
    """Lay out the first page."""
    main = outcome_figure(inputs, OVERALL, "leaderboard")
    categories = category_panels(inputs)
    compared = apart(inputs)
    process = {t.key: process_figure(inputs, t) for t in PROCESS}
    diagnostics, detail = _diagnostics(inputs, detail=False), _diagnostics(inputs, detail=True)
    found = [main, *(f for _, f in categories), *process.values(), _heat_figure(diagnostics)]
    found += compared.figures if compared else ()
    return OverviewPage(
        lead=_lead(inputs),
        standing=inputs.standing,
        best_of=_best_of(inputs),
        scores=outcome_words(inputs),
        facts=_facts(inputs),
        leaderboard=(lines := agent_lines(inputs)),
        placed=any(line.place for line in lines),
        chart=chart(main) if inputs.agents else None,
        guards=outcome_guards(inputs),
        apart=compared,
        sure=sure(inputs),
        categories=tuple(panel for panel, _ in categories),
        process=tuple(process_panel(inputs, t, process[t.key]) for t in PROCESS),
        diagnostics=diagnostics,
        detail=detail,
        resources=use_lines(inputs),
        agents=inputs.agents,
        tasks=_tasks(inputs),
        figures=tuple(found) if inputs.agents else (),
    )


def _lead(inputs: StudyInputs) -> str:
    study = inputs.study
    scored = sum(r.final_score is not None for r in inputs.runs)
    runs = len(inputs.runs)
    if not runs:
        return "This study has no finished run yet."
    low, high = inputs.done
    text = f"{fmt.plural(len(inputs.agents), 'agent')} on {fmt.plural(len(study.tasks), 'task')}"
    if low == high and len(inputs.task_scores) == len(inputs.agents) * len(study.tasks):
        text += f", {fmt.plural(low, 'rollout')} each: {_of_planned(inputs)}, "
    else:
        cells = fmt.plural(len(inputs.task_scores), "pair")
        text += f": {_of_planned(inputs)} of {cells} of agent and task, {_each(low, high)}, "
    text += f"{scored:,} with a final score."
    best = [r for r in inputs.outcome if r.category == OVERALL and r.avg_at_k is not None]
    if not best:
        return text + " No agent has a score."
    if not inputs.standing.ranked:
        return text
    top = max(r.avg_at_k or 0.0 for r in best)
    names = [one_line(a, 60) for a in inputs.agents if any(r.agent == a and r.avg_at_k == top for r in best)]
    who = _listing(names) if len(names) <= 3 else f"{len(names)} agents"
    text += f" {who} {'has' if len(names) == 1 else 'share'} the highest avg@{inputs.k}, {fmt.score(top)}"
    first = [a for a in inputs.agents if any(r.agent == a and r.avg_at_k == top for r in best)]
    text += _how_sure(inputs, first)
    if any(r.n_missing for r in best):
        text += ", as far as scores are there"
    return f"{text}{_not_told(inputs, first)}."


def _how_sure(inputs: StudyInputs, agents: list[str]) -> str:
    """The intervals of the agents that stand first, each once; of more than three the outermost ends."""
    rows = [row for a in agents if (row := interval(inputs, a, OVERALL, "avg_at_k"))]
    known = [(row.low, row.high) for row in rows if row.low is not None and row.high is not None]
    if len(rows) > 3 and known:
        ends = spelled_interval(min(low for low, _ in known), max(high for _, high in known), share)
        without = f", {len(rows) - len(known)} without" if len(known) < len(rows) else ""
        return f" (intervals within {ends}{without})"
    found = list(dict.fromkeys(bracketed(row) for row in rows))
    return f" {_listing(found)}" if found else ""


def _of_planned(inputs: StudyInputs) -> str:
    """`48 of 64 runs`, or `64 runs` where all that were planned are there."""
    planned = sum(r.k for r in inputs.task_scores)
    runs = fmt.plural(max(planned, len(inputs.runs)), "run")
    return runs if len(inputs.runs) >= planned else f"{len(inputs.runs):,} of {runs}"


def _not_told(inputs: StudyInputs, first: list[str]) -> str:
    """Who cannot be told apart from the agent that stands first, or from one of those that share that."""
    agents, pairs = scored_agents(inputs), chosen_pairs(inputs.comparisons)
    near = {a for top in first for a in not_below(top, agents, pairs)}
    level = [one_line(a, 60) for a in agents if a in near and a not in first]
    if not level:
        return ""
    who = "the others" if len(level) == len(agents) - len(first) > 1 else _listing(level)
    who = who if len(level) <= 3 or who == "the others" else f"{len(level)} others"
    return f"; {who} cannot be told apart from {'it' if len(first) == 1 else 'them'}"


def _each(low: int, high: int) -> str:
    return f"{fmt.plural(low, 'rollout')} each" if low == high else f"{low} to {fmt.plural(high, 'rollout')} each"


def _best_of(inputs: StudyInputs) -> str:
    low, high = inputs.rollouts
    return str(low) if low == high else f"the k rollouts of a task, which are {low} to {high}"


def _listing(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _facts(inputs: StudyInputs) -> tuple[tuple[str, str, str], ...]:
    missing = sum(r.final_score is None for r in inputs.runs)
    absent = max(0, sum(r.k for r in inputs.task_scores) - len(inputs.runs))
    scored = sum(c.score is not None for rows in inputs.checkpoints.values() for c in rows)
    runs_note = "all scored" if not missing else f"{missing:,} without a final score"
    runs_note += f", {absent:,} more planned and not done" if absent else ""
    runs_note += f", {words}" if (words := among(inputs.runs)) else ""
    seeds = ", ".join(str(s) for s in inputs.study.seeds[:12]) + (", …" if len(inputs.study.seeds) > 12 else "")
    seeds = f"seeds {seeds}" if seeds else ""
    return (
        ("Runs", f"{len(inputs.runs):,}", runs_note if inputs.runs else "none yet"),
        ("Commits", f"{sum(r.n_commits for r in inputs.runs):,}", f"{scored:,} with a score"),
        ("Tasks", f"{len(inputs.study.tasks):,}", f"in {fmt.plural(len(inputs.categories), 'category', 'categories')}"),
        ("Rollouts per task, k", spelled_range(*inputs.rollouts), ", ".join(filter(None, (_done(inputs), seeds)))),
    )


def _done(inputs: StudyInputs) -> str:
    """How many rollouts there are, where these are not those that were planned."""
    return "" if inputs.done == inputs.rollouts or not inputs.runs else f"{spelled_range(*inputs.done)} done"


def _diagnostics(inputs: StudyInputs, *, detail: bool) -> Grid:
    rows = {(r.agent, r.measure): r for r in inputs.diagnostics if r.category == OVERALL}
    present = {m for _, m in rows}
    order = [t.key for t in DIAGNOSTICS if t.key in present] + sorted(present - {t.key for t in DIAGNOSTICS})
    found = [term(key) for key in order]
    terms = sorted(
        (t for t in found if (t.group in ("Detail", "Other")) == detail),
        key=lambda t: (*GROUPS, "Other").index(t.group),
    )
    tops = {t.key: max((r.value or 0.0 for (_, m), r in rows.items() if m == t.key), default=0.0) for t in terms}
    groups: dict[str, int] = {}
    for t in terms:
        groups[t.group] = groups.get(t.group, 0) + 1
    return Grid(
        columns=tuple((one_line(t.name, 40), t.key, t.group) for t in terms),
        groups=tuple(groups.items()),
        rows=tuple(
            (
                one_line(a, 60),
                tuple(spanned_cell(inputs, a, OVERALL, rows.get((a, t.key)), t, tops[t.key]) for t in terms),
            )
            for a in inputs.agents
        ),
    )


def _heat_figure(grid: Grid) -> fig.Figure:
    columns = [
        fig.HeatColumn(
            name,
            tuple(cells[i].text for _, cells in grid.rows),
            tuple(cells[i].heat for _, cells in grid.rows),
            support=group == "Exposure",
        )
        for i, (name, _, group) in enumerate(grid.columns)
    ]
    title = "Behavioral diagnostics; a stronger shade is larger within its column, not better"
    return fig.heat_map("diagnostics", title, [agent for agent, _ in grid.rows], columns)


_TASK_NOTE = "95 % interval for just this task, other seeds"


def _ends(low: float | None, high: float | None) -> str:
    return "no interval" if low is None or high is None else spelled_interval(low, high, share)


def _tasks(inputs: StudyInputs) -> tuple[TaskLine, ...]:
    found = {(r.agent, r.task): r for r in inputs.task_scores}
    lines = []
    for task in sorted(inputs.study.tasks, key=lambda t: (t.category, t.name)):
        cells = []
        for agent in inputs.agents:
            row = found.get((agent, task.name))
            avg, best = (row.avg_at_k, row.best_at_k) if row else (None, None)
            why = "no run of this agent on this task has a final score"
            cell = Cell(fmt.score(avg), None if avg is not None else why, fmt.heat(avg), avg)
            link = "runs.html#" + urlencode({"task": task.name, "agent": agent})
            of = f" of {row.k}" if row and inputs.k == "k" else ""
            best_ends = _ends(row.best_low, row.best_high) if row else ""
            if row and avg is not None:
                cell = replace(cell, span=_ends(row.avg_low, row.avg_high), span_note=_TASK_NOTE)
            note = f"best {fmt.score(best)}{of} {best_ends}"
            if row and row.paired_avg is not None:
                note += f", paired {fmt.score(row.paired_avg)} {_ends(row.paired_low, row.paired_high)}"
            note += f", {row.n_missing} of {row.k} missing" if row and row.n_missing else ""
            note += f", {words}" if row and (words := unofficial([row], row.k - row.n_missing)) else ""
            cells.append((cell, note if avg is not None else "", link))
        paired = f"paired reward {task.paired_by}" if task.paired_by else ""
        facts = [task.metric or "", "timed" if task.timed else "", paired]
        lines.append(
            TaskLine(
                one_line(task.name, 60),
                one_line(task.title or task.name, 90),
                category_name(task.category),
                one_line(" · ".join(f for f in facts if f), 240),
                tuple(cells),
            )
        )
    return tuple(lines)
