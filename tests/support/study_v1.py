"""A study as the first version of loopscope left it (commit 05bce78): records without seals, units without a name.

Two seeds of four agents on a task that works (`toy`) and one that no machine here can build (`broken`, tried twice);
`first.yaml` beside its results in `first/`, scored and analysed. Host paths in its tracebacks were made neutral.
The agent `steps` asks for the variable MINE.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import zstandard

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "study_v1.tar.zst"


def unpack(folder: Path) -> Path:
    """Unpack it into `folder`; its directory."""
    with (
        ARCHIVE.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        tar.extractall(folder, filter="tar")
    return folder / "first"
