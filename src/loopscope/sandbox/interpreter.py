"""The interpreter that loopscope runs on, and the least of it that a sandbox must be shown.

A prefix can hold much more than an interpreter (conda's holds every other environment), so only these are shown: the
program, the standard library without installed packages, and of the shared libraries beside them those that are named
by something shown.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loopscope.sandbox.bwrap import Bind
from loopscope.sandbox.errors import SandboxError

PYTHON_INSIDE = "/opt/loopscope/python"
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
_SYSTEM = ("/usr/", "/lib/", "/lib64/", "/bin/")
_INSTALLED = ("site-packages", "dist-packages")
_LIBRARY = re.compile(rb"\blib[\w.+-]+\.so[\w.]*")
_WHEELS_NEED = frozenset(
    f"lib{name}" for name in (
        "c.so.6", "m.so.6", "dl.so.2", "rt.so.1", "pthread.so.0", "util.so.1", "resolv.so.2", "nsl.so.1", "gcc_s.so.1",
        "stdc++.so.6", "z.so.1", "expat.so.1",
    )
)  # fmt: skip
"""What a manylinux wheel may expect of the system (PEP 600), graphics aside."""


@dataclass(frozen=True)
class Interpreter:
    """The base interpreter as the sandbox will see it."""

    executable: str
    """Path inside."""
    shown: tuple[Bind, ...] = ()
    """What of the host must be bound for it; nothing when the interpreter lies under /usr."""
    hidden: tuple[str, ...] = ()
    """Directories inside, within what is shown, that an empty one must cover: packages installed on the host."""
    loader: str | None = None
    """Path inside of the dynamic loader that must be called with `library_path`, when the program alone would not find
    its libraries: it brings its own libc, or names its own libpython by the host's path."""
    library_path: str = ""
    version: str = VERSION

    def unreadable(self) -> Path | None:
        """Something that is shown and that another user may not read; None when all may be."""
        for bind in self.shown:
            wanted = 0o005 if Path(bind.source).is_dir() else 0o004
            if Path(bind.source).stat().st_mode & wanted != wanted:
                return Path(bind.source)
        return None


def this_interpreter(mapped: Sequence[str] | None = None) -> Interpreter:
    """The interpreter that loopscope runs on, with its own libc where it was unpacked privately.

    `mapped`: files mapped into this process, where they are not to be asked for.
    """
    mapped = _mapped_files() if mapped is None else mapped
    prefix = Path(sys.base_prefix).resolve()
    program = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    loaders = [f for f in mapped if Path(f).name.startswith(("ld-linux", "ld-musl", "ld-2"))]
    if loaders and not loaders[0].startswith(_SYSTEM):
        return _private(Path(loaders[0]), prefix, mapped)
    if str(program).startswith("/usr/"):
        return Interpreter(str(program))
    if prefix not in program.parents:
        prefix = program.parent.parent
    shown, hidden = _parts(prefix, prefix, program, [prefix / "lib"])
    executable = _inside(prefix, program)
    shared = [Path(f) for f in mapped if Path(f).name.startswith("libpython") and prefix in Path(f).parents]
    if shared and loaders:
        # Such an interpreter (pyenv's with --enable-shared) finds its library by the host's path.
        return Interpreter(executable, shown, hidden, loaders[0], _inside(prefix, shared[0].parent))
    return Interpreter(executable, shown, hidden)


def _mapped_files() -> list[str]:
    """Files mapped into this process: its program, loader and libraries."""
    lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    return sorted({parts[5] for line in lines if len(parts := line.split(None, 5)) == 6 and parts[5].startswith("/")})


def _private(loader: Path, prefix: Path, mapped: Sequence[str]) -> Interpreter:
    root = Path(os.path.commonpath([loader.parent, prefix]))
    program = prefix / "bin" / f"python{VERSION}"
    if str(root) == "/" or not program.is_file():
        raise SandboxError(f"the interpreter under {prefix} brings its own libc in a layout that is not known here")
    directories = {Path(f).parent for f in mapped if root in Path(f).parents and ".so" in Path(f).name}
    libraries = sorted(d for d in directories if not {*_INSTALLED, "lib-dynload"} & set(d.parts))
    shown, hidden = _parts(root, prefix, program, libraries)
    start = Bind(str(loader), _inside(root, loader))
    path = ":".join(_inside(root, d) for d in libraries)
    return Interpreter(_inside(root, program), tuple(dict.fromkeys((*shown, start))), hidden, start.target, path)


def _inside(root: Path, path: Path) -> str:
    return f"{PYTHON_INSIDE}/{path.relative_to(root)}"


def _parts(
    root: Path, prefix: Path, program: Path, libraries: Sequence[Path]
) -> tuple[tuple[Bind, ...], tuple[str, ...]]:
    """What to show, and what of it to hide again, of an interpreter whose `root` becomes PYTHON_INSIDE."""
    shown = [Bind(str(program), _inside(root, program.with_name(n))) for n in _names(program)]
    hidden = []
    modules: list[Path] = []
    for name in dict.fromkeys(("lib", sys.platlibdir)):
        library = prefix / name / f"python{VERSION}"
        if library.is_dir():
            shown.append(Bind(str(library), _inside(root, library)))
            hidden += [_inside(root, library / n) for n in _INSTALLED if (library / n).is_dir()]
            modules += sorted((library / "lib-dynload").glob("*.so"))
    needing = [program, *(m for m in modules if not m.name.startswith("_tkinter"))]
    shown += [Bind(str(p.resolve()), _inside(root, p)) for p in _needed(needing, libraries)]
    return tuple(shown), tuple(hidden)


def _names(program: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys((program.name, f"python{VERSION}", "python3", "python")))


def _needed(start: Iterable[Path], directories: Sequence[Path]) -> list[Path]:
    """Shared libraries in `directories` that are named in these files, or in one another: rather one more than less."""
    there = {p.name: p for d in reversed(directories) for p in d.glob("lib*.so*") if p.is_file()}
    found = {name: there[name] for name in sorted(_WHEELS_NEED & set(there))}
    waiting = [*start, *found.values()]
    while waiting:
        for name in _named_libraries(waiting.pop()):
            if name in there and name not in found:
                found[name] = there[name]
                waiting.append(there[name])
    return [found[name] for name in sorted(found)]


def _named_libraries(file: Path) -> Iterator[str]:
    yield from {match.decode() for match in _LIBRARY.findall(file.read_bytes())}
