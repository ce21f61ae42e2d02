"""Choices: booleans, and options that the code names (strings it compares with, keys of a table, a comment)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from tree_sitter import Node

from loopscope.agents.search.mutate.moves import Edit, Files, Move
from loopscope.agents.search.mutate.syntax import Source, ancestors, enclosing, parse, walk

_FLIP = {"true": b"False", "false": b"True"}
_FLIP_C = {"true": b"false", "false": b"true"}
_QUOTED = re.compile(r"[\"'`]([\w.+-]{1,40})[\"'`]")
_MAX_OPTIONS = 12


def choice_moves(files: Files) -> Iterator[Move]:
    """Booleans to flip and named options to exchange for another that the same file knows."""
    for path in sorted(files):
        if source := parse(path, files[path]):
            yield from _booleans(path, source)
            yield from _options(path, source)


def _place(source: Source, node: Node) -> tuple[str, str]:
    """Kind and name of what a value is given to."""
    for parent in ancestors(node):
        if parent.type in ("keyword_argument", "default_parameter", "typed_default_parameter"):
            return "parameter", source.text(parent.child_by_field_name("name"))
        if parent.type in ("assignment", "init_declarator", "assignment_expression"):
            left = parent.child_by_field_name("left") or parent.child_by_field_name("declarator")
            return ("named" if enclosing(source, node) == "file" else "local"), source.text(left)[:40]
        if parent.type == "pair":
            return "parameter", source.text(parent.child_by_field_name("key")).strip("'\"")
        if parent.type in ("block", "compound_statement", "call", "call_expression"):
            break
    return "other", "value"


def _booleans(path: str, source: Source) -> Iterator[Move]:
    seen: Counter[str] = Counter()
    flips = _FLIP if source.language == "python" else _FLIP_C
    for node in walk(source.root):
        new = flips.get(node.type) if not node.children else None
        if new is None:
            continue
        kind, name = _place(source, node)
        seen[name] += 1
        yield Move(
            family="choices",
            operator="flip",
            file=path,
            site_kind=kind,
            site=f"{enclosing(source, node)}:{name}#{seen[name]}",
            edits=(Edit(node.start_byte, node.end_byte, new),),
            change=f"{name} {source.text(node)} -> {new.decode()} in {path}",
            hypothesis=f"{name} may work better the other way round",
            weight=2.0 if kind in ("named", "parameter") else 1.0,
            # What is switched off is the greater unknown.
            prior={"named": 0.5, "parameter": 0.4}.get(kind, 0.15) * (1.0 if new.lower() == b"true" else 0.7),
        )


def _options(path: str, source: Source) -> Iterator[Move]:
    compared, tables = _groups(source)
    seen: Counter[str] = Counter()
    for node in walk(source.root):
        if node.type not in ("string", "string_literal"):
            continue
        kind, name = _place(source, node)
        old = source.text(node)
        value = old.strip("'\"")
        is_key = node.parent is not None and node.parent.child_by_field_name("key") == node
        if (
            kind == "other"
            or is_key
            or any(a.type in ("comparison_operator", "subscript") for a in list(ancestors(node))[:3])
        ):
            continue
        seen[name] += 1
        groups = [group for group in [*compared.values(), *tables] if value in group]
        others = compared.get(name, set()).union(_in_comment(source, node), *groups)
        for option in sorted(others - {value})[:_MAX_OPTIONS]:
            yield Move(
                family="choices",
                operator=f"choose {option}",
                file=path,
                site_kind=kind,
                site=f"{enclosing(source, node)}:{name}#{seen[name]}",
                edits=(Edit(node.start_byte, node.end_byte, old.replace(value, option, 1).encode()),),
                change=f"{name} {value} -> {option} in {path}",
                hypothesis=f"the code also knows {option}, which may do better",
                weight=2.0,
                prior=0.45,
            )


def _groups(source: Source) -> tuple[dict[str, set[str]], list[set[str]]]:
    """Strings that stand for each other: those compared with one name, by that name; and keys of one table."""
    compared: dict[str, set[str]] = defaultdict(set)
    tables: list[set[str]] = []
    for node in walk(source.root):
        if node.type == "comparison_operator" and node.named_children:
            compared[source.text(node.named_children[0])].update(_QUOTED.findall(source.text(node)))
        elif node.type == "call_expression" and "cmp" in source.text(node.child_by_field_name("function")):
            arguments = node.child_by_field_name("arguments")
            first = source.text(arguments.named_children[0]) if arguments and arguments.named_children else ""
            compared[first].update(_QUOTED.findall(source.text(node)))
        elif node.type == "dictionary":
            keys = [p.child_by_field_name("key") for p in node.named_children if p.type == "pair"]
            tables.append({source.text(key).strip("'\"") for key in keys if key and key.type == "string"})
    return compared, tables


def _in_comment(source: Source, node: Node) -> set[str]:
    """Quoted words of a comment on the same line."""
    end = source.data.find(b"\n", node.end_byte)
    rest = source.data[node.end_byte : end if end >= 0 else None].decode(errors="replace")
    marks = [rest.find(mark) for mark in ("#", "//", "/*") if mark in rest]
    return set(_QUOTED.findall(rest[min(marks) :])) if marks else set()
