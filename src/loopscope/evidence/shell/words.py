"""Turn the nodes of a word into what the shell would make of it, as far as that can be known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tree_sitter import Node

from loopscope.evidence.shell.commands import Word
from loopscope.evidence.shell.limits import Allowance

Variables = Mapping[str, Word]
Substitution = Callable[[Node], Word]
"""Reads a command substitution, and tells its value where it is known."""

_ESCAPE_IN_WORD = re.compile(r"\\(?:\n|(.))", re.DOTALL)
_ESCAPE_IN_STRING = re.compile(r"\\(?:\n|([$`\"\\]))")
_ESCAPE_IN_HEREDOC = re.compile(r"\\(?:\n|([$`\\]))")
_NAME = re.compile(r"\$(?:\{([A-Za-z_]\w*|\d+)\}|([A-Za-z_]\w*|\d))")
_ANSI = re.compile(r"\\(?:([abefnrtv\\'\"?])|x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{1,4}))")
_ANSI_NAMES = dict(zip("abefnrtv\\'\"?", "\a\b\x1b\f\n\r\t\v\\'\"?", strict=True))


class WordReader:
    """Reads words of one script."""

    def __init__(self, source: bytes, variables: Variables, substitution: Substitution, allowance: Allowance) -> None:
        self._source = source
        # Of plain text the places of characters are those of bytes, and nothing need be decoded.
        self._plain = source.decode("ascii") if source.isascii() else None
        self._variables = variables
        self._substitution = substitution
        self._allowance = allowance

    def source(self, node: Node) -> str:
        """The text of a node."""
        if self._plain is not None:
            return self._plain[node.start_byte : node.end_byte]
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def between(self, start: int, end: int) -> str:
        """The source between two places."""
        return self._source[start:end].decode("utf-8", "replace")

    def word(self, node: Node) -> Word:
        """The value of an argument."""
        kind = node.type
        if kind in ("word", "number"):
            text = self.source(node)
            if node.child_count:
                return self._pieces(node, node.start_byte, node.end_byte, _unescape_word)
            return Word(_unescape_word(text) if "\\" in text else text)
        if kind == "raw_string":
            return Word(self.source(node)[1:-1])
        if kind == "string":
            if node.child_count == 3 and node.children[1].type == "string_content":
                # Not the child's own text, which leaves out what is blank at its ends.
                return Word(_unescape_string(self.source(node)[1:-1]))
            return self._pieces(node, node.start_byte + 1, node.end_byte - 1, _unescape_string)
        if kind == "concatenation":
            parts = [self.word(child) for child in node.children]
            return Word("".join(part.text for part in parts), all(part.literal for part in parts))
        if kind in ("simple_expansion", "expansion"):
            return self._expansion(node)
        if kind == "command_substitution":
            return self._substitution(node)
        if kind == "process_substitution":
            self._substitution(node)
            return Word(self.source(node), False)
        if kind == "ansi_c_string":
            return Word(_ANSI.sub(_ansi, self.source(node)[2:-1]))
        text = self.source(node)
        return Word(text, "$" not in text and "`" not in text)

    def heredoc(self, start: Node | None, body: Node, strip_tabs: bool) -> Word:
        """The text of a heredoc. Unquoted ones are expanded."""
        text = self.between(self._begin(body), body.end_byte)
        if strip_tabs:
            text = re.sub(r"^\t+", "", text, flags=re.MULTILINE)
        delimiter = self.source(start) if start is not None else ""
        if any(mark in delimiter for mark in "'\"\\"):
            return Word(text)
        for child in body.children:
            if child.type == "command_substitution":
                self._substitution(child)
        return self._expand_plain(text)

    def _begin(self, body: Node) -> int:
        """Where a heredoc begins: the tree leaves out what is blank before its first word."""
        before = self._source[: body.start_byte]
        line = before.find(b"\n", len(before.rstrip(b" \t\n")))
        return line + 1 if line >= 0 else body.start_byte

    def _expand_plain(self, text: str) -> Word:
        literal = True

        def value(match: re.Match[str]) -> str:
            nonlocal literal
            found = self._lookup(match[1] or match[2])
            if found is None or not found.literal:
                literal = False
                return match[0]
            return found.text

        parts = re.split(r"(\\[$`\\\n])", text)
        for at in range(0, len(parts), 2):
            parts[at] = _NAME.sub(value, parts[at])
            literal = literal and "$(" not in parts[at] and "`" not in parts[at] and "${" not in parts[at]
        return Word("".join(_ESCAPE_IN_HEREDOC.sub(_escaped, part) for part in parts), literal)

    def _pieces(self, node: Node, start: int, end: int, unescape: Callable[[str], str]) -> Word:
        """A text with expansions in it: what lies between them is literal."""
        texts, literal, at = [], True, start
        for child in node.children:
            if child.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                texts.append(unescape(self.between(at, child.start_byte)))
                value = self.word(child)
                texts.append(value.text)
                literal &= value.literal
                at = child.end_byte
        texts.append(unescape(self.between(at, max(at, end))))
        return Word("".join(texts), literal)

    def _expansion(self, node: Node) -> Word:
        text = self.source(node)
        name = text[1:].strip("{}")
        if text.startswith("$") and name.isdigit() and not text.startswith("${"):
            value = self._lookup(name[0]) or Word("")
            return Word(value.text + name[1:], value.literal)
        if text.startswith("${"):
            known = re.match(r"\$\{([A-Za-z_]\w*|\d+)\}\Z", text)
            found = self._lookup(known[1]) if known else None
        else:
            found = self._lookup(name)
        return found if found is not None else Word(text, False)

    def _lookup(self, name: str) -> Word | None:
        """A variable's value, where there is room for it. Arguments that a script was not given are empty."""
        found = self._variables.get(name)
        if found is not None and not self._allowance.expand(len(found.text)):
            return None
        if found is None and name.isdigit() and name != "0":
            return Word("")
        return found


def _escaped(match: re.Match[str]) -> str:
    return match[1] or ""


def _unescape_word(text: str) -> str:
    return _ESCAPE_IN_WORD.sub(_escaped, text) if "\\" in text else text


def _unescape_string(text: str) -> str:
    return _ESCAPE_IN_STRING.sub(_escaped, text) if "\\" in text else text


def _ansi(match: re.Match[str]) -> str:
    if match[1]:
        return _ANSI_NAMES[match[1]]
    return chr(int(match[2], 16) if match[2] else int(match[3], 8) & 255 if match[3] else int(match[4], 16))
