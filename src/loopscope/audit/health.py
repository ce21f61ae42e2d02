"""Whether a task works at all: starter, reference, repetition, and what is left when a solution fails."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from decimal import Decimal

from loopscope.audit.broken import crashing, garbled, hanging
from loopscope.audit.finding import Finding, NotApplicable, Severity
from loopscope.audit.rule import Probe
from loopscope.audit.subject import Subject
from loopscope.audit.trial import REFERENCE, Act, Trial
from loopscope.models import VerificationStatus

NOTHING = Decimal("0.05")
"""A reward up to this is about 0."""
WELL_ABOVE = Decimal("0.1")
"""The reference must earn this much more than the starter."""
SPREAD = Decimal("0.1")
"""Largest less smallest reward of equal trees that is still repeatable, on a busy machine too."""
NEAR_LIMIT = 0.5
"""Share of the verifier's time limit beyond which another machine may not keep it."""
SETTLE_SEC = 30.0
"""A verifier must deal with a solution that never ends in this time and ten times what the reference takes."""


def _finding(subject: Subject, rule: str, severity: Severity, act: str, evidence: str, remedy: str) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        task=subject.info.name,
        evidence=" ".join(evidence.split())[:600],
        where=f"trial {act}",
        remedy=remedy,
    )


def _told(trial: Trial) -> str:
    end = " ".join(trial.output.split())[-200:]
    return f"{trial.status.value}: {trial.reason or 'no reason given'}" + (f"; it printed ... {end}" if end else "")


async def starter(subject: Subject) -> list[Finding]:
    """The untouched workspace is correct and earns about nothing."""
    trial = await subject.starter()
    if trial.reward is None:
        if trial.status is VerificationStatus.ERROR:
            remedy = "mend environment/Dockerfile or the verifier; `loopscope doctor` says what this machine lacks"
        else:
            remedy = "let the verifier write a reward for the untouched starter"
        return [_finding(subject, "starter", Severity.HIGH, "starter", _told(trial), remedy)]
    found = []
    if trial.reward > NOTHING:
        severity = Severity.HIGH if trial.reward > 4 * NOTHING else Severity.MEDIUM
        text = f"the untouched starter earns {trial.reward:.3f}; about 0 is due"
        found.append(
            _finding(subject, "starter", severity, "starter", text, "measure the baseline anew where scores are made")
        )
    if trial.reward < -NOTHING:
        text = f"the untouched starter earns {trial.reward:.3f}, below 0"
        found.append(_finding(subject, "starter", Severity.LOW, "starter", text, "clamp rewards into [0, 1]"))
    if trial.metrics.get("correctness") == 0 or _said(trial, "correctness") is False:
        text = f"the untouched starter fails its own correctness check: {_detail(trial)}"
        remedy = "the starter must build and be correct: an agent starts from it"
        found.append(_finding(subject, "starter", Severity.HIGH, "starter", text, remedy))
    return found


async def reference(subject: Subject) -> list[Finding]:
    """The task's own solution earns well more than the starter, in well under the time limit."""
    if "solution/solve.sh" not in subject.sources.files:
        raise NotApplicable("there is no solution/solve.sh")
    begin, trial = await subject.starter(), await subject.reference()
    found = []
    if trial.reward is None:
        remedy = "mend solution/solve.sh, or the verifier: a task that nobody has solved measures nothing"
        return [_finding(subject, "reference", Severity.HIGH, "reference", _told(trial), remedy)]
    base = begin.reward or Decimal(0)
    if trial.reward < base + WELL_ABOVE:
        text = f"the reference earns {trial.reward:.3f}, the starter {base:.3f}: {_detail(trial)}"
        remedy = "a better reference, or anchors that were measured here: see `loopscope tasks calibrate`"
        found.append(_finding(subject, "reference", Severity.HIGH, "reference", text, remedy))
    limit = subject.info.verifier_timeout_sec
    if trial.seconds > NEAR_LIMIT * limit:
        text = f"verifying the reference took {trial.seconds:.1f} s of the {limit:g} s that task.toml allows"
        remedy = "raise verifier.timeout_sec, or verify with less: a slower machine gets no reward"
        found.append(_finding(subject, "time-limit", Severity.MEDIUM, "reference", text, remedy))
    return found


async def repeatable(subject: Subject) -> list[Finding]:
    """The same tree earns the same reward each time, within noise."""
    if "solution/solve.sh" not in subject.sources.files:
        raise NotApplicable("there is no solution/solve.sh")
    first = await subject.reference()
    if first.reward is None or subject.repeats < 2:
        raise NotApplicable("the reference earns no reward" if first.reward is None else "one verification only")
    trials = [first, *[await subject.attempt(REFERENCE) for _ in range(subject.repeats - 1)]]
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > 2 * cores and not _close(trials):  # other work may have pushed one over a limit: once more, all of them
        again = [await subject.attempt(REFERENCE) for _ in range(subject.repeats)]
        trials = again if _close(again) else trials
    if _close(trials):
        return []
    rewards = [trial.reward for trial in trials if trial.reward is not None]
    text = f"{len(trials)} verifications of the reference: " + ", ".join(
        trial.status.value if trial.reward is None else f"{trial.reward:.4f}" for trial in trials
    )
    if len(rewards) < len(trials):
        remedy = "a verifier must give a reward each time"
        return [_finding(subject, "repeatable", Severity.HIGH, "reference", text, remedy)]
    spread = max(rewards) - min(rewards)
    text += f"; spread {spread:.3f}"
    if load > cores:
        text += f" (the machine's load was {load:.0f} on {cores} processors: measure again when it is quiet)"
    lowest = min(trials, key=lambda trial: trial.reward or Decimal(0))
    text += f"; the lowest: {_detail(lowest)}"
    severity = Severity.HIGH if spread > 3 * SPREAD else Severity.MEDIUM
    remedy = "measure more, in pairs with the baseline, on several fresh inputs; average before the reward is computed"
    return [_finding(subject, "repeatable", severity, "reference", text, remedy)]


