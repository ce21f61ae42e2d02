"""Which logs a path holds: itself, or what lies below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loopscope.records.tree import spell
from loopscope.transcripts import formats
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import MAX_DEPTH, MAX_FILES, is_file, is_folder, listed
from loopscope.transcripts.glimpse import Glimpse

_OF_LOGS = frozenset({".json", ".jsonl", ".ndjson", ".db", ".eval"})
"""A file of such a name in a directory of logs is meant to be one; others (a README) are passed over."""
_HARBOR = "harbor"


@dataclass(frozen=True)
class Log:
    """Something that a reader takes: a file, or a directory that its harness made."""

    path: Path
    name: str
    """Relative to the path that a person gave, or that path's own name; what is no UTF-8 is spelled out."""
    format: str


@dataclass(frozen=True)
class Unread:
    """A log that cannot be taken in, or not all of it."""

    name: str
    reason: str
    """One line that says what to do."""


def find_logs(path: Path, format: str | None) -> Iterator[Log | Unread]:
    """The logs at a path, in the order of their names. A directory that no reader takes is looked through.

    Args:
        path: a file or a directory.
        format: a name among `READERS`; found for each log by itself when not given.

    Raises:
        TranscriptError: there is nothing at the path, the format is not known, or nothing there can be read.
    """
    if format is not None and format not in formats.READERS:
        raise TranscriptError(path, f"{format!a} is no format", f"take one of {', '.join(formats.READERS)}")
    path = path.resolve() if path.is_symlink() else path
    if is_file(path):
        name = format or formats.detect(path)
        if name is None:
            raise unknown(path)
        yield Log(path, spell(path.name), name)
    elif is_folder(path):
        found = False
        for entry in _below(path, path, format):
            found = True
            yield entry
        if not found:
            known = f"the format {format}" if format else "a format that is known"
            raise TranscriptError(path, f"holds no log in {known}", "give the logs themselves" if format else _advice())
    else:
        raise TranscriptError(path, "no such file or directory", "give a log, or a directory of logs")


def unknown(path: Path) -> TranscriptError:
    """What is said of a file that no reader knows."""
    return TranscriptError(path, "is in no format that is known", _advice())


def _advice() -> str:
    return f"name one with --format: {', '.join(formats.READERS)}"


def _below(top: Path, folder: Path, format: str | None) -> Iterator[Log | Unread]:
    """Logs at or below a directory; those that one reader takes together stay together."""
    seen = 0
    stack = [(folder, 0)]
    while stack:
        path, level = stack.pop()
        seen += 1
        if seen > MAX_FILES:
            yield Unread(
                spell(top.name), f"more than {MAX_FILES:,} files; the rest was not looked at: give fewer at once"
            )
            return
        is_directory = is_folder(path)
        if not is_directory and not is_file(path):
            continue
        name = _format(path, format)
        if name is not None and not (is_directory and _is_several(path, name)):
            yield Log(path, _place(path, top), name)
            stack.extend((stray, level) for stray in reversed(_strays(path, name)) if is_directory and format is None)
        elif is_directory and level <= MAX_DEPTH:
            stack.extend((inner, level + 1) for inner in reversed(listed(path)))
        elif not is_directory and format is None and path.suffix in _OF_LOGS:
            yield Unread(_place(path, top), str(unknown(path)))


def _place(path: Path, top: Path) -> str:
    return spell(str(path.relative_to(top)) if path != top else top.name)


def _format(path: Path, format: str | None) -> str | None:
    if format is None:
        return formats.detect(path)
    return format if formats.READERS[format].sniff(Glimpse(path)) else None


def _is_several(folder: Path, format: str) -> bool:
    """Whether what is in a directory is better taken one by one.

    So it is where logs of several harnesses lie, and in a job of Harbor's, where a broken trial is then named.
    """
    if format == _HARBOR:
        sniff = formats.READERS[_HARBOR].sniff
        return any(is_folder(inner) and sniff(Glimpse(inner)) for inner in listed(folder))
    glimpse = Glimpse(folder)
    return sum(reader.sniff(glimpse) is not None for reader in formats.READERS.values()) > 1


def _strays(folder: Path, format: str) -> list[Path]:
    """Files directly in a directory that its reader leaves, and another one takes."""
    if format == _HARBOR:
        return []
    found = (path for path in listed(folder) if is_file(path))
    return [path for path in found if formats.detect(path) not in (None, format)]
