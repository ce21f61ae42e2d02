"""The floor that benchmarks measure loopscope against: the same trial by Harbor alone."""

from __future__ import annotations

import time

from harbor.models.trial.config import AgentConfig, VerifierConfig

from loopscope.engine.jobs import run_trial
from loopscope.engine.plan import Plan
from loopscope.records import remove_tree
from loopscope.tasks.prepare import prepared_dir


async def harbor_alone(plan: Plan, number: int) -> float:
    """Seconds of a trial of `nop` on the plan's first task, in our sandbox, without a verifier or anything of the
    engine's. `number`: another for each trial."""
    scratch = plan.store.path / f".tmp-floor-{number}"
    started = time.perf_counter()
    await run_trial(
        scratch,
        name="floor",
        task_dir=prepared_dir(plan.store.path, plan.runs[0].task.info.name),
        agent=AgentConfig(name="nop"),
        environment=plan.spec.environment,
        verifier=VerifierConfig(disable=True),
    )
    seconds = time.perf_counter() - started
    remove_tree(scratch)
    return seconds
