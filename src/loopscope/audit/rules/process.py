"""Kinds 3 and 9: no code of a solution, and no pickle, in the process that scores; its clock is its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from loopscope.audit.finding import Finding, Severity
from loopscope.audit.reading.verifier import verifier_of
from loopscope.audit.rules.common import found, line_of, reward_of, solution_runs
from loopscope.audit.sources import TaskSources

_APART = "run the solution behind a fence (another user, namespaces); keep clock, answers and verdict in the verifier"
_CLOCK_C = re.compile(
    r"\b(clock_gettime|gettimeofday|clock\s*\(|times\s*\(|__?rdtscp?\w*|_mm_rdtsc|cudaEvent\w+|omp_get_wtime|chrono::|getrusage"
    r"|time\s*\(\s*(?:NULL|0|&\w+)\s*\))"
)
_CLOCK_PY = re.compile(
    r"\b(?:time\.)?(perf_counter|monotonic|process_time|time_ns|thread_time|getrusage|time\.time)(?:_ns)?\s*\("
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def own_process(sources: TaskSources) -> Iterator[Finding]:
    """Kind 3, in Python that scores."""
    verifier = verifier_of(sources)
    for load in verifier.story.of("load"):
        if load.text.startswith(("sys.path", "path.")):
            continue
        text = f"`{load.text}` brings the solution's code into the process that scores"
        yield found(sources, "own-process", 3, Severity.HIGH, load.place.where, text, _APART)
    known = {load.place.where for load in verifier.story.of("load")}
    stems = {PurePosixPath(f).stem for f in sources.editable if f.endswith(".py")} - {
        PurePosixPath(f).stem for f in sources.modules
    }
    for file in sorted(verifier.scoring):
        for node in ast.walk(sources.modules.get(file, ast.Module([], []))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            where = f"{file}:{getattr(node, 'lineno', 0)}"
            if stems & set(names) and where not in known:
                text = f"`{ast.unparse(node)}` brings the solution's code into the process that scores"
                yield found(sources, "own-process", 3, Severity.HIGH, where, text, _APART)
    reward = reward_of(verifier)
    for name, runs in solution_runs(verifier).items():
        if any(run.holds_source for run in runs) and ("told", name) in reward.labels:
            text = "the reward is made of a number that the program with the solution's code says of itself"
            remedy = "measure from outside that program, or compute the metric here from its answer"
            yield found(sources, "own-process", 3, Severity.HIGH, line_of(name), text, remedy)
        for run in runs[:1]:
            if not run.fenced:
                text = "the solution's code runs as the verifier's own user, who can signal it and write its reward"
                yield found(sources, "own-process", 3, Severity.HIGH, run.place.where, text, _APART)


def unfenced_builds(sources: TaskSources) -> Iterator[Finding]:
    """Kinds 5 and 8, in Python that scores: what a solution brings is built by the verifier's own user."""
    seen = set()
    for run in verifier_of(sources).story.runs:
        if run.fenced or not run.builds or not run.holds_source or run.place.where in seen:
            continue
        seen.add(run.place.where)
        words = [str(v.const) for v in run.argv.items or ()]
        if words[:1] and words[0].endswith(("make", "ninja")) and not {"clean", "-B", "--always-make"} & set(words):
            text = f"`{' '.join(words)}` takes what it finds built for up to date"
            remedy = "build from the sources in an empty directory"
            yield found(sources, "unfenced-build", 5, Severity.HIGH, run.place.where, text, remedy)
        text = "what the solution brings is compiled by the verifier's user: an #include can read tests/"
        remedy = "compile behind the fence too, in a box that holds the sources and nothing else"
        yield found(sources, "unfenced-build", 8, Severity.MEDIUM, run.place.where, text, remedy)


def clock(sources: TaskSources) -> Iterator[Finding]:
    """Kind 3, in what runs with the solution."""
    verifier = verifier_of(sources)
    for file in verifier.behind:
        text = sources.text(file)
        suffix = PurePosixPath(file).suffix
        if suffix in (".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".rs", ".go"):
            text = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        pattern = _CLOCK_PY if suffix == ".py" else _CLOCK_C
        if match := pattern.search(text):
            line = text.count("\n", 0, match.start()) + 1
            evidence = f"{match[0].strip()} is called in the process of the solution, which can change what it says"
            yield found(sources, "clock", 3, Severity.HIGH, f"{file}:{line}", evidence, _APART)


def pickles(sources: TaskSources) -> Iterator[Finding]:
    """Kind 9."""
    for happening in verifier_of(sources).story.of("pickle"):
        if re.match(r"(eval|exec|compile)\(", happening.text) and happening.value.has("src"):
            text = f"`{happening.text}` runs the solution's text in the process that scores"
            yield found(sources, "own-process", 3, Severity.HIGH, happening.place.where, text, _APART)
            continue
        theirs = any(label[0] in ("out", "src", "weak") for label in happening.value.labels)
        own = happening.value.has("own") or re.search(r"[\"']/tests/", happening.text)
        if theirs or not own:
            text = f"`{happening.text}` runs whatever code the data names"
            remedy = "read plain numbers (JSON, raw arrays with a checked size, npz without pickles)"
            severity = Severity.HIGH if theirs else Severity.MEDIUM
            yield found(sources, "pickles", 9, severity, happening.place.where, text, remedy)
