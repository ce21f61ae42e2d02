"""Parse command strings with tree-sitter-bash, which reads what is there when the rest is broken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

import tree_sitter_bash
from tree_sitter import Language, Parser

from loopscope.evidence.shell.commands import Script, Word
from loopscope.evidence.shell.limits import Allowance
from loopscope.evidence.shell.plain import plain_commands, simple_commands
from loopscope.evidence.shell.walk import Walk

_MAX_NESTING = 6

_BRACED = re.compile(r"(?<=\{)(\d*(?:\.\.\d*)?)([^\x00-\xff])")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


@lru_cache(maxsize=8192)
def parse(text: str, cwd: str | None = ".") -> Script:
    """The commands of a command string, in the order in which the shell meets them.

    Strings that are given to `bash -c` or `eval`, and heredocs that are fed to a shell, are parsed in turn and take the
    place of the command that they were given to. What would cost too much is not read (see limits.py), and the script
    is said to be broken.

    Args:
        text: what the shell was given.
        cwd: where it starts; paths of the result are seen from there. None when unknown.
    """
    return _parse(text, cwd, {}, _Depth(Allowance()))


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


@dataclass(frozen=True, slots=True)
class _Depth:
    """What a string stands in."""

    allowance: Allowance
    scripts: int = 0
    rounds: int = 1


def _parse(text: str, cwd: str | None, variables: dict[str, Word], depth: _Depth) -> Script:
    allowance = depth.allowance
    left = max(allowance.characters, 0)
    # What a script knows is copied for it.
    allowance.characters -= len(text) + len(variables)
    taken = text[:left]
    plain = plain_commands(taken)
    if plain is not None and len(plain) <= allowance.commands and not any(command.starts for command in plain):
        allowance.commands -= len(plain)
        return Script(*simple_commands(plain, cwd), len(text) > left)
    readable = allowance.parsable(taken) if plain is None else ""
    if readable is None:
        return Script((), None, True)

    def nested(script: str, where: str | None, known: dict[str, Word], rounds: int) -> Script:
        if depth.scripts >= _MAX_NESTING:
            return Script((), where, True)
        return _parse(script, where, known, _Depth(allowance, depth.scripts + 1, rounds))

    source = taken.encode("utf-8", "replace") if plain is None else b""
    walk = Walk(source, cwd, variables, nested, allowance, depth.rounds)
    if plain is not None:
        walk.run_plain(plain)
    else:
        seen = source if readable is taken else readable.encode("utf-8", "replace")
        walk.run(_parser().parse(_safe(readable, seen)).root_node)
    return Script(walk.finish(), walk.cwd, len(text) > left or walk.broken)
