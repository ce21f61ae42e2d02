"""The files of a run while it is followed: contents, repository, and what was built from which state."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.contents import Files, Version, initial
from loopscope.evidence.artifact.repository import Repository
from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.models.value_types import value_type

Snapshot = tuple[tuple[str, str], ...]
"""Names and version ids of the artifact files that differ from the start, and behind them what a build was told."""
FLAGS = "(build flags)"
"""Stands in a snapshot for what was built with other flags than the files say."""
GONE = Version("gone")
"""A file that was removed."""


@value_type
class Product:
    """What was built, and from which state."""

    snapshot: Snapshot | None
    """None when it was put in its place from somewhere that nothing is known of."""
    number: int
    """Later ones are greater."""
    certain: bool
    index: int
    """Of the message that built it."""


@dataclass
class World:
    """What is known at one point of a run."""

    scope: ArtifactScope
    files: Files = field(default_factory=Files)
    repository: Repository = field(default_factory=Repository)
    products: dict[str, Product] = field(default_factory=dict)
    """By path; a path that ends with `/` stands for everything below it that has none of its own."""
    builds: int = 0
    budget: Budget = field(default_factory=Budget)
    """For computing what programs do to files."""
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By the text of a script which artifact files it shows to write: one file may be run often."""
    _snapshot: Snapshot | None = None
    _working: dict[str, Version] = field(default_factory=dict)
    """The artifact's part of `files.versions`."""
    _names: dict[str, str | None] = field(default_factory=dict)

    def name(self, path: str | None) -> str | None:
        """The artifact file that a path means."""
        if path is None:
            return None
        if path not in self._names:
            self._names[path] = self.scope.name(path)
        return self._names[path]

    def key(self, path: str) -> str:
        """By which name `files` knows a path: the artifact's own, else the path."""
        return self.name(path) or path

    def working(self) -> dict[str, Version]:
        """The artifact files that anything has happened to."""
        return dict(self._working)

    def is_artifact(self, key: str) -> bool:
        """Whether a key of `files` is an artifact file."""
        return key in self.scope.files or self.name(key) == key

    def snapshot(self) -> Snapshot:
        """The present state of the artifact."""
        if self._snapshot is None:
            self._snapshot = snapshot_of(self._working)
        return self._snapshot

    def put(self, key: str, version: Version) -> None:
        """Give a file that `files` knows by this name a content."""
        self.files.versions[key] = version
        if self.is_artifact(key):
            self._working[key] = version
            self._snapshot = None

    def set(self, path: str, version: Version) -> str | None:
        """Give a file a content. Returns its name if it belongs to the artifact and this changes it."""
        key = self.key(path)
        before = self.files.get(key)
        self.put(key, version)
        return key if self.is_artifact(key) and before.id != version.id else None

    def built(self, path: str, index: int, *, certain: bool, flags: str = "") -> None:
        """Note that something was built from the present state, with flags that are not those of the files."""
        self.builds += 1
        self.products[path] = Product(flagged(self.snapshot(), flags), self.builds, certain, index)

    def product(self, path: str) -> Product | None:
        """What a program at a path was built from: the latest build that made it, or everything around it."""
        found: Product | None = None
        for place, product in self.products.items():
            around = place[-1:] == "/" and (path.startswith(place) or (place == "./" and path[:1] != "/"))
            if (place == path or around) and (found is None or product.number > found.number):
                found = product
        return found

    def copy(self, source: str, target: str) -> str | None:
        """Copy a file, and what it is known to be built from."""
        product = self.products.get(source)
        if product is not None:
            self.products[target] = product
        elif (replaced := self.product(target)) is not None and self._foreign(source, target):
            self.builds += 1
            self.products[target] = replace(replaced, snapshot=None, number=self.builds, certain=False)
        return self.set(target, self.files.get(self.key(source)))

    def _foreign(self, source: str, target: str) -> bool:
        """Whether a file that nothing was seen to make takes the place of one that was built."""
        return target in self.products and self.key(source) not in self.files.versions and self.product(source) is None

    def remove(self, path: str) -> str | None:
        """Remove a file."""
        self.products.pop(path, None)
        key = self.key(path)
        if key in self.scope.files or not self.is_artifact(key):
            return self.set(path, GONE)
        self._snapshot = None
        self._working.pop(key, None)
        # A file that the task does not name was the agent's own: without it, all is as before it came.
        return key if self.files.versions.pop(key, None) is not None else None

    def expand(self, path: str) -> Iterator[str]:
        """The known files that a path with wildcards means; itself when it has none."""
        if not any(mark in path for mark in "*?["):
            yield path
            return
        for name in sorted({*self.scope.files, *self.files.versions}):
            full = name if name.startswith("/") or self.scope.root is None else posixpath.join(self.scope.root, name)
            if fnmatch.fnmatchcase(full, path) or fnmatch.fnmatchcase(name, path):
                yield full


def flagged(snapshot: Snapshot, flags: str) -> Snapshot:
    """The state that files make with flags which they do not say themselves."""
    return (*snapshot, (FLAGS, flags)) if flags else snapshot


def unflagged(snapshot: Snapshot) -> Snapshot:
    """The files of a state."""
    return snapshot[:-1] if snapshot and snapshot[-1][0] == FLAGS else snapshot


def snapshot_of(tree: dict[str, Version]) -> Snapshot:
    """The snapshot that a set of files makes."""
    return tuple(sorted((name, version.id) for name, version in tree.items() if version.id != initial(name).id))
