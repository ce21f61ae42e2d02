"""Which units run right now, for whoever asks from outside (`loopscope status`). Needs no Harbor.

The file says something only while its study is held: what a killed engine left in it is not running.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from loopscope.models import Record
from loopscope.records import StudyStore

IN_FLIGHT = ".in-flight.json"


class InFlightFile(Record):
    """`.in-flight.json`: who works on a study, and on what."""

    pid: int
    host: str
    since: datetime
    doing: str
    """`rollouts` or `scores`."""
    units: dict[str, datetime] = Field(default_factory=dict)
    """By run id: when its rollout was begun."""


class InFlight:
    """Keeps the file while a study is run. Cheap: a rename and no wait for the disk; a power cut ends it anyway."""

    def __init__(self, study: Path) -> None:
        self._path = study / IN_FLIGHT
        self._now = InFlightFile(pid=os.getpid(), host=os.uname().nodename, since=datetime.now(UTC), doing="rollouts")

    def __enter__(self) -> InFlight:
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)

    def scores(self) -> None:
        """From now on states are scored."""
        self._write(doing="scores")

    @contextmanager
    def unit(self, run_id: str) -> Iterator[None]:
        """A rollout runs while the block does."""
        self._write(units=self._now.units | {run_id: datetime.now(UTC)})
        try:
            yield
        finally:
            self._write(units={other: since for other, since in self._now.units.items() if other != run_id})

    def _write(self, **changed: object) -> None:
        self._now = self._now.model_copy(update=changed)
        scratch = self._path.with_name(f".tmp-{self._now.pid}-in-flight")
        with contextlib.suppress(OSError):  # it is for people: a full disk stops the study elsewhere, and says so
            scratch.write_text(self._now.model_dump_json())
            scratch.replace(self._path)


def read_in_flight(store: StudyStore) -> InFlightFile | None:
    """Who works on a study now; None when nobody does, or when the one who holds it does not say."""
    if not store.is_held():
        return None
    try:
        return InFlightFile.model_validate_json((store.path / IN_FLIGHT).read_bytes())
    except (OSError, ValidationError):
        return None
