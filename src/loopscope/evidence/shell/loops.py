"""What a loop runs over, where its text tells: then each round of it is known by itself."""

from __future__ import annotations

import re

from tree_sitter import Node

from loopscope.evidence.shell.commands import Word
from loopscope.evidence.shell.words import WordReader

MAX_ROUNDS = 20
"""Loops of more rounds are read once, as a loop."""
MAX_PRODUCT = 60
"""The same for rounds of loops in loops, all together."""
_SEQUENCE = re.compile(r"(?:\$\(|`)\s*seq(?: -w)? (-?\d{1,6})(?: (-?\d{1,6}))?(?: (-?\d{1,6}))?\s*(?:\)|`)")
_RANGE = re.compile(r"\{(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.(-?\d{1,6}))?\}")
_COUNTED = re.compile(
    r"\(\(\s*(\w+)\s*=\s*(-?\d{1,6})\s*;\s*\1\s*(<=?)\s*(-?\d{1,6})\s*;\s*(?:\1\+\+|\+\+\1|\1\s*\+=\s*(\d{1,6}))\s*\)\)"
)
_LEAVES = re.compile(r"\b(?:break|continue|exit|return)\b")


def rounds(node: Node, reader: WordReader) -> tuple[str, list[Word]] | None:
    """The variable of a `for` and its values; None when the text does not tell them, or they are too many.

    A loop that may be left early tells nothing.
    """
    source = reader.source(node)
    if _LEAVES.search(source):
        return None
    if node.type == "c_style_for_statement":
        return _counted(source)
    name = node.child_by_field_name("variable")
    if node.type != "for_statement" or name is None or not source.startswith("for"):
        return None
    values: list[Word] = []
    for child in node.children_by_field_name("value"):
        found = _values(child, reader)
        if found is None:
            return None
        values += found
    return (reader.source(name), values) if 0 < len(values) <= MAX_ROUNDS else None


def _values(node: Node, reader: WordReader) -> list[Word] | None:
    """The words that one word of the list becomes."""
    text = reader.source(node)
    sequence = _SEQUENCE.fullmatch(text)
    if sequence:
        numbers = [int(item) for item in sequence.groups() if item is not None]
        step = numbers[1] if len(numbers) == 3 else 1
        return _numbers(numbers[0] if len(numbers) > 1 else 1, numbers[-1], step)
    span = _RANGE.fullmatch(text)
    if span:
        first, last = int(span[1]), int(span[2])
        step = abs(int(span[3] or 1)) * (1 if last >= first else -1)
        return _numbers(first, last, step)
    if node.type in ("command_substitution", "process_substitution") or re.search(r"[*?{\[]", text):
        return None
    word = reader.word(node)
    if not word.literal:
        return None
    if node.type in ("simple_expansion", "expansion"):
        return [Word(item) for item in word.text.split()]
    return [word]


def _counted(source: str) -> tuple[str, list[Word]] | None:
    found = _COUNTED.search(source)
    if found is None:
        return None
    last = int(found[4]) - (found[3] == "<")
    values = _numbers(int(found[2]), last, int(found[5] or 1))
    return (found[1], values) if values else None


def _numbers(first: int, last: int, step: int) -> list[Word] | None:
    if step == 0:
        return None
    values = range(first, last + (1 if step > 0 else -1), step)
    return [Word(str(value)) for value in values] if len(values) <= MAX_ROUNDS else None
