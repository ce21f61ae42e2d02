"""Walk the syntax tree of a script and list its simple commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tree_sitter import Node

from loopscope.evidence.shell.commands import Redirect, SimpleCommand, Word, literal
from loopscope.evidence.shell.drafts import Draft, Place, freeze
from loopscope.evidence.shell.loops import MAX_PRODUCT, rounds
from loopscope.evidence.shell.plain import PlainCommand
from loopscope.evidence.shell.reading import MAX_DEPTH, CommandReader

_LOOPS = frozenset(["for_statement", "while_statement", "c_style_for_statement", "until_statement"])
_BRANCHES = frozenset(["if_statement", "case_statement"])
_WORDS = frozenset(
    ["word", "number", "string", "raw_string", "concatenation", "simple_expansion", "expansion", "command_substitution",
     "process_substitution", "ansi_c_string", "translated_string", "arithmetic_expansion", "brace_expression",
     "extglob_pattern", "regex", "test_operator", "special_variable_name", "variable_name"]
)  # fmt: skip
_OPERATORS = frozenset(["&&", "||", "|", "|&"])
_MERGED = Redirect(">&", Word("1"), 2)


class Walk(CommandReader):
    """One pass over one script: statements, and what joins them."""

    def run(self, root: Node) -> None:
        """Read a tree."""
        self._sequence(root.children)
        self.broken |= root.has_error

    def run_plain(self, commands: Sequence[PlainCommand]) -> None:
        """Read a script of plain commands, which has no tree."""
        before: list[Draft] = []
        for command in commands:
            if self._allowance.commands <= 0:
                self.broken = True
                return
            draft = self._draft([literal(text) for text in command.words], command.text)
            draft.joined = command.joined
            draft.assignments += command.assignments
            self._unwrap(draft)
            self._change_directory(draft)
            if command.joined == "|":
                self._link(before, [draft])
            draft.redirects += command.redirects
            before = [draft]

    def finish(self) -> tuple[SimpleCommand, ...]:
        """The commands, in order; those of nested scripts in place of what started them."""
        return freeze(self._drafts, self._pipe_sizes)

    def _sequence(self, nodes: Sequence[Node]) -> list[Draft]:
        """Statements one after another; what they hold."""
        found: list[Draft] = []
        last: list[Draft] = []
        before = self._where
        for node in nodes:
            if node.is_named:
                at, before = len(self._drafts), self._where
                self._statement(node)
                last = self._drafts[at:]
                if last and found and not last[0].joined:
                    last[0].joined = ";"
                found += last
            elif node.type == "&":
                for draft in last:
                    draft.background = True
                self._where = before
        return found

    def _statement(self, node: Node, before: list[Draft] | None = None) -> list[Draft]:
        """Read a statement. Returns the commands to which a redirection or pipe behind it would apply.

        `before`: the commands from which a pipe leads into it. Of a list it leads into the first command alone.
        """
        if self._depth > MAX_DEPTH or self._allowance.commands <= 0:
            self.broken = True
            return []
        self._depth += 1
        try:
            if node.type == "list":
                return self._list(node, before)
            if node.type == "pipeline":
                return self._pipe(before, node)
            if node.type == "redirected_statement":
                return self._redirected(node, before)
            at = len(self._drafts)
            found = self._dispatch(node)
            if before is not None:
                self._link(before, self._drafts[at:])
            return found
        finally:
            self._depth -= 1

    def _dispatch(self, node: Node) -> list[Draft]:
        kind = node.type
        if kind == "command":
            return self._command(node)
        if kind in ("variable_assignment", "variable_assignments", "declaration_command", "unset_command"):
            return self._assign(node)
        if kind == "subshell":
            return self._inside(node, replace(self._place, subshell=True), restore=True)
        if kind in _LOOPS:
            return self._loop(node)
        if kind in _BRANCHES:
            return self._inside(node, replace(self._place, conditional=True))
        if kind == "function_definition":
            name = node.child_by_field_name("name")
            title = self._reader.source(name) if name else "?"
            return self._inside(node, replace(self._place, function=title), restore=True)
        if kind in ("comment", "heredoc_body", "heredoc_end", "heredoc_start"):
            return []
        if kind in _WORDS:
            # A word where a statement is expected: only substitutions in it run.
            self._reader.word(node)
            return []
        if kind == "test_command":
            for child in node.children:
                self._test(child)
            return []
        if kind == "ERROR":
            self.broken = True
        return self._sequence(node.children)

    def _test(self, node: Node) -> None:
        if node.type in _WORDS:
            self._reader.word(node)
        elif self._depth < MAX_DEPTH:
            self._depth += 1
            for child in node.children:
                self._test(child)
            self._depth -= 1

    def _inside(self, node: Node, place: Place, *, restore: bool = False) -> list[Draft]:
        outer, where = self._place, self._where
        self._place = place
        found = self._sequence(node.children)
        self._place = outer
        if restore:
            self._where = where
        return found

    def _loop(self, node: Node) -> list[Draft]:
        found = rounds(node, self._reader)
        body = node.child_by_field_name("body")
        if found is not None and body is not None and self._rounds * len(found[1]) <= MAX_PRODUCT:
            return self._unrolled(body, *found)
        for child in node.children_by_field_name("variable"):
            self._variables[self._reader.source(child)] = Word(f"${self._reader.source(child)}", False)
        return self._inside(node, replace(self._place, loop=True))

    def _unrolled(self, body: Node, name: str, values: Sequence[Word]) -> list[Draft]:
        """A loop whose values are known: each round by itself, as the shell runs it."""
        made: list[Draft] = []
        begin = len(self._drafts)
        self._rounds *= len(values)
        for value in values:
            self._variables[name] = value
            at = len(self._drafts)
            made += self._sequence([body])
            if at < len(self._drafts) and len(made) > len(self._drafts) - at and not self._drafts[at].joined:
                self._drafts[at].joined = ";"
        self._rounds //= len(values)
        for draft in self._drafts[begin + 1 :]:
            draft.loop_begin = begin if draft.loop_begin is None else draft.loop_begin
        return made

    def _list(self, node: Node, before: list[Draft] | None) -> list[Draft]:
        tail: list[Draft] = []
        operator = ""
        for child in node.children:
            if not child.is_named:
                operator = child.type
                continue
            at, where = len(self._drafts), self._where
            tail = self._statement(child, before)
            if before is not None and not _is_list(child):
                self._where = where
            before = None
            if operator and at < len(self._drafts):
                self._drafts[at].joined = operator
        return tail

    def _pipe(self, before: list[Draft] | None, node: Node) -> list[Draft]:
        """The commands of a pipeline, the first of which may have been read already (`before`)."""
        parts = [child for child in node.children if child.is_named]
        tail = before
        for part in parts:
            where = self._where
            tail = self._statement(part, tail)
            if not _is_list(part):
                self._where = where
        return tail or []

    def _link(self, left: list[Draft], right: list[Draft]) -> None:
        number, position = next((draft.pipe for draft in left if draft.pipe), (None, 0))
        if number is None:
            self._pipes += 1
            number = self._pipes
            for draft in left:
                draft.pipe = (number, 0)
        for draft in right:
            draft.pipe = (number, position + 1)
        self._pipe_sizes[number] = position + 2
        if right:
            right[0].joined = "|"

    def _redirected(self, node: Node, before: list[Draft] | None) -> list[Draft]:
        body = node.child_by_field_name("body")
        if body is not None:
            found = self._statement(body, before)
        else:
            found = [self._draft([], self._reader.source(node))]
            if before is not None:
                self._link(before, found)
        end = node.start_byte
        for child in node.children:
            if child.type.endswith("_redirect"):
                # tree-sitter passes over a lone `-` in front of a heredoc.
                for text in self._reader.between(end, child.start_byte).split() if found else ():
                    found[-1].words.append(Word(text))
                found = self._redirect(child, found)
            end = child.end_byte
        return found

    def _redirect(self, node: Node, to: list[Draft]) -> list[Draft]:
        if not self._allowance.share(len(to)):
            self.broken = True
            return to
        if node.type == "heredoc_redirect":
            return self._heredoc(node, to)
        if self._reader.source(node) == "2>&1":  # four of five
            for draft in to:
                draft.redirects.append(_MERGED)
            return to
        operator, descriptor, target = "", None, Word("")
        for child in node.children:
            if child.type == "file_descriptor":
                descriptor = int(self._reader.source(child)[:9]) if self._reader.source(child).isdigit() else None
            elif child.is_named:
                if operator and not target.text:
                    target = self._reader.word(child)
                else:
                    # tree-sitter hangs arguments behind a redirection onto it.
                    self._share(self._reader.word(child), to)
            else:
                operator = child.type
        for draft in to:
            draft.redirects.append(Redirect(operator, target, descriptor))
        if operator == "<<<":
            self._again(to)
        return to

    def _share(self, word: Word, to: list[Draft]) -> None:
        """Note a word for each command of a group."""
        if not self._allowance.share(len(to)):
            self.broken = True
            return
        for draft in to:
            draft.words.append(word)

    def _heredoc(self, node: Node, to: list[Draft]) -> list[Draft]:
        start = body = None
        operator, tail = "<<", to
        rest: list[Node] = []
        for child in node.children:
            if child.type == "heredoc_start":
                start = child
            elif child.type == "heredoc_body":
                body = child
            elif child.type in ("<<", "<<-"):
                operator = child.type
            elif child.type != "heredoc_end":
                rest.append(child)
        text = self._reader.heredoc(start, body, operator == "<<-") if body is not None else Word("")
        for draft in to:
            draft.redirects.append(Redirect(operator, text))
        self._again(to)
        joined = ""
        for child in rest:
            if child.type in _OPERATORS:
                joined = child.type
            elif child.type.endswith("_redirect"):
                tail = self._redirect(child, tail)
            elif child.type == "pipeline":
                tail = self._pipe(tail, child)
            elif child.type in _WORDS:
                self._share(self._reader.word(child), to)
            elif child.is_named:
                at = len(self._drafts)
                tail = self._statement(child)
                if joined and at < len(self._drafts):
                    self._drafts[at].joined = joined
        return tail


def _is_list(node: Node) -> bool:
    """Whether tree-sitter hung a list under a pipe or redirection that is only its last command's."""
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
    return body is not None and body.type == "list"
