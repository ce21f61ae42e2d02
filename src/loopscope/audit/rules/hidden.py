"""Kind 8: neither the seed nor an answer nor the verifier's own files can be read or written by a solution."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from loopscope.audit.finding import Finding, Severity
from loopscope.audit.reading.values import Label
from loopscope.audit.reading.verifier import Verifier, verifier_of
from loopscope.audit.rules.common import found, given_to, line_of, reward_of, solution_runs
from loopscope.audit.sources import TaskSources

_HIDE = "give the solution its input and nothing else; keep seed, answers and anchors in the verifier's memory"
_TABLES = {"HIDDEN", "SYSTEM", "DETAILS", "DEVICES", "BOX", "PATH"}
_MODES = {"os.chmod", "os.chown", "os.symlink", "os.link", "os.umask", "shutil.chown"}
_SECRET_PLACES = ("/tests", "/logs", "/solution", "/app", "/orig", "/root", "/home", "/tmp")  # noqa: S108


def hidden(sources: TaskSources) -> Iterator[Finding]:
    """Kind 8, in Python that scores."""
    verifier = verifier_of(sources)
    for name, runs in solution_runs(verifier).items():
        ways = [way for run in runs for way in given_to(verifier, run)]
        for place, value, way in ways:
            if value.has("raw"):
                text = f"the seed is in {way}: whoever has it has every answer"
                yield found(sources, "hidden-data", 8, Severity.HIGH, place.where, text, _HIDE)
        given = frozenset(label for _, value, _ in ways for label in value.labels)
        if leaked := _answer_given(verifier, name, given):
            text = f"{leaked} is compared with the program's output, and is also given to it"
            yield found(sources, "hidden-data", 8, Severity.HIGH, line_of(name), text, _HIDE)
        for file in sorted({label[1] for label in given if label[0] == "own"}):
            if f"tests/{file}" in {m.file for m in verifier.entries} or _is_data(sources, file):
                text = f"tests/{file} lies beside the solution's code"
                yield found(sources, "hidden-data", 8, Severity.HIGH, line_of(name), text, _HIDE)
    for runs in solution_runs(verifier).values():
        if runs[0].fenced and runs[0].writable:
            text = "the solution may write into its box: what it leaves there the verifier, or its next run, finds"
            yield found(sources, "hidden-data", 8, Severity.MEDIUM, runs[0].place.where, text, _HIDE)
    yield from _links(sources, verifier)
    yield from _whole_results(sources, verifier)
    yield from _weaker_fence(sources, verifier)
    for wrote in verifier.story.of("wrote"):
        if wrote.value.has("drawn") or wrote.value.has("raw") or wrote.value.has("fixed"):
            text = f"`{wrote.text}` puts test data where the solution can read it"
            yield found(sources, "hidden-data", 8, Severity.HIGH, wrote.place.where, text, _HIDE)


def _is_data(sources: TaskSources, file: str) -> bool:
    return (
        PurePosixPath(file).suffix in (".json", ".npz", ".npy", ".bin", ".csv", ".txt", ".pkl", ".dat")
        and f"tests/{file}" in sources.files
    )


def _sides(verifier: Verifier, run: str) -> Iterator[frozenset[Label]]:
    """What the output of a run is compared with."""
    for happening in verifier.story.of("compare"):
        for one, other in ((happening.value, happening.other), (happening.other, happening.value)):
            if ("out", run) in one.labels and ("out", run) not in other.labels and ("weak", run) not in other.labels:
                yield frozenset(label for label in other.labels if label[0] == "ret")


def _answer_given(verifier: Verifier, run: str, given: frozenset[Label]) -> str:
    """Name of the function whose result is an answer that the program is given too; empty where there is none."""
    for side in _sides(verifier, run):
        single = {label for label in side if label[3] == "1"}
        part = side - single
        for group in (single, part):
            if group and group <= given:
                return f"what {sorted(group)[-1][1]}() gives"
    return ""


def _links(sources: TaskSources, verifier: Verifier) -> Iterator[Finding]:
    """Submitted files that are opened as they are: a link in their place shows what only the verifier may read."""
    for read in verifier.story.of("read"):
        names = {str(label[1]).rsplit("/", 1)[-1] for label in read.value.of("src")}
        ends = {name.rsplit("/", 1)[-1] for name in sources.editable}
        plainly = "read_regular" not in read.text and re.search(r"open|read_|copy", read.text)
        if verifier.guarded and plainly and names & ends:
            text = f"`{read.text}` follows a link that a solution can leave there, to tests/ for one"
            remedy = "read submitted files with O_NOFOLLOW, regular ones only, up to a size (verdict.submitted does)"
            yield found(sources, "hidden-data", 8, Severity.MEDIUM, read.place.where, text, remedy)


def _whole_results(sources: TaskSources, verifier: Verifier) -> Iterator[Finding]:
    """A function that draws input and answer together keeps at least one of them from the solution."""
    reward = reward_of(verifier)
    given: set[Label] = set()
    where = ""
    for name, runs in solution_runs(verifier).items():
        for run in runs:
            for _, value, _ in given_to(verifier, run):
                given |= {label for label in value.of("ret") if label[3] != "1"}
                where = where or line_of(name)
    for function in sorted({label[1] for label in given}):
        parts = {label[2] for label in given if label[1] == function}
        count = max(int(label[3]) for label in given if label[1] == function)
        scored = any(label[0] == "ret" and label[1] == function for label in reward.labels)
        if len(parts) == count and scored:
            text = f"all {count} results of {function}() are given to the solution, answers among them"
            yield found(sources, "hidden-data", 8, Severity.HIGH, where, text, _HIDE)


def _weaker_fence(sources: TaskSources, verifier: Verifier) -> Iterator[Finding]:
    remedy = "leave the guard's own tables and its choice of the strongest fence alone"
    for happening in verifier.story.of("fence"):
        if happening.text.startswith("a weaker fence"):
            yield found(sources, "hidden-data", 8, Severity.HIGH, happening.place.where, happening.text, remedy)
    for file in sorted(verifier.scoring):
        tree = sources.modules.get(file)
        for node in ast.walk(tree) if tree else ():
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AugAssign)
                else []
            )
            names = {t.attr for target in targets for t in ast.walk(target) if isinstance(t, ast.Attribute)} & _TABLES
            opened = [
                s for s in _strings(node) if s == "/" or any(s == p or s.startswith(p + "/") for p in _SECRET_PLACES)
            ]
            if names and ("HIDDEN" in names or opened):
                text = f"`{ast.unparse(node)[:160]}` opens the fence"
                yield found(
                    sources, "hidden-data", 8, Severity.HIGH, f"{file}:{getattr(node, 'lineno', 1)}", text, remedy
                )
            if isinstance(node, ast.Call) and verifier.guarded and ast.unparse(node.func) in _MODES:
                text = f"`{ast.unparse(node)[:160]}` changes who may read what while a solution runs"
                yield found(sources, "hidden-data", 8, Severity.MEDIUM, f"{file}:{node.lineno}", text, remedy)
    yield from _switched(sources)


def _switched(sources: TaskSources) -> Iterator[Finding]:
    """Counterfactual switches that are set for every verification."""
    remedy = "set no LOOPSCOPE_ variable: they are for counterfactual verifications"
    environment = sources.toml.get("verifier", {}).get("env", {})
    places = [("task.toml", 0, f"{k}={v}") for k, v in environment.items()] if isinstance(environment, dict) else []
    places += [("tests/test.sh", n, line) for n, line in enumerate(sources.text("tests/test.sh").splitlines(), 1)]
    places += [("environment/Dockerfile", i.line, i.rest) for i in sources.dockerfile if i.keyword in ("ENV", "ARG")]
    for file, number, line in places:
        match = re.search(r"\bLOOPSCOPE_(\w+)[ =]", line)
        if match and not line.lstrip().startswith(("#", "unset")):
            kind = 7 if match[1] == "SEED" else 8 if match[1] == "GUARD" else None
            severity = Severity.HIGH if kind else Severity.MEDIUM
            where = f"{file}:{number}" if number else file
            yield found(sources, "switches", kind, severity, where, f"`{line.strip()}`", remedy)


def _strings(node: ast.AST) -> list[str]:
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
