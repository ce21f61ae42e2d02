"""An instruction cut into pieces: which heading each piece stands under, what is prose and what is code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([\w+-]*)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BOLD_HEADING = re.compile(r"^\s*(?:\*\*|__)([^*_]+?)[:.]?(?:\*\*|__)\s*:?\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_CODE_SPAN = re.compile(r"`+([^`]+?)`+")
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+(?=[A-Z0-9\x00(])")


@dataclass(frozen=True)
class Block:
    """A paragraph, a list item or a code block."""

    code: bool
    text: str
    headings: tuple[str, ...]
    """Headings above it, outermost first."""
    language: str = ""
    """Of a code block, lower case."""
    lead: str = ""
    """Last sentence before a code block, under the same heading."""

    @property
    def heading(self) -> str:
        """The nearest heading, lower case, code marks removed."""
        return self.headings[-1].lower().replace("`", "") if self.headings else ""


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a Markdown text in order. Tolerant: an unclosed fence ends with the text."""
    headings: list[tuple[int, str]] = []
    pending: list[str] = []
    lead = ""
    lines = iter(text.replace("\r\n", "\n").split("\n"))

    def above() -> tuple[str, ...]:
        return tuple(title for _, title in headings)

    def flush() -> Iterator[Block]:
        nonlocal lead
        if pending:
            paragraph = " ".join(line.strip() for line in pending)
            pending.clear()
            lead = (sentences(paragraph) or [""])[-1]
            yield Block(False, paragraph, above())

    for line in lines:
        if fence := _FENCE.match(line):
            yield from flush()
            body = "\n".join(_fenced(lines, fence[1]))
            yield Block(True, body, above(), fence[2].lower(), lead)
        elif heading := _HEADING.match(line):
            yield from flush()
            while headings and headings[-1][0] >= len(heading[1]):
                headings.pop()
            headings.append((len(heading[1]), heading[2]))
            lead = ""
        elif bold := _BOLD_HEADING.match(line):
            yield from flush()
            while headings and headings[-1][0] >= 7:
                headings.pop()
            headings.append((7, bold[1]))
            lead = ""
        elif line.startswith(("    ", "\t")) and not pending and line.strip() and not _ITEM.match(line):
            yield from flush()
            yield Block(True, line.strip(), above(), "", lead)
        elif not line.strip():
            yield from flush()
        else:
            if _ITEM.match(line):
                yield from flush()
            pending.append(_ITEM.sub("", line))
    yield from flush()


def _fenced(lines: Iterator[str], fence: str) -> Iterator[str]:
    for line in lines:
        if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            return
        yield line


def code_spans(text: str) -> list[str]:
    """What stands in backticks."""
    return [span.strip() for span in _CODE_SPAN.findall(text)]


def sentences(text: str) -> list[str]:
    """Sentences of a paragraph. Points inside backticks end nothing."""
    spans: list[str] = []

    def hide(match: re.Match[str]) -> str:
        spans.append(match.group())
        return f"\x00{len(spans) - 1}\x01"

    hidden = _CODE_SPAN.sub(hide, text)
    parts = _SENTENCE_END.split(hidden)
    return [re.sub(r"\x00(\d+)\x01", lambda m: spans[int(m[1])], part).strip() for part in parts if part.strip()]
