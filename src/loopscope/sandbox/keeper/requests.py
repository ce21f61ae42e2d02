"""What the engine asks of keepers and storage helpers, as it travels by marshal.

For type checkers, never imported to run: a keeper starts without the standard library's larger modules,
`typing` among them.
"""

from __future__ import annotations

from typing import TypedDict

from loopscope.sandbox.keeper.bounds import Asked


class LaunchRequest(TypedDict):
    """Start one bubblewrap; `bwrap.Launch` says more of each."""

    argv: list[str]
    ids: tuple[int, int] | None
    """(first, count) of host ids to map; None: bubblewrap maps the one."""
    stage: str
    binds: list[tuple[str, str]]
    """(source, name) to gather under `stage`."""
    caps: int
    """Capabilities of commands, a bit for each."""
    shm: tuple[str, int, int] | None
    """(directory to cover, bytes, inodes) of /dev/shm."""
    bounds: Asked


class CommandRequest(TypedDict):
    """Run one program inside."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    user: tuple[int, int]
    """Uid and gid, as mapped inside."""


class MakeRequest(TypedDict):
    """Mount a file system for a sandbox's files."""

    kind: str
    """A name of `storage.Kind`."""
    at: str
    as_user: bool
    """No block of ids is mapped: a user namespace with the one is needed to mount."""
    bytes: int
    inodes: int


class MeasureRequest(TypedDict):
    """Count what lies in plain directories."""

    at: list[str]
    deep: int
    """Inodes to add where directories are nested too deep to be counted."""


class RemoveRequest(TypedDict):
    """Delete what lies in plain directories."""

    at: list[str]


StorageRequest = MakeRequest | MeasureRequest | RemoveRequest
