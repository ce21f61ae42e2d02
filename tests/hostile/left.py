"""What hostile agents left behind, as checks of single kinds read it."""

from __future__ import annotations

from loopscope.records import RunDir
from loopscope.records.workspace import member_path, open_tar


def left(run: RunDir, name: str) -> bytes | None:
    """Bytes of a file in the harvested workspace; None when it is not there."""
    with open_tar(run.workspace) as archive:
        for member in archive:
            if member_path(member) == name.encode() and member.isreg():
                stream = archive.extractfile(member)
                return stream.read() if stream else None
    return None


def assert_nothing_found(run: RunDir) -> None:
    """`found.txt` is where an agent notes what it could reach."""
    assert left(run, "found.txt") == b"", left(run, "found.txt")
