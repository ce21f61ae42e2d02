"""What doctor found, as text that fits the terminal and commands that can be pasted from it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from loopscope.sandbox.doctor import Area, Finding, State, Survey

_STYLES = {State.OK: "green", State.WEAK: "yellow", State.MISSING: "red", State.UNKNOWN: "magenta"}
_STATE, _NAME = 9, 21
_LISTED = (Area.TOOLS, Area.AGENTS)
"""Areas of many alike: what is there stands in one row."""


def survey_text(survey: Survey, width: int = 100) -> Text:
    """The summary, then the rows by area, no line longer than `width` but for words that are."""
    text = Text()
    style = "bold green" if survey.runs and not survey.to_mend else "bold yellow" if survey.runs else "bold red"
    text.append("\n".join(textwrap.wrap(survey.summary, width)) + "\n", style)
    for area in Area:
        rows = [f for f in survey.findings if f.area is area]
        if not rows:
            continue
        text.append(f"\n{area}\n", "bold")
        if area in _LISTED:
            listed = [f for f in rows if f.state is State.OK and ", " not in f.fact]
            rows = [f for f in rows if f not in listed]
            if listed:
                _row(text, State.OK, "there", ", ".join(f"{f.name} {f.fact}" for f in listed), width)
        for row in rows:
            _finding(text, row, width)
    return text


def _finding(text: Text, row: Finding, width: int) -> None:
    _row(text, row.state, row.name, row.fact, width, dim=not row.to_mend)
    if row.state is State.OK:
        return
    indent = " " * (_STATE + 2)
    if row.cost:
        _labelled(text, "cost", row.cost, indent, width)
    short = len(row.commands) == 1 and len(row.commands[0]) <= width - len(indent) - 6 and not row.remedy
    if short:
        text.append(f"{indent}mend", "dim").append(f"  {row.commands[0]}\n", "cyan")
        return
    if row.remedy or row.commands:
        _labelled(text, "mend", row.remedy or "type", indent, width)
    for command in row.commands:
        # What spans lines of its own, such as a file that is written, must begin at the margin to be pasted.
        margin = "" if "\n" in command else f"{indent}      "
        for line in pasted(command, width - len(margin)):
            text.append(f"{margin}{line}\n", "cyan")


def _labelled(text: Text, label: str, said: str, indent: str, width: int) -> None:
    room = max(30, width - len(indent) - 6)
    lines = textwrap.wrap(said, room, break_on_hyphens=False, break_long_words=False)
    text.append(f"{indent}{label}", "dim").append("  " + f"\n{indent}      ".join(lines) + "\n")


def _row(text: Text, state: State, name: str, fact: str, width: int, *, dim: bool = True) -> None:
    quiet = dim and state is not State.OK
    text.append(f"  {state:<{_STATE}}", "dim" if quiet else f"{_STYLES[state]}{'' if dim else ' bold'}")
    lead = _STATE + 2 + _NAME
    text.append(f"{name:<{_NAME - 1}}", "" if dim else "bold")
    text.append(" " if len(name) < _NAME else "\n" + " " * lead)
    lines = textwrap.wrap(fact, max(20, width - lead), break_on_hyphens=False, break_long_words=False) or [""]
    text.append(("\n" + " " * lead).join(lines) + "\n")


def pasted(command: str, width: int) -> Iterator[str]:
    """The lines of a shell command: a long one is continued by backslashes between words, so that pasting runs it."""
    if "\n" in command or len(command) <= width:
        yield from command.split("\n")
        return
    yield from _continued(_words(command), width)


def _continued(words: Sequence[str], width: int) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + len(word) + 3 > width:
            yield f"{line} \\"
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    yield line


def _words(command: str) -> list[str]:
    """Split at blanks outside of quotes, each word as it is written."""
    words, word, quote = [], "", ""
    for sign in command:
        if sign == " " and not quote:
            words.append(word)
            word = ""
            continue
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        word += sign
    return [*words, word]
