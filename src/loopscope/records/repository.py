"""Read a salvaged repository: commits in the order they were made, trees, diffs. Host `git` never runs.

What is read was written by an agent: texts are decoded with replacement and cut, sizes are bounded, a broken
object costs only itself.
"""

from __future__ import annotations

import difflib
import io
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Literal

from dulwich.objects import Blob, ObjectID, Tree
from dulwich.repo import Repo

from loopscope.records.durable import RecordError, is_machine_fault
from loopscope.records.workspace import FileEntry, is_bookkeeping

MAX_DIFF_BYTES = 256 << 10
MAX_DIFF_LINES = 5_000
"""A file larger than this on either side is not compared line by line."""
MAX_EQUAL_PAIRS = 3_000_000
"""Nor are files with so many pairs of equal lines, which comparing takes time quadratic in."""
MAX_ENTRIES = 200_000
MAX_DEPTH = 64
"""Entries and depth of a tree that are read: shared subtrees make exponentially many files of a few bytes."""
MAX_STATE_BYTES = 8 << 30
"""Of a tree's files, unless less is asked for."""
_OUTPUT = b"output"
_TREE = 0o040000


class TreeUnreadable(RecordError):
    """A tree, or a file of it, is missing or damaged: what is left of it must not pass for the whole."""


class TreeTooLarge(TreeUnreadable):
    """A tree has more entries, is deeper, or holds more bytes than is read."""


@dataclass(frozen=True)
class Change:
    """A path and its blobs on both sides; None where there is no file."""

    path: bytes
    old: bytes | None
    new: bytes | None


@dataclass(frozen=True)
class FileDiff:
    """The change of one file between two trees."""

    path: str
    """Decoded with replacement; the agent's."""
    change: Literal["added", "deleted", "modified"]
    text: str
    """Unified diff without file headers; empty for binary and large files."""
    added: int
    removed: int
    note: str = ""
    """Why there is no text, or that it was cut."""


def _equal_pairs(one: list[str], other: list[str]) -> int:
    counts = Counter(other)
    return sum(n * counts[line] for line, n in Counter(one).items())


