"""`power`: how small a difference a study can find, and what it takes and costs to find half of it. Runs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from loopscope.cli.console import Bars, Exit, err, out, plain, print_json, verb
from loopscope.cli.shown import MISSING
from loopscope.cli.tables import counted, plain_table
from loopscope.models.standing import spelled_interval

if TYPE_CHECKING:
    from loopscope.analysis.power import Design
    from loopscope.analysis.power_report import Comparison, PowerReport, Price, Step

_MOST_PAIRS = 10
"""Rows of the table; of more, the pooled pair alone."""
_READINGS = {"random_tasks": "random tasks", "fixed_tasks": "fixed tasks"}


@verb
def power(
    study: Annotated[
        Path, typer.Argument(help="The study's directory, or its file, also before it was run.", show_default=False)
    ],
    alpha: Annotated[float, typer.Option(help="How often a difference may be found where none is.")] = 0.05,
    chance: Annotated[
        float, typer.Option("--power", help="How often a difference that is there is to be found.")
    ] = 0.8,
    effect: Annotated[
        float | None, typer.Option("--effect", help="Also: what it takes to find a difference of this size.")
    ] = None,
    category: Annotated[str | None, typer.Option(help="Only the tasks of this family.", show_default="all")] = None,
    seed_sd: Annotated[
        float | None,
        typer.Option(
            "--assume-seed-sd",
            help="Take this for the standard deviation of an agent's score between seeds of a task.",
            show_default="from the runs",
        ),
    ] = None,
    task_sd: Annotated[
        float | None,
        typer.Option(
            "--assume-task-sd",
            help="Take this for the standard deviation, between tasks of a family, of two agents' true difference.",
            show_default="from the runs",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Show how small a difference the study can find, and how many seeds or tasks find half of it, at which price."""
    from loopscope.analysis.power import Question, study_power

    question = Question(alpha, chance, effect, category, seed_sd, task_sd)
    design, rows, faults = _studied(study)
    found = study_power(design, rows, question)
    print_json(found) if json else _tell(found)
    if faults:
        raise typer.Exit(Exit.FAILED)


def _studied(study: Path) -> tuple[Design, Sequence[Mapping[str, Any]], int]:
    """(design, rows of the runs, runs that our own code fails on): of a study that has runs, else of its file.

    Raises:
        RecordError, StudyError, TaskError: there is neither, or a task of the file cannot be read.
    """
    from loopscope.analysis.build import analyze
    from loopscope.analysis.power import design_of
    from loopscope.records import StudyStore
    from loopscope.records.studyfile import STUDY_FILE, locate

    file, directory = locate(study) if study.is_file() else (study / STUDY_FILE, study)
    if not (directory / "runs").is_dir() and file.is_file():
        return _planned(file), (), 0
    bars = Bars()
    with bars.running():
        result = analyze(
            directory,
            lambda done, total, name: bars.update("analyze", done, total, ""),
            workers=len(os.sched_getaffinity(0)),
        )
    for warning in result.summary.warnings:
        err.print(f"[yellow]warning:[/] {plain(warning)}")
    return design_of(result, StudyStore.open(directory)), result.frames["runs"].to_dicts(), result.faults


def _planned(file: Path) -> Design:
    """The design of a study that was never run."""
    from loopscope.analysis.power import Design
    from loopscope.records.studyfile import load_study
    from loopscope.tasks.catalog import resolve
    from loopscope.tasks.load import load_task

    spec = load_study(file)
    sources = [resolve(name, file.parent) for name in spec.tasks]
    tasks = [load_task(source.directory, builtin=source.builtin) for source in sources]
    agents = tuple(agent.label for agent in spec.agents)
    return Design(spec.name, agents, {t.name: t.category for t in tasks}, len(spec.seeds), frozenset(agents))


def _tell(found: PowerReport) -> None:
    """One screen: the table, then what it takes in sentences."""
    where = f" of the family {found.category}" if found.category else f" in {_families(found.families)}"
    out.print(
        f"{plain(found.study)}: {counted(len(found.agents), 'agent')}, {counted(found.tasks, 'task')}{plain(where)}, "
        f"{counted(found.k, 'seed')}; {found.runs_scored} of {counted(found.runs_planned, 'run')} have a score",
        soft_wrap=True,
    )
    _table(found)
    main = [
        c for c in found.comparisons if (c.first, c.second) == (found.comparisons[0].first, found.comparisons[0].second)
    ]
    for comparison in main:
        out.print(plain(" ".join(_sentences(comparison, found))))
    out.print(f"price: {_prices(found.prices) if found.runs_scored else 'unknown, as nothing was run'}")
    for note in found.notes:
        err.print(f"[yellow]note:[/] {plain(note)}", soft_wrap=True)


def _families(count: int) -> str:
    return "1 family" if count == 1 else f"{count} families"


