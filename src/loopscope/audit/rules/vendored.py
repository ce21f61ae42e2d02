"""A vendored guard is loopscope's own, byte for byte; a copy that differs is no guard that anybody has tested."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from pathlib import PurePosixPath

from loopscope.audit.finding import Finding, NotApplicable, Severity
from loopscope.audit.reading.verifier import verifier_of
from loopscope.audit.rules.common import found
from loopscope.audit.sources import TaskSources
from loopscope.tasks.vendor import GUARD

_OPENS = {"seed": 7, "setting": 7, "submitted": 4, "pristine": 4, "read_regular": 4}
"""Which kind of hack a change of these functions of `verdict.py` opens; a change of anything else opens the fence."""


def vendored(sources: TaskSources) -> Iterator[Finding]:
    """Each file of a guard equals loopscope's."""
    verifier = verifier_of(sources)
    if not verifier.guard_files:
        raise NotApplicable("no guard of loopscope's is vendored")
    for file, same in verifier.guard_files.items():
        if same is None:
            yield _differs(sources, file)
    folders = {str(PurePosixPath(file).parent) for file in verifier.guard_files}
    for folder in sorted(folders):
        for path in sorted(GUARD.glob("*.py")):
            if f"{folder}/{path.name}" not in verifier.guard_files:
                text = f"{path.name} of the guard is missing"
                yield found(sources, "guard", 8, Severity.HIGH, folder, text, _REMEDY)


_REMEDY = "vendor the guard anew, as it is: a copy of loopscope/tasks/guard"


def _differs(sources: TaskSources, file: str) -> Finding:
    name = PurePosixPath(file).name
    own = GUARD / name
    if not own.is_file():
        return found(sources, "guard", 8, Severity.HIGH, f"{file}:1", "is no file of loopscope's guard", _REMEDY)
    ours, theirs = own.read_text().splitlines(), sources.text(file).splitlines()
    changes: list[str] = []
    line = 1
    for tag, a1, a2, b1, b2 in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            line = b1 + 1 if not changes else line
            changes += [f"- {text.strip()}" for text in ours[a1:a2]] + [f"+ {text.strip()}" for text in theirs[b1:b2]]
    kind = _OPENS.get(_function(sources.text(file), line), 8) if name == "verdict.py" else 8
    text = f"differs from the guard of this loopscope: {'; '.join(changes[:6])}"
    return found(sources, "guard", kind, Severity.HIGH, f"{file}:{line}", text, _REMEDY)


def _function(text: str, line: int) -> str:
    """The function that a line stands in."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    holding = [
        n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.lineno <= line <= (n.end_lineno or n.lineno)
    ]
    return holding[-1].name if holding else ""
