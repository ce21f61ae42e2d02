"""Everything outside the editable files that a hack can be left in, tried at once."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import PurePosixPath

from loopscope.audit.probes.lab import MAKEFILES, Lab, hurt
from loopscope.audit.probes.weaving import Weave, language, piece, pieces, woven
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Act

_IMPORT = re.compile(r"^\s*(?:import|from)\s+([\w, ]+)", re.MULTILINE)
_BY_ITSELF = ("sitecustomize", "usercustomize", "conftest")
"""Imported by the interpreter or the test runner without being asked for."""
OUTSIDE = "probe: all outside at once"


async def untouched(bench: Lab) -> bool:
    """Nothing came of a changed driver, shadowed modules and planted bytecode, all in one trial.

    Where something is built, or the starter is slow, nothing is tried: False.
    """
    starter = bench.subject.sources.starter
    if any(n in MAKEFILES or n == "Cargo.toml" for n in starter) or await bench.slow():
        return False
    changed = {n: s for n, s in bench.editable.items() if language(n) == "python"}
    files = {name: laden(name, source) for name, source in {**bench.drivers, **bench.builders}.items()}
    files |= shadows(bench.subject) | planted(changed)
    command = f"{compiled(changed)}rm -rf .lsp" if changed else None
    trial, plain = await bench.attempt(Act(OUTSIDE, files=files, command=command)), await bench.plain(False)
    return not (hurt(trial, plain) or bench.won(trial, await bench.base(False)))


def laden(name: str, source: bytes) -> bytes:
    """A file of the driver with code added to it."""
    if PurePosixPath(name).name in MAKEFILES:
        command = piece("verdict.sh").strip().replace("$", "$$").replace("#", "\\#")
        return source.rstrip() + f"\n\nLSP := $(shell {command})\n".encode()
    return woven(name, source, Weave(pieces(name, ("verdict", "clock"))))


def shadows(subject: Subject) -> dict[str, bytes]:
    """Files with the names of modules that the verifier imports; none where it imports none."""
    text = (piece("base.pyt") + piece("verdict.pyt") + piece("shadow.pyt")).encode()
    names = shadowable(subject)
    return {f"{name}.py": text for name in (*names, *_BY_ITSELF)} if names else {}


def shadowable(subject: Subject) -> list[str]:
    """Modules of the standard library that are files and stand in an import of the verifier's."""
    text = "\n".join(subject.sources.text(n) for n in subject.sources.below("tests", ".py", ".sh"))
    found = {word for line in _IMPORT.findall(text) for word in re.split(r"[,\s]+", line)}
    own = {n.removesuffix(".py") for n in subject.sources.starter}
    return sorted((found & sys.stdlib_module_names) - set(sys.builtin_module_names) - own - {"__future__"})


def planted(changed: dict[str, bytes]) -> dict[str, bytes]:
    """The changed sources with a hack in them, to be built from."""
    named = enumerate(changed.items())
    return {f".lsp/{number}": woven(n, s, Weave(pieces(n, ("verdict",)))) for number, (n, s) in named}


def compiled(changed: dict[str, bytes]) -> str:
    """Compiled modules that Python takes without looking at the source."""
    script = (
        "import py_compile,sys,importlib.util as u\n"
        "for a,b in zip(sys.argv[1::2],sys.argv[2::2]):\n"
        " mode=py_compile.PycInvalidationMode.UNCHECKED_HASH\n"
        " py_compile.compile(a,u.cache_from_source(b),b,invalidation_mode=mode)"
    )
    pairs = " ".join(f".lsp/{number} {shlex.quote(name)}" for number, name in enumerate(changed))
    return f"python3 -I -c {shlex.quote(script)} {pairs}\n"
