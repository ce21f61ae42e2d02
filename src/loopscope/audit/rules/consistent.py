"""Anchors agree wherever they stand, and what an agent is shown is what the verifier does."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from loopscope.audit.finding import Finding, Severity
from loopscope.audit.reading.scripted import started
from loopscope.audit.reading.verifier import verifier_of
from loopscope.audit.rules.common import found, solution_runs
from loopscope.audit.sources import TaskSources

_NAMED = re.compile(
    r"(?im)^\s*(?:readonly\s+|export\s+|local\s+)?(?:M_)?(baseline|reference|best_known|base|ref)(?:_(?:score|time|value|sec|seconds|ms|params|ppl|metric|cycles))?"
    r"\s*(?::\s*\w+\s*)?=\s*[\"']?(-?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)[\"']?\s*(?:#.*)?$"
)


def anchors(sources: TaskSources) -> Iterator[Finding]:
    """Baseline and reference of task.toml are those that the verifier goes by."""
    info = sources.info.anchors
    stated = {"baseline": info.baseline, "reference": info.reference}
    remedy = "state each anchor once, in task.toml, and make the verifier's copy from it"
    for file in sources.below("tests", ".json"):
        yield from _json(sources, file, remedy)
    for file in sources.below("tests", ".sh", ".py"):
        text = sources.text(file)
        for match in _NAMED.finditer(text):
            name = "baseline" if match[1].lower() in ("baseline", "base") else "reference"
            value, own = float(match[2].replace("_", "")), stated[name]
            if own is not None and not math.isclose(value, float(own), rel_tol=1e-6):
                line = text.count("\n", 0, match.start(1)) + 1
                evidence = f"{match[0].strip()}, but task.toml says {name} {own}"
                yield found(sources, "anchors", None, Severity.MEDIUM, f"{file}:{line}", evidence, remedy)
    if info.baseline is not None and info.baseline == info.reference:
        evidence = f"baseline and reference are both {info.baseline}: no reward can be computed from them"
        yield found(sources, "anchors", None, Severity.HIGH, "task.toml", evidence, remedy)
    better = {"minimize": 1, "maximize": -1}.get(info.direction or "", 0)
    if info.baseline is not None and info.reference is not None and (info.reference - info.baseline) * better > 0:
        evidence = f"the reference {info.reference} is worse than the baseline {info.baseline} ({info.direction})"
        yield found(sources, "anchors", None, Severity.HIGH, "task.toml", evidence, remedy)


def _json(sources: TaskSources, file: str, remedy: str) -> Iterator[Finding]:
    try:
        given = json.loads(sources.text(file))
    except ValueError:
        return
    table = sources.toml.get("optimization", {})
    if not isinstance(given, dict) or not isinstance(table, dict) or not {"baseline", "reference"} <= set(given):
        return
    for name, found_anchors in [("", given), *((k, v) for k, v in given.items() if isinstance(v, dict))]:
        own = table.get(name, {}) if name else table
        for key in ("baseline", "reference"):
            wanted, value = _score(own, key), found_anchors.get(key)
            if wanted is not None and value is not None and not math.isclose(float(value), wanted, rel_tol=1e-9):
                evidence = f"{key} {value}, but task.toml says {wanted}"
                yield found(sources, "anchors", None, Severity.MEDIUM, file, evidence, remedy)


def _score(table: Mapping[str, Any], key: str) -> float | None:
    value = table.get(key)
    value = value.get("score") if isinstance(value, dict) else value
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def shown(sources: TaskSources) -> Iterator[Finding]:
    """A module that the agent is given under the name of one of the verifier's says what that one does."""
    verifier = verifier_of(sources)
    public = {PurePosixPath(name).name: file for name, file in sources.starter.items() if name not in sources.editable}
    for file in sources.below("tests", ".py", ".c", ".h", ".cu", ".rs", ".go"):
        name = PurePosixPath(file).name
        other = public.get(name)
        if (
            other
            and name != "__init__.py"
            and sources.files[other] != sources.files[file]
            and file not in verifier.guard_files
        ):
            text = f"differs from {other}, which the agent is told to go by"
            remedy = "make both the same file, or give them different names"
            yield found(sources, "shown", None, Severity.MEDIUM, f"{file}:{_first(sources, file, other)}", text, remedy)


def _first(sources: TaskSources, one: str, other: str) -> int:
    """The first line in which two files differ."""
    lines, others = sources.text(one).splitlines(), sources.text(other).splitlines()
    return next(
        (n for n, (a, b) in enumerate(zip(lines, others, strict=False), 1) if a != b), min(len(lines), len(others)) + 1
    )


def environment(sources: TaskSources) -> Iterator[Finding]:
    """There is a Dockerfile, a solution, and a test script that can be run again."""
    if "environment/Dockerfile" not in sources.files:
        text = "has no environment/Dockerfile: the starter's files reach nobody"
        yield found(sources, "parts", None, Severity.HIGH, "environment", text, "write one: FROM, WORKDIR, COPY")
    if "solution/solve.sh" not in sources.files:
        text = "has no solution/solve.sh: nobody knows that more than 0 can be earned"
        yield found(sources, "parts", None, Severity.MEDIUM, "solution", text, "add a reference solution")
    for command in verifier_of(sources).commands:
        if command.name in ("rm", "mv", "shred", "unlink", "truncate") and re.search(
            r"\$0|\$\{?BASH_SOURCE|/tests/?(?:\s|\"|\*|$)|test\.sh", command.text
        ):
            text = f"`{command.text}` removes or changes the verifier itself: a second verification finds another one"
            remedy = "leave tests/ as it is; write to a temporary directory"
            yield found(sources, "parts", None, Severity.MEDIUM, f"tests/test.sh:{command.line}", text, remedy)


def seen(sources: TaskSources) -> Iterator[Finding]:
    """The rules have something to go by: where nothing is seen that runs a solution, they cannot speak."""
    verifier = verifier_of(sources)
    for file in sources.below("tests", ".py"):
        if file not in sources.modules:
            text = "is no Python that can be parsed: the verifier may end before it scores"
            yield found(sources, "seen", None, Severity.HIGH, f"{file}:1", text, "mend it")
    fenced = any(run.fenced and run.holds_solution for run in verifier.story.runs)
    touched = solution_runs(verifier) or verifier.story.of("load") or any(True for _ in started(verifier))
    if verifier.guard_files and not fenced:
        text = "a guard is vendored, and no program with a solution in it is seen to run behind it"
        remedy = "run solutions by guard.run or guard.start, with what verdict.submitted gave"
        yield found(sources, "seen", 8, Severity.HIGH, "tests/test.sh:1", text, remedy)
    elif not touched:
        text = "nothing is seen that runs a solution, or loads it: the rules cannot speak for this verifier"
        remedy = "look at it yourself; or let tests/test.sh run a Python program that uses the guard"
        yield found(sources, "seen", None, Severity.LOW, "tests/test.sh:1", text, remedy)
