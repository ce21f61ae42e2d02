"""Structure, statement by statement: delete, duplicate, swap, leave a loop early, exchange loops and branches."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from loopscope.agents.search.mutate.moves import Edit, Files, Move
from loopscope.agents.search.mutate.structure import MAX_BYTES, Sites
from loopscope.agents.search.mutate.syntax import Source, ancestors, parse, walk

_BLOCKS = ("block", "compound_statement")
_LOOPS = ("for_statement", "while_statement", "do_statement")
_PLAIN = ("expression_statement", "if_statement", "augmented_assignment", *_LOOPS)
_JUMPS = ("break_statement", "return_statement", "continue_statement", "goto_statement", "raise_statement")


def statement_moves(files: Files) -> Iterator[Move]:
    """Statement moves of all files with a grammar."""
    for path in sorted(files):
        source = parse(path, files[path])
        if source and len(source.data) <= MAX_BYTES:
            sites = Sites(source)
            for node in walk(source.root):
                yield from _of_node(sites, node)


def _of_node(sites: Sites, node: Node) -> Iterator[Move]:
    if node.type in _BLOCKS:
        yield from _in_block(sites, node)
    elif node.type in _LOOPS:
        yield from _swapped_loops(sites, node)
    elif node.type == "if_statement":
        yield from _early_exit(sites, node)
        yield from _swapped_branches(sites, node)


def _in_block(sites: Sites, block: Node) -> Iterator[Move]:
    source = sites.source
    body = [child for child in block.named_children if child.type != "comment"]
    for index, node in enumerate(body):
        kind = "statement in loop" if any(a.type in _LOOPS for a in ancestors(node)) else "statement"
        if node.type in _PLAIN and not _is_docstring(node):
            filler = b"pass" if source.language == "python" and len(body) == 1 else b""
            edit = Edit(node.start_byte, node.end_byte, filler)
            prior = 0.08 if kind == "statement in loop" else 0.05
            yield sites.move(node, "delete", kind, [edit], "the result may not need this work", prior)
        if node.type == "expression_statement" and not _is_docstring(node) and _is_work(node):
            again = _separator(source, node) + source.data[node.start_byte : node.end_byte]
            edit = Edit(node.end_byte, node.end_byte, again)
            yield sites.move(node, "duplicate", kind, [edit], "doing this twice may get further", 0.03)
        if index + 1 < len(body) and node.type in _PLAIN and body[index + 1].type in _PLAIN:
            edits = _exchange(source, node, body[index + 1])
            yield sites.move(node, "swap with next", kind, edits, "the other order may settle earlier", 0.02)


def _is_docstring(node: Node) -> bool:
    return bool(node.named_children) and node.named_children[0].type in ("string", "comment")


def _is_work(node: Node) -> bool:
    """A call or an update, whose repetition can matter; a plain assignment repeated cannot."""
    inner = node.named_children[0] if node.named_children else None
    return inner is not None and inner.type in ("call", "call_expression", "augmented_assignment")


def _separator(source: Source, node: Node) -> bytes:
    start = source.data.rfind(b"\n", 0, node.start_byte) + 1
    indent = source.data[start : node.start_byte]
    return b"\n" + (indent if not indent.strip() else b"")


def _exchange(source: Source, first: Node, second: Node) -> list[Edit]:
    return [
        Edit(first.start_byte, first.end_byte, source.data[second.start_byte : second.end_byte]),
        Edit(second.start_byte, second.end_byte, source.data[first.start_byte : first.end_byte]),
    ]


def _only_child_loop(loop: Node) -> Node | None:
    body = loop.child_by_field_name("body")
    while body is not None and body.type in _BLOCKS:
        inner = [child for child in body.named_children if child.type != "comment"]
        body = inner[0] if len(inner) == 1 else None
    return body if body is not None and body.type == loop.type else None


def _header(source: Source, loop: Node) -> tuple[int, int] | None:
    """Bytes of a loop's head: between the keyword and the body."""
    body = loop.child_by_field_name("body")
    if body is None or not loop.children:
        return None
    end = body.start_byte
    if source.language == "python":
        end = source.data.rfind(b":", loop.start_byte, body.start_byte)
    return (loop.children[0].end_byte, end) if end > loop.start_byte else None


def _swapped_loops(sites: Sites, loop: Node) -> Iterator[Move]:
    source = sites.source
    inner = _only_child_loop(loop) if loop.type == "for_statement" else None
    outer_head, inner_head = _header(source, loop), _header(source, inner) if inner else None
    if outer_head and inner_head:
        edits = [
            Edit(*outer_head, source.data[slice(*inner_head)]),
            Edit(*inner_head, source.data[slice(*outer_head)]),
        ]
        why = "the other loop order may walk memory in its own order"
        yield sites.move(loop, "swap loops", "loop nest", edits, why, 0.2)


def _early_exit(sites: Sites, node: Node) -> Iterator[Move]:
    source = sites.source
    loop = next((a for a in ancestors(node) if a.type in _LOOPS), None)
    body = node.child_by_field_name("consequence")
    if loop is None or body is None:
        return
    inner = [child for child in body.named_children if child.type != "comment"] if body.type in _BLOCKS else [body]
    if not inner or inner[-1].type in _JUMPS or not _nearest_is(node, loop):
        return
    last = inner[-1]
    if source.language == "python":
        edit = [Edit(last.end_byte, last.end_byte, _separator(source, last) + b"break")]
    elif body.type in _BLOCKS:
        edit = [Edit(last.end_byte, last.end_byte, b" break;")]
    else:
        edit = [Edit(body.start_byte, body.start_byte, b"{ "), Edit(body.end_byte, body.end_byte, b" break; }")]
    why = "once this holds the rest of the loop may be wasted"
    yield sites.move(node, "insert break", "branch in loop", edit, why, 0.2)


def _nearest_is(node: Node, loop: Node) -> bool:
    """No switch lies between, whose break it would be."""
    for parent in ancestors(node):
        if parent == loop:
            return True
        if parent.type == "switch_statement":
            return False
    return False


def _swapped_branches(sites: Sites, node: Node) -> Iterator[Move]:
    """Ask an `elif` first: pays when it is the commoner case, and is wrong when the cases overlap."""
    source = sites.source
    second = next((c for c in node.named_children if c.type == "elif_clause"), None)
    if second is None:
        other = node.child_by_field_name("alternative")
        second = next((c for c in other.named_children if c.type == "if_statement"), None) if other else None
    if second is None:
        return
    pairs = [
        (node.child_by_field_name(field), second.child_by_field_name(field)) for field in ("condition", "consequence")
    ]
    edits = [edit for a, b in pairs if a and b for edit in _exchange(source, a, b)]
    if len(edits) == 4:
        yield sites.move(node, "swap branches", "branch", edits, "the second case may be the commoner", 0.06)
