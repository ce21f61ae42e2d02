"""Structure inside expressions: operators, comparisons, and calls cached, hoisted, dropped or exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from loopscope.agents.search.mutate.moves import Edit, Files, Move
from loopscope.agents.search.mutate.structure import MAX_BYTES, Sites
from loopscope.agents.search.mutate.syntax import ancestors, enclosing, function_name, parse, walk

_OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "&&": "||", "||": "&&", "and": "or", "or": "and",
}  # fmt: skip
_COMPARISONS = {"<", "<=", ">", ">="}
_IMPURE = re.compile(
    r"\b(?:print|open|input|random|rng|time|global|nonlocal|yield|await|self|append|extend|pop|write|read|next)\b|\bnp\.random\b"
)


def expression_moves(files: Files) -> Iterator[Move]:
    """Expression moves of all files with a grammar."""
    arities = _arities(files)
    for path in sorted(files):
        source = parse(path, files[path])
        if source and len(source.data) <= MAX_BYTES:
            sites = Sites(source, heads=True)
            for node in walk(source.root):
                if node.type in ("binary_expression", "comparison_operator", "boolean_operator", "binary_operator"):
                    yield from _operators(sites, node)
                elif node.type in ("call", "call_expression"):
                    yield from _calls(sites, node, arities)
                elif node.type == "for_statement" and source.language == "c":
                    yield from _hoisted(sites, node)
                elif node.type == "function_definition":
                    yield from (_cached(sites, node) if source.language == "python" else _inlined(sites, node))


def _operators(sites: Sites, node: Node) -> Iterator[Move]:
    source = sites.source
    for child in node.children:
        old = source.text(child)
        new = _OTHER.get(old) if not child.named_children else None
        if new:
            edit = Edit(child.start_byte, child.end_byte, new.encode())
            bound = old in _COMPARISONS
            prior = 0.04 if bound else 0.02
            why = "the bound may be off by one for this purpose" if bound else "the opposite operation may fit better"
            yield sites.move(node, f"{old} to {new}", "comparison" if bound else "operator", (edit,), why, prior)


def _calls(sites: Sites, node: Node, arities: dict[str, list[str]]) -> Iterator[Move]:
    source = sites.source
    name_node, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if name_node is None or arguments is None:
        return
    name, given = source.text(name_node), arguments.named_children
    if len(given) == 1 and node.parent is not None and node.parent.type != "expression_statement":
        inner = source.data[given[0].start_byte : given[0].end_byte]
        edit = Edit(node.start_byte, node.end_byte, inner)
        yield sites.move(node, "unwrap call", "call", (edit,), f"{name} may be redundant here", 0.08)
    for other in arities.get(_signature(source.language, len(given)), []):
        if other not in (name, enclosing(source, node)) and name in arities.get(
            _signature(source.language, len(given)), []
        ):
            edit = Edit(name_node.start_byte, name_node.end_byte, other.encode())
            why = f"{other} takes the same arguments and may be the better way"
            yield sites.move(node, f"call {other}", "call", (edit,), why, 0.2)


def _signature(language: str, count: int) -> str:
    return f"{language}/{count}"


def _arities(files: Files) -> dict[str, list[str]]:
    """Functions defined in the files by language and number of parameters."""
    found: dict[str, list[str]] = {}
    for path in sorted(files):
        source = parse(path, files[path])
        for node in walk(source.root) if source else ():
            if source and node.type == "function_definition":
                inner = node.child_by_field_name("parameters") or _declared_parameters(node)
                count = len([c for c in inner.named_children if c.type != "comment"]) if inner else 0
                found.setdefault(_signature(source.language, count), []).append(function_name(source, node))
    return found


def _declared_parameters(node: Node) -> Node | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    return declarator.child_by_field_name("parameters") if declarator else None


def _hoisted(sites: Sites, loop: Node) -> Iterator[Move]:
    """Compute a call of a loop's condition once, before the loop."""
    source = sites.source
    condition = loop.child_by_field_name("condition")
    if condition is None or loop.parent is None or loop.parent.type != "compound_statement":
        return
    for call in walk(condition):
        if call.type == "call_expression":
            name = f"bound_{loop.start_byte}"
            before = f"const __typeof__({source.text(call)}) {name} = {source.text(call)};\n"
            edits = (
                Edit(loop.start_byte, loop.start_byte, before.encode()),
                Edit(call.start_byte, call.end_byte, name.encode()),
            )
            yield sites.move(loop, "hoist call", "loop", edits, "the bound may not change in the loop", 0.4)
            return


def _cached(sites: Sites, node: Node) -> Iterator[Move]:
    """Remember the results of a function that looks pure."""
    source = sites.source
    parameters = node.child_by_field_name("parameters")
    decorated = node.parent is not None and node.parent.type == "decorated_definition"
    if decorated or parameters is None or not parameters.named_children or _IMPURE.search(source.text(node)):
        return
    if enclosing(source, node) != "file":
        return
    edit = Edit(node.start_byte, node.start_byte, b'@__import__("functools").lru_cache(maxsize=None)\n')
    yield sites.move(node, "cache calls", "function", (edit,), "it may be asked the same thing again", 0.3)


def _inlined(sites: Sites, node: Node) -> Iterator[Move]:
    """Ask the compiler to inline a file's own function."""
    source = sites.source
    head = source.data[node.start_byte : node.start_byte + 80]
    if (
        head.startswith(b"static ")
        and b"inline" not in head
        and not any(a.type == "function_definition" for a in ancestors(node))
    ):
        edit = Edit(node.start_byte, node.start_byte, b"__attribute__((always_inline)) inline ")
        yield sites.move(node, "inline function", "function", (edit,), "its call may cost more than its body", 0.15)
