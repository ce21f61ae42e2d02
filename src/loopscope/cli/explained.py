"""An explanation as text that a person can follow: wrapped, and with nothing of an agent's that moves a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from rich.text import Text

from loopscope.analysis.explain.model import (
    Attempt,
    BuildTold,
    CandidateTold,
    CheckpointTold,
    EpisodeTold,
    EvaluationTold,
    Execution,
    Explanation,
    Feedback,
    Framing,
    ScoreTold,
    Step,
    Transition,
)
from loopscope.cli.console import plain
from loopscope.cli.tables import MISSING, counted
from loopscope.models import Moment

_SHORT = 12
"""Signs of a commit's id."""
_EXACT = 12
"""An exact number of so many signs stands for itself; a longer one is rounded, and follows in brackets."""
_COMMAND = 160
"""Signs of a command."""
_LISTED = 12
"""So many evaluations of one score are listed; all are in the JSON."""


class Page:
    """Lines of at most `width` columns, but for words that are longer."""

    def __init__(self, width: int) -> None:
        self.width = max(40, width)
        self.text = Text()

    def head(self, title: str, said: str = "") -> None:
        """A section."""
        self.text.append(f"\n{title}" if self.text else title, "bold")
        self.text.append(f"  {_clean(said)}\n" if said else "\n")

    def line(self, said: str, indent: int = 2, style: str = "") -> None:
        """A line; what does not fit goes on below, further in."""
        room = self.width - indent
        lines = textwrap.wrap(
            _clean(said), room, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
        )
        for one in lines or [""]:
            self.text.append(" " * indent + one + "\n", style)

    def steps(self, steps: Iterable[Step], indent: int = 2) -> None:
        """A line for each."""
        for step in steps:
            self.line(step_line(step), indent)


def _clean(said: str) -> str:
    return Text.from_markup(plain(said)).plain


def value_text(step: Step) -> str:
    """The number as a person reads it: short, and exactly where that is another."""
    if step.value is None:
        return MISSING
    if isinstance(step.value, bool):
        return "yes" if step.value else "no"
    if step.exact is None:
        return f"{step.value:.6g}"
    if len(step.exact) <= _EXACT and "/" not in step.exact:
        return step.exact
    return f"{step.value:.6f}" + (f" (exactly {step.exact})" if len(step.exact) <= 2 * _EXACT else "")


def step_line(step: Step) -> str:
    """`name = formula = terms = value; note`."""
    value = value_text(step)
    parts = [step.formula, step.terms or ""]
    made = " = ".join(part for part in parts if part and part != value)
    said = f"{step.name} = {value}" if not made else f"{step.name} = {made} = {value}"
    return f"{said}; {step.note}" if step.note else said


def explanation_text(told: Explanation, width: int) -> Text:
    """All sections that are there."""
    page = Page(width)
    _head(page, told)
    if told.checkpoints:
        page.head("checkpoints", "#position, i of x_i (only what the gate kept has one), commit")
        for checkpoint in told.checkpoints:
            _checkpoint(page, checkpoint)
    if told.outcome is not None:
        page.head("score", value_text(told.outcome.step))
        _score(page, told.outcome, 2)
    if told.outcome_steps:
        page.steps(told.outcome_steps)
    if told.c1 is not None:
        _framing(page, told.c1)
    if told.c2 is not None:
        _execution(page, told.c2)
    if told.c3 is not None:
        _feedback(page, told.c3)
    for title, steps in (
        ("diagnostics", told.diagnostics),
        ("extras", told.extras),
        ("transcript", told.transcript),
        ("usage", told.usage),
    ):
        if steps:
            page.head(title)
            page.steps(steps)
    _remarks(page, told)
    return page.text


def _head(page: Page, told: Explanation) -> None:
    page.head(told.run_id)
    model = f", model {told.model}" if told.model else ""
    page.line(
        f"task {told.task} ({told.category}), agent {told.agent} ({told.harness}{model}), seed {told.seed}, "
        f"ended: {told.status}"
    )
    if told.imported:
        page.line(
            f"imported from {told.imported}: no official score; what the transcript shows is marked reconstructed"
        )
    page.line("m12 is message 12 of the transcript, as evidence.json and its log count; s3 is a state of the artifact")


