"""Kinds 4 and 5: only the editable files come from the solution, the rest is the verifier's, and all is built anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from loopscope.audit.finding import Finding, NotApplicable, Severity
from loopscope.audit.reading.verifier import Verifier, verifier_of
from loopscope.audit.rules.common import found, plain_name
from loopscope.audit.sources import TaskSources

_PIN = "take only the editable files from the solution; driver, headers, build files and baseline from tests/"
_CLEAN = "build in an empty directory from sources only; never use a program that lies in the work dir"
_DANGEROUS = (
    "-include/x.h", "-I/app", "-Wp,-imacros,/x", "-I/app", "@/app/options", "-wrapper", "-B/app",
     "/app/x.o", "-Wl,--defsym=x", "-L/app", "-l:x.a", "x.c", "-specs=/x",
    "-fplugin=/x.so", "-o/tests/x",
)  # fmt: skip


def pinned(sources: TaskSources) -> Iterator[Finding]:
    """Kinds 4 and 5, in Python that scores."""
    verifier = verifier_of(sources)
    if not verifier.guarded:
        raise NotApplicable("nothing runs behind a guard")
    seen = set()
    for run in [run for run in verifier.story.runs if run.fenced]:
        for label in sorted({*run.box.of("src"), *run.argv.of("src")}):
            name = plain_name(label[1], sources.info.workdir)
            if sources.info.workdir in name:  # an option that names the whole directory
                name = sources.info.workdir
            if name in sources.editable or name in seen:
                continue
            seen.add(name)
            yield _foreign(sources, run.place.where, name)
    yield from _options(sources, verifier)


def _foreign(sources: TaskSources, where: str, name: str) -> Finding:
    if name in sources.starter or f"tests/{name}" in sources.files:
        text = f"{name} comes from the work dir, though no solution may change it: it can be replaced"
        return found(sources, "pinned-driver", 4, Severity.HIGH, where, text, _PIN)
    if name in ("?", sources.info.workdir):
        text = "all of the work dir comes along, not only the editable files"
        return found(sources, "pinned-driver", 4, Severity.HIGH, where, text, _PIN)
    text = f"{name} is taken from the work dir, where it can have been planted"
    return found(sources, "planted", 5, Severity.HIGH, where, text, _CLEAN)


def planted(sources: TaskSources) -> Iterator[Finding]:
    """Kind 5 and 8: files that the verifier looks at in places where a solution can put them."""
    verifier = verifier_of(sources)
    if not verifier.guarded:
        raise NotApplicable("nothing runs behind a guard")
    for read in verifier.story.of("read"):
        names = {plain_name(label[1], sources.info.workdir) for label in read.value.of("src")}
        const = read.value.const
        if isinstance(const, str) and const.startswith(("/tmp/", "/var/tmp/", "/dev/shm/", "/root/", "/home/")):  # noqa: S108
            names = {const}
        told = str(read.other.const or "")
        if "verdict.read_regular" in read.text:
            names = {told} if read.value.has("workdir") else set()
        if sources.info.workdir in names and re.match(
            r"(shutil\.)?copytree|(os\.)?(listdir|walk|scandir)|glob|.*\.glob|.*iterdir", read.text
        ):
            yield _foreign(sources, read.place.where, sources.info.workdir)
        foreign = sorted(n for n in names if n not in (*sources.editable, sources.info.workdir, ""))
        if not foreign:
            continue
        if foreign[0] in sources.starter:
            yield _foreign(sources, read.place.where, foreign[0])
        else:
            text = f"`{read.text}`: {foreign[0]} can have been put there by the solution"
            yield found(sources, "planted", 5, Severity.HIGH, read.place.where, text, _CLEAN)


def _options(sources: TaskSources, verifier: Verifier) -> Iterator[Finding]:
    """Options of the solution's for a compiler are looked at, by a strict pattern, and serve the solution alone."""
    for run in verifier.story.runs:
        if run.fenced and run.builds and run.argv.has("src") and not run.box.has("src"):
            text = "a program of the verifier's own is built with the solution's options, which can make it slow"
            yield found(sources, "pinned-driver", 4, Severity.HIGH, run.place.where, text, _PIN)
            break
    checked = {label for gate in verifier.story.gates if not gate.swallowed for label in gate.value.of("src")}
    for run in verifier.story.runs:
        loose = sorted(
            label[1] for label in run.argv.of("src") if label not in checked and label[1] in sources.editable
        )
        if run.fenced and run.builds and loose:
            text = f"options from {loose[0]} reach the compiler unchecked: they can name files and other programs"
            yield found(sources, "pinned-driver", 4, Severity.HIGH, run.place.where, text, _PIN)
    if not any(run.builds and run.argv.has("src") for run in verifier.story.runs):
        return
    for file in sorted(verifier.scoring):
        yield from _patterns(sources, file, sources.modules.get(file))


def _patterns(sources: TaskSources, file: str, tree: ast.Module | None) -> Iterator[Finding]:
    compiled = {}
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args:
            first = node.value.args[0]
            if (
                ast.unparse(node.value.func).endswith("compile")
                and isinstance(first, ast.Constant)
                and isinstance(first.value, str)
            ):
                compiled.update({t.id: first.value for t in node.targets if isinstance(t, ast.Name)})
    for node in ast.walk(tree) if tree else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            text, how = compiled.get(node.func.value.id), node.func.attr
            if text is None or how not in ("match", "fullmatch", "search"):
                continue
            passes = getattr(re.compile(text), how)
            let = [flag for flag in _DANGEROUS if passes(flag)]
            if let and passes("-O3"):
                evidence = f"the pattern for options lets {let[0]} through"
                yield found(sources, "pinned-driver", 4, Severity.HIGH, f"{file}:{node.lineno}", evidence, _PIN)
