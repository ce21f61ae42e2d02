"""Whether the prepared tasks of a study are what `run` would go by; cheap enough for `status`."""

from __future__ import annotations

from collections.abc import Iterator

from loopscope.records import RecordError, StudyStore
from loopscope.records.durable import is_scratch
from loopscope.records.tree import Kind, kind_of, walk
from loopscope.tasks.copying import tree_hash
from loopscope.tasks.prepare import prepared_dir

MOST_HASHED = 16 << 20
"""Bytes of a prepared task that status reads; what is larger is only looked at by `run` and `study verify`."""


def refused_tasks(store: StudyStore) -> Iterator[str]:
    """What `run` would refuse of the tasks that a study holds, a line each; what is absent is prepared again."""
    for record in sorted((store.path / "tasks").glob("*.json")):
        if is_scratch(record):
            continue
        try:
            task = store.task(record.stem)
        except RecordError as error:
            yield str(error).replace(str(record), f"tasks/{record.name}")
            continue
        folder = prepared_dir(store.path, record.stem)
        if kind_of(folder) is None:
            continue
        entries = [*walk(folder)] if kind_of(folder) is Kind.DIRECTORY else []
        if not entries or any(entry.kind is Kind.SPECIAL for entry in entries):
            yield f"tasks/{folder.name}: is no prepared task any more; restore it, or move it away"
        elif sum(entry.size for entry in entries) <= MOST_HASHED and tree_hash(folder) != task.content_hash:
            yield f"tasks/{folder.name}: was changed after it was prepared; restore it, or move it away"
