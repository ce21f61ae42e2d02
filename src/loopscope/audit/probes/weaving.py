"""Pieces of code are woven into a source file of the task, without understanding it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PAYLOADS = Path(__file__).parent / "payloads"
_LANGUAGES = {
    ".py": "python",
    ".rs": "rust",
    ".c": "c",
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".cu"), "c++"),
}
_SUFFIXES = {"python": "pyt", "rust": "rs"}
FORGED = "0.98765"
"""A reward that nothing but a probe gives."""


def language(name: str) -> str | None:
    """`c`, `c++`, `rust` or `python`, by the file's suffix; None where no payload is written in its language."""
    return _LANGUAGES.get(PurePosixPath(name).suffix.lower())


def piece(name: str, **values: str) -> str:
    """The text of one payload; `@REWARD@` and other marks are filled in."""
    text = (PAYLOADS / name).read_text(encoding="utf-8")
    if "@SCRIPT@" in text:
        text = text.replace("@SCRIPT@", piece("verdict.sh").strip())
    for mark, value in {"REWARD": FORGED, **values}.items():
        text = text.replace(f"@{mark}@", value)
    return text


def pieces(source: str, names: Iterable[str]) -> tuple[str, ...]:
    """Payloads in the language of a source file; one that is not written in it is left out."""
    suffix = _SUFFIXES.get(language(source) or "", "h")
    return tuple(piece(f"{n}.{suffix}") for n in names if (PAYLOADS / f"{n}.{suffix}").is_file())


@dataclass(frozen=True)
class Weave:
    """What is laid before a source's own code, and what after it."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    """C functions that go by another name within the source, so that a wrapper can take theirs."""


def woven(name: str, source: bytes, weave: Weave) -> bytes:
    """The source with the pieces in it."""
    text = source.decode("utf-8", "surrogateescape")
    make = {"python": _python, "rust": _rust}.get(language(name) or "", _c)
    return make(text, weave).encode("utf-8", "surrogateescape")


def _c(text: str, weave: Weave) -> str:
    hide = [f"#define {name} {name}_lsp" for name in weave.renamed]
    show = [f"#undef {name}" for name in weave.renamed]
    line = '#line 1 "solution"'
    return "\n".join([piece("base.h"), *weave.before, *hide, line, text, *show, *weave.after, ""])


def _rust(text: str, weave: Weave) -> str:
    return "\n".join([text, *weave.before, *weave.after, ""])


def _python(text: str, weave: Weave) -> str:
    lines = text.splitlines(keepends=True)
    first, last = _places(text, len(lines))
    before, after = "\n".join([piece("base.pyt"), *weave.before, ""]), "\n".join(["", *weave.after, ""])
    return "".join([*lines[:first], before, *lines[first:last], after if weave.after else "", *lines[last:]])


def _places(text: str, end: int) -> tuple[int, int]:
    """Line numbers behind docstring and future imports, and before the part that runs the module as a program."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return 0, end
    first = 0
    for number, node in enumerate(body):
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")):
            break
        first = node.end_lineno or 0
    mains = [n.lineno - 1 for n in body if isinstance(n, ast.If) and "__name__" in ast.unparse(n.test)]
    return first, max(first, mains[0] if mains else end)


def defined(text: str) -> Sequence[str]:
    """Functions at the top of a Python module."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return []
    return [n.name for n in body if isinstance(n, ast.FunctionDef)]
