"""The Python and the shell constants of a verification: whole files, and the scripts within test.sh."""

from __future__ import annotations

import ast
import os
import re
import shlex
import stat
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path

MOST_BYTES = 1 << 19
MOST_FILES = 64
_NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SHELL_CONSTANT = re.compile(
    rf"^[ \t]*(?:export |readonly |local |declare -r )?([A-Za-z_]\w*)=[\"']?({_NUMBER})[\"']?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_ARGUMENT = re.compile(r"sys\.argv\[(\d+)\]")


@dataclass(frozen=True)
class Constant:
    """A number with a name, and where it stands."""

    name: str
    value: Decimal
    where: str


@dataclass(frozen=True)
class Script:
    """One piece of Python: its assignments, in order, and the numbers that names in it are known to have."""

    file: str
    line: int
    """Lines that stand before it in the file."""
    assignments: tuple[tuple[str, ast.expr], ...]
    constants: Mapping[str, Constant] = field(default_factory=dict)

    def where(self, node: ast.expr) -> str:
        """File and line."""
        return f"{self.file}:{self.line + node.lineno}"


def scripts(task_dir: Path) -> tuple[list[Script], dict[str, Constant]]:
    """The scripts below `tests/`, and the shell's own constants by name (the last one counts)."""
    found: list[Script] = []
    shell: dict[str, Constant] = {}
    for name, text in _texts(task_dir / "tests"):
        if name.endswith(".py"):
            found += _script(name, 0, text, {})
            continue
        shell |= {
            match[1]: Constant(match[1], number, f"{name}:{text.count(chr(10), 0, match.start(1)) + 1}")
            for match in _SHELL_CONSTANT.finditer(text)
            if (number := _decimal(match[2])) is not None
        }
        for line, command, body in _inner(text):
            found += _script(name, line, body, _arguments(name, line, command, shell))
    return found, shell


def _texts(tests: Path) -> Iterator[tuple[str, str]]:
    """(name relative to the task, text) of the shell and Python files; test.sh first."""
    paths: list[Path] = []
    for folder, folders, files in os.walk(tests):
        folders.sort()
        paths += [Path(folder, name) for name in files if name.endswith((".sh", ".py"))]
    for path in sorted(paths, key=lambda p: (p.name != "test.sh", p))[:MOST_FILES]:
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES:
            yield f"tests/{path.relative_to(tests).as_posix()}", path.read_text(encoding="utf-8", errors="replace")


def _inner(text: str) -> Iterator[tuple[int, str, str]]:
    """(lines before it, the command line, the body) of each here-document that a python reads."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        match = _HERE.search(lines[at])
        if match is None or lines[at].lstrip().startswith("#"):
            at += 1
            continue
        start = end = at + 1
        while end < len(lines) and lines[end].strip() != match[2]:
            end += 1
        if "python" in lines[at]:
            yield start, lines[at][: match.start()], "\n".join(lines[start:end])
        at = end + 1


def _arguments(file: str, line: int, command: str, shell: Mapping[str, Constant]) -> dict[int, Constant]:
    """Numbers among the arguments of `python3 - A B C`: written out, or constants of the shell."""
    try:
        words = shlex.split(command[command.index("python") :])
    except ValueError:
        return {}
    given = words[words.index("-") + 1 :] if "-" in words else []
    found = {}
    for index, word in enumerate(given, start=1):
        name = re.fullmatch(r"\$\{?(\w+)\}?", word)
        if name and name[1] in shell:
            found[index] = shell[name[1]]
        elif re.fullmatch(_NUMBER, word) and (number := _decimal(word)) is not None:
            found[index] = Constant("", number, f"{file}:{line}")
    return found


def _script(file: str, line: int, text: str, arguments: Mapping[int, Constant]) -> list[Script]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    assignments = [pair for node in ast.walk(tree) for pair in _pairs(node)]
    constants = {}
    for name, value in assignments:
        text = ast.unparse(value)
        argument = _ARGUMENT.search(text)
        if argument and re.fullmatch(r"(?:float|int)\(sys\.argv\[\d+\]\)|sys\.argv\[\d+\]", text):
            if known := arguments.get(int(argument[1])):
                constants[name] = Constant(known.name or name, known.value, known.where)
        elif (number := _constant(value)) is not None:
            constants[name] = Constant(name, number, f"{file}:{line + value.lineno}")
    return [Script(file, line, tuple(assignments), constants)]


def _pairs(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            for target, value in zip(targets, values, strict=True):
                if isinstance(target, ast.Name):
                    yield target.id, value
        case ast.Return(value=ast.expr() as value):
            yield "return", value


def _constant(value: ast.expr) -> Decimal | None:
    sign, inner = (
        (-1, value.operand) if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) else (1, value)
    )
    if isinstance(inner, ast.Constant) and type(inner.value) in (int, float):
        number = _decimal(str(inner.value))
        return None if number is None else sign * number
    return None


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text.replace("_", ""))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
