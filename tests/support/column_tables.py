"""The tables of columns in docs/tables.md, made from the row types' own words. `python tests/support/column_tables.py`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from loopscope.models.tables import TABLES

_ROOT = Path(__file__).parents[2]
PAGE = _ROOT / "docs" / "tables.md"
_BLOCK = re.compile(r"(<!-- columns of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MODELS = _ROOT / "src" / "loopscope" / "models"
_PLACE = re.compile(r"(.*?)\s*\[([^\[\];]*);\s*([^\[\]]*)\]", re.DOTALL)
"""Behind a column's meaning stands `[unit; place]`."""
_TYPES = {
    "str": "text", "int": "integer", "float": "double", "bool": "boolean", "datetime": "text",
    "tuple[str, ...]": "list of text", "tuple[float, ...]": "list of double",
}  # fmt: skip


def _classes() -> dict[str, ast.ClassDef]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(_MODELS.glob("*_rows.py"))]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def columns(node: ast.ClassDef) -> list[tuple[str, str, str, str, str]]:
    """(name, type, unit, meaning, place) of each column. ValueError for one without a meaning."""
    found = []
    for field, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
        if not isinstance(said, str):
            raise ValueError(f"{node.name}.{field.target.id}: nothing says what it means; write a docstring below it")
        words = " ".join(said.split())
        meaning, unit, place = match.groups() if (match := _PLACE.fullmatch(words)) else (words, "", "")
        kind = ast.unparse(field.annotation)
        meaning = re.sub(r"\bNone\b", "null", meaning)
        plain = kind.removesuffix(" | None")
        found.append((field.target.id, _TYPES[plain] + (" or null" if plain != kind else ""), unit, meaning, place))
    return found


def table(node: ast.ClassDef) -> str:
    """The columns of a row type."""
    lines = [
        f"| `{name}` | {kind} | {unit} | {meaning.replace('|', chr(92) + '|')} | {place} |"
        for name, kind, unit, meaning, place in columns(node)
    ]
    return "\n".join(["| column | type | unit | meaning | defined in |", "|---|---|---|---|---|", *lines]) + "\n"


def filled(page: str) -> str:
    """The page with its tables as the row types are now."""
    classes = _classes()
    return _BLOCK.sub(lambda found: f"{found[1]}{table(classes[TABLES[found[2]].__name__])}{found[3]}", page)


def shown(page: str) -> list[str]:
    """The tables whose columns a page shows."""
    return [found[2] for found in _BLOCK.finditer(page)]


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
