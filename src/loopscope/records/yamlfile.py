"""A YAML file that a person wrote, read so that whatever stands in it costs one line."""

from __future__ import annotations

from pathlib import Path

import yaml


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
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise refused(f"{file}: cannot be read: {' '.join(str(error).split())}") from None
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
