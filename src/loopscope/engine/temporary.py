"""Where this process puts its temporary files while it works on a study."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from loopscope.records import remove_tree, scratch_name


@contextlib.contextmanager
def temporaries_in(study: Path) -> Iterator[None]:
    """While the block runs, `tempfile` of this process lies in the study, under a scratch name.

    Harbor and agents make temporary directories for transfers. A killed process leaves them; here the next start sweeps
    them. Where none can be made (a full disk, say) they go to the usual place.
    """
    place, before = scratch_name(study / "temporary"), tempfile.tempdir
    try:
        place.mkdir()
    except OSError:
        yield
        return
    tempfile.tempdir = str(place)
    try:
        yield
    finally:
        tempfile.tempdir = before
        remove_tree(place)
