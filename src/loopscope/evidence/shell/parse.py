"""Parse command strings with tree-sitter-bash, which reads what is there when the rest is broken."""

from __future__ import annotations

import re
from functools import cache, lru_cache

import tree_sitter_bash
from tree_sitter import Language, Parser

from loopscope.evidence.shell.commands import Script, Word
from loopscope.evidence.shell.walk import Walk

MAX_CHARACTERS = 1 << 20
"""Longer command strings are read up to here."""
_MAX_NESTING = 6


_BRACED = re.compile(r"(?<=\{)(\d*(?:\.\.\d*)?)([^\x00-\xff])")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


@lru_cache(maxsize=8192)
def parse(text: str, cwd: str | None = ".") -> Script:
    """The commands of a command string, in the order in which the shell meets them.

    Strings that are given to `bash -c` or `eval`, and heredocs that are fed to a shell, are parsed in turn and take the
    place of the command that they were given to.

    Args:
        text: what the shell was given.
        cwd: where it starts; paths of the result are seen from there. None when unknown.
    """
    return _parse(text, cwd, {}, 0)


def _safe(text: str, source: bytes) -> bytes:
    """The text as it may be given to tree-sitter-bash, every byte in its place.

    Behind an opening brace its scanner looks a character up in a table of 384 (`isdigit`, up to 0.25.1), and crashes by
    one that is far outside.
    """
    if "{" not in text or text.isascii():
        return source
    return _BRACED.sub(_covered, text).encode("utf-8", "replace")


def _covered(match: re.Match[str]) -> str:
    return match[1] + "_" * len(match[2].encode("utf-8", "replace"))


def _parse(text: str, cwd: str | None, variables: dict[str, Word], depth: int) -> Script:
    cut = len(text) > MAX_CHARACTERS
    source = text[:MAX_CHARACTERS].encode("utf-8", "replace")
    root = _parser().parse(_safe(text[:MAX_CHARACTERS], source)).root_node

    def nested(script: str, where: str | None, known: dict[str, Word]) -> Script:
        if depth >= _MAX_NESTING:
            return Script((), where, True)
        return _parse(script, where, known, depth + 1)

    walk = Walk(source, cwd, variables, nested)
    walk.run(root)
    return Script(walk.finish(), walk.cwd, cut or walk.broken or root.has_error)
