"""Read a salvaged repository: commits in the order they were made, trees, diffs. Host `git` never runs.

What is read was written by an agent: texts are decoded with replacement and cut, sizes are bounded, a broken
object costs only itself.
"""

from __future__ import annotations

import difflib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from dulwich.diff_tree import tree_changes
from dulwich.objects import Blob, ObjectID, Tree
from dulwich.repo import Repo

from loopscope.records.workspace import FileEntry, is_bookkeeping

MAX_DIFF_BYTES = 256 << 10
"""A file larger than this on either side is not compared line by line."""
_OUTPUT = b"output"


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
        """A tree object; None when it is missing or no tree."""
        try:
            obj = self._store[ObjectID(tree_id)]
        except Exception:  # dulwich raises many kinds on damaged objects
            return None
        return obj if isinstance(obj, Tree) else None

    def blob(self, blob_id: bytes) -> bytes | None:
        """A file's bytes; None when missing or no file."""
        try:
            obj = self._store[ObjectID(blob_id)]
        except Exception:  # as above
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

    def files(self, tree_id: bytes, *, depth: int = 64) -> Iterator[tuple[bytes, FileEntry]]:
        """Scored files of a tree: (path, entry). Submodules, unsafe names and what lies too deep are skipped."""
        for path, entry in self._walk(tree_id, b"", depth):
            if not is_bookkeeping(path):
                yield path, entry

    def _walk(self, tree_id: bytes, prefix: bytes, depth: int) -> Iterator[tuple[bytes, FileEntry]]:
        tree = self.tree(tree_id)
        if tree is None or depth == 0:
            return
        for entry in tree.items():
            if entry.path in (b"", b".", b"..") or b"/" in entry.path or entry.path.lower() == b".git":
                continue
            path = prefix + entry.path
            kind = entry.mode & 0o170000
            if kind == 0o040000:
                yield from self._walk(entry.sha, path + b"/", depth - 1)
            elif kind in (0o100000, 0o120000):
                mode = 0o120000 if kind == 0o120000 else 0o100755 if entry.mode & 0o100 else 0o100644
                yield path, FileEntry(mode, bytes(entry.sha))

    def write_state(self, tree_id: bytes, target: Path, mtime: float) -> set[bytes]:
        """Write a tree's scored files as an uncompressed tar to `target`; the paths written.

        git keeps no file times: all get `mtime`, as a checkout at that moment would.
        """
        written = set()
        with tarfile.open(target, "x", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape") as tar:
            for path, entry in self.files(tree_id):
                data = self.blob(entry.blob)
                if data is None:
                    continue
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
        """Paths whose file differs between two trees (None: the empty tree)."""
        before = dict(self._walk(old, b"", 64)) if old else {}
        after = dict(self._walk(new, b"", 64))
        return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}

    def diff(self, old: str | None, new: str, *, max_bytes: int = 512 << 10) -> list[FileDiff]:
        """Unified diffs of every changed file between two trees, by path, until `max_bytes` of text.

        Args:
            old: hex id of the older tree; None compares with nothing.
            new: hex id of the newer tree.
            max_bytes: after this much text, files are named without their lines.
        """
        diffs, left = [], max_bytes
        for change in tree_changes(self._store, ObjectID(old.encode()) if old else None, ObjectID(new.encode())):
            before, after = change.old, change.new
            path = (after or before).path if (after or before) else None  # type: ignore[union-attr]
            if path is None:
                continue
            diff = self._file_diff(path, before.sha if before else None, after.sha if after else None, left)
            left = max(0, left - len(diff.text))
            diffs.append(diff)
        return sorted(diffs, key=lambda d: d.path)

    def _file_diff(self, path: bytes, old: bytes | None, new: bytes | None, left: int) -> FileDiff:
        name = path.decode("utf-8", "replace")
        change: Literal["added", "deleted", "modified"] = "modified" if old and new else "added" if new else "deleted"
        before, after = (self.blob(old) or b"") if old else b"", (self.blob(new) or b"") if new else b""
        if b"\0" in before[:8192] or b"\0" in after[:8192]:
            return FileDiff(name, change, "", 0, 0, f"binary, {len(before)} to {len(after)} bytes")
        if max(len(before), len(after)) > MAX_DIFF_BYTES:
            return FileDiff(name, change, "", 0, 0, f"too large to compare: {len(before)} to {len(after)} bytes")
        lines = list(
            difflib.unified_diff(
                before.decode("utf-8", "replace").splitlines(),
                after.decode("utf-8", "replace").splitlines(),
                lineterm="",
            )
        )[2:]
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        text = "\n".join(lines)
        if len(text) > left:
            return FileDiff(name, change, text[:left], added, removed, f"cut; {len(text)} characters in all")
        return FileDiff(name, change, text, added, removed)
