"""Commands of a verifier's shell script, with the program texts that stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_PYTHON = re.compile(r"(?:.*/)?python[\d.]*$|\$\{?PYTHON\w*\}?$")
_BRACED = re.compile(r"(?<=\{)(\d*(?:\.\.\d*)?)([^\x00-\xff])")
"""What the scanner of tree-sitter-bash up to 0.25.1 crashes by."""


@dataclass(frozen=True)
class Command:
    """One simple command."""

    line: int
    words: tuple[str, ...]
    """Quotes taken off; variables with a constant value filled in, others as `$NAME`."""
    text: str
    """As it is written, in one line."""
    heredoc: str = ""
    """Program text or data that it is fed."""
    heredoc_line: int = 0
    into: tuple[str, ...] = ()
    """Variable that its output goes to, or files it is redirected to."""
    around: tuple[str, ...] = ()
    """Texts of the commands that it stands in: `if` conditions, pipelines, functions."""

    @property
    def name(self) -> str:
        """The program, without its directory."""
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


@dataclass
class Script:
    """A script's commands and constants."""

    commands: list[Command]
    constants: dict[str, str]
    """Variables that are set to one constant, and the line of it in `lines`."""
    lines: dict[str, int]


def read_script(text: str) -> Script:
    """The commands of a script, in the order of its text."""
    safe = _BRACED.sub(lambda m: m[1] + "_" * len(m[2].encode("utf-8", "replace")), text)
    source = safe.encode("utf-8", "replace")
    root = _parser().parse(source).root_node
    constants, lines = _constants(root)
    return Script([*_commands(root, constants, ())], constants, lines)


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _constants(root: Node) -> tuple[dict[str, str], dict[str, int]]:
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    for node in _walk(root):
        if node.type == "variable_assignment":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is not None and value is not None and "$(" not in _text(value) and "`" not in _text(value):
                found.setdefault(_text(name), _plain(_text(value), found))
                lines.setdefault(_text(name), node.start_point[0] + 1)
    return found, lines


def _plain(text: str, constants: dict[str, str]) -> str:
    """A word without quotes, known variables filled in."""
    text = re.sub(r"""["']""", "", text)

    def known(match: re.Match[str]) -> str:
        name, default = match[1] or match[3], match[2]
        return constants.get(name) or default or f"${name}"

    return re.sub(r"\$\{(\w+)(?::?-([^}]*))?\}|\$(\w+)", known, text)


def _commands(root: Node, constants: dict[str, str], around: tuple[str, ...]) -> Iterator[Command]:
    for node in _walk(root):
        if node.type == "command":
            yield _command(node, constants)


def _command(node: Node, constants: dict[str, str]) -> Command:
    words = []
    for child in node.children:
        if child.type == "variable_assignment" or child.type.endswith("redirect"):
            continue
        words.append(_plain(_text(child), constants))
    heredoc, line, into = "", 0, []
    above, around = node.parent, []
    inner = node
    while above is not None:
        if above.type == "redirected_statement" and inner.type in ("command", "pipeline", "list", "subshell"):
            for part in above.children:
                if part.type == "heredoc_redirect":
                    body = next((n for n in _walk(part) if n.type == "heredoc_body"), None)
                    if body is not None and not heredoc:
                        heredoc, line = _text(body), body.start_point[0]
                elif part.type == "file_redirect":
                    into.append(_plain(_text(part).lstrip("0123456789&<> "), constants))
        if above.type == "variable_assignment":
            name = above.child_by_field_name("name")
            into.append("$" + (_text(name) if name is not None else ""))
        if above.type in (
            "if_statement",
            "pipeline",
            "function_definition",
            "while_statement",
            "for_statement",
            "negated_command",
        ):
            around.append(above.type + " " + " ".join(_text(above).split())[:400])
        inner, above = above, above.parent
    return Command(
        node.start_point[0] + 1,
        tuple(words),
        " ".join(_text(node).split())[:240],
        heredoc,
        line,
        tuple(into),
        tuple(around),
    )


def python_texts(command: Command) -> tuple[str, int] | None:
    """Program text of a Python command that brings its own (`python3 - <<EOF`, `-c`), and the line before it."""
    if not command.words or not _PYTHON.match(command.words[0]):
        return None
    if "-c" in command.words:
        index = command.words.index("-c") + 1
        return (command.words[index], command.line - 1) if index < len(command.words) else None
    return (command.heredoc, command.heredoc_line) if command.heredoc else None


def python_script(command: Command) -> str | None:
    """Name of the script that a Python command runs."""
    if not command.words or not any(_PYTHON.match(word) for word in command.words[:3]):
        return None
    return next((w.rsplit("/", 1)[-1] for w in command.words[1:] if w.endswith(".py")), None)
