"""What every verb shares: consoles, exit codes, errors in one line, progress that works with and without a terminal."""

from __future__ import annotations

import errno
import functools
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What moves a cursor, rings, ends a line or turns its direction."""
_PIPED_WIDTH = 200
"""Columns where nobody watches: names in a log or a pipe are not folded."""

out = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)
err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _PIPED_WIDTH)


def plain(text: str) -> str:
    """Text that may be an agent's, for printing with markup: no markup of its own, nothing that moves a terminal."""
    line = re.sub(r"[\t\n\r]+", " ", text)
    return escape(_CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", line))


class Exit(IntEnum):
    """Exit codes of every verb."""

    OK = 0
    FAILED = 1
    """Something failed that the output names: a rollout, a score, a check, or this machine (disk, permissions)."""
    BAD_INPUT = 2
    """Nothing was done: the message names the file, the field and the remedy."""
    INTERRUPTED = 130
    """Stopped by the user; everything finished is kept, and calling it again goes on."""


def study_directory(study: Path) -> Path:
    """The directory of a study for verbs that run no agent; a study file stands for the one that it fills.

    A callback of typer's, so what is wrong is said as of any argument.
    """
    if not study.is_file():
        return study
    from loopscope.records.studyfile import StudyError, locate

    try:
        return locate(study)[1]
    except StudyError as error:
        raise typer.BadParameter(str(error)) from None


def verb[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Turn known errors into one line and an exit code; a traceback is left for our own bugs."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            err.print("stopped; what is finished is kept, and the same command goes on from here")
            raise typer.Exit(Exit.INTERRUPTED) from None
        except typer.Exit:
            raise
        except Exception as error:
            found = [_in_one_line(leaf) for leaf in leaves(error)]
            lines = [line for line in found if line is not None]
            if len(lines) < len(found):
                raise
            for line in dict.fromkeys(lines):
                err.print(f"[bold red]error:[/] {plain(line)}", soft_wrap=True)
            machine = any(isinstance(leaf, OSError) or getattr(leaf, "midway", False) for leaf in leaves(error))
            raise typer.Exit(Exit.FAILED if machine else Exit.BAD_INPUT) from None

    return wrapped


def leaves(error: Exception) -> list[Exception]:
    """What went wrong in tasks that ran side by side."""
    if isinstance(error, ExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [error]


def _in_one_line(error: Exception) -> str | None:
    """What a user is told; None for what only a traceback explains."""
    if isinstance(error, (MissingExtra, *_known_errors())):
        return str(error)
    if isinstance(error, OSError) and not isinstance(error, TimeoutError | ConnectionError):
        place = f"{error.filename}: " if error.filename else ""
        remedy = _REMEDIES.get(error.errno or 0, "see to that, then start the same command again")
        return f"{place}{error.strerror or error}; {remedy}"
    return None


def _known_errors() -> list[type[Exception]]:
    """The rooms' own errors. A room that is not loaded raised none, and loading all takes longer than most verbs."""
    names = {
        "loopscope.records.durable": "RecordError",
        "loopscope.records.studyfile": "StudyError",
        "loopscope.report.errors": "ReportError",
        "loopscope.tasks.errors": "TaskError",
        "loopscope.transcripts.errors": "TranscriptError",
    }
    return [getattr(sys.modules[module], name) for module, name in names.items() if module in sys.modules]


_REMEDIES = {
    errno.EACCES: "give this user access, or name another directory",
    errno.EPERM: "give this user access, or name another directory",
    errno.EROFS: "name a directory that can be written",
    errno.ENOSPC: "make room; what is finished is kept, and the same command goes on",
    errno.EDQUOT: "make room; what is finished is kept, and the same command goes on",
    errno.EMFILE: "allow more open files (ulimit -n), or lower `concurrency`",
}


class MissingExtra(Exception):
    """A verb needs an optional part of loopscope that is not installed."""


def require_run_extra() -> None:
    """Verbs that run agents need Harbor.

    Raises:
        MissingExtra: it is not installed; says how to.
    """
    try:
        import harbor  # noqa: F401
    except ImportError:
        raise MissingExtra("running agents needs Harbor; install it with: pip install 'loopscope[run]'") from None


def print_json(value: BaseModel | Any) -> None:
    """The machine-readable result, alone on standard output."""
    import orjson

    data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    sys.stdout.write(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n")


class Bars:
    """Progress bars by phase, with units, elapsed time and ETA; without a terminal, a line per unit."""

    def __init__(self) -> None:
        self._live = err.is_terminal
        self._progress = Progress(
            TextColumn("[bold]{task.description:<9}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[message]}"),
            console=err,
        )
        self._bars: dict[str, TaskID] = {}
        self._started: dict[str, float] = {}
        self._ended: dict[str, float] = {}

    def update(self, phase: str, done: int, total: int, message: str, *, problem: bool = False) -> None:
        """Show that `done` of `total` units of a phase are finished."""
        now = time.monotonic()
        self._started.setdefault(phase, now)
        self._ended[phase] = now
        if total == 0 or not self._live:
            if message:
                mark = "[red]problem[/] " if problem else ""
                place = f"{phase} {done}/{total}: " if total else f"{phase}: "
                err.print(f"{place}{mark}{plain(message)}")
            return
        if phase not in self._bars:
            self._bars[phase] = self._progress.add_task(phase, total=total, message="")
        if problem:
            err.print(f"[red]{phase}:[/] {plain(message)}")
        self._progress.update(self._bars[phase], completed=done, total=total, message=plain(message[:60]))

    def seconds(self) -> dict[str, float]:
        """Seconds from the first to the last sign of each phase."""
        return {phase: round(self._ended[phase] - start, 1) for phase, start in self._started.items()}

    @contextmanager
    def running(self) -> Iterator[Bars]:
        """Draw while the block runs."""
        if self._live:
            with self._progress:
                yield self
        else:
            yield self
