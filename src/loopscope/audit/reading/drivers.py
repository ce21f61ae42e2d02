"""Drivers: programs that call a solution's functions. What they call, how often, and with what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from loopscope.audit.sources import TaskSources

C_SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp")
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_CHECKS = re.compile(
    r"verify|check|valid|expect|compare|correct|equal|is_sorted|reference|checksum|memcmp", re.IGNORECASE
)


@dataclass(frozen=True)
class Called:
    """One call of a solution's function."""

    file: str
    line: int
    function: str
    arguments: tuple[str, ...]
    """As they are written."""
    names: frozenset[str]
    """Names in them."""
    loop: int
    """Line of the innermost loop around it whose rounds it is the same in; 0 where there is none."""
    checked_later: str
    """A call after it that checks something by one of these names."""


@cache
def _c_parser() -> Parser:
    return Parser(Language(tree_sitter_c.language()))


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def defined(name: str, text: str) -> set[str]:
    """Functions that a source file defines."""
    suffix = PurePosixPath(name).suffix
    if suffix == ".py":
        try:
            return {n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}
        except (SyntaxError, ValueError):
            return set()
    if suffix not in C_SUFFIXES:
        return set()
    found = set()
    for node in _walk(_c_parser().parse(text.encode("utf-8", "replace")).root_node):
        if node.type == "function_definition":
            inner = node.child_by_field_name("declarator")
            while inner is not None and inner.type != "identifier":
                inner = inner.child_by_field_name("declarator")
            found.add(_text(inner))
    return found - {"", "main"}


def solution_functions(sources: TaskSources) -> set[str]:
    """Functions of the editable files, as the starter has them."""
    found: set[str] = set()
    for name in sources.editable:
        if name in sources.starter:
            found |= defined(name, sources.text(sources.starter[name]))
    return found


def calls_in(file: str, text: str, functions: set[str]) -> list[Called]:
    """Calls of these functions in a driver."""
    if PurePosixPath(file).suffix == ".py":
        try:
            return list(_python_calls(file, ast.parse(text), functions))
        except (SyntaxError, ValueError, RecursionError):
            return []
    if PurePosixPath(file).suffix in C_SUFFIXES:
        return list(_c_calls(file, text, functions))
    return []


def _c_calls(file: str, text: str, functions: set[str]) -> Iterator[Called]:
    root = _c_parser().parse(text.encode("utf-8", "replace")).root_node
    for node in _walk(root):
        if node.type != "call_expression" or _text(node.child_by_field_name("function")) not in functions:
            continue
        listed = node.child_by_field_name("arguments")
        parts = listed.named_children if listed else []
        names = frozenset(_text(n) for part in parts for n in _walk(part) if n.type == "identifier")
        function = _text(node.child_by_field_name("function"))
        arguments = tuple(" ".join(_text(part).split()) for part in parts)
        loop = _c_loop(node, names) if names else 0
        yield Called(file, node.start_point[0] + 1, function, arguments, names, loop, _c_check(node, names))


def _c_loop(node: Node, names: frozenset[str]) -> int:
    above = node.parent
    while above is not None and above.type != "function_definition":
        if above.type in ("for_statement", "while_statement", "do_statement"):
            if not names & _c_changed(above, node):
                return above.start_point[0] + 1
            return 0
        above = above.parent
    return 0


def _c_changed(loop: Node, call: Node) -> set[str]:
    """Names that a loop gives new values: assigned, declared, counted, or handed to another function to be filled."""
    changed = set()
    for node in _walk(loop):
        if node.type in ("assignment_expression", "update_expression", "init_declarator", "declaration"):
            first = (
                node.child_by_field_name("left")
                or node.child_by_field_name("argument")
                or node.child_by_field_name("declarator")
            )
            changed |= {_text(n) for n in _walk(first) if n.type == "identifier"} if first is not None else set()
        if node.type == "call_expression" and node != call:
            called = _text(node.child_by_field_name("function"))
            if re.search(
                r"fill|gen|init|rand|shuffle|read|recv|copy|cpy|load|reset|make|draw|receive", called, re.IGNORECASE
            ):
                changed |= {_text(n) for n in _walk(node) if n.type == "identifier"}
    return changed


def _c_check(node: Node, names: frozenset[str]) -> str:
    above = node.parent
    while above is not None and above.type != "function_definition":
        above = above.parent
    for other in _walk(above) if above is not None else ():
        if other.type == "call_expression" and other.start_byte > node.end_byte:
            called = _text(other.child_by_field_name("function"))
            inside = {_text(n) for n in _walk(other) if n.type == "identifier"}
            if _CHECKS.search(called) and inside & names:
                return " ".join(_text(other).split())
    return ""


def _python_calls(file: str, tree: ast.Module, functions: set[str]) -> Iterator[Called]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func).split(".")[-1] not in functions:
            continue
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in ("self", "np", "random"):
            continue
        arguments = tuple(ast.unparse(a) for a in (*node.args, *(k.value for k in node.keywords)))
        names = frozenset(
            n.id
            for a in (*node.args, *(k.value for k in node.keywords))
            for n in ast.walk(a)
            if isinstance(n, ast.Name)
        )
        loop = _python_loop(node, parents, names)
        yield Called(file, node.lineno, ast.unparse(node.func).split(".")[-1], arguments, names, loop, "")


def _python_loop(node: ast.AST, parents: dict[ast.AST, ast.AST], names: frozenset[str]) -> int:
    above = parents.get(node)
    while above is not None and not isinstance(above, ast.FunctionDef | ast.Lambda | ast.ClassDef):
        changed: set[str] = set()
        once = (
            above.iter
            if isinstance(above, ast.For)
            else above.generators[0].iter
            if isinstance(above, _COMPREHENSIONS)
            else None
        )
        if once is not None and any(n is node for n in ast.walk(once)):  # what a loop goes through is computed once
            above = parents.get(above)
            continue
        if isinstance(above, ast.For | ast.While):
            changed = {
                n.id
                for part in ast.walk(above)
                for n in ast.walk(part)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
        elif isinstance(above, _COMPREHENSIONS):
            changed = {n.id for g in above.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        else:
            above = parents.get(above)
            continue
        return 0 if names & changed else getattr(above, "lineno", 0)
    return 0
