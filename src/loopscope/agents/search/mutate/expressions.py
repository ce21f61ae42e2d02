"""Structure inside expressions: operators, comparisons, and calls cached, hoisted, dropped or exchanged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from loopscope.agents.search.mutate.moves import Edit, Files, Move
from loopscope.agents.search.mutate.syntax import Source, ancestors, enclosing, function_name, parse, short, walk

_OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "&&": "||", "||": "&&", "and": "or", "or": "and",
}  # fmt: skip
_COMPARISONS = {"<", "<=", ">", ">="}
_IMPURE = re.compile(
    r"\b(?:print|open|input|random|rng|time|global|nonlocal|yield|await|self|append|extend|pop|write|read|next)\b|\bnp\.random\b"
)
_MAX_BYTES = 200_000


def expression_moves(files: Files) -> Iterator[Move]:
    """Expression moves of all files with a grammar."""
    arities = _arities(files)
    for path in sorted(files):
        source = parse(path, files[path])
        if source and len(source.data) <= _MAX_BYTES:
            seen: Counter[str] = Counter()
            for node in walk(source.root):
                if node.type in ("binary_expression", "comparison_operator", "boolean_operator", "binary_operator"):
                    yield from _operators(source, node, seen)
                elif node.type in ("call", "call_expression"):
                    yield from _calls(source, node, seen, arities)
                elif node.type == "for_statement" and source.language == "c":
                    yield from _hoisted(source, node, seen)
                elif node.type == "function_definition":
                    yield from (
                        _cached(source, node, seen) if source.language == "python" else _inlined(source, node, seen)
                    )


def _move(
    source: Source,
    node: Node,
    seen: Counter[str],
    operator: str,
    kind: str,
    edits: tuple[Edit, ...],
    why: str,
    prior: float,
) -> Move:
    where = enclosing(source, node)
    words = short(source.text(node).split("\n", 1)[0])
    label = f"{where}:{operator}:{words}"
    seen[label] += 1
    change = f"{operator} in {where} of {source.path}: {words}"
    return Move("structure", operator, source.path, kind, f"{label}#{seen[label]}", edits, change, why, prior=prior)


def _operators(source: Source, node: Node, seen: Counter[str]) -> Iterator[Move]:
    for child in node.children:
        old = source.text(child)
        new = _OTHER.get(old) if not child.named_children else None
        if new:
            edit = Edit(child.start_byte, child.end_byte, new.encode())
            bound = old in _COMPARISONS
            prior = 0.04 if bound else 0.02
            why = "the bound may be off by one for this purpose" if bound else "the opposite operation may fit better"
            yield _move(
                source, node, seen, f"{old} to {new}", "comparison" if bound else "operator", (edit,), why, prior
            )


def _calls(source: Source, node: Node, seen: Counter[str], arities: dict[str, list[str]]) -> Iterator[Move]:
    name_node, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if name_node is None or arguments is None:
        return
    name, given = source.text(name_node), arguments.named_children
    if len(given) == 1 and node.parent is not None and node.parent.type != "expression_statement":
        inner = source.data[given[0].start_byte : given[0].end_byte]
        edit = Edit(node.start_byte, node.end_byte, inner)
        yield _move(source, node, seen, "unwrap call", "call", (edit,), f"{name} may be redundant here", 0.08)
    for other in arities.get(_signature(source.language, len(given)), []):
        if other not in (name, enclosing(source, node)) and name in arities.get(
            _signature(source.language, len(given)), []
        ):
            edit = Edit(name_node.start_byte, name_node.end_byte, other.encode())
            why = f"{other} takes the same arguments and may be the better way"
            yield _move(source, node, seen, f"call {other}", "call", (edit,), why, 0.2)


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


def _hoisted(source: Source, loop: Node, seen: Counter[str]) -> Iterator[Move]:
    """Compute a call of a loop's condition once, before the loop."""
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
            yield _move(source, loop, seen, "hoist call", "loop", edits, "the bound may not change in the loop", 0.4)
            return


def _cached(source: Source, node: Node, seen: Counter[str]) -> Iterator[Move]:
    """Remember the results of a function that looks pure."""
    parameters = node.child_by_field_name("parameters")
    decorated = node.parent is not None and node.parent.type == "decorated_definition"
    if decorated or parameters is None or not parameters.named_children or _IMPURE.search(source.text(node)):
        return
    if enclosing(source, node) != "file":
        return
    edit = Edit(node.start_byte, node.start_byte, b'@__import__("functools").lru_cache(maxsize=None)\n')
    yield _move(source, node, seen, "cache calls", "function", (edit,), "it may be asked the same thing again", 0.3)


def _inlined(source: Source, node: Node, seen: Counter[str]) -> Iterator[Move]:
    """Ask the compiler to inline a file's own function."""
    head = source.data[node.start_byte : node.start_byte + 80]
    if (
        head.startswith(b"static ")
        and b"inline" not in head
        and not any(a.type == "function_definition" for a in ancestors(node))
    ):
        edit = Edit(node.start_byte, node.start_byte, b"__attribute__((always_inline)) inline ")
        yield _move(
            source, node, seen, "inline function", "function", (edit,), "its call may cost more than its body", 0.15
        )