def _table(found: PowerReport) -> None:
    kinds = list(dict.fromkeys((c.measure, c.reading) for c in found.comparisons))
    rows: dict[str, dict[tuple[str, str], Comparison]] = {}
    for comparison in found.comparisons:
        rows.setdefault(_pair(comparison), {})[comparison.measure, comparison.reading] = comparison
    shown = list(rows)[: 1 if len(rows) > _MOST_PAIRS else None]
    heads = ["difference of", *(f"{_measure(m, found.k)}, {_READINGS[r]}" for m, r in kinds)]
    lines = [[plain(name), *(_size(rows[name][kind]) for kind in kinds)] for name in shown]
    table = plain_table(heads, lines, numbers=True)
    hidden = f"; the {len(rows) - 1} pairs one by one: --json" if len(shown) < len(rows) else ""
    out.print(table)
    out.print(
        f"the smallest that is found in {100 * found.power:g} of 100 such studies at alpha {found.alpha:g}{hidden}; "
        "random tasks: also on others like them; fixed tasks: on just these"
    )
    if any(c.detectable is not None for c in found.comparisons):
        out.print(f"rough: {_ground(found)}")


def _ground(found: PowerReport) -> str:
    """What the spread is known from, and what the brackets say of that."""
    if found.assumed_seed_sd is not None or found.assumed_task_sd is not None:
        return "the spread is in part or all an assumption, which has no interval"
    ground = f"the spread is estimated from {counted(found.tasks, 'task')} and {counted(found.runs_scored, 'run')}"
    if all(c.detectable_low is None for c in found.comparisons):
        return f"{ground}, too little for an interval"
    return (
        rf"{ground}; \[low, high]: 95 % interval for what that leaves open; the seeds, tasks and price that a given "
        "difference takes go with the square of it"
    )


def _pair(comparison: Comparison) -> str:
    return "any two, pooled" if comparison.first is None else f"{comparison.first}, {comparison.second}"


def _measure(measure: str, k: int) -> str:
    return f"{measure.removesuffix('_at_k')}@{k}"


def _size(comparison: Comparison) -> str:
    """`0.079 [0.062, 0.11]`; a difference that nothing tells is missing."""
    if comparison.detectable is None:
        return MISSING
    return f"{comparison.detectable:.2g} {escape(_ends(comparison))}"


def _ends(comparison: Comparison) -> str:
    low, high = comparison.detectable_low, comparison.detectable_high
    return spelled_interval(low, high, lambda value: f"{value:.2g}")


def _sentences(comparison: Comparison, found: PowerReport) -> Iterator[str]:
    """What a pair can find with one reading, what half of it takes, and what the asked difference takes."""
    begin = f"{_measure(comparison.measure, found.k)}, {_READINGS[comparison.reading]}:"
    size = comparison.detectable
    if size is None:
        yield f"{begin} {comparison.reason}."
    else:
        beyond = ", which no difference of scores reaches" if size > 1 else ""
        takes = _takes(comparison, comparison.half_by_seeds, comparison.half_by_tasks)
        yield f"{begin} from {size:.2g} {_ends(comparison)} on{beyond}. Half of it, {size / 2:.2g}, takes {takes}."
    if found.effect is None:
        return
    if size is not None and comparison.effect_chance is not None:
        low, high = comparison.effect_chance_low, comparison.effect_chance_high
        ends = spelled_interval(low, high, lambda share: f"{100 * share:.0f}")
        chance = f"{100 * comparison.effect_chance:.0f} {ends}"
        yield f"A difference of {found.effect:g} is found in {chance} of 100 such studies"
        if size <= found.effect:
            yield "as it is."
            return
        yield f"and takes {_takes(comparison, comparison.effect_by_seeds, comparison.effect_by_tasks)}."
    elif comparison.effect_by_tasks or comparison.effect_by_seeds:
        takes = _takes(comparison, comparison.effect_by_seeds, comparison.effect_by_tasks)
        yield f"A difference of {found.effect:g} takes {takes}."


def _takes(comparison: Comparison, seeds: Step | None, tasks: Step | None) -> str:
    """How many seeds, or how many tasks, with the price of each."""
    ways = [f"{counted(n, what)} ({_price(step)})" for n, what, step in _steps(seeds, tasks)]
    if seeds is None:
        known = comparison.seed_sd is not None
        few = (
            "no number of seeds is enough" if known else "one seed does not tell what more would do (--assume-seed-sd)"
        )
        return "; ".join([*ways, few]) if ways else f"more than any number of tasks; {few}"
    return " or ".join(ways)


def _steps(seeds: Step | None, tasks: Step | None) -> Iterator[tuple[int, str, Step]]:
    if seeds is not None:
        yield seeds.seeds, "seed", seeds
    if tasks is not None:
        yield tasks.tasks, "task", tasks


def _price(step: Step) -> str:
    amounts = [_amount(unit, value) for unit, value in step.price.items()]
    return ", ".join([f"{counted(step.runs_added, 'run')} more", *amounts])


def _amount(unit: str, value: float) -> str:
    if unit == "agent_sec":
        if value < 600:
            return f"{value:.0f} s"
        return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"
    return f"{value:,.0f} tokens" if unit == "tokens" else f"{value:,.2f} USD"


_UNITS = {
    "cost_usd": "as agents or logs say",
    "priced_usd": "at list prices of the tokens",
    "agent_sec": "of the agents' own time",
    "tokens": "in and out",
}


def _prices(prices: Sequence[Price]) -> str:
    if not prices:
        return "unknown: at least one agent has no run that says what it used"
    return "; ".join(
        f"{_amount(p.unit, p.per_run)} a run {_UNITS[p.unit]}, known for {p.known} of {counted(p.runs, 'run')}"
        for p in prices
    )
