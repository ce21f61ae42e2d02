"""Kinds 2 and 7: each measurement has a fresh input, drawn from a secret seed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from loopscope.audit.finding import Finding, Severity
from loopscope.audit.reading.events import Run
from loopscope.audit.reading.values import Value
from loopscope.audit.reading.verifier import Verifier, verifier_of
from loopscope.audit.rules.common import found, given_to, line_of, reward_of, solution_runs
from loopscope.audit.sources import TaskSources

_FRESH = "draw a new input for each measurement, inside the loop, and compare each answer"
_SECRET = "take the seed from the system at each verification (os.urandom), all of it, and keep it to the verifier"  # noqa: S105


def reused(sources: TaskSources) -> Iterator[Finding]:
    """Kind 2, in programs that score."""
    verifier = verifier_of(sources)
    for runs in solution_runs(verifier).values():
        for run in runs:
            yield from _same_again(sources, verifier, run)
    yield from _sent_twice(sources, verifier)
    yield from _warmed(sources, verifier)


def _warmed(sources: TaskSources, verifier: Verifier) -> Iterator[Finding]:
    """Two lines give one program things of the same origin."""
    known: dict[tuple[str, frozenset[tuple[str, ...]]], tuple[str, str]] = {}
    given = [(s.run, s.place, s.value, s.box) for s in verifier.story.sent]
    given += [(r.name, r.place, r.given, r.box) for r in verifier.story.runs if not r.builds]
    for run, place, value, box in given:
        origin = frozenset(label for label in value.labels if label[0] in ("drawn", "fixed", "ret"))
        if not any(label[0] != "ret" for label in origin) or not box.has("src"):
            continue
        line, first = known.setdefault(("", origin), (place.where, run))
        if (line, first) != (place.where, run):
            text = f"{line} gives the solution the same input before: what it computed then can be kept"
            yield found(sources, "fresh-inputs", 2, Severity.HIGH, place.where, text, _FRESH)


def _same_again(sources: TaskSources, verifier: Verifier, run: Run) -> Iterator[Finding]:
    for place, value, way in given_to(verifier, run):
        if not (value.has("drawn") or value.has("fixed")) or way == "its arguments":
            continue
        if value.has("repeated"):
            text = "the same input is given several times"
            yield found(sources, "fresh-inputs", 2, Severity.HIGH, place.where, text, _FRESH)
        for loop in place.loops:
            if not (varies(value, loop) or varies(run.box, loop) or varies(run.argv, loop)):
                text = f"the loop at {':'.join(loop.split(':')[:2])} gives the solution the same input each time round"
                yield found(sources, "fresh-inputs", 2, Severity.HIGH, place.where, text, _FRESH)


def varies(value: Value, loop: str) -> bool:
    """Whether it is different each time round a loop."""
    return ("iter", loop) in value.labels or any(loop in label[2:] for label in value.of("drawn"))


def _sent_twice(sources: TaskSources, verifier: Verifier) -> Iterator[Finding]:
    for file in sorted(verifier.scoring):
        tree = sources.modules.get(file)
        for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)] if tree else []:
            seen: set[str] = set()
            for node in ast.walk(function):
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                    continue
                if node.func.attr not in ("send", "send_handle") or _makes_anew(node.args[0]):
                    continue
                text = ast.unparse(node)
                if text in seen:
                    evidence = f"`{text}` twice: a program can keep what it computed for the first"
                    yield found(sources, "fresh-inputs", 2, Severity.HIGH, f"{file}:{node.lineno}", evidence, _FRESH)
                seen.add(text)


def _makes_anew(node: ast.expr) -> bool:
    return any(
        isinstance(n, ast.Call) and ast.unparse(n.func).split(".")[-1] not in ("pack", "encode", "dumps")
        for n in ast.walk(node)
    )


def secret_seed(sources: TaskSources) -> Iterator[Finding]:
    """Kind 7, in programs that score."""
    verifier = verifier_of(sources)
    seeds = {h.place.where: h for h in verifier.story.of("seed")}
    reported = set()
    for name, runs in solution_runs(verifier).items():
        values = [v for run in runs for _, v, way in given_to(verifier, run)]
        for where in sorted(
            {label[1] for v in values for label in (*v.of("fixed"), *v.of("drawn")) if label[1] in seeds}
        ):
            reported.add(where)
            yield _seed(sources, where, seeds[where].text, seeds[where].value)
        inputs = [v for run in runs for _, v, way in given_to(verifier, run) if way == "its input" and v.labels]
        if inputs and not any(v.has("drawn") or v.has("fixed") for v in inputs) and reward_of(verifier).labels:
            text = "what this program is given is the same at every verification"
            yield found(sources, "secret-seed", 7, Severity.MEDIUM, line_of(name), text, _SECRET)
    for where, happening in sorted(seeds.items()):
        used = any(label[1:2] == (where,) for h in verifier.story.of("reward") for label in h.value.labels)
        masked = any(happening.value.has(kind) for kind in ("small", "perhaps"))
        everywhere = happening.text.split("(")[0].endswith((".seed", "manual_seed", "set_seed"))
        if where not in reported and (not verifier.guarded or everywhere or (masked and used)):
            yield _seed(sources, where, happening.text, happening.value)


def _seed(sources: TaskSources, where: str, text: str, seed: Value) -> Finding:
    severity = Severity.HIGH
    why = "is a constant that everybody can read"
    if seed.has("clock"):
        why = "is a time, and can be guessed"
    elif seed.has("small"):
        why = "can only have so few values that all can be tried"
    elif not seed.labels and seed.const is None and "(" in text and not re.search(r"\(\s*[\"'\d]", text):
        why, severity = "does not come from the system here; who calls this decides", Severity.MEDIUM
    elif seed.has("perhaps"):
        why = "falls back to a constant"
    return found(sources, "secret-seed", 7, severity, where, f"`{text}`: the seed {why}", _SECRET)
