"""What every rule needs."""

from __future__ import annotations

from loopscope.audit.finding import Finding, Severity
from loopscope.audit.reading.events import Condition, Place, Run
from loopscope.audit.reading.values import Value, union
from loopscope.audit.reading.verifier import Verifier
from loopscope.audit.sources import TaskSources


def found(
    sources: TaskSources, rule: str, kind: int | None, severity: Severity, where: str, evidence: str, remedy: str
) -> Finding:
    """A finding of a rule."""
    return Finding(
        rule=rule,
        kind=kind,
        severity=severity,
        task=sources.info.name,
        evidence=" ".join(evidence.split())[:600],
        where=where,
        remedy=remedy,
    )


def solution_runs(verifier: Verifier) -> dict[str, list[Run]]:
    """Runs of programs that hold a solution, compilations left out, by name."""
    runs: dict[str, list[Run]] = {}
    for run in verifier.story.runs:
        if run.holds_solution and not run.builds:
            runs.setdefault(run.name, []).append(run)
    return runs


def given_to(verifier: Verifier, run: Run) -> list[tuple[Place, Value, str]]:
    """Everything that a program gets: (where, what, by which way)."""
    ways = [
        (run.place, run.argv, "its arguments"),
        (run.place, run.box, "its box"),
        (run.place, run.given, "its input"),
    ]
    return ways + [(s.place, s.value, "its input") for s in verifier.story.sent if s.run == run.name]


def reward_of(verifier: Verifier) -> Value:
    """Labels of every reward that is decided."""
    return Value(union(h.value for h in verifier.story.of("reward")))


def beyond(conditions: tuple[Condition, ...], known: tuple[Condition, ...], run: str) -> list[Condition]:
    """Conditions that hold for one place and not for the other, and have nothing to do with the run's output."""
    have = {(c.where, c.text) for c in known}
    return [
        c
        for c in conditions
        if (c.where, c.text) not in have
        and not any(label[0] in ("out", "weak", "cmp", "told") and label[1] == run for label in c.value.labels)
    ]


def line_of(run_name: str) -> str:
    """`file:line` of a run's name."""
    return run_name[run_name.index("tests/") :] if "tests/" in run_name else run_name


def plain_name(name: str, workdir: str) -> str:
    """A file's name relative to the work dir."""
    return name.removeprefix(workdir.rstrip("/") + "/")
