"""What the reading of one command string may cost, so that a short one can neither end nor hold up that of a run.

The longest of the public transcripts holds 55 commands and 17,371 characters, and expansions add 138 to a word.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

MAX_CHARACTERS = 1 << 20
"""Of a string and of those in it that are given to a shell, all together. The rest is not read."""
MAX_COMMANDS = 2000
"""Commands, in loops that are read round by round and in nested strings too. The rest is not read."""
MAX_EXPANDED = 1 << 18
"""Characters that variables are replaced by, all together: `A1=$A0$A0; A2=$A1$A1` doubles with each assignment. What
would come to more is left as it is written, and known not to be known."""
MAX_SHARED = 100_000
"""Redirections and words that stand behind a group and are noted for each of its commands."""
MAX_MARKS = 1000
"""Signs by whose number the parser takes the square of time and memory (15,000 pipes: 2 GB, 30,000: a crash)."""

_MARKS = ("|", "<", "(", ")", "==", "=~")
_COVER = str.maketrans("|<()=", "_____")
_TOKEN = re.compile(
    r"""\\.
      | (?P<quoted>'[^']*+' | "(?:[^"\\]|\\.)*+" | (?<![^\s;&|()])\#[^\n]*+)
      | <<-?[ \t]*(?P<fixed>['"\\]?)(?P<name>\w+)
      | (?P<line>\n)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(slots=True)
class Allowance:
    """What is left of it for a string and those nested in it."""

    characters: int = MAX_CHARACTERS
    commands: int = MAX_COMMANDS
    expanded: int = MAX_EXPANDED
    shared: int = MAX_SHARED
    marks: int = MAX_MARKS

    def expand(self, length: int) -> bool:
        """Whether a variable may be replaced by so many characters."""
        if length > self.expanded:
            return False
        self.expanded -= length
        return True

    def share(self, number: int) -> bool:
        """Whether something may be noted for so many commands of a group."""
        self.shared -= number
        return self.shared >= 0

    def parsable(self, text: str) -> str | None:
        """A text as the parser may have it, every byte in its place; None when it would take too long by it.

        Within quotes, comments and heredocs the signs mean nothing to the parser, and are covered where they are many.
        """
        found = _marks(text)
        if found > self.marks:
            text = _covered(text)
            found = _marks(text)
        if found > self.marks:
            return None
        self.marks -= found
        return text


def _marks(text: str) -> int:
    return sum(map(text.count, _MARKS))


def _covered(text: str) -> str:
    """A text whose quotes, comments and heredocs hold no signs, unless commands stand in them."""
    parts: list[str] = []
    lines = _line_places(text)
    waiting: list[tuple[str, bool]] = []
    done = at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        begin, at = token.span()
        if token["quoted"]:
            quiet = token["quoted"][0] != '"' or _holds_no_command(token["quoted"])
            parts += text[done:begin], token["quoted"].translate(_COVER) if quiet else token["quoted"]
            done = at
        elif token["name"]:
            waiting.append((token["name"], bool(token["fixed"])))
        elif token["line"]:
            for name, fixed in waiting:
                end = _next(lines.get(name, ()), at)
                if end is None:
                    break
                body = text[at:end]
                parts += text[done:at], body.translate(_COVER) if fixed or _holds_no_command(body) else body
                done = at = end
            waiting.clear()
    return "".join([*parts, text[done:]])


def _line_places(text: str) -> dict[str, list[int]]:
    """Where the lines begin that hold a name alone, as the end of a heredoc does."""
    places: dict[str, list[int]] = {}
    at = 0
    for line in text.split("\n"):
        places.setdefault(line.lstrip("\t"), []).append(at)
        at += len(line) + 1
    return places


def _next(places: Sequence[int], at: int) -> int | None:
    found = bisect_left(places, at)
    return places[found] if found < len(places) else None


def _holds_no_command(text: str) -> bool:
    return "$(" not in text and "`" not in text
