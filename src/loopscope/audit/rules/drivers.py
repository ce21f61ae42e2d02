"""Kinds 2, 3, 6 and 7 in drivers: programs that call the solution, behind a fence or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from loopscope.audit.finding import Finding, NotApplicable, Severity
from loopscope.audit.reading.drivers import C_SUFFIXES, Called, calls_in, solution_functions
from loopscope.audit.reading.verifier import Verifier, verifier_of
from loopscope.audit.rules.common import found
from loopscope.audit.sources import TaskSources

_SOURCES = (*C_SUFFIXES, ".py", ".rs", ".go")
_LOCAL = re.compile(r"(^|[/_.-])(evaluate|bench|example|demo)[^/]*$")
"""Local evaluation commands for agents; where a verifier does not use them they decide nothing."""
_SEED = re.compile(
    r"\b(?:srand48|srand|random\.seed|np\.random\.seed|manual_seed|default_rng|seed_from_u64"
    r"|rand\.Seed|NewSource|RandomState|random\.Random|mt19937(?:_64)?\s+\w+)\s*[({]\s*(0x[0-9A-Fa-f]+|\d+)[uUlL]*"
    r"\s*[)}]"
    r"|\b(?:static\s+|const\s+|let\s+(?:mut\s+)?)?(?:u?int(?:64|32)_t|unsigned(?: long)*|u64|u32|uint64)?"
    r"\s*\w*(?:seed|SEED|rng_state|lcg|xorshift)\w*\s*(?::\s*u?\w+\s*)?:?=\s*(0x[0-9A-Fa-f]+|\d{2,})"
)
_ENTROPY = re.compile(
    r"urandom|getrandom|getentropy|random_device|thread_rng|from_entropy|OsRng|crypto/rand|secrets|SystemRandom|arc4random"
)


def drivers(sources: TaskSources, verifier: Verifier) -> list[str]:
    """Sources that run in one process with the solution, or call it."""
    if verifier.guarded:
        return [f for f in verifier.behind if PurePosixPath(f).suffix in _SOURCES]
    editable = {sources.starter.get(name) for name in sources.editable}
    text = "\n".join(sources.text(f) for f in sources.below("tests"))
    found_files = []
    for name, file in sources.starter.items():
        if file in editable or PurePosixPath(file).suffix not in _SOURCES:
            continue
        if not _LOCAL.search(name) or PurePosixPath(name).name in text:
            found_files.append(file)
    return found_files + [f for f in sources.below("tests") if PurePosixPath(f).suffix in _SOURCES]


def repeated_calls(sources: TaskSources) -> Iterator[Finding]:
    """Kind 2: a driver calls the solution again with what it has seen."""
    verifier = verifier_of(sources)
    functions = solution_functions(sources)
    if not functions:
        raise NotApplicable("the functions of the editable files are not known")
    remedy = "call it once for each input; measure again in a new process, on a new input"
    for file in drivers(sources, verifier):
        calls = calls_in(file, sources.text(file), functions)
        for call in calls:
            if call.loop:
                written = f"{call.function}({', '.join(call.arguments)})"
                text = f"{written} has the same arguments each time round the loop at line {call.loop}"
                yield found(sources, "repeated-calls", 2, Severity.HIGH, f"{file}:{call.line}", text, remedy)
        yield from _twice(sources, file, calls, remedy)


def _twice(sources: TaskSources, file: str, calls: list[Called], remedy: str) -> Iterator[Finding]:
    count = Counter((c.function, c.arguments) for c in calls if c.arguments and PurePosixPath(file).suffix != ".h")
    for (function, arguments), number in count.items():
        lines = [c.line for c in calls if (c.function, c.arguments) == (function, arguments)]
        if number > 1 and max(lines) - min(lines) < 12 and not any(c.loop for c in calls):
            text = f"{function}({', '.join(arguments)}) is called {number} times with the same arguments"
            yield found(sources, "repeated-calls", 2, Severity.HIGH, f"{file}:{lines[-1]}", text, remedy)


def overwritten(sources: TaskSources) -> Iterator[Finding]:
    """Kind 6: the driver checks the answer by memory that the solution could write."""
    verifier = verifier_of(sources)
    functions = solution_functions(sources)
    if not functions:
        raise NotApplicable("the functions of the editable files are not known")
    remedy = (
        "hand out the answer and compare it in another process; keep a copy of the input that the solution never sees"
    )
    for file in drivers(sources, verifier):
        if PurePosixPath(file).suffix == ".py":
            continue
        for call in calls_in(file, sources.text(file), functions):
            if call.checked_later:
                text = (
                    f"{call.function}({', '.join(call.arguments)}) could write what `{call.checked_later}` then goes by"
                )
                yield found(sources, "driver-memory", 6, Severity.MEDIUM, f"{file}:{call.line}", text, remedy)


def driver_seeds(sources: TaskSources) -> Iterator[Finding]:
    """Kind 7: a driver that the solution's author can read draws its inputs from a constant."""
    verifier = verifier_of(sources)
    remedy = "draw inputs in the verifier from a fresh secret seed, and hand them to the driver"
    for file in drivers(sources, verifier):
        text = sources.text(file)
        match = _SEED.search(text)
        if match and not _ENTROPY.search(text):
            line = text.count("\n", 0, match.start()) + 1 + match[0].count("\n")
            evidence = f"`{match[0].strip()}`: the inputs are the same at every verification"
            yield found(sources, "driver-seed", 7, Severity.HIGH, f"{file}:{line}", evidence, remedy)
