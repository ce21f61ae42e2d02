"""What a verifier's shell script does: which commands build or run a solution, and what becomes of their output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from loopscope.audit.reading.shell import Command
from loopscope.audit.reading.verifier import Verifier

_WRAPPERS = {
    "timeout",
    "env",
    "nice",
    "taskset",
    "time",
    "sudo",
    "stdbuf",
    "numactl",
    "setsid",
    "nohup",
    "exec",
    "command",
    "ionice",
    "!",
}
_FENCES = {"unshare", "bwrap", "setpriv", "su", "runuser", "chroot", "firejail", "nsjail", "capsh"}
_INTERPRETERS = re.compile(r"(python[\d.]*|\$PYTHON\w*|bash|sh|node|ruby|perl|java|julia|Rscript|torchrun|accelerate)$")
_BUILD = {
    "make",
    "cargo",
    "cmake",
    "ninja",
    "go",
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "clang++",
    "nvcc",
    "rustc",
    "javac",
}


@dataclass(frozen=True)
class Started:
    """A command that runs the solution's code."""

    command: Command
    program: str
    fenced: bool
    """By a program that changes user or namespaces."""
    into: tuple[str, ...]
    """Variables (`$NAME`) and files that get its output."""


def bare(command: Command) -> tuple[list[str], bool]:
    """A command's words without wrappers, and whether one of them is a fence."""
    words, fenced = list(command.words), False
    while words:
        name = words[0].rsplit("/", 1)[-1]
        if name in _FENCES:
            fenced = True
        elif name not in _WRAPPERS:
            break
        words.pop(0)
        while words and (words[0].startswith("-") or re.fullmatch(r"[\d.]+[smh]?|\w+=.*", words[0])):
            words.pop(0)
    return words, fenced


def started(verifier: Verifier) -> Iterator[Started]:
    """Commands that run something out of the work dir."""
    workdir = verifier.sources.info.workdir.rstrip("/")
    inside = bool(
        re.search(rf"\bcd\s+[\"']?(?:{re.escape(workdir)}|\$\{{?APP)", verifier.sources.text("tests/test.sh"))
    )
    for command in verifier.commands:
        words, fenced = bare(command)
        if not words:
            continue
        program = words[0]
        if _INTERPRETERS.search(program):
            scripts = [w for w in words[1:] if not w.startswith("-")]
            program = scripts[0] if scripts else ""
        elif words[0] in ("go", "cargo") and len(words) > 1 and words[1] == "run":
            program = workdir + "/" + words[0] + " run"
        if program.startswith((workdir + "/", "$APP", "$BIN")) or (program.startswith("./") and inside):
            yield Started(command, program, fenced, command.into)


def builds(verifier: Verifier) -> Iterator[tuple[Command, list[str]]]:
    """Commands that build in the work dir: (command, its words)."""
    for command in verifier.commands:
        words, _ = bare(command)
        if words and words[0].rsplit("/", 1)[-1] in _BUILD:
            yield command, words


def mentions(verifier: Verifier, names: tuple[str, ...]) -> list[Command]:
    """Commands that speak of one of these words."""
    return [c for c in verifier.commands if any(re.search(rf"(?<![\w.]){re.escape(n)}(?![\w])", c.text) for n in names)]
