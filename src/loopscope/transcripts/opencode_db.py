"""Read OpenCode's database: SQLite with its write-ahead log, tables `session`, `message` and `part`.

The file may be hostile. It is read from a copy, with nothing of its schema trusted, and with a bound on the work.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MAIN, NoteKind, Source, Transcript
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import head, is_file, is_folder, listed, opened
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.opencode_parts import Session
from loopscope.transcripts.parents import has_no_root
from loopscope.transcripts.parsing import parse
from loopscope.transcripts.reader import LIKELY
from loopscope.transcripts.shapes import short, table

NAME = "opencode-db"

_MAGIC = b"SQLite format 3\0"
_MAX_COPY = 4 << 30
_CHUNK = 1 << 20
_MAX_VALUE = 64 << 20
_MAX_STEPS = 200_000
"""Times a thousand virtual-machine instructions."""
_MAX_ROWS = 2_000_000
_MAX_SESSIONS = 10_000
_ADVICE = "copy the whole folder around opencode.db again, its -wal file too"
_COLUMNS = {
    "session": ("id", "parent_id", "directory", "version", "time_created"),
    "message": ("id", "session_id", "time_created", "data"),
    "part": ("id", "message_id", "session_id", "data"),
}


def sniff(glimpse: Glimpse) -> float | None:
    """A database with OpenCode's tables, or OpenCode's data directory with one in it."""
    if glimpse.is_file and not glimpse.start.startswith(_MAGIC):
        return None
    database = _database(glimpse.path)
    return LIKELY if database else None


def read(path: Path) -> Iterator[Transcript]:
    """One transcript for each session that has no parent; its subagents are threads of it.

    Raises:
        TranscriptError: there is no database, or it has not the tables.
    """
    database = _database(path)
    if database is None:
        raise TranscriptError(path, "holds no database of OpenCode", "give opencode.db or the folder around it")
    stale = is_folder(database.parent / "storage" / "message")
    with _connected(database) as connection:
        store = _Store(connection, database)
        sessions = store.sessions()
        if not sessions:
            raise TranscriptError(database, "holds no session", _ADVICE)
        for root in _trees(sessions):
            yield _transcript(store, root, database, stale)


def _database(path: Path) -> Path | None:
    if is_file(path):
        return path if head(path, 16) == _MAGIC else None
    if not is_folder(path):
        return None
    found = [p for p in listed(path) if p.name.startswith("opencode") and p.suffix == ".db" and is_file(p)]
    return next((p for p in found if head(p, 16) == _MAGIC), None)


@contextmanager
def _connected(database: Path) -> Iterator[sqlite3.Connection]:
    with tempfile.TemporaryDirectory(prefix="loopscope-") as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal"):
            source = database.with_name(database.name + suffix)
            if not suffix or is_file(source):
                _copied(source, copy.with_name(copy.name + suffix))
        try:
            with closing(sqlite3.connect(copy)) as connection:
                _guarded(connection)
                yield connection
        except (sqlite3.Error, UnicodeError, OverflowError) as error:
            text = str(error)[:200]
            raise TranscriptError(database, f"is no sound database ({text!a})", _ADVICE) from None


def _copied(source: Path, target: Path) -> None:
    """Copy a file, as long as it is now: one that is written on must not fill the disk."""
    with opened(source) as stream:
        left = os.fstat(stream.fileno()).st_size
        if left > _MAX_COPY:
            raise TranscriptError(source, f"holds more than {_MAX_COPY:,} bytes", "take sessions out of it")
        with target.open("wb") as copy:
            while left and (chunk := stream.read(min(left, _CHUNK))):
                copy.write(chunk)
                left -= len(chunk)


def _guarded(connection: sqlite3.Connection) -> None:
    steps = 0

    def watch() -> int:
        nonlocal steps
        steps += 1
        return steps > _MAX_STEPS

    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.set_progress_handler(watch, 1000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_TRUSTED_SCHEMA, False)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
    connection.execute("pragma cell_size_check = on")
    connection.execute("pragma query_only = on")


@dataclass
class _Row:
    id: str
    parent: str | None
    about: dict[str, Any]
    children: list[_Row] = field(default_factory=list)
    has_no_root: bool = False
    """Its parents lead back to itself."""


class _Store:
    """The three tables, as far as they are there."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.broken = False
        found = dict(connection.execute("select name, sql from sqlite_master where type = 'table'").fetchall())
        for name, columns in _COLUMNS.items():
            sql = found.get(name)
            # A virtual table of this name would run code of its own.
            if not isinstance(sql, str) or not sql.lstrip().lower().startswith("create table"):
                raise TranscriptError(path, f"has no table {name!r}", "check that it is OpenCode's database")
            known = {row[1] for row in connection.execute(f"pragma table_info('{name}')")}
            if lacking := set(columns) - known - {"parent_id", "directory", "version", "time_created"}:
                raise TranscriptError(path, f"has no column {name}.{min(lacking)}", "this version is not known; say so")
            setattr(self, f"_{name}", ", ".join(c if c in known else f"null as {c}" for c in columns))

    def sessions(self) -> list[_Row]:
        """The sessions, oldest first."""
        rows = self._rows(f"select {self._session} from session")  # noqa: S608
        rows.sort(key=lambda row: (_number(row[4]), str(row[0])))
        return [
            _Row(str(row[0]), str(row[1]) if row[1] is not None else None, {"directory": row[2], "version": row[3]})
            for row in rows[:_MAX_SESSIONS]
        ]

    def messages(self, session: str) -> list[tuple[Any, ...]]:
        """A session's messages, oldest first."""
        rows = self._rows(f"select {self._message} from message where session_id = ?", session)  # noqa: S608
        return sorted(rows, key=lambda row: (_number(row[2]), str(row[0])))

    def parts(self, session: str) -> dict[str, list[Any]]:
        """A session's parts by message."""
        rows = self._rows(f"select {self._part} from part where session_id = ?", session)  # noqa: S608
        found: dict[str, list[Any]] = {}
        for row in sorted(rows, key=lambda row: str(row[0])):
            found.setdefault(str(row[1]), []).append(row[3])
        return found

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Rows; around a damaged place those before it and, read from the end, those behind it."""
        rows, sound = self._scanned(query, values)
        if not sound:
            self.broken = True
            known = {row[0] for row in rows}
            behind, _ = self._scanned(f"{query} order by rowid desc", values)
            rows += [row for row in behind if row[0] not in known]
        return rows

    def _scanned(self, query: str, values: tuple[str, ...]) -> tuple[list[tuple[Any, ...]], bool]:
        rows: list[tuple[Any, ...]] = []
        try:
            for row in self._connection.execute(query, values):
                rows.append(row)
                if len(rows) >= _MAX_ROWS:
                    return rows, False
        except (sqlite3.Error, OverflowError):
            return rows, False
        return rows, True

    _session: str
    _message: str
    _part: str


def _trees(sessions: list[_Row]) -> list[_Row]:
    """The sessions that are transcripts, each with the subagents that it started."""
    known = {session.id: session for session in sessions}
    parents = {name: session.parent for name, session in known.items()}
    roots = []
    for session in known.values():
        parent = known.get(session.parent or "")
        session.has_no_root = has_no_root(session.id, parents)
        if parent is None or session.has_no_root:
            roots.append(session)
        else:
            parent.children.append(session)
    return roots


def _transcript(store: _Store, root: _Row, path: Path, stale: bool) -> Transcript:
    builder = Builder()
    session = Session(builder)
    names: list[str] = []
    stack = [(root, MAIN)]
    while stack:
        row, thread = stack.pop(0)
        names.append(row.id)
        parts = store.parts(row.id)
        for index, message in enumerate(store.messages(row.id)):
            info = _object(builder, message[3], index, loses="messages")
            own = [_object(builder, part, index) for part in parts.get(str(message[0]), [])]
            if info is not None:
                session.take(index, info, [part for part in own if part is not None], thread)
        stack += [(child, child.id) for child in row.children]
    if root.has_no_root:
        builder.note(NoteKind.DANGLING, "a session whose parents lead back to itself, read as one that nobody started")
    if store.broken:
        builder.note(NoteKind.BROKEN, "a damaged place of the database; rows on it are lost", loses="damaged place")
    if stale:
        builder.note(NoteKind.SKIPPED, "storage/message beside the database: older than it, and not read")
    builder.absent(names, "subagents whose sessions are not in the database")
    source = Source(
        format=NAME,
        format_version=short(root.about["version"]),
        agent="opencode",
        agent_version=short(root.about["version"]),
        model=session.about.get("model"),
        session_ids=tuple(name[:200] for name in names),
        cwd=short(root.about["directory"], 4096) or session.about.get("cwd"),
        files=dict.fromkeys([MAIN, *names[1:]], path.name),
    )
    return builder.finish(source, session.usage())


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and value == value else 0.0


def _object(builder: Builder, data: object, index: int, loses: str | None = None) -> dict[str, Any] | None:
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    parsed = parse(raw) if isinstance(raw, bytes) else None
    if parsed is None or not isinstance(parsed.value, dict):
        builder.note(NoteKind.BROKEN, "rows whose data is no JSON object", index, loses=loses)
        return None
    if parsed.repaired:
        builder.note(NoteKind.REPAIRED, "rows with bytes or numbers that are no JSON, repaired", index)
    return dict(table(parsed.value))