def _checkpoint(page: Page, told: CheckpointTold) -> None:
    _title(page, told)
    gate = "kept" if told.canonical else "removed"
    page.line(f"gate: {gate}, {told.gate_reason}", 4)
    _score(page, told.score, 4)
    page.line(_window(told), 4)
    if told.claimed is not None:
        page.line(f"its message claims {told.claimed}", 4)
    for remark in told.remarks:
        page.line(f"remark: {remark}", 4, "yellow")


def _title(page: Page, told: CheckpointTold) -> None:
    index = f"x_{told.index}" if told.index is not None else MISSING
    at = f", {_at(told.at)}" if told.at else ""
    state = f", state {told.state}" if told.state is not None else ""
    kind = f", {told.kind}" if told.kind else ""
    known = f", known by {told.source}" + (f" (confirmed by {told.confirmed_by})" if told.confirmed_by else "")
    page.line(f'#{told.position}  {index}  {told.sha[:_SHORT]}  "{_cut(told.subject)}"', 2, "bold")
    page.line(f"{told.grade}{known}{at}{state}{kind}", 4)


def _window(told: CheckpointTold) -> str:
    known = {
        "builds": told.builds,
        "code failures": told.build_failures,
        "environment failures": told.env_failures,
        "candidates": told.candidates,
    }
    if all(count is None for count in known.values()):
        return "window: unknown, for no transcript segment is matched"
    said = ", ".join(f"{name} {'unknown' if count is None else count}" for name, count in known.items())
    before = {True: "; evaluated before the commit", False: "; not evaluated before the commit", None: ""}
    return f"window: {said}{before[told.evaluated_before_commit]}"


def _score(page: Page, told: ScoreTold, indent: int) -> None:
    page.line(step_line(told.step) + (f" [{told.origin}, {told.grade}]" if told.step.value is not None else ""), indent)
    if told.file:
        odd = [f"{v.status}: {v.reason}" for v in told.verifications if v.reason]
        other = f", made for {told.verifier_run}" if told.verifier_run else ""
        page.line(
            f"from {counted(len(told.verifications), 'verification')} in {told.file}{other}"
            + (f" ({'; '.join(dict.fromkeys(odd))})" if odd else ""),
            indent + 2,
        )
    if told.reconstruction is not None:
        page.line(step_line(told.reconstruction), indent + 2)
        _evaluations(page, told.evaluations, indent + 4)
        page.steps(told.rewards, indent + 4)


def _evaluations(page: Page, evaluations: tuple[EvaluationTold, ...], indent: int) -> None:
    for told in evaluations[:_LISTED]:
        page.line(_evaluation(told), indent)
    if len(evaluations) > _LISTED:
        page.line(f"and {len(evaluations) - _LISTED} more", indent)


def _evaluation(told: EvaluationTold) -> str:
    seen = told.seen
    shown = f" (shown in m{seen.result_message})" if seen.result_message not in (None, seen.at.message) else ""
    raw = f": {', '.join(map(str, seen.raw))}" if seen.raw else ""
    rewards = f" -> {', '.join(map(str, seen.rewards))}" if seen.rewards else ""
    state = f" on state {seen.state}{'' if seen.certain else ' (not certain)'}" if seen.state is not None else ""
    left = "" if seen.counted else "; does not count"
    why = f"; {seen.reason}" if seen.reason else ""
    return f"{_at(seen.at)} {_cut(seen.command)}{state}: {seen.role}, {seen.status}{raw}{rewards}{shown}{left}{why}"


def _build(told: BuildTold) -> str:
    seen = told.seen
    state = f" of state {seen.state}" if seen.state is not None else ""
    left = "" if seen.counted else "; does not count"
    after = "; what it then ran failed" if seen.runtime_failure else ""
    return f"{_at(seen.at)} {_cut(seen.tool)}{state}: {seen.status}, {seen.reason}{after}{left}"


def _candidate(told: CandidateTold) -> str:
    return f"{', '.join(map(_at, told.at))} {_cut(told.command)} on state {told.state}"


def _at(moment: Moment) -> str:
    return f"m{moment.message}" + ("" if moment.thread == "main" else f" of {moment.thread}")


def _cut(text: str) -> str:
    return text if len(text) <= _COMMAND else text[: _COMMAND - 1] + "…"


def _framing(page: Page, c1: Framing) -> None:
    page.head("c1", f"framing: {value_text(c1.c1)}")
    for mark in c1.marks:
        x = MISSING if mark.x is None else mark.x
        beyond = "" if mark.counts else "  (beyond the horizon)"
        page.line(f"x_{mark.i} = {x}  h_{mark.i} = {mark.h}  #{mark.position} {mark.sha[:_SHORT]}{beyond}")
    page.steps((c1.early, c1.middle, c1.late, c1.c1))


