"""The durable store of a study: run directories, scores, repositories."""

from loopscope.records.durable import (
    RecordError,
    draft_model,
    explain,
    is_machine_fault,
    publish,
    read_model,
    remove_tree,
    scratch_name,
    write_bytes,
    write_model,
)
from loopscope.records.repository import FileDiff, Repository
from loopscope.records.store import FINAL, RunDir, StudyStore
from loopscope.records.studyfile import StudyError, load_study, locate

__all__ = [
    "FINAL",
    "FileDiff",
    "RecordError",
    "Repository",
    "RunDir",
    "StudyError",
    "StudyStore",
    "draft_model",
    "explain",
    "is_machine_fault",
    "load_study",
    "locate",
    "publish",
    "read_model",
    "remove_tree",
    "scratch_name",
    "write_bytes",
    "write_model",
]
