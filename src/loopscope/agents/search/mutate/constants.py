"""Constants: numeric literals that parsing finds, named ones first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from loopscope.agents.search.mutate.literals import NUMBER, Literal, read_literal, steps
from loopscope.agents.search.mutate.moves import Edit, Files, Move
from loopscope.agents.search.mutate.syntax import Source, ancestors, enclosing, parse, walk

PRIOR = {"named": 0.5, "parameter": 0.4, "local": 0.25, "bound": 0.2, "argument": 0.15, "other": 0.05}
"""Chance that changing a constant of a kind helps, before anything is known."""
_NUMBERS = ("number_literal", "integer", "float")
_IDLE_NAME = re.compile(r"seed|version|magic|prime|offset|epoch_?time|port$", re.I)
_FORM_NAME = re.compile(r"axis|n?dims?|dtype|ddof|indent|base|ord|shape|encoding|protocol|stacklevel", re.I)
"""Arguments that say in what form something is, rather than how much of it."""
_SIZE_NAME = re.compile(
    r"size|count|num|_n\b|\bn_|iter|steps|round|epoch|block|chunk|buf|table|bucket|cap|depth|width|hidden|window|lag|order|rate"
    r"|lr\b|alpha|lambda|ridge|decay|tol|eps|thresh|batch|tries|restart|unroll|tile|limit|max|min|bits|scale|weight|temp|budget"
    r"|how many|number of|most|bytes",
    re.I,
)
_CODE_FILE = re.compile(
    r"\.(?:rs|go|js|ts|java|jl|rb|lua|zig|f90|hs|ml|scala|kt|swift|cs|pl|r|json|toml|ya?ml|ini|cfg|conf)$", re.I
)
_ASSIGNED = re.compile(r"([A-Za-z_][\w.-]*)[\"']?\s*(?::[^=,\n]{0,30})?[:=]\s*[-+]?$")


@dataclass(frozen=True)
class _Site:
    start: int
    end: int
    literal: Literal
    kind: str
    owner: str
    """Function around it, or `file`."""
    name: str
    """The constant's own name, or the nearest word that tells it apart."""


def constant_moves(files: Files) -> Iterator[Move]:
    """Every way to change one numeric literal of the files."""
    for path in sorted(files):
        source = parse(path, files[path])
        sites = _parsed_sites(source) if source else _token_sites(path, files[path])
        seen: Counter[str] = Counter()
        for site in sites:
            label = f"{site.owner}:{site.name}"
            seen[label] += 1
            yield from _moves(path, files[path], site, f"{label}#{seen[label]}")


def _moves(path: str, data: bytes, site: _Site, key: str) -> Iterator[Move]:
    old = site.literal.write(site.literal.value)
    words = f"{site.name} {_remark(data, site.end)}"
    weight = 0.2 if _IDLE_NAME.search(site.name) else 2.0 if _SIZE_NAME.search(words) else 1.0
    for step in steps(site.literal):
        new = site.literal.write(step.value)
        if new == old:
            continue
        what = site.name if site.kind in ("named", "parameter", "local") else f"{site.name} in {site.owner}"
        yield Move(
            family="constants",
            operator=step.operator,
            file=path,
            site_kind=site.kind,
            site=key,
            edits=(Edit(site.start, site.end, new.encode()),),
            change=f"{what} {old} -> {new} ({step.operator}) in {path}",
            hypothesis=f"{site.name} = {old} may be far from its best value, and {step.operator} goes towards it",
            weight=weight * step.scale,
            prior=PRIOR[site.kind] * (0.5 + step.scale / 2),
            onward=step.onward,
            opposite=step.opposite,
        )


def _remark(data: bytes, position: int) -> str:
    """The comment at the end of a line."""
    line = data[position : position + 200].split(b"\n", 1)[0]
    marks = [line.find(mark) for mark in (b"#", b"//", b"/*") if mark in line]
    return line[min(marks) :].decode(errors="replace") if marks else ""


