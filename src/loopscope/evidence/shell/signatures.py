"""Which lines of an output say that a build failed, and how: the data file beside this module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

_MAX_LINE = 2000
FAMILIES = frozenset(["make", "c", "rust", "go", "python", "asm", "shell"])
"""Of build tools; see build_tools.py."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    words: tuple[str, ...]
    tools: frozenset[str]
    pattern: str


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    code: tuple[_Entry, ...]
    environment: tuple[_Entry, ...]
    runtime: tuple[_Entry, ...]
    success: tuple[_Entry, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """One expression."""

    kind: str
    """`code`, `environment`, `runtime` or `success`."""
    name: str
    tools: frozenset[str]
    """Families of build tools that print it; empty for all."""
    words: tuple[str, ...]
    """A line without any of them does not fit; finding words is far quicker than trying expressions."""
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Match:
    """A line that fits one."""

    signature: Signature
    start: int
    """Where the line begins in the output."""
    text: str

    def of(self, family: str) -> bool:
        """Whether a tool of the family may have printed it."""
        return not self.signature.tools or family in self.signature.tools


@cache
def signatures() -> tuple[Signature, ...]:
    """All expressions, read once."""
    text = Path(__file__).with_name("signatures.yaml").read_text(encoding="utf-8")
    # The reader in C, where there is one: this file alone takes the other as long as a transcript.
    data = _File.model_validate(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506
    return tuple(
        Signature(kind, entry.name, entry.tools, entry.words, re.compile(entry.pattern))
        for kind in ("code", "environment", "runtime", "success")
        for entry in getattr(data, kind)
    )


@cache
def _signatures_of(families: frozenset[str]) -> tuple[Sequence[Signature], Sequence[str]]:
    """(the expressions of some families, all words that these name)."""
    found = [item for item in signatures() if not item.tools or item.tools & families]
    return found, list(dict.fromkeys(word for item in found for word in item.words))


def matches(text: str, families: Iterable[str] = FAMILIES) -> list[Match]:
    """The lines of an output that fit an expression, once for each expression that they fit, in order.

    Args:
        text: the output.
        families: of build tools that may have printed it.
    """
    text = text.replace("\r", "")
    found: list[Match] = []
    possible, words = _signatures_of(frozenset(families))
    present = {word for word in words if word in text}
    for signature in possible if present else ():
        if present.isdisjoint(signature.words):
            continue
        for start in _lines_with(text, [word for word in signature.words if word in present]):
            end = text.find("\n", start)
            line = text[start : min(end if end >= 0 else len(text), start + _MAX_LINE)]
            if signature.pattern.search(line):
                found.append(Match(signature, start, line.strip()[:200]))
    return sorted(found, key=lambda match: match.start)


def _lines_with(text: str, words: Sequence[str]) -> Iterator[int]:
    """Where the lines begin that hold one of some words."""
    seen: set[int] = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            start = text.rfind("\n", 0, at) + 1
            if start not in seen:
                seen.add(start)
                yield start
            end = text.find("\n", at)
            at = text.find(word, end) if end >= 0 else -1
