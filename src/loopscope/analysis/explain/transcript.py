"""What the transcript as a whole counts: builds, evaluations, states, and how the harness's own tools were used."""

from __future__ import annotations

from loopscope.analysis.explain.figures import step
from loopscope.analysis.explain.rows import Told, is_failure
from loopscope.analysis.explain.told import Step
from loopscope.models import HarnessSupport

_SUPPORT = {
    "plan_calls": "calls of task and to-do tools and of plan mode",
    "failed_calls": "tool calls that failed or that the harness refused",
    "failed_then_changed": "those that were called again with changed arguments before another tool succeeded",
    "compactions": "compactions of the context",
    "resumes": "resumed sessions",
    "subagents": "subagents that were started",
    "background": "commands that went on in the background",
}
"""Every field of `HarnessSupport`."""


def transcript(told: Told) -> tuple[Step, ...]:
    """Counts over the whole transcript, what follows the last commit included."""
    evidence = told.run.evidence
    seen = evidence.tool_calls is not None
    unfollowed = "" if evidence.states is not None else "the artifact's states are not followed"
    builds = [one for group in told.builds.values() for one in group]
    counted = [one for one in builds if one.seen.counted]
    behind = len(told.builds.get(None, ()))
    evaluations = [one for one in evidence.evaluations if one.counted]
    note = "" if seen else "no readable transcript"
    support = evidence.support or HarnessSupport()
    unseen = "" if evidence.support else note or "not counted in this transcript"
    return (
        step("tool_calls", evidence.tool_calls, "tool calls of all threads", note=note, table="runs"),
        step("n_states", evidence.states, "different states of the artifact", note=note or unfollowed, table="runs"),
        step(
            "n_builds",
            len(counted) if seen else None,
            "builds of the artifact in the whole run",
            f"{len(builds)} - {len(builds) - len(counted)}",
            note=note or f"{len(builds) - len(counted)} do not count; {behind} stand in no window",
            table="runs",
        ),
        step(
            "n_build_failures",
            sum(is_failure(one) for one in builds) if seen else None,
            "those that failed because of the code",
            note=note or ", ".join(f"m{one.seen.at.message}" for one in builds if is_failure(one)),
            table="runs",
        ),
        step(
            "n_evaluations",
            len(evaluations) if seen else None,
            "objective evaluations in the whole run, profiled ones left out",
            note=note,
            table="runs",
        ),
        *(
            step(name, getattr(support, name) if evidence.support else None, formula, note=unseen, table="runs")
            for name, formula in _SUPPORT.items()
        ),
    )
