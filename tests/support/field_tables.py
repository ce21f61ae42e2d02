"""The tables of fields in docs/records.md, made from the models' own words. `python tests/support/field_tables.py`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_ROOT = Path(__file__).parents[2]
PAGE = _ROOT / "docs" / "records.md"
_BLOCK = re.compile(r"(<!-- fields of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MODELS = _ROOT / "src" / "loopscope" / "models"


def _classes() -> dict[str, ast.ClassDef]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(_MODELS.glob("*.py"))]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def _text(node: ast.stmt) -> str | None:
    """A docstring's words on one line."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return None


def table(node: ast.ClassDef) -> str:
    """Fields of a model (or names of an enumeration) with type and meaning."""
    following = [*node.body[1:], ast.Pass()]
    rows = []
    for field, after in zip(node.body, following, strict=True):
        meaning = (_text(after) or "").replace("|", "\\|")
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            kind = ast.unparse(field.annotation)
            if field.target.id != "schema_version" and not kind.startswith("ClassVar"):
                rows.append(f"| `{field.target.id}` | `{_shown(kind)}` | {meaning} |")
        elif isinstance(field, ast.Assign) and isinstance(field.value, ast.Constant):
            rows.append(f"| `{field.value.value}` | | {meaning} |")
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows]) + "\n"


def _shown(kind: str) -> str:
    """A type as JSON has it."""
    kind = re.sub(r"Annotated\[(\w+), .*\]", r"\1", kind)
    kind = re.sub(r"tuple\[([^\[\]]+(?:\[[^\]]*\])?), \.\.\.\]", r"list[\1]", kind)
    return kind.replace("Decimal", "decimal").replace("datetime", "time").replace("|", "\\|")


def filled(page: str) -> str:
    """The page with its tables as the models are now."""
    classes = _classes()
    return _BLOCK.sub(lambda found: f"{found[1]}{table(classes[found[2]])}{found[3]}", page)


def shown(page: str) -> set[str]:
    """The types whose tables a page has."""
    return {found[2] for found in _BLOCK.finditer(page)}


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
