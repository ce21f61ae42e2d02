"""Which logs a path holds: itself, or what lies below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loopscope.records.tree import spell
from loopscope.transcripts import formats
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import MAX_DEPTH, MAX_FILES, is_file, is_folder, listed, walked
from loopscope.transcripts.glimpse import Glimpse

_OF_LOGS = frozenset({".json", ".jsonl", ".ndjson", ".db", ".eval"})
"""A file of such a name in a directory of logs is meant to be one; others (a README) are passed over."""
_PACKED = frozenset({".zst", ".gz", ".xz", ".bz2", ".zip"})
_HARBOR = "harbor"
_HOMES = frozenset({".claude", ".codex", ".kimi", ".kimi-code", "opencode"})
"""Directories of the harnesses' own: files in no format that is known are theirs (settings, histories)."""
_OWN_NAMES = frozenset({"history.jsonl", "session_index.jsonl", "sessions-index.json"})
"""What harnesses keep beside their logs, also in a copy of their directory."""


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
        elif not is_directory and format is None and _is_meant(path):
            yield Unread(_place(path, top), str(_unknown_file(path)))


def _is_meant(path: Path) -> bool:
    """Whether a file in no known format is one that a person takes for a log, by its name."""
    return path.suffix in _OF_LOGS or (path.suffix in _PACKED and Path(path.stem).suffix in _OF_LOGS)


def _unknown_file(path: Path) -> TranscriptError:
    if path.suffix in _PACKED:
        return TranscriptError(path, "is compressed", "unpack it, then import it again")
    return unknown(path)


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
    """Files at any depth of a directory that its reader leaves: another one takes them, or they are to be named."""
    return [] if format == _HARBOR else [path for path in walked(folder) if not _is_taken(path, folder, format)]


def _is_taken(path: Path, folder: Path, format: str) -> bool:
    """Whether a file is of the directory's reader, or of the harness whose logs lie there."""
    if _is_of_session(path, folder, format):
        return True
    found = formats.detect(path)
    if found is None:
        return path.name in _OWN_NAMES or not _HOMES.isdisjoint(path.parts)
    return found == format


def _is_of_session(path: Path, folder: Path, format: str) -> bool:
    """Whether a file lies in a place that belongs to one session: whatever it holds, the session's reader knows it."""
    above = [inner for inner in path.parents if inner != folder and inner.is_relative_to(folder)]
    match format:
        case "claude-code":
            return any(is_file(inner.parent / f"{inner.name}.jsonl") for inner in above)
        case "kimi-code":
            return any(is_folder(inner / "agents") for inner in [*above, folder])
        case "opencode-db":
            return any(inner.name in ("storage", "snapshot", "log") for inner in above)
        case _:
            return False
