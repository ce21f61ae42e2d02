"""Scripts of plain commands, which need no parser: words that mean what they look like, and what joins them.

Most of what agents give to a shell is of this kind. What is read here is read as the parser's tree would be; tests hold
the two against each other. Whatever else a script holds is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopscope.evidence.shell.commands import Pipe, Redirect, SimpleCommand, Word, literal, resolve
from loopscope.evidence.shell.wrappers import STARTERS
from loopscope.models.value_types import value_type

_MAX_TEXT = 4000
"""Characters besides heredocs; longer scripts are left to the parser."""
_WORD = r"[\w./:,+@%~-]+"
_QUOTED = r"'[^']*+'|\"(?:[^\"\\$`]|\\.)*+\""
_END = r"(?=[ \t\n;&|<]|\Z)"
_ARGUMENT = rf"(?:[\w./:,+@%~*?-]|{_QUOTED})(?:[\w./:,+@%~*?=-]|{_QUOTED})*+{_END}"
_REDIRECTS = rf"(?:[ \t]+(?:2>&1|(?:[12]?>>?|&>)[ \t]*{_WORD}){_END})*+"
_PIECE = re.compile(
    rf"""(?P<assigned>(?:[A-Za-z_]\w*=(?:{_WORD}|{_QUOTED})[ \t]+)*+)
         (?P<words>{_WORD}{_END}(?:[ \t]+{_ARGUMENT})*+)
         (?P<redirects>{_REDIRECTS})
         (?:[ \t]*<<[ \t]*(?P<quote>['"])(?P<name>\w+)(?P=quote)(?P<more>{_REDIRECTS}))?
         [ \t]*(?P<end>&&|\|\||[|;\n]|\Z)""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)
_ARGUMENTS = re.compile(rf"(?:{_QUOTED}|[^ \t'\"])+", re.ASCII | re.DOTALL)
_PARTS = re.compile(rf"{_QUOTED}|[^'\"]+", re.ASCII | re.DOTALL)
_ASSIGNED = re.compile(rf"(\w+)=({_WORD}|{_QUOTED})", re.ASCII | re.DOTALL)
_ESCAPE = re.compile(r"\\(?:\n|([$`\"\\]))")
_REDIRECT = re.compile(r"(?:(2)>&1|([12]?)(&?>>?)[ \t]*(\S+))", re.ASCII)
_SPACE = re.compile(r"(?:[ \t\n]+|#[^\n]*+)*+")
_BLANK = re.compile(r"[ \t]*")
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
    assignments: tuple[tuple[str, Word], ...] = ()

    @property
    def starts(self) -> bool:
        """Whether its program may start another."""
        return self.words[0].rpartition("/")[2] in STARTERS


def plain_commands(text: str) -> list[PlainCommand] | None:
    """The commands of a script, in order; None when it holds anything that is not plain."""
    if not text.isascii():
        return None
    found: list[PlainCommand] = []
    at, size = _end_of(_SPACE, text, 0), len(text)
    fed, joined = 0, ""
    while at < size:
        piece = _PIECE.match(text, at)
        if piece is None or at - fed > _MAX_TEXT:
            return None
        assigned, source, redirects, name, end = piece.group("assigned", "words", "redirects", "name", "end")
        words = _words(source)
        if words[0] in _RESERVED or (words[0] in _MOVES and "|" in (joined, end)) or (assigned and ":" in words[0]):
            return None
        made = _redirects(redirects) if redirects else ()
        at = piece.end()
        if name is not None:
            body = _body(text, at, name) if end == "\n" and joined != "|" else None
            if body is None:
                return None
            made = (*made, Redirect("<<", Word(body)), *_redirects(piece["more"]))
            fed += len(body)
            at += len(body) + len(name)
        if "-" in words:
            return None
        command = PlainCommand(words, assigned + source, joined, made, _assignments(assigned) if assigned else ())
        if name is not None and command.starts:
            return None
        found.append(command)
        joined = end
        if end in (";", "\n"):
            at, joined = _end_of(_SPACE, text, at), ";"
        else:
            at = _end_of(_BLANK, text, at)
    return found if found and joined in ("", ";") and at - fed <= _MAX_TEXT else None


def simple_commands(plain: Sequence[PlainCommand], cwd: str | None) -> tuple[tuple[SimpleCommand, ...], str | None]:
    """(the commands, where they end up) of a script none of whose programs may start another."""
    found: list[SimpleCommand] = []
    pipes = position = 0
    last = len(plain) - 1
    for order, item in enumerate(plain):
        pipe = None
        position = position + 1 if item.joined == "|" else 0
        goes_on = order < last and plain[order + 1].joined == "|"
        if position or goes_on:
            pipes += not position
            pipe = Pipe(pipes, position, not goes_on)
        words = tuple([literal(word) for word in item.words])
        found.append(
            SimpleCommand(words, order, cwd, item.text, item.assignments, item.redirects, joined=item.joined, pipe=pipe)
        )
        if item.words[0] in _MOVES:
            targets = [word for word in item.words[1:] if word not in ("-P", "-L", "--")]
            cwd = resolve(cwd, targets[0]) if targets else "~"
    return tuple(found), cwd


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _words(source: str) -> tuple[str, ...]:
    if "'" not in source and '"' not in source:
        return tuple(source.split())
    return tuple([_value(word) if "'" in word or '"' in word else word for word in _ARGUMENTS.findall(source)])


def _value(word: str) -> str:
    """A word without its quotes."""
    return "".join([_unquoted(part) for part in _PARTS.findall(word)])


def _unquoted(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] == '"':
        return _ESCAPE.sub(lambda match: match[1] or "", part[1:-1]) if "\\" in part else part[1:-1]
    return part


def _assignments(text: str) -> tuple[tuple[str, Word], ...]:
    return tuple([(name, Word(_value(value))) for name, value in _ASSIGNED.findall(text)])


def _body(text: str, at: int, name: str) -> str | None:
    """What a heredoc holds that begins at a place; None where the first line that begins with its name goes on."""
    end = text.find(f"\n{name}", at - 1)
    return text[at : end + 1] if end >= 0 and text[end + len(name) + 1 : end + len(name) + 2] in ("", "\n") else None


def _redirects(text: str) -> tuple[Redirect, ...]:
    return tuple(
        [
            _MERGED if match[1] else Redirect(match[3], Word(match[4]), int(match[2]) if match[2] else None)
            for match in _REDIRECT.finditer(text)
        ]
    )
