"""Solutions that fail on purpose, in the language of the file that they replace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

GARBAGE = b"\x00\xff{[(<\nthis is no program, and no answer\n"
"""Fails wherever a text of any language or format is expected."""

_C = b"#include <stdlib.h>\n__attribute__((constructor)) static void first(void) { %s }\n"
_CRASH: Mapping[str, bytes] = {
    ".py": b"import os\nos.abort()\n",
    ".sh": b"kill -SEGV $$\n",
    ".c": _C % b"abort();",
    ".js": b"process.abort();\n",
}
_HANG: Mapping[str, bytes] = {
    ".py": b"while True:\n    pass\n",
    ".sh": b"while :; do :; done\n",
    ".c": _C % b"for (volatile int n = 0;; n++) ;",
    ".js": b"for (;;) ;\n",
}
_SAME = {".cc": ".c", ".cpp": ".c", ".cxx": ".c", ".bash": ".sh", ".mjs": ".js"}


def _suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    return _SAME.get(suffix, suffix)


def garbled(editable: Mapping[str, bytes]) -> dict[str, bytes]:
    """Each of these files replaced by what cannot be read: {name: bytes}."""
    return dict.fromkeys(editable, GARBAGE)


def crashing(editable: Mapping[str, bytes]) -> dict[str, bytes]:
    """The sources among these files with a crash before anything else; empty for unknown languages."""
    return {name: _CRASH[_suffix(name)] + data for name, data in editable.items() if _suffix(name) in _CRASH}


def hanging(editable: Mapping[str, bytes]) -> dict[str, bytes]:
    """The sources among these files with a loop that never ends before anything else; empty for unknown languages."""
    return {name: _HANG[_suffix(name)] + data for name, data in editable.items() if _suffix(name) in _HANG}