def _close(trials: Sequence[Trial]) -> bool:
    """Whether all have a reward, and about the same."""
    rewards = [trial.reward for trial in trials if trial.reward is not None]
    return len(rewards) == len(trials) and max(rewards) - min(rewards) <= SPREAD


async def reward_files(subject: Subject) -> list[Finding]:
    """What lies in /logs/verifier is well formed for a solution that works, fails, crashes or never ends."""
    texts = {
        name: subject.sources.files[subject.sources.starter[name]]
        for name in subject.sources.editable
        if subject.sources.starter.get(name) in subject.sources.files
    }
    normal = await subject.starter()
    found = [] if normal.reward is None else list(_malformed(subject, normal))
    acts = [("failing", garbled(texts)), ("crashing", crashing(texts)), ("endless", hanging(texts))]
    limit = min(subject.info.verifier_timeout_sec, SETTLE_SEC + 10 * normal.seconds)
    for name, files in acts:
        if files:
            trial = await subject.attempt(Act(name, files=files), timeout_sec=limit)
            found += _after_failure(subject, trial, limit)
    if not texts:
        raise NotApplicable("it is not known which files a solution may change")
    return found


def _after_failure(subject: Subject, trial: Trial, limit: float) -> list[Finding]:
    if trial.reward is not None:
        found = list(_malformed(subject, trial))
        if trial.reward > NOTHING:
            text = f"a {trial.act} solution earns {trial.reward:.3f}: {_detail(trial)}"
            remedy = "give 0 to what does not work; remove reward files of earlier runs before anything else"
            found.append(_finding(subject, "reward-files", Severity.HIGH, trial.act, text, remedy))
        return found
    if trial.status is VerificationStatus.TIMEOUT:
        text = f"{trial.act} solution: the verifier was not done in {limit:.0f} s"
        remedy = "give whatever runs of a solution a deadline of its own, and write reward 0 when it passes"
        return [_finding(subject, "reward-files", Severity.LOW, trial.act, text, remedy)]
    remedy = "write reward 0 with a reason when a solution fails; no reward means that the verifier itself failed"
    return [_finding(subject, "reward-files", Severity.MEDIUM, trial.act, f"no reward: {_told(trial)}", remedy)]


def _malformed(subject: Subject, trial: Trial) -> list[Finding]:
    found = []

    def wrong(text: str, remedy: str, severity: Severity = Severity.LOW) -> None:
        found.append(_finding(subject, "reward-files", severity, trial.act, text, remedy))

    rewards: dict[str, float] = {}
    for name, data in trial.logs.items():
        text = data.decode("utf-8", "replace")
        try:
            if name == "reward.json":
                given = json.loads(text)
                rewards[name] = float(given["reward"] if isinstance(given, dict) else given)
                others = [k for k, v in given.items() if isinstance(v, bool) or not isinstance(v, int | float)]
                if others:
                    wrong(
                        f"reward.json holds no numbers under {', '.join(sorted(others))}",
                        "numbers only; text beside it",
                    )
            elif name == "reward.txt":
                rewards[name] = float(text)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            wrong(f"{name} is malformed ({error}): {text[:100]!r}", "write {'reward': number}", Severity.MEDIUM)
    for name, reward in rewards.items():
        if not (math.isfinite(reward) and 0 <= reward <= 1):
            wrong(f"{name} says {reward}", "clamp the reward into [0, 1]", Severity.MEDIUM)
    if len(rewards) == 2 and not math.isclose(*rewards.values(), abs_tol=1e-3):
        wrong(
            f"reward.json and reward.txt differ: {rewards}",
            "write one of them, or both from one number",
            Severity.MEDIUM,
        )
    return found


def _said(trial: Trial, key: str) -> object:
    try:
        given = json.loads(trial.logs.get("reward.json", b"{}"))
    except ValueError:
        return None
    return given.get(key) if isinstance(given, dict) else None


def _detail(trial: Trial) -> str:
    for name in ("details.json", "reward.json"):
        if name in trial.logs:
            return trial.logs[name].decode("utf-8", "replace")[:300]
    return " ".join(trial.output.split())[-300:]


HEALTH: tuple[Probe, ...] = (
    Probe("starter", None, "the starter builds, is correct and earns about 0", starter),
    Probe("reference", None, "the reference earns well more than the starter, in time", reference),
    Probe("repeatable", None, "the same tree earns the same reward", repeatable),
    Probe(
        "reward-files",
        None,
        "reward files are well formed when a solution works, fails, crashes or never ends",
        reward_files,
    ),
)
"""What every task must do, hack or none."""
