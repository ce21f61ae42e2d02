"""The first page: who did how well, by category, how they worked, and every task at a glance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from loopscope.models.standing import Standing, spelled_range, standing
from loopscope.models.tables import OVERALL, OutcomeRow
from loopscope.report import figures as fig
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.glossary import DIAGNOSTICS, GROUPS, PROCESS, term
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.chart import Chart, chart
from loopscope.report.pages.process import Panel, category_name, measure_cell, process_figure, process_panel
from loopscope.report.pages.reconstruction import among, harness, outcome_words, unofficial
from loopscope.report.pages.resources import UseLine, use_lines
from loopscope.report.text import file_name, one_line


@dataclass(frozen=True)
class AgentLine:
    """One row of the leaderboard table."""

    rank: str
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
    categories: tuple[Panel, ...]
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
    main = _outcome_figure(inputs, OVERALL, "leaderboard")
    categories = [(c, _outcome_figure(inputs, c, f"category-{file_name(c)}")) for c in inputs.categories]
    process = {t.key: process_figure(inputs, t) for t in PROCESS}
    diagnostics, detail = _diagnostics(inputs, detail=False), _diagnostics(inputs, detail=True)
    found = [main, *(f for _, f in categories), *process.values(), _heat_figure(diagnostics)]
    return OverviewPage(
        lead=_lead(inputs),
        standing=inputs.standing,
        best_of=_best_of(inputs),
        scores=outcome_words(inputs),
        facts=_facts(inputs),
        leaderboard=tuple(_agent_line(inputs, i, a) for i, a in enumerate(inputs.agents, 1)),
        chart=chart(main) if inputs.agents else None,
        categories=tuple(Panel(category_name(c), None, chart(f, 420), _support(inputs, c)) for c, f in categories),
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
    low, high = inputs.rollouts
    text = f"{fmt.plural(len(inputs.agents), 'agent')} on {fmt.plural(len(study.tasks), 'task')}"
    if low == high and len(inputs.task_scores) == len(inputs.agents) * len(study.tasks):
        text += f", {fmt.plural(low, 'rollout')} each: {fmt.plural(runs, 'run')}, "
    else:
        cells = fmt.plural(len(inputs.task_scores), "pair")
        text += f": {fmt.plural(runs, 'run')} of {cells} of agent and task, {_each(low, high)}, "
    text += f"{scored:,} with a final score."
    best = [r for r in inputs.outcome if r.category == OVERALL and r.avg_at_k is not None]
    if not best:
        return text + " No agent has a score."
    if not inputs.standing.ranked:
        return text
    top = max(r.avg_at_k or 0.0 for r in best)
    names = [one_line(a, 60) for a in inputs.agents if any(r.agent == a and r.avg_at_k == top for r in best)]
    who = _listing(names) if len(names) <= 3 else f"{len(names)} agents"
    return f"{text} {who} {'has' if len(names) == 1 else 'share'} the highest avg@{inputs.k}, {fmt.score(top)}."


def _each(low: int, high: int) -> str:
    return f"{fmt.plural(low, 'rollout')} each" if low == high else f"{low} to {fmt.plural(high, 'rollout')} each"


def _best_of(inputs: StudyInputs) -> str:
    low, high = inputs.rollouts
    return str(low) if low == high else f"the k rollouts of a task, which are {low} to {high}"


def _listing(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _facts(inputs: StudyInputs) -> tuple[tuple[str, str, str], ...]:
    missing = sum(r.final_score is None for r in inputs.runs)
    scored = sum(c.score is not None for rows in inputs.checkpoints.values() for c in rows)
    runs_note = "all scored" if not missing else f"{missing:,} without a final score"
    runs_note += f", {words}" if (words := among(inputs.runs)) else ""
    seeds = ", ".join(str(s) for s in inputs.study.seeds[:12]) + (", …" if len(inputs.study.seeds) > 12 else "")
    return (
        ("Runs", f"{len(inputs.runs):,}", runs_note if inputs.runs else "none yet"),
        ("Commits", f"{sum(r.n_commits for r in inputs.runs):,}", f"{scored:,} with a score"),
        ("Tasks", f"{len(inputs.study.tasks):,}", f"in {fmt.plural(len(inputs.categories), 'category', 'categories')}"),
        ("Rollouts per task, k", spelled_range(*inputs.rollouts), f"seeds {seeds}" if seeds else ""),
    )


def _rows(rows: Iterable[OutcomeRow], category: str) -> dict[str, OutcomeRow]:
    return {r.agent: r for r in rows if r.category == category}


def _outcome_figure(inputs: StudyInputs, category: str, name: str) -> fig.Figure:
    found = _rows(inputs.outcome, category)
    k = inputs.k
    # Of a family, those alone that were given a task of it.
    agents = [agent for agent in inputs.agents if category == OVERALL or agent in found]
    bars = [
        fig.Bar(
            one_line(agent, 90),
            found[agent].avg_at_k if agent in found else None,
            found[agent].best_at_k if agent in found else None,
            _bar_note(found.get(agent)),
        )
        for agent in agents
    ]
    where = "over all tasks" if category == OVERALL else f"in {category_name(category)}"
    title = f"avg@{k} (solid) and best@{k} (whole bar) {where}"
    words = unofficial(found.values(), sum(row.n_runs for row in found.values()))
    title += f", scores {words}" if words else ""
    return fig.bars(name, title, bars, solid=f"avg@{k}", total=f"best@{k}")


def _bar_note(row: OutcomeRow | None) -> str:
    if row is None or row.avg_at_k is None:
        return f"{row.n_missing} missing" if row and row.n_missing else "no score"
    words = (f"{row.n_missing} missing" if row.n_missing else "", unofficial([row], row.n_runs))
    return ", ".join(filter(None, words))


def _support(inputs: StudyInputs, category: str) -> str:
    tasks = sum(t.category == category for t in inputs.study.tasks)
    runs = [r for r in inputs.runs if r.category == category]
    missing = sum(r.final_score is None for r in runs)
    text = f"{fmt.plural(tasks, 'task')}, n = {fmt.plural(len(runs), 'run')}"
    compared = standing(r for r in inputs.outcome if r.category == category)
    alone = "" if compared.same_tasks else "not the same tasks for all: no comparison"
    words = (text, f"{missing} without a score" if missing else "", among(runs), alone)
    return ", ".join(filter(None, words))


def _agent_line(inputs: StudyInputs, rank: int, agent: str) -> AgentLine:
    row = _rows(inputs.outcome, OVERALL).get(agent)
    entry = next((a for a in inputs.study.agents if a.label == agent), None)
    why = "no run of this agent has a final score"
    avg, best = (row.avg_at_k, row.best_at_k) if row else (None, None)
    return AgentLine(
        rank=str(rank) if avg is not None and inputs.standing.ranked else "",
        agent=one_line(agent, 90),
        harness=harness(entry.harness if entry else None),
        model=one_line((entry.model if entry else None) or "", 60),
        avg=Cell(fmt.score(avg), None if avg is not None else why),
        best=Cell(fmt.score(best), None if best is not None else why),
        common=Cell(fmt.score(row.common_avg if row else None), None if row and row.common_avg is not None else why),
        support=_line_support(row, inputs) if row else "no runs",
        missing=row.n_missing if row else 0,
        reconstructed=unofficial([row], row.n_runs) if row else "",
    )


def _line_support(row: OutcomeRow, inputs: StudyInputs) -> str:
    text = f"{fmt.plural(row.n_tasks, 'task')}, n = {row.n_runs}"
    return text if inputs.k != "k" else f"{text}, k = {spelled_range(row.k_min, row.k)}"


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
            (one_line(a, 60), tuple(measure_cell(rows.get((a, t.key)), t, tops[t.key]) for t in terms))
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
            note = f"best {fmt.score(best)}{of}" + (f", {row.n_missing} missing" if row and row.n_missing else "")
            note += f", {words}" if row and (words := unofficial([row], row.k - row.n_missing)) else ""
            cells.append((cell, note if avg is not None else "", link))
        facts = [task.metric or "", "timed" if task.timed else ""]
        lines.append(
            TaskLine(
                one_line(task.name, 60),
                one_line(task.title or task.name, 90),
                category_name(task.category),
                one_line(" · ".join(f for f in facts if f), 90),
                tuple(cells),
            )
        )
    return tuple(lines)
