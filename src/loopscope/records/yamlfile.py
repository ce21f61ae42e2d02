"""A YAML file that a person wrote, read so that whatever stands in it costs one line."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

_AMBIGUOUS = re.compile(r"[-+]?0[0-9_]+|.*[:_].*", re.DOTALL)
"""Numbers that YAML 1.1 reads as something else than stands there: `1:30` as 90, `010` as 8, `1_0` as 10."""


class _Loader(yaml.SafeLoader):
    """As a person means it: nothing is named twice, and a number is the one that stands there."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in seen:
                what = f"{key.value[:80]!a} stands there twice; remove one of them"
                raise ConstructorError(None, None, what, key.start_mark)
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    if _AMBIGUOUS.fullmatch(node.value):
        what = f"{node.value[:80]!a} is a number that not everybody reads alike; write it plainly, or in quotes"
        raise ConstructorError(None, None, what, node.start_mark)
    is_int = node.tag.endswith(":int")
    return loader.construct_yaml_int(node) if is_int else loader.construct_yaml_float(node)


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _number)


def read_mapping(file: Path, refused: type[Exception], *, what: str, most_bytes: int) -> dict[object, object]:
    """The mapping that a file holds.

    Args:
        file: a path that anything may lie at.
        refused: the error to raise.
        what: of the file, with its members, for the message that it holds something else.
        most_bytes: a larger file is not read.

    Raises:
        refused: it cannot be read, is no YAML, or no mapping; one line with file, and line where there is one.
    """
    try:
        if file.exists() and (not file.is_file() or file.stat().st_size > most_bytes):
            raise refused(f"{file}: is no plain file of at most {most_bytes >> 20} MiB; {what}, and a short text")
        data = yaml.load(file.read_text(encoding="utf-8"), _Loader)  # noqa: S506  # it is a safe one
    except OSError as error:
        raise refused(f"{file}: cannot be read ({error.strerror}); name a file that is there and can be read") from None
    except UnicodeDecodeError as error:
        raise refused(f"{file}: is no UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        raise refused(f"{file}:{where}: not valid YAML: {problem}") from None
    except (ValueError, RecursionError) as error:  # no date, a number of thousands of digits, nesting without end
        raise refused(f"{file}: a value cannot be read: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(data, dict):
        raise refused(f"{file}: {what}; this is {'empty' if data is None else f'a {type(data).__name__}'}")
    return data
