"""The list of all runs, and the words for how a run ended."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from loopscope.models.tables import CheckpointRow, RunRow
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.reconstruction import RECONSTRUCTED, REPORTED, final_note
from loopscope.report.text import file_name, one_line, url

STATUS = {
    "completed": ("completed", "The agent ended by itself."),
    "deadline": ("used its time", "The agent used its whole budget and was stopped: the normal end of a long run."),
    "agent_error": ("agent failed", "The agent ended with an error; what it left was scored."),
    "unknown": ("imported", "The run was imported; its log does not say how it ended."),
    "environment_error": ("environment failed", "The sandbox failed, so there is nothing of the agent's to score."),
}


@dataclass(frozen=True)
class RunLine:
    """One run in the list."""

    href: str
    task: str
    task_key: str
    agent: str
    agent_key: str
    seed: int
    status: str
    status_key: str
    final: Cell
    spread: str
    best: Cell
    c1: Cell
    c2: Cell
    c3: Cell
    c2_range: str
    """Between what C2 must lie, where not all of it was seen."""
    commits: int
    dips: Cell
    spark: Markup
    problems: int


def run_href(run_id: str) -> str:
    """Where a run's page is, from the report's folder."""
    return url(f"runs/{file_name(run_id)}.html")


def status_words(status: str) -> tuple[str, str]:
    """How a run ended: short, and in a sentence."""
    return STATUS.get(status, (one_line(status, 40), ""))


NO_SCORE = {
    "no_reward": "the verifier gave no reward",
    "unreplayable": "the state could not be put into a sandbox",
    "unreadable": "the verifier wrote something that is no number",
    "timeout": "the verifier ran out of time",
    "error": "the verification failed",
}
"""Why a verification gave no score, by its status."""


def final_missing(run: RunRow) -> str | None:
    """Why a run has no final score; None when it has one."""
    if run.final_score is not None:
        return None
    if run.imported:
        return "nothing in the transcript shows what the last state scores"
    if run.status == "environment_error":
        return "the environment failed, so nothing was scored"
    return NO_SCORE.get(run.final_status, "the final state has not been verified")


def run_lines(inputs: StudyInputs) -> tuple[RunLine, ...]:
    """All runs, by task, agent and seed."""
    return tuple(_line(run, inputs.checkpoints.get(run.run_id, ())) for run in inputs.runs)


def _cell(value: float | None, why: str) -> Cell:
    return Cell(fmt.score(value), None if value is not None else why, None, value)


def framing(run: RunRow) -> tuple[float | None, str]:
    """C1 as it is shown, and why not. By the letter of its definition it is 0 where no checkpoint has a score."""
    if run.c1 is not None and run.best_step_score is None:
        return None, "no checkpoint has a score"
    return run.c1, "the run has no checkpoint"


def c2_range(run: RunRow) -> str:
    """Between what C2 must lie, where not every delivery and build was seen; empty where it is a point."""
    if run.c2 is None or run.c2_low is None or run.c2_high is None or run.c2_high - run.c2_low < 5e-4:
        return ""
    return f"{fmt.score(run.c2_low)}–{fmt.score(run.c2_high)}"


def _below(run: RunRow) -> str:
    if run.final_source in (RECONSTRUCTED, REPORTED):
        return final_note(run)
    spread = f"spread {fmt.score(run.final_spread)}" if run.final_spread else ""
    paired = f"paired {fmt.score(run.final_paired)}" if run.final_paired is not None else ""
    return ", ".join(filter(None, (spread, paired)))


def _line(run: RunRow, checkpoints: tuple[CheckpointRow, ...]) -> RunLine:
    why = final_missing(run) or ""
    dips = Cell(
        fmt.DASH if run.n_dips is None else str(run.n_dips),
        "no scored checkpoint" if run.n_dips is None else None,
        sort=run.n_dips,
    )
    return RunLine(
        href=run_href(run.run_id),
        task=one_line(run.task, 60),
        task_key=run.task,
        agent=one_line(run.agent, 80),
        agent_key=run.agent,
        seed=run.seed,
        status=status_words(run.status)[0],
        status_key=run.status,
        final=_cell(run.final_score, why),
        spread=_below(run),
        best=_cell(run.best_step_score, "no checkpoint has a score"),
        c1=_cell(*framing(run)),
        c2_range=c2_range(run),
        c2=_cell(run.c2, "no checkpoint of the run could be observed"),
        c3=_cell(run.c3, "the run has no scored agent checkpoint"),
        commits=run.n_commits,
        dips=dips,
        spark=sparkline(checkpoints),
        problems=len(run.problems),
    )


def sparkline(checkpoints: tuple[CheckpointRow, ...]) -> Markup:
    """The run's curve in the size of a word, on the range 0..1; gaps where there is no score."""
    counted = [c for c in checkpoints if c.canonical]
    if not any(c.score is not None for c in counted):
        return Markup("")
    step = 112 / max(1, len(counted) - 1)
    places = [
        (4 + i * step, 25 - 22 * min(1.0, max(0.0, c.score))) for i, c in enumerate(counted) if c.score is not None
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    marks = Markup("").join(
        Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="2.6"/>').format(kind, 4 + i * step, 25 - 22 * c.score)
        for i, c in enumerate(counted)
        if c.score is not None and (kind := "dip" if c.is_dip_start else "recovery" if c.is_recovery else "")
    )
    return Markup(
        '<svg class="spark" viewBox="0 0 120 28" width="120" height="28" aria-hidden="true">'
        '<path class="base" d="M4 25H116"/><polyline points="{}"/>'
        '<circle class="end" cx="{:.1f}" cy="{:.1f}" r="2.2"/>{}</svg>'
    ).format(line, *places[-1], marks)
