"""Parsing of editable files, and the few questions that mutations ask of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import tree_sitter_c
import tree_sitter_python
from tree_sitter import Language, Node, Parser

_C_LIKE = (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cu", ".cuh")
_FUNCTIONS = ("function_definition", "class_definition")


@dataclass(frozen=True)
class Source:
    """A parsed file."""

    path: str
    data: bytes
    language: str
    """`c` (C++ and CUDA are read with C's grammar, which tolerates them) or `python`."""
    root: Node

    def text(self, node: Node | None) -> str:
        """The node's text; empty for None."""
        return self.data[node.start_byte : node.end_byte].decode(errors="replace") if node else ""


@lru_cache(maxsize=4)
def _parser(language: str) -> Parser:
    return Parser(Language(tree_sitter_c.language() if language == "c" else tree_sitter_python.language()))


def language_of(path: str, data: bytes) -> str | None:
    """Grammar for a file by its name, else by its first line."""
    lowered = path.lower()
    if lowered.endswith(_C_LIKE):
        return "c"
    if lowered.endswith(".py") or (data.startswith(b"#!") and b"python" in data.split(b"\n", 1)[0]):
        return "python"
    return None


@lru_cache(maxsize=256)
def parse(path: str, data: bytes) -> Source | None:
    """Parse a file; None when there is no grammar for it."""
    language = language_of(path, data)
    return Source(path, data, language, _parser(language).parse(data).root_node) if language else None


def error_count(path: str, data: bytes) -> int:
    """Syntax errors that the parser sees; 0 for files without a grammar."""
    source = parse(path, data)
    if source is None or not source.root.has_error:
        return 0
    return sum(node.is_error or node.is_missing for node in walk(source.root))


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def ancestors(node: Node) -> Iterator[Node]:
    """Parents, nearest first."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def enclosing(source: Source, node: Node) -> str:
    """Name of the function or class around a node; `file` at the top."""
    for parent in ancestors(node):
        if parent.type in _FUNCTIONS:
            return function_name(source, parent) or "file"
    return "file"


def function_name(source: Source, node: Node) -> str:
    """Name of a function or class definition; empty when it has none."""
    name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    while name is not None and name.type not in ("identifier", "field_identifier", "type_identifier"):
        name = name.child_by_field_name("declarator") or (name.named_children[0] if name.named_children else None)
    return source.text(name)


def short(text: str, limit: int = 48) -> str:
    """Source text on one line, for a commit message."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
