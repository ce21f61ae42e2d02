"""Scripts of plain commands, which need no parser: words that mean what they look like, and what joins them.

Nearly half of what agents give to a shell is of this kind. What is read here is read as the parser's tree would be;
tests hold the two against each other. Whatever else a script holds is left to the parser.
"""

from __future__ import annotations

import re

from loopscope.evidence.shell.commands import Redirect, Word
from loopscope.models.value_types import value_type

_MAX_TEXT = 4000
_WORD = r"[\w./:,+@%~-]+"
_QUOTED = r"'[ -&(-~]*'|\"[ !#%-\[\]-_a-~]*\""
_END = r"(?=[ \t\n;&|]|\Z)"
_ARGUMENT = rf"(?:[\w./:,+@%~-][\w./:,+@%~=-]*|{_QUOTED}){_END}"
_PIECE = re.compile(
    rf"""(?P<command>{_WORD}{_END}(?:[ \t]+{_ARGUMENT})*)
         (?P<redirects>(?:[ \t]+(?:2>&1|(?:[12]?>>?|&>)[ \t]*{_WORD}){_END})*)
         [ \t]*(?P<end>&&|\|\||[|;\n]|\Z)[ \t]*""",
    re.ASCII | re.VERBOSE,
)
_ARGUMENTS = re.compile(rf"(?:{_QUOTED}|[^ \t'\"]+)", re.ASCII)
_REDIRECTS = re.compile(r"(?:(2)>&1|([12]?)(&?>>?)[ \t]*(\S+))", re.ASCII)
_SPACE = re.compile(r"[ \t\n]*")
_RESERVED = frozenset(
    ["if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select",
     "function", "declare", "typeset", "export", "readonly", "local", "unset", "unsetenv", "eval"]
)  # fmt: skip
"""What begins more than a command, and `eval`."""
_MOVES = frozenset(["cd", "pushd"])
_MERGED = Redirect(">&", Word("1"), 2)


@value_type
class PlainCommand:
    """A command of plain words."""

    words: tuple[str, ...]
    text: str
    """Its source, without redirections."""
    joined: str
    """How it follows the one before; empty for the first."""
    redirects: tuple[Redirect, ...]


def plain_commands(text: str) -> list[PlainCommand] | None:
    """The commands of a script, in order; None when it holds anything that is not plain."""
    if len(text) > _MAX_TEXT or not text.isascii():
        return None
    found: list[PlainCommand] = []
    at = _end_of_space(text, 0)
    joined = ""
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            return None
        command, redirects, end = piece.group("command", "redirects", "end")
        words = _words(command)
        if words[0] in _RESERVED or "-" in words or (words[0] in _MOVES and "|" in (joined, end)):
            return None
        found.append(PlainCommand(words, command, joined, _redirects(redirects) if redirects else ()))
        at, joined = piece.end(), end
        if end in (";", "\n"):
            at, joined = _end_of_space(text, at), ";"
    return found if found and joined in ("", ";") else None


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _words(command: str) -> tuple[str, ...]:
    if "'" not in command and '"' not in command:
        return tuple(command.split())
    return tuple([word[1:-1] if word[0] in "'\"" else word for word in _ARGUMENTS.findall(command)])


def _redirects(text: str) -> tuple[Redirect, ...]:
    return tuple(
        [
            _MERGED if match[1] else Redirect(match[3], Word(match[4]), int(match[2]) if match[2] else None)
            for match in _REDIRECTS.finditer(text)
        ]
    )
