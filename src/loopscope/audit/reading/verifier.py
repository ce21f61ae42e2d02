"""A task's verifier as a whole: what scores, what stands behind the fence, and what is vendored."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from loopscope.audit.reading.calls import Calls
from loopscope.audit.reading.events import Story
from loopscope.audit.reading.shell import Command, Script, python_script, python_texts, read_script
from loopscope.audit.reading.state import Module
from loopscope.audit.sources import TaskSources
from loopscope.tasks.vendor import GUARD

_GUARD_NAMES = frozenset({"fence.py", "child.py", "layers.py", "verdict.py", "__init__.py"})


@dataclass(frozen=True)
class Verifier:
    """What `tests/` does."""

    sources: TaskSources

    @cached_property
    def script(self) -> Script:
        """tests/test.sh."""
        return read_script(self.sources.text("tests/test.sh"))

    @property
    def commands(self) -> list[Command]:
        """Its commands."""
        return self.script.commands

    @cached_property
    def guard_files(self) -> Mapping[str, str | None]:
        """Files of a vendored guard: {name: name in loopscope's own of which it is an exact copy, or None}."""
        own = {hashlib.sha256(p.read_bytes()).digest(): p.name for p in sorted(GUARD.glob("*.py"))}
        folders = {str(PurePosixPath(n).parent) for n in self.sources.below("tests", ".py")}
        found: dict[str, str | None] = {}
        for folder in folders:
            names = {PurePosixPath(n).name for n in self.sources.modules if str(PurePosixPath(n).parent) == folder}
            if len(names & _GUARD_NAMES) >= 3:
                for name in self.sources.below(folder, ".py"):
                    same = own.get(hashlib.sha256(self.sources.files[name]).digest())
                    found[name] = same if same == PurePosixPath(name).name else None
        return found

    @cached_property
    def entries(self) -> tuple[Module, ...]:
        """Python programs that test.sh runs: scripts by name, and texts that stand in it."""
        found = []
        for number, command in enumerate(self.commands):
            text = python_texts(command)
            if text is not None:
                try:
                    found.append(Module("tests/test.sh", ast.parse(text[0]), first=text[1]))
                except (SyntaxError, ValueError):
                    continue
            name = python_script(command)
            file = next((f for f in self.sources.modules if name and f.endswith("/" + name)), None)
            if file is not None and number >= 0 and file not in [m.file for m in found]:
                found.append(Module(file, self.sources.modules[file]))
        return tuple(found)

    @cached_property
    def reader(self) -> Calls:
        """Has gone through every program that scores."""
        entries = list(self.entries)
        others = [
            Module(f, t)
            for f, t in self.sources.modules.items()
            if f not in {m.file for m in entries} and f not in self.guard_files
        ]
        reader = Calls([*others, *entries], self.sources.info.workdir, self.sources.editable)
        for module in entries:
            reader.run_module(module, main=True)
        return reader

    @property
    def story(self) -> Story:
        """What happens while it scores."""
        return self.reader.story

    @cached_property
    def scoring(self) -> frozenset[str]:
        """Python files that run in the process that scores."""
        return frozenset(m.file for m in self.reader.by_file.values() if m.ran)

    @cached_property
    def behind(self) -> tuple[str, ...]:
        """Files of tests/ that are put beside the solution's code and run with it."""
        names = set()
        for run in self.story.runs:
            if run.fenced and run.holds_source:
                names |= {label[1] for label in run.box.of("own")} | {label[1] for label in run.argv.of("own")}
        return tuple(sorted(f for f in self.sources.below("tests") if f.removeprefix("tests/") in names))

    @property
    def guarded(self) -> bool:
        """It runs solutions behind a guard."""
        return any(run.fenced for run in self.story.runs)

    def line(self, file: str, pattern: str) -> int:
        """Number of the first line of a file that matches."""
        for number, line in enumerate(self.sources.text(file).splitlines(), 1):
            if re.search(pattern, line):
                return number
        return 1


_kept: list[tuple[Path, TaskSources, Verifier]] = []


def verifier_of(sources: TaskSources) -> Verifier:
    """The verifier of these sources; read once for all rules."""
    for _, known, verifier in _kept:
        if known is sources:
            return verifier
    verifier = Verifier(sources)
    _kept.append((sources.directory, sources, verifier))
    del _kept[:-4]
    return verifier
