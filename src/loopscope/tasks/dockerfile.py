"""What a study needs from a Dockerfile: its instructions, and the directory an agent starts in."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?-([^}]*))?\}|([A-Za-z_]\w*))")
_HERE = re.compile(r"<<-?\s*[\"']?([A-Za-z_]\w*)[\"']?")
_ASSIGNMENT = re.compile(r"""([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']*)""")


def _logical_lines(text: str) -> list[str]:
    """Instructions with continuation lines joined; without comment lines, also inside, and bodies of here-documents."""
    lines: list[str] = []
    open_line = ""
    waiting: list[str] = []
    for raw in text.splitlines():
        if waiting:
            waiting = waiting[raw.strip() == waiting[0] :]
        elif raw.lstrip().startswith("#") or (open_line and not raw.strip()):
            continue
        elif raw.rstrip().endswith("\\"):
            open_line += raw.rstrip()[:-1] + " "
        else:
            lines.append(open_line + raw)
            open_line = ""
            if re.match(r"\s*(?:RUN|COPY|ADD)\s", lines[-1], re.IGNORECASE):
                waiting = _HERE.findall(lines[-1])
    return [*lines, open_line] if open_line else lines


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """(keyword in capitals, the rest) of every instruction."""
    for line in _logical_lines(text):
        if match := _INSTRUCTION.fullmatch(line):
            yield match[1].upper(), match[2].strip()


def _expand(text: str, variables: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return variables.get(match[1] or match[3]) or match[2] or ""

    return _VARIABLE.sub(value, text)


def _assignments(text: str) -> dict[str, str]:
    pairs = {name: value.strip("\"'") for name, value in _ASSIGNMENT.findall(text)}
    if not pairs and len(parts := text.split(None, 1)) == 2:  # the old form `ENV NAME value`
        pairs[parts[0]] = parts[1].strip()
    return pairs


def final_workdir(text: str) -> str | None:
    """The last WORKDIR of a Dockerfile's last stage, absolute; None if it sets none.

    Relative ones build on what came before; a stage that starts from an earlier one inherits its directory; ENV and ARG
    values are filled in.
    """
    stages: dict[str, str | None] = {}
    name, workdir = "", None
    variables: dict[str, str] = {}
    for keyword, rest in instructions(text):
        if keyword == "FROM":
            stages[name] = workdir
            words = [w for w in rest.split() if not w.startswith("--")]
            workdir = stages.get(words[0].lower()) if words else None
            name = words[2].lower() if len(words) >= 3 and words[1].upper() == "AS" else ""
        elif keyword in ("ENV", "ARG"):
            variables.update({k: _expand(v, variables) for k, v in _assignments(rest).items()})
        elif keyword == "WORKDIR":
            path = _expand(rest.strip("\"'"), variables)
            workdir = posixpath.normpath(posixpath.join(workdir or "/", path))
    return workdir
