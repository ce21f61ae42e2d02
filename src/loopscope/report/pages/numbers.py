"""The numbers of a run, each with its reason where it is missing: at the head of its page, and below."""

from __future__ import annotations

from dataclasses import dataclass

from loopscope.models.tables import RunRow
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.glossary import MEASURES
from loopscope.report.pages.reconstruction import final_note
from loopscope.report.pages.runs import c2_range, final_missing, framing

_ELSEWHERE = ("c1", "c2", "c3", "last_rising", "runs_with_dip", "evaluated_before_commit")
"""Measures that stand at the head of the page, or that only a group of runs has."""


@dataclass(frozen=True)
class Fact:
    """One number at the head of the page."""

    name: str
    cell: Cell
    note: str = ""
    anchor: str = ""


def facts(run: RunRow) -> tuple[Fact, ...]:
    """Outcome and process, for the head of the page."""

    def cell(value: float | None, why: str) -> Cell:
        return Cell(fmt.score(value), None if value is not None else why)

    return (
        Fact(
            "Final score",
            cell(run.final_score, final_missing(run) or ""),
            final_note(run) if run.final_score is not None else "",
            "final",
        ),
        Fact("Best step", cell(run.best_step_score, "no checkpoint has a score"), "", "score"),
        Fact("C1 Framing", cell(*framing(run)), "", "c1"),
        Fact("C2 Execution", cell(run.c2, "no checkpoint could be observed"), _c2_note(run), "c2"),
        Fact("C3 Feedback", cell(run.c3, "the run has no scored agent checkpoint"), _c3_note(run), "c3"),
    )


def _c2_note(run: RunRow) -> str:
    return f"{found}, whatever was not seen" if (found := c2_range(run)) else ""


def _c3_note(run: RunRow) -> str:
    if run.c3 is None:
        return ""
    noise = f", {run.dips_within_noise} within the noise" if run.dips_within_noise else ""
    return f"over {fmt.plural(run.rounds_T or 0, 'round')}, {fmt.plural(run.n_dips or 0, 'dip')}{noise}"


def minor(run: RunRow) -> tuple[tuple[str, Cell], ...]:
    """Every other number by its name: what the run took, and the measures that do not stand at the head."""

    def cell(text: str, why: str = "not recorded") -> Cell:
        return Cell(text, why if text == fmt.DASH else None)

    named = [k for k in MEASURES if k not in _ELSEWHERE]
    rest = [(MEASURES[k].name, getattr(run, "rounds_T" if k == "rounds" else k), MEASURES[k]) for k in named]
    return (
        ("Wall clock", cell(fmt.seconds(run.duration_sec))),
        ("Agent's time", cell(fmt.seconds(run.agent_sec))),
        ("Cost", cell(fmt.usd(run.cost_usd))),
        ("Tokens", cell(fmt.tokens(run.tokens))),
        ("Tool calls", cell(fmt.count(run.tool_calls))),
        *(
            (name, cell(t.show(value), "not defined for this run: " + t.missing.replace("of this agent ", "")))
            for name, value, t in rest
        ),
    )


def support(run: RunRow) -> tuple[tuple[str, Cell], ...]:
    """How the harness's own tools were used; nothing of a run without a transcript."""
    counts = (
        ("Planning calls", run.plan_calls),
        ("Failed tool calls", run.failed_calls),
        ("Failed, then changed", run.failed_then_changed),
        ("Background commands", run.background),
        ("Subagents", run.subagents),
        ("Compactions", run.compactions),
        ("Resumes", run.resumes),
    )
    return tuple((name, Cell(fmt.count(count))) for name, count in counts if count is not None)
