"""An explanation as text that a person can follow, section by section."""

from __future__ import annotations

from rich.text import Text

from loopscope.analysis.explain.model import Attempt, EpisodeTold, Execution, Explanation, Feedback, Framing, Transition
from loopscope.analysis.explain.told import CheckpointTold, ScoreTold
from loopscope.cli.explained_lines import (
    SHORT,
    Page,
    build_line,
    candidate_line,
    cut,
    evaluation_in_short,
    evaluation_line,
    how_made,
    moment_text,
    step_line,
    value_text,
)
from loopscope.cli.explained_short import short_section
from loopscope.cli.shown import MISSING
from loopscope.cli.tables import counted


def explanation_text(told: Explanation, width: int) -> Text:
    """All sections that are there."""
    page = Page(width)
    _head(page, told)
    if all(part is not None for part in (told.checkpoints, told.outcome, told.c1, told.c2, told.c3)):
        short_section(page, told)
    if told.checkpoints:
        page.head("checkpoints", "#position, i of x_i (only what the gate kept has one), commit")
        for checkpoint in told.checkpoints:
            _checkpoint(page, checkpoint, whole=False)
    if told.outcome is not None:
        page.head("score", value_text(told.outcome.step))
        _score(page, told.outcome, 2, whole=False)
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
            f"imported from {told.imported}: no official score; what its log states is marked "
            "reported, what the transcript shows reconstructed"
        )
    page.line("m12 is message 12 of the transcript (its index, as in evidence.json); d(0..4) = 1, .85, .7, .6, .5")


def _checkpoint(page: Page, told: CheckpointTold, *, whole: bool) -> None:
    _title(page, told)
    gate = "kept" if told.canonical else "removed"
    page.line(f"gate: {gate}, {told.gate_reason}", 4)
    _score(page, told.score, 4, whole=whole)
    page.line(_window(told), 4)
    if told.claimed is not None:
        page.line(f"its message claims {told.claimed}", 4)
    for remark in told.remarks:
        page.line(f"remark: {remark}", 4, "yellow")


def _title(page: Page, told: CheckpointTold) -> None:
    index = f"x_{told.index}" if told.index is not None else MISSING
    at = f", {moment_text(told.at)}" if told.at else ""
    state = f", state {told.state}" if told.state is not None else ""
    kind = f", {told.kind}" if told.kind else ""
    known = f", known by {told.source}" + (f" (confirmed by {told.confirmed_by})" if told.confirmed_by else "")
    page.line(f'#{told.position}  {index}  {told.sha[:SHORT]}  "{cut(told.subject)}"', 2, "bold")
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


def _score(page: Page, told: ScoreTold, indent: int, *, whole: bool) -> None:
    """`whole`: each evaluation with its command and reason, and the formula of each reward."""
    made = told.reconstruction
    shown = made if made is not None and told.origin == "reconstructed" else told.step
    known = told.origin if told.origin == told.grade else f"{told.origin}, {told.grade}"
    how = "" if told.step.value is None else f" ({known})"
    page.line(f"{told.step.name} = {value_text(told.step)}{how}{how_made(shown)}", indent)
    if told.file:
        odd = [f"{v.status}: {v.reason}" for v in told.verifications if v.reason]
        other = f", made for {told.verifier_run}" if told.verifier_run else ""
        page.line(
            f"from {counted(len(told.verifications), 'verification')} in {told.file}{other}"
            + (f" ({'; '.join(dict.fromkeys(odd))})" if odd else ""),
            indent + 2,
        )
    if told.where is not None:
        verb = "from" if told.origin == "reported" else "the log also states one, in"
        page.line(f"{verb} {told.where} of the log", indent + 2)
    if made is None:
        return
    if shown is not made:
        page.line(f"beside it, by the transcript: {step_line(made)}", indent + 2)
    if whole:
        for evaluation in told.evaluations:
            page.line(evaluation_line(evaluation), indent + 2)
        page.steps(told.rewards, indent + 2)
    else:
        page.line(f"evaluations: {'; '.join(evaluation_in_short(one) for one in told.evaluations)}", indent + 2)
        for step in [step for step in told.rewards if step.exact == made.exact][:1]:
            page.line(f"{step.name} = {value_text(step)}: {step.terms or f'{step.formula}; {step.note}'}", indent + 2)


def _framing(page: Page, c1: Framing) -> None:
    page.head("c1", f"framing: {value_text(c1.c1)}")
    for mark in c1.marks:
        x = MISSING if mark.x is None else mark.x
        beyond = "" if mark.counts else "  (beyond the horizon)"
        page.line(f"x_{mark.i} = {x}  h_{mark.i} = {mark.h}  #{mark.position} {mark.sha[:SHORT]}{beyond}")
    page.steps((c1.early, c1.middle, c1.late, c1.c1))


def _execution(page: Page, c2: Execution) -> None:
    page.head("c2", f"execution: {value_text(c2.c2)}")
    for attempt in c2.attempts:
        _attempt(page, attempt)
    page.steps([c2.c2])
    others = (c2.as_zero, c2.as_one, c2.low, c2.high)
    if c2.c2.exact is not None and all(step.exact == c2.c2.exact for step in others):
        page.line(f"nothing is unknown: {', '.join(step.name for step in others)} are the same")
    else:
        page.steps(others)


def _attempt(page: Page, told: Attempt) -> None:
    name = f"x_{told.i}  #{told.position} {told.sha[:SHORT]}"
    if told.score is None:
        why = f" ({told.g_reason})" if told.g_reason and told.g is None else ""
        page.line(f"{name}  not in I: {told.left_out}{why}")
        return
    reason = f" ({told.g_reason})" if told.g_reason else ""
    n = "unknown" if told.n is None else told.n
    page.line(f"{name}  g = {int(bool(told.g))}{reason}, n = {n}: {step_line(told.score)}")
    for build in told.failures:
        page.line(f"failed build {build_line(build)}", 6)
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
        page.line(f"candidate {candidate_line(pair)}", 6)
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
        _checkpoint(page, one, whole=True)
        page.line(f"g: {_answer(one.delivered)}" + (f", {one.delivered_reason}" if one.delivered_reason else ""), 4)
        by_state = (one.builds_by_state, one.build_failures_by_state, one.candidates_by_state)
        if any(count is not None for count in by_state):
            counts = ", ".join(MISSING if count is None else str(count) for count in by_state)
            page.line(f"on this very state, whenever: builds, code failures, candidates: {counts}", 4)
        page.line(f"builds in its window: {len(one.builds_seen) or 'none seen'}", 4)
        for build in one.builds_seen:
            page.line(build_line(build), 6)
        page.line(f"evaluations in its window: {len(one.evaluations_seen) or 'none seen'}", 4)
        for evaluation in one.evaluations_seen:
            page.line(evaluation_line(evaluation), 6)
        page.line(f"candidates, distinct pairs of state and command: {len(one.candidates_seen) or 'none seen'}", 4)
        for pair in one.candidates_seen:
            page.line(candidate_line(pair), 6)
    return page.text


def _answer(answer: bool | None) -> str:
    return {True: "1", False: "0", None: "not observable"}[answer]