class Repository:
    """A bare repository made by `salvage`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._repo = Repo(str(path), bare=True)

    @property
    def repo(self) -> Repo:
        """The dulwich repository, for the history module."""
        return self._repo

    def close(self) -> None:
        """Close open packs."""
        self._repo.close()

    @cached_property
    def _store(self):  # type: ignore[no-untyped-def]  # dulwich's class depends on the version
        return self._repo.object_store

    def tree(self, tree_id: bytes) -> Tree | None:
        """A tree object; None when it is missing, damaged or no tree."""
        try:
            obj = self._store[ObjectID(tree_id)]
            if isinstance(obj, Tree):
                obj.items()  # parsed on first access: here, where a damaged one costs only itself
                return obj
        except Exception as error:  # dulwich raises many kinds on damaged objects
            if is_machine_fault(error):
                raise
        return None

    def blob(self, blob_id: bytes) -> bytes | None:
        """A file's bytes; None when missing or no file."""
        try:
            obj = self._store[ObjectID(blob_id)]
        except Exception as error:  # as above
            if is_machine_fault(error):
                raise
            return None
        return obj.as_raw_string() if isinstance(obj, Blob) else None

    def scored_tree(self, tree_id: bytes) -> str:
        """Id of the tree without bookkeeping (journal, root .gitignore): what a verifier is shown."""
        root = self.tree(tree_id)
        if root is None:
            return tree_id.decode()
        tree = Tree()
        for entry in root.items():
            if is_bookkeeping(entry.path):
                continue
            if entry.path == _OUTPUT and (output := self.tree(entry.sha)) is not None:
                pruned = Tree()
                for inner in output.items():
                    if not is_bookkeeping(_OUTPUT + b"/" + inner.path):
                        pruned.add(inner.path, inner.mode, inner.sha)
                if len(pruned):
                    tree.add(entry.path, entry.mode, pruned.id)
            else:
                tree.add(entry.path, entry.mode, entry.sha)
        return tree.id.decode()

    def files(self, tree_id: bytes) -> Iterator[tuple[bytes, FileEntry]]:
        """Scored files of a tree: (path, entry). Submodules and unsafe names are skipped.

        Raises:
            TreeUnreadable: some of it is missing or damaged.
            TreeTooLarge: it holds more than MAX_ENTRIES entries or lies deeper than MAX_DEPTH.
        """
        for path, entry in self._walk(tree_id, b"", count(1)):
            if not is_bookkeeping(path):
                yield path, entry

    def _walk(self, tree_id: bytes, prefix: bytes, entries: Iterator[int]) -> Iterator[tuple[bytes, FileEntry]]:
        for name, (mode, sha) in self._entries(tree_id, prefix, entries).items():
            if mode == _TREE:
                yield from self._walk(sha, prefix + name + b"/", entries)
            else:
                yield prefix + name, FileEntry(mode, sha)

    def _entries(self, tree_id: bytes, prefix: bytes, entries: Iterator[int]) -> dict[bytes, tuple[int, bytes]]:
        """Entries of one tree that may be looked at, with modes as git keeps them; counted against the bound."""
        tree = self.tree(tree_id)
        if prefix.count(b"/") > MAX_DEPTH:
            raise TreeTooLarge(f"a tree deeper than {MAX_DEPTH} directories")
        if tree is None:
            raise TreeUnreadable(f"the tree {tree_id.decode('ascii', 'replace')} is missing or damaged")
        found = {}
        for entry in tree.items():
            if next(entries) > MAX_ENTRIES:
                raise TreeTooLarge(f"a tree with more than {MAX_ENTRIES} entries")
            if entry.path in (b"", b".", b"..") or b"/" in entry.path or entry.path.lower() == b".git":
                continue
            kind = entry.mode & 0o170000
            if kind in (_TREE, 0o120000):
                found[entry.path] = (kind, bytes(entry.sha))
            elif kind == 0o100000:
                found[entry.path] = (0o100755 if entry.mode & 0o100 else 0o100644, bytes(entry.sha))
        return found

    def _changes(self, old: bytes | None, new: bytes | None, prefix: bytes, entries: Iterator[int]) -> Iterator[Change]:
        """Files that differ between two trees; subtrees that are equal are never entered."""
        before = self._entries(old, prefix, entries) if old else {}
        after = self._entries(new, prefix, entries) if new else {}
        for name in sorted(before.keys() | after.keys()):
            was, now = before.get(name), after.get(name)
            if was == now:
                continue
            path = prefix + name
            trees = [entry[1] if entry and entry[0] == _TREE else None for entry in (was, now)]
            if any(trees):
                yield from self._changes(trees[0], trees[1], path + b"/", entries)
            files = [entry[1] if entry and entry[0] != _TREE else None for entry in (was, now)]
            if any(files):
                yield Change(path, files[0], files[1])

    def write_state(self, tree_id: bytes, target: Path, mtime: float, max_bytes: int = MAX_STATE_BYTES) -> set[bytes]:
        """Write a tree's scored files as an uncompressed tar to `target`; the paths written.

        git keeps no file times: all get `mtime`, as a checkout at that moment would.

        Raises:
            TreeUnreadable: some of it is missing or damaged.
            TreeTooLarge: as for `files`, or its files are more than `max_bytes`: equal files are stored once.
        """
        written, size = set(), 0
        with tarfile.open(target, "x", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape") as tar:
            for path, entry in self.files(tree_id):
                data = self.blob(entry.blob)
                if data is None:
                    raise TreeUnreadable(f"the file {path.decode('utf-8', 'replace')!r} is missing or damaged")
                size += len(data)
                if size > max_bytes:
                    raise TreeTooLarge(f"a tree with files of more than {max_bytes} bytes")
                info = tarfile.TarInfo("./" + path.decode("utf-8", "surrogateescape"))
                info.mtime = mtime
                if entry.mode == 0o120000:
                    info.type, info.mode = tarfile.SYMTYPE, 0o777
                    info.linkname = data.decode("utf-8", "surrogateescape")
                    tar.addfile(info)
                else:
                    info.mode, info.size = entry.mode & 0o777, len(data)
                    tar.addfile(info, io.BytesIO(data))
                written.add(path)
        return written

    def changed_paths(self, old: bytes | None, new: bytes) -> set[bytes]:
        """Paths whose file differs between two trees (None: the empty tree); TreeUnreadable as for `files`."""
        return {change.path for change in self._changes(old, new, b"", count(1))}

    def diff(self, old: str | None, new: str, *, max_bytes: int = 512 << 10) -> list[FileDiff]:
        """Unified diffs of every changed file between two trees, by path, until `max_bytes` of text.

        Args:
            old: hex id of the older tree; None compares with nothing.
            new: hex id of the newer tree.
            max_bytes: after this much text, files are named without their lines.

        Raises:
            TreeUnreadable: as for `files`.
        """
        diffs, left = [], max_bytes
        for change in self._changes(old.encode() if old else None, new.encode(), b"", count(1)):
            diff = self._file_diff(change, left)
            left = max(0, left - len(diff.text))
            diffs.append(diff)
        return diffs

    def _file_diff(self, changed: Change, left: int) -> FileDiff:
        name, old, new = changed.path.decode("utf-8", "replace"), changed.old, changed.new
        change: Literal["added", "deleted", "modified"] = "modified" if old and new else "added" if new else "deleted"
        if left <= 0:
            return FileDiff(name, change, "", 0, 0, "not shown: the diff is long enough")
        before, after = (self.blob(old) or b"") if old else b"", (self.blob(new) or b"") if new else b""
        if b"\0" in before[:8192] or b"\0" in after[:8192]:
            return FileDiff(name, change, "", 0, 0, f"binary, {len(before)} to {len(after)} bytes")
        if max(len(before), len(after)) > MAX_DIFF_BYTES:
            return FileDiff(name, change, "", 0, 0, f"too large to compare: {len(before)} to {len(after)} bytes")
        texts = [side.decode("utf-8", "replace").splitlines() for side in (before, after)]
        if max(map(len, texts)) > MAX_DIFF_LINES or _equal_pairs(*texts) > MAX_EQUAL_PAIRS:
            return FileDiff(name, change, "", 0, 0, f"too long to compare: {len(texts[0])} to {len(texts[1])} lines")
        lines = list(difflib.unified_diff(texts[0], texts[1], lineterm=""))[2:]
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        text = "\n".join(lines)
        if len(text) > left:
            return FileDiff(name, change, text[:left], added, removed, f"cut; {len(text)} characters in all")
        return FileDiff(name, change, text, added, removed)
