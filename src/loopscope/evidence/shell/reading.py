"""Read simple commands and assignments out of a syntax tree: words, wrappers, directories, variables."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

from tree_sitter import Node

from loopscope.evidence.shell.commands import Script, Word, literal, resolve
from loopscope.evidence.shell.drafts import Draft, Place
from loopscope.evidence.shell.limits import Allowance
from loopscope.evidence.shell.words import WordReader
from loopscope.evidence.shell.wrappers import STARTERS, unwrap

MAX_DEPTH = 150
"""Deeper trees are no commands that anybody wrote; the rest of them is left out."""

_PLAIN = re.compile(r"[\w./:,+@%~-]+(?:[ \t]+(?!==)[\w./:,+@%~=-]+)*", re.ASCII)
"""A command whose words mean what they look like. Three of four are; their nodes need not be visited one by one."""

Nested = Callable[[str, str | None, dict[str, Word], int], Script]
"""Parses the text that a shell is given, with where it starts, the variables that it knows, and how often it is run."""


class CommandReader(ABC):
    """What is known while a script is walked, and how its commands are read."""

    def __init__(
        self,
        source: bytes,
        cwd: str | None,
        variables: dict[str, Word],
        nested: Nested,
        allowance: Allowance,
        rounds: int = 1,
    ) -> None:
        self._where: tuple[str | None, str | None] = (cwd, None)
        """Present and previous directory."""
        self.broken = False
        self._variables = dict(variables)
        self._nested = nested
        self._allowance = allowance
        self._drafts: list[Draft] = []
        self._place = Place()
        self._depth = 0
        self._rounds = rounds
        """How often what is being read is run, by the loops around it whose rounds are known."""
        self._pipes = 0
        self._pipe_sizes: dict[int, int] = {}
        self._reader = WordReader(source, self._variables, self._substitution, allowance)

    @property
    def cwd(self) -> str | None:
        """Where the script has come to."""
        return self._where[0]

    @abstractmethod
    def _sequence(self, nodes: Sequence[Node]) -> list[Draft]:
        """Read statements one after another; what they hold."""

    @abstractmethod
    def _redirect(self, node: Node, to: list[Draft]) -> list[Draft]:
        """Read a redirection of some commands; the commands to which the next one would apply."""

    def _command(self, node: Node) -> list[Draft]:
        text = self._reader.source(node)
        if _PLAIN.fullmatch(text):
            draft = self._draft([literal(word) for word in text.split()], text)
            self._unwrap(draft)
            self._change_directory(draft)
            return [draft]
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirects: list[Node] = []
        for child in node.children:
            kind = child.type
            if kind == "command_name":
                words.append(self._reader.word(child.children[0]) if child.child_count else Word(""))
            elif kind == "variable_assignment":
                assignments.append(self._assignment(child))
            elif kind.endswith("_redirect"):
                redirects.append(child)
            elif child.is_named or kind in ("$", "=="):
                words.append(self._reader.word(child))
        draft = self._draft(words, text)
        draft.assignments = assignments
        for child in redirects:
            self._redirect(child, [draft])
        if not draft.nested:
            self._unwrap(draft)
        self._change_directory(draft)
        return [draft]

    def _draft(self, words: list[Word], text: str) -> Draft:
        draft = Draft(words, self.cwd, text, self._place)
        self._drafts.append(draft)
        self._allowance.commands -= 1
        return draft

    def _unwrap(self, draft: Draft) -> None:
        name = draft.words[0].text.rpartition("/")[2] if draft.words else ""
        if name not in STARTERS:
            return
        stdin = next((item.target for item in reversed(draft.redirects) if item.operator.startswith("<<")), None)
        found = unwrap(draft.words, draft.cwd, stdin)
        draft.words, draft.cwd = found.words, found.cwd
        draft.wrappers += found.wrappers
        draft.assignments += found.assignments
        if found.script is None:
            return
        known = {**self._variables, **dict(draft.assignments)}
        for number, word in enumerate(found.words[:10]):
            known[str(number)] = word
        script = self._nested(found.script.text, draft.cwd, known, self._rounds)
        self.broken |= script.broken
        draft.nested = script.commands
        draft.words = []
        if "eval" in draft.wrappers:
            self._where = (script.cwd, self._where[1])

    def _change_directory(self, draft: Draft) -> None:
        if not draft.words or draft.wrappers or draft.words[0].text not in ("cd", "pushd"):
            return
        targets = [word for word in draft.words[1:] if word.text not in ("-P", "-L", "--")]
        if not targets:
            cwd: str | None = "~"
        elif targets[0].text == "-":
            cwd = self._where[1]
        else:
            cwd = resolve(self.cwd, targets[0].text) if targets[0].literal else None
        self._where = (cwd, self.cwd)

    def _assign(self, node: Node) -> list[Draft]:
        made = []
        for child in node.children if node.type != "variable_assignment" else [node]:
            if child.type == "variable_assignment":
                name, value = self._assignment(child)
                made.append((name, value))
                if self._place.conditional or self._place.loop or self._place.function:
                    value = Word(f"${name}", False)
                self._variables[name] = value
        draft = self._draft([], self._reader.source(node))
        draft.assignments = made
        return [draft]

    def _assignment(self, node: Node) -> tuple[str, Word]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        return (
            self._reader.source(name) if name is not None else "?",
            self._reader.word(value) if value is not None else Word(""),
        )

    def _substitution(self, node: Node) -> Word:
        """Read the commands inside; a heredoc that `cat` prints is known to be its value."""
        at, where, place = len(self._drafts), self._where, self._place
        self._place = replace(place, substitution=True)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.broken = True
        else:
            self._sequence(node.children)
        self._depth -= 1
        self._place, self._where = place, where
        made = self._drafts[at:]
        if len(made) == 1 and len(made[0].words) == 1 and made[0].words[0].text == "cat" and made[0].redirects:
            redirect = made[0].redirects[-1]
            if redirect.operator.startswith("<<"):
                return Word(redirect.target.text.rstrip("\n"), redirect.target.literal)
        return Word(self._reader.source(node), False)

    def _again(self, drafts: list[Draft]) -> None:
        """Read what is fed to a bare shell, which is known only now."""
        for draft in drafts:
            if draft.words and not draft.nested:
                self._unwrap(draft)
