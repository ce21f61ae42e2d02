"""Compiler flags: in Makefiles and build scripts, or as pragmas where only the C source may change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loopscope.agents.search.mutate.moves import Edit, Files, Move
from loopscope.agents.search.mutate.syntax import language_of

_BUILD_FILE = re.compile(r"(?:^|/)(?:GNUmakefile|[Mm]akefile|CMakeLists\.txt)$|\.(?:mk|sh|cmake)$")
_LEVEL = re.compile(rb"(?<![\w-])-O(?:[0-3sgz]|fast)?(?![\w-])")
_VARIABLE = re.compile(rb"^[ \t]*(?:override[ \t]+)?(CFLAGS|CXXFLAGS|OPT|OPTFLAGS)[ \t]*[:+?]?=[ \t]*", re.M)
_COMPILER = re.compile(rb"(?<![\w./-])(?:gcc|g\+\+|cc|clang|\$\(CC\)|\$\{CC\})(?=\s)")
_SLOW = re.compile(rb"(?<![\w-])(?:-g\d?|-pg|-fsanitize=\S+|-fno-\S+|-DDEBUG\S*|-fstack-protector\S*)(?![\w-])")
_BUNDLES = (
    ("-O3 -march=native", 0.6, "the compiler may vectorise and use all of this processor"),
    ("-O3", 0.4, "a higher optimisation level may inline and vectorise more"),
    ("-O2", 0.25, "a moderate level may keep the code small enough for the cache"),
    ("-Ofast -march=native", 0.35, "relaxed floating point may allow vector code"),
)
_EXTRAS = (
    ("-funroll-loops", 0.25, "short loops may spend their time on the loop itself"),
    ("-flto", 0.2, "inlining across files may remove calls"),
    ("-fomit-frame-pointer", 0.1, "one more register may help tight loops"),
    ("-fno-plt", 0.05, "calls without the linkage table may be cheaper"),
    ("-DNDEBUG", 0.15, "assertions may cost time in the hot path"),
    ("-fno-semantic-interposition", 0.05, "the compiler may inline exported functions"),
)
_PRAGMAS = (
    ('GCC optimize("O3")', 0.5, "the build may use a low optimisation level, and the source can ask for more"),
    ('GCC optimize("O3,unroll-loops")', 0.4, "unrolled loops may keep the processor busier"),
    ('GCC optimize("Ofast")', 0.25, "relaxed floating point may allow vector code"),
    ('GCC target("avx2,bmi,bmi2,popcnt,lzcnt")', 0.3, "vector and bit instructions of this processor may help"),
)


def flag_moves(files: Files) -> Iterator[Move]:
    """Flags to set, add or drop in build files, and pragmas for C sources."""
    builds = [path for path in sorted(files) if _holds_flags(path, files[path])]
    for path in builds:
        yield from _in_build_file(path, files[path])
    for path in sorted(files):
        if language_of(path, files[path]) == "c" and not path.endswith((".h", ".hpp", ".cuh")):
            yield from _pragmas(path, files[path], 0.5 if builds else 1.0)


def _holds_flags(path: str, data: bytes) -> bool:
    """A build file by its name, or a file of options by its name or content."""
    if language_of(path, data) is not None:
        return False
    return bool(_BUILD_FILE.search(path) or re.search(r"flags|options", path, re.I) or _LEVEL.search(data))


def _move(path: str, operator: str, site: str, edits: tuple[Edit, ...], change: str, why: str, prior: float) -> Move:
    return Move("flags", operator, path, "flag", site, edits, f"{change} in {path}", why, weight=prior, prior=prior)


def _in_build_file(path: str, data: bytes) -> Iterator[Move]:
    levels = list(_LEVEL.finditer(data))
    spot = levels[0].start() if levels else _insertion_point(path, data)
    if spot is None:
        return
    for flags, prior, why in _BUNDLES:
        text = b" ".join(flag for flag in flags.encode().split() if flag.startswith(b"-O") or flag not in data)
        edits = tuple(Edit(m.start(), m.end(), text) for m in levels) or (Edit(spot, spot, text + b" "),)
        if any(data[e.start : e.end] != e.text for e in edits):
            yield _move(path, f"set {flags}", "level", edits, f"optimisation flags {text.decode()}", why, prior)
    for flag, prior, why in _EXTRAS:
        if flag.encode() not in data:
            edit = Edit(spot, spot, flag.encode() + b" ")
            yield _move(path, f"add {flag}", "flags", (edit,), f"added {flag}", why, prior)
    for match in _SLOW.finditer(data):
        flag = match.group().decode(errors="replace")
        edit = Edit(match.start(), match.end(), b"")
        yield _move(path, f"drop {flag}", f"flag {flag}", (edit,), f"dropped {flag}", f"{flag} may cost time", 0.25)


def _insertion_point(path: str, data: bytes) -> int | None:
    for pattern in (_VARIABLE, _COMPILER):
        if match := pattern.search(data):
            if pattern is _COMPILER:
                line_end = data.find(b"\n", match.end())
                return match.end() + 1 if line_end != match.end() else None
            return match.end()
    first = re.search(rb"^(?![ \t]*#)", data, re.M)
    return None if _BUILD_FILE.search(path) or first is None else first.start()


def _pragmas(path: str, data: bytes, share: float) -> Iterator[Move]:
    for pragma, prior, why in _PRAGMAS:
        line = f"#pragma {pragma}\n".encode()
        if line not in data:
            yield _move(path, f"pragma {pragma}", "top", (Edit(0, 0, line),), f"#pragma {pragma}", why, prior * share)