def _parsed_sites(source: Source) -> Iterator[_Site]:
    for node in walk(source.root):
        if node.type == "preproc_def":
            yield from _macro_sites(source, node)
        elif node.type in _NUMBERS:
            literal = read_literal(source.text(node))
            found = _classify(source, node) if literal else None
            if literal and found:
                kind, name = found
                small = literal.value in (0, 1, 2) and kind not in ("named", "parameter")
                if small or literal.base == 16 or _FORM_NAME.fullmatch(name) or _is_negative(node):
                    kind = "other"  # part of how the code works rather than a setting
                yield _Site(node.start_byte, node.end_byte, literal, kind, enclosing(source, node), name)


def _is_negative(node: Node) -> bool:
    """Minus something, as in the last element or an error code."""
    parent = node.parent
    return parent is not None and parent.type in ("unary_operator", "unary_expression")


def _macro_sites(source: Source, node: Node) -> Iterator[_Site]:
    value = node.child_by_field_name("value")
    name = source.text(node.child_by_field_name("name"))
    if value is None:
        return
    text = source.text(value).split("/*")[0].split("//")[0]
    numbers = list(NUMBER.finditer(text))
    for match in numbers:
        literal = read_literal(match.group())
        shifted = "<<" in text and match is not numbers[-1]
        if literal and not shifted:
            start = value.start_byte + len(text[: match.start()].encode())
            end = start + len(match.group().encode())
            yield _Site(start, end, literal, "named" if len(numbers) <= 2 else "other", "file", name)


def _classify(source: Source, node: Node) -> tuple[str, str] | None:
    """Kind and name of the place a literal stands in; None for places not worth touching."""
    top = not any(a.type in ("function_definition", "lambda") for a in ancestors(node))
    for parent in ancestors(node):
        kind = parent.type
        if kind in ("subscript", "subscript_expression", "case_statement", "preproc_if", "format_specifier", "slice"):
            return "other", kind
        if kind in ("default_parameter", "typed_default_parameter", "keyword_argument"):
            return "parameter", source.text(parent.child_by_field_name("name"))
        if kind == "pair":
            return "parameter", source.text(parent.child_by_field_name("key")).strip("'\"")
        if kind == "enumerator":
            return "named", source.text(parent.child_by_field_name("name"))
        if kind in ("for_statement", "for_in_clause", "while_statement", "comparison_operator"):
            return "bound", "loop" if kind.startswith(("for", "while")) else "comparison"
        if kind == "if_statement":
            return "bound", "condition"
        if kind in ("call", "call_expression"):
            name = source.text(parent.child_by_field_name("function"))
            return ("bound" if name == "range" else "argument"), name.rsplit(".", 1)[-1]
        if kind in ("assignment", "augmented_assignment", "assignment_expression"):
            name = source.text(parent.child_by_field_name("left"))
            return ("named" if top else "local"), name.rsplit(".", 1)[-1][:40]
        if kind == "init_declarator":
            return ("named" if top else "local"), source.text(parent.child_by_field_name("declarator"))[:40]
        if kind in ("return_statement", "expression_statement"):
            break
    return "other", "literal"


def _token_sites(path: str, data: bytes) -> Iterator[_Site]:
    """Numbers of a language without a grammar: outside line comments, named where `name =` or `name:` goes before."""
    if not _CODE_FILE.search(path):
        return
    position = 0
    for raw in data.split(b"\n"):
        line = raw.decode("latin-1")
        code = "" if re.match(r"\s*(?://|#|--|\*|;)", line) else line
        for match in NUMBER.finditer(code):
            literal = read_literal(match.group())
            name = _ASSIGNED.search(code[: match.start()])
            if literal:
                kind = "named" if name else "other"
                start = position + match.start()
                yield _Site(start, start + len(match.group()), literal, kind, "file", name[1] if name else "literal")
        position += len(raw) + 1
