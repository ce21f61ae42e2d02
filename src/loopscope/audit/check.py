"""Check tasks: each rule on their files, each probe in their sandbox; what is broken is named, the rest goes on."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from loopscope.audit.finding import Finding, NotApplicable, Severity
from loopscope.audit.health import HEALTH
from loopscope.audit.probes import PROBES
from loopscope.audit.rule import Probe, Rule
from loopscope.audit.rules import RULES
from loopscope.audit.sources import TaskSources
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Trial
from loopscope.models import EnvironmentSpec, VerificationStatus
from loopscope.models.audit import AuditReport, AuditTrial, RuleOutcome, TaskAudit
from loopscope.tasks import TaskError, TaskSource, read_task, resolve

Told = Callable[[str, str], None]
"""Called with a task's name and a line on what has just ended."""


@dataclass(frozen=True)
class Options:
    """How an audit is made."""

    dynamic: bool = True
    """Also run the verifiers; else files are only read."""
    repeats: int = 3
    """Verifications of the reference, for the spread."""
    environment: EnvironmentSpec | None = None
    """Where trials run; the local sandbox by default."""
    together: int = 2
    """Tasks at a time. Timed ones hold the machine alone whatever this says."""


async def check_tasks(
    names: Sequence[str], base: Path, options: Options, told: Told = lambda task, line: None
) -> AuditReport:
    """Audit these tasks (built-in names or paths), each on its own: what one of them does wrong costs no other.

    Args:
        names: as a user wrote them; the same one twice is checked once.
        base: directory that paths are relative to.
        options: what is done.
        told: is told of progress.
    """
    room = asyncio.Semaphore(options.together)

    async def one(name: str) -> TaskAudit:
        async with room:
            return await check_task(name, base, options, told)

    audits = await asyncio.gather(*(one(name) for name in dict.fromkeys(names)))
    return AuditReport(loopscope=version("loopscope"), tasks=_namesakes(audits))


async def check_task(name: str, base: Path, options: Options, told: Told = lambda task, line: None) -> TaskAudit:
    """Audit one task; never raises for anything that is the task's fault."""
    begun = time.monotonic()
    try:
        source = resolve(name, base)
    except TaskError as error:
        return TaskAudit(task=Path(name).name or name, source=name, problem=_line(error), missing=True)
    try:
        info = read_task(source.directory, builtin=source.builtin).info
        sources = TaskSources(source.directory, info)
        static = [_apply(rule, sources) for rule in RULES]
    except TaskError as error:
        return _unreadable(source, error, time.monotonic() - begun)
    trials: list[AuditTrial] = []
    subject = Subject(source.directory, info, sources, options.environment, repeats=options.repeats)

    def note(trial: Trial) -> None:
        trials.append(
            AuditTrial(
                act=trial.act, status=trial.status, reward=trial.reward, reason=trial.reason, seconds=trial.seconds
            )
        )
        told(info.name, f"{trial.act}: {'no reward' if trial.reward is None else f'{trial.reward:.3f}'}")

    subject.told = note
    dynamic = [await _try(probe, subject) for probe in (*HEALTH, *PROBES)] if options.dynamic else []
    outcomes = [*static, *dynamic]
    findings = _merged(finding for found, _ in outcomes for finding in found)
    told(info.name, f"{len(findings)} findings")
    return TaskAudit(
        task=info.name,
        source=source.origin,
        findings=tuple(findings),
        rules=tuple(outcome for _, outcome in outcomes),
        trials=tuple(trials),
        seconds=round(time.monotonic() - begun, 3),
    )


def _apply(rule: Rule, sources: TaskSources) -> tuple[list[Finding], RuleOutcome]:
    begun, reason = time.monotonic(), None
    found: list[Finding] = []
    try:
        found = list(rule.check(sources))
        outcome = "found" if found else "clean"
    except NotApplicable as why:
        outcome, reason = "not applicable", str(why)
    except Exception as error:  # a rule that fails on a file is a fault of ours, and no reason to lose the other rules
        outcome, reason = "failed", _line(error)
    return found, _outcome(rule, "static", outcome, reason, begun)


async def _try(probe: Probe, subject: Subject) -> tuple[list[Finding], RuleOutcome]:
    begun, reason = time.monotonic(), None
    found: list[Finding] = []
    try:
        await _can_be_tried(probe, subject)
        found = await probe.run(subject)
        outcome = "found" if found else "clean"
    except NotApplicable as why:
        outcome, reason = "not applicable", str(why)
    except Exception as error:
        outcome, reason = "failed", _line(error)
    return found, _outcome(probe, "dynamic", outcome, reason, begun)


async def _can_be_tried(probe: Probe, subject: Subject) -> None:
    """Raises `NotApplicable` where a try would only say again that nothing runs here."""
    if subject.info.gpus and not Path("/dev/nvidia0").exists():
        raise NotApplicable(f"the task asks for {subject.info.gpus} GPU, and this machine has none")
    if probe is not HEALTH[0] and (await subject.starter()).status is VerificationStatus.ERROR:
        raise NotApplicable("no verification could be made: see what is said of the starter")


def _outcome(rule: Rule | Probe, half: str, outcome: str, reason: str | None, begun: float) -> RuleOutcome:
    return RuleOutcome.model_validate(
        {
            "rule": rule.name,
            "kind": rule.kind,
            "half": half,
            "outcome": outcome,
            "reason": reason,
            "seconds": round(time.monotonic() - begun, 3),
        }
    )


def _unreadable(source: TaskSource, error: TaskError, seconds: float) -> TaskAudit:
    problem = _line(error)
    finding = Finding(
        rule="readable",
        severity=Severity.HIGH,
        task=source.directory.name,
        evidence=problem.removeprefix(f"{error.path}: "),
        where=Path(error.path).name,
        remedy=error.remedy or "make it a task directory in Harbor's format",
    )
    return TaskAudit(
        task=source.directory.name,
        source=source.origin,
        problem=problem,
        findings=(finding,),
        seconds=round(seconds, 3),
    )


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """Without those said twice; the gravest first."""
    unique = list(dict.fromkeys(findings))
    return sorted(unique, key=lambda f: (-f.severity.weight, f.kind or 99, f.rule, f.where))


def _namesakes(audits: Sequence[TaskAudit]) -> tuple[TaskAudit, ...]:
    count = Counter(audit.task for audit in audits if not audit.missing)
    result = []
    for audit in audits:
        if count[audit.task] > 1 and not audit.missing:
            others = ", ".join(a.source for a in audits if a.task == audit.task and a is not audit)
            finding = Finding(
                rule="name",
                severity=Severity.LOW,
                task=audit.task,
                evidence=f"{others} has the same name",
                where="task.toml",
                remedy="rename one of the directories: a study holds one task of a name",
            )
            audit = audit.model_copy(update={"findings": (*audit.findings, finding)})
        result.append(audit)
    return tuple(result)


def _line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, TaskError) else f"{type(error).__name__}: {text}"[:500]
