"""The explanation of a number of a study, or of a difference of two, as text: value, error, interval, tasks, runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from loopscope.analysis.explain.number_model import DifferenceTold, NumberTold, RunOfNumber, TaskOfNumber
from loopscope.cli.explained_lines import Page
from loopscope.cli.shown import MISSING
from loopscope.cli.tables import counted
from loopscope.models.standing import C2, spelled_interval, spelled_range

_SCORES = ("avg_at_k", "best_at_k")
_OFFICIAL = "official"


def number_text(told: NumberTold, width: int) -> Text:
    """The number first, then of what it is made."""
    page = Page(width)
    _head(page, told)
    page.head("interval", f"{told.level * 100:g} %")
    for line in _interval_lines(told):
        page.line(line)
    page.head("tasks", "its value; the variance of that over seeds; its runs" if told.tasks else "none has a run")
    for task in told.tasks:
        _task(page, task, of_score=told.measure in _SCORES)
    return page.text


def difference_text(told: DifferenceTold, width: int) -> Text:
    """The difference and what may be said of it first, then of what it is made."""
    page = Page(width)
    page.head(f"{told.measure} of {told.first} against {told.second}", f"{told.category}, {told.reading}")
    page.line(f"difference = {_spelled(told.difference)} {_ends(told)}: mean over common tasks of first less second")
    page.line(told.verdict)
    page.line(f"{counted(told.n_tasks, 'common task')}: {told.wins} won, {told.losses} lost, {told.ties} tied")
    if told.missing_low is not None and told.missing_high is not None:
        open_ = "whatever was not seen" if told.measure == C2 else "with the missing scores"
        ends = f"between {_spelled(told.missing_low)} and {_spelled(told.missing_high)}"
        turns = "; that could reverse what was found" if told.reversible else ""
        page.line(f"{open_} {ends}{_outer(told)}{turns}")
    _notes(page, told.guard)
    page.head("test")
    if told.p is None:
        page.line("none: no task has a number of both")
    else:
        page.line(
            f"p = {_spelled(told.p)}, at least {_spelled(told.p_least)} whatever the difference: {told.p_formula}"
        )
        page.line(f"corrected p = {_spelled(told.p_adjusted)}: Holm's, of {counted(told.family, 'comparison')}")
    page.head("interval", f"{told.level * 100:g} %")
    for line in _interval_lines(told):
        page.line(line)
    page.head("tasks", "first less second; the runs of each")
    of_score = told.measure in _SCORES
    for task in told.tasks:
        terms = f"{_spelled(task.first)} - {_spelled(task.second)}"
        page.line(f"{task.task} ({task.category}) = {terms} = {_spelled(task.difference)}", 2, "bold")
        for agent, runs in ((told.first, task.first_runs), (told.second, task.second_runs)):
            page.line(f"{agent}: {_runs(runs, of_score=of_score)}", 4)
    return page.text


def _head(page: Page, told: NumberTold) -> None:
    page.head(f"{told.measure} of {told.agent}", f"{told.category}, {told.reading}")
    page.line(f"{told.measure} = {_spelled(told.value)} {_ends(told)}: {told.value_formula}")
    without = f"; {counted(told.n_missing, 'rollout')} without one, left out" if told.n_missing else ""
    page.line(f"made of {counted(told.n_tasks, 'task')} and {counted(told.n_runs, 'run')} with a value{without}")
    if told.missing_low is not None and told.missing_high is not None:
        low, high = _spelled(told.missing_low), _spelled(told.missing_high)
        of_scores = f"with the missing scores: {low} if all are 0, {high} if 1"
        words = f"whatever was not seen: between {low} and {high}" if told.measure == C2 else of_scores
        page.line(f"{words}{_outer(told)}")
    if told.best_place is not None and told.worst_place is not None:
        whatever = "" if told.missing_low is None else ", whatever is missing"
        page.line(f"place {spelled_range(told.best_place, told.worst_place)} by the numbers as they are{whatever}")
    _notes(page, told.guard)


def _notes(page: Page, guards: str | None) -> None:
    for guard in guards.split("; ") if guards else ():
        page.line(f"note: {guard}", 2, "yellow")


def _interval_lines(told: NumberTold | DifferenceTold) -> Iterator[str]:
    if told.se is None:
        yield f"none: {told.guard or 'the data say nothing of the spread'}"
        return
    yield f"se = {_spelled(told.se)}: {told.se_formula}"
    quantile = "" if told.t is None else f"; t = {told.t:.6g}, Student's quantile"
    yield f"degrees of freedom {MISSING if told.df is None else f'{told.df:.4g}'} (Satterthwaite){quantile}"
    if told.method is None:
        yield "no interval: nothing differs, and nothing bounds the values"
    else:
        yield f"method {told.method}: {told.interval_formula}"


def _task(page: Page, told: TaskOfNumber, *, of_score: bool) -> None:
    spread = "" if told.seed_variance is None else f"; variance {_spelled(told.seed_variance)}"
    page.line(f"{told.task} ({told.category}) = {_spelled(told.value)}{spread}", 2, "bold")
    page.line(_runs(told.runs, of_score=of_score), 4)


def _runs(told: Sequence[RunOfNumber], *, of_score: bool) -> str:
    return "; ".join(_run(run, of_score=of_score) for run in told) or "no run"


def _run(told: RunOfNumber, *, of_score: bool) -> str:
    """`0.5 toy__a__s1`; a score that no verifier gave says from where it is."""
    other = of_score and told.source not in (None, _OFFICIAL) and told.value is not None
    return f"{_spelled(told.value)} {told.run_id}" + (f" ({told.source})" if other else "")


def _outer(told: NumberTold | DifferenceTold) -> str:
    """The outer ends of the intervals of both ends."""
    if told.outer_low is None or told.outer_high is None:
        return ""
    return f"; from the lower end of the one's interval to the upper of the other's: {_reach(told)}"


def _reach(told: NumberTold | DifferenceTold) -> str:
    return spelled_interval(told.outer_low, told.outer_high, _spelled)


def _ends(told: NumberTold | DifferenceTold) -> str:
    return spelled_interval(told.low, told.high, _spelled)


def _spelled(value: float | None) -> str:
    return MISSING if value is None else f"{value:.6g}"
