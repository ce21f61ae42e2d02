"""The files of a task as its agents found them, from the archive of the untouched work directory."""

from __future__ import annotations

import tarfile

import zstandard

from loopscope.records import RecordError, StudyStore
from loopscope.records.workspace import list_workspace


def prepared_paths(store: StudyStore, task: str) -> frozenset[bytes]:
    """Paths of the untouched work directory; empty when the study holds no archive of it.

    Raises:
        RecordError: the archive cannot be read.
    """
    archive = store.baseline(task)
    if not archive.is_file():
        return frozenset()
    try:
        return frozenset(list_workspace(archive).files)
    except (OSError, EOFError, tarfile.TarError, zstandard.ZstdError) as error:
        raise RecordError(
            f"{archive}: cannot be read ({type(error).__name__}); remove it, and `loopscope run` makes it again"
        ) from None
