"""What the records keep of a run beside its scores: problems, limits of the sandbox, files."""

from __future__ import annotations

import os
from pathlib import Path

from loopscope.models.limits import limit_held, limit_use
from loopscope.models.tables import RunRow
from loopscope.report.inputs import RunFiles
from loopscope.report.text import cut, one_line, url, visible

_LIMITS = {"pids": "processes", "cpu": "processors"}
_FILES = (
    ("record.json", "the record of the rollout"),
    ("evidence.json", "the gate's decisions and grades"),
    ("transcript.json", "what the agent did"),
    ("scores", "every verification"),
    ("repository", "the agent's repository, as salvaged"),
    ("workspace.tar.zst", "the workspace as it was left"),
    ("native", "the agent's own logs"),
    ("canonical.json.zst", "the transcript, read from an imported log"),
)


def problems(run: RunRow, files: RunFiles) -> tuple[tuple[str, str], ...]:
    """(kind, message) of what went wrong, in the run, in its log, or in reading its records."""
    if files.record is not None and files.record.problems:
        found = [(one_line(f"{p.stage}: {p.kind}", 80), cut(p.message, 1200)) for p in files.record.problems]
    else:
        found = [("problem", visible(p)[:1200]) for p in run.problems]
    notes = files.record.imported.notes if files.record is not None and files.record.imported else ()
    return (
        *found,
        *(("in the log", visible(note)[:1200]) for note in notes),
        *(("records", visible(u)) for u in files.unreadable),
    )


def limits(files: RunFiles) -> tuple[tuple[str, str, str], ...]:
    """Of the sandbox: which, by what it was held, what was seen of it."""
    if files.record is None:
        return ()
    return tuple(
        (_LIMITS.get(name, name), one_line(limit_held(limit), 200), "" if name == "network" else limit_use(name, limit))
        for name, limit in sorted(files.record.limits.items())
    )


def links(directory: Path, folder: Path) -> tuple[tuple[str, str, str], ...]:
    """Files of the run that exist, as links relative to its page; only names we gave, never an agent's."""
    return tuple(
        (name, url(os.path.relpath(directory / name, folder)), words)
        for name, words in _FILES
        if (directory / name).exists() and not (directory / name).is_symlink()
    )