def _execution(page: Page, c2: Execution) -> None:
    page.head("c2", f"execution: {value_text(c2.c2)}")
    for attempt in c2.attempts:
        _attempt(page, attempt)
    page.steps((c2.c2, c2.as_zero, c2.as_one, c2.low, c2.high))


def _attempt(page: Page, told: Attempt) -> None:
    name = f"x_{told.i}  #{told.position} {told.sha[:_SHORT]}"
    if told.score is None:
        why = f" ({told.g_reason})" if told.g_reason and told.g is None else ""
        page.line(f"{name}  not in I: {told.left_out}{why}")
        return
    reason = f" ({told.g_reason})" if told.g_reason else ""
    n = "unknown" if told.n is None else told.n
    page.line(f"{name}  g = {int(bool(told.g))}{reason}, n = {n}: {step_line(told.score)}")
    for build in told.failures:
        page.line(f"failed build {_build(build)}", 6)
    if told.note:
        page.line(told.note, 6)


def _feedback(page: Page, c3: Feedback) -> None:
    page.head("c3", f"feedback control: {value_text(c3.c3)}")
    scores = ", ".join(f"{'y_0 = ' if at.boundary else ''}x_{at.i} = {at.y}" for at in c3.observed)
    page.line(f"observed: {scores or 'nothing'}")
    if c3.dropped:
        names = ", ".join(f"x_{i}" for i in c3.dropped)
        page.line(f"without a score, so that their neighbours are compared: {names}")
    page.steps((c3.f, c3.peak, c3.a1))
    for episode in c3.episodes:
        _episode(page, episode)
    page.steps((c3.a2, c3.c3))


def _episode(page: Page, told: EpisodeTold) -> None:
    page.line(f"dip {told.episode}: from x_{told.before_i} to x_{told.start_i}, recovery {told.recovery}", 2, "bold")
    page.line(f"target: {told.found}", 4)
    for transition in told.transitions:
        _transition(page, transition)
    page.steps(told.steps, 4)


def _transition(page: Page, told: Transition) -> None:
    known = "" if told.a_known else " (some unknown, which are not discounted)"
    page.line(f"into x_{told.i}: a = {told.a}{known}, u = max(0, a - 1) = {told.u}, d(u) = {told.d}", 4)
    for pair in told.candidates:
        page.line(f"candidate {_candidate(pair)}", 6)
    if told.note:
        page.line(told.note, 6)


def _remarks(page: Page, told: Explanation) -> None:
    remarks = [f"{flag.flag}: {flag.meaning}" for flag in told.flags]
    remarks += [f"disagreement: {said}" for said in told.disagreements]
    remarks += [f"problem: {said}" for said in told.problems]
    if remarks:
        page.head("remarks")
        for remark in remarks:
            page.line(remark)


def checkpoint_text(told: Explanation, width: int) -> Text:
    """One commit with everything in its window."""
    page = Page(width)
    _head(page, told)
    for one in told.checkpoints or ():
        page.head(f"commit {one.position}")
        _checkpoint(page, one)
        page.line(f"g: {_answer(one.delivered)}" + (f", {one.delivered_reason}" if one.delivered_reason else ""), 4)
        by_state = (one.builds_by_state, one.build_failures_by_state, one.candidates_by_state)
        if any(count is not None for count in by_state):
            counts = ", ".join(MISSING if count is None else str(count) for count in by_state)
            page.line(f"on this very state, whenever: builds, code failures, candidates: {counts}", 4)
        page.line(f"builds in its window: {len(one.builds_seen) or 'none seen'}", 4)
        for build in one.builds_seen:
            page.line(_build(build), 6)
        page.line(f"evaluations in its window: {len(one.evaluations_seen) or 'none seen'}", 4)
        for evaluation in one.evaluations_seen:
            page.line(_evaluation(evaluation), 6)
        page.line(f"candidates, distinct pairs of state and command: {len(one.candidates_seen) or 'none seen'}", 4)
        for pair in one.candidates_seen:
            page.line(_candidate(pair), 6)
    return page.text


def _answer(answer: bool | None) -> str:
    return {True: "1", False: "0", None: "not observable"}[answer]
