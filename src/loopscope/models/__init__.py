"""Types of what is recorded; this room imports nothing of ours."""

from loopscope.models.base import Record, Versioned
from loopscope.models.evidence import CheckpointEvidence, Grade, RunEvidence
from loopscope.models.manifest import ArchivedFile, ArchiveIndex, FileHash, Manifest, Part, Removal
from loopscope.models.run import (
    Commit,
    CommitOrigin,
    Limit,
    LimitState,
    Problem,
    RunRecord,
    RunStatus,
    Timings,
)
from loopscope.models.score import StateScore, Verification, VerificationStatus
from loopscope.models.study import AgentSpec, Budget, EnvironmentSpec, ScheduleSpec, ScoringSpec, StudySpec
from loopscope.models.task import Anchors, PreparedTask, TaskInfo
from loopscope.models.unit import StudyLock, UnitFile, UnitIdentity
from loopscope.models.usage import Usage

__all__ = [
    "AgentSpec",
    "Anchors",
    "ArchiveIndex",
    "ArchivedFile",
    "Budget",
    "CheckpointEvidence",
    "Commit",
    "CommitOrigin",
    "EnvironmentSpec",
    "FileHash",
    "Grade",
    "Limit",
    "LimitState",
    "Manifest",
    "Part",
    "PreparedTask",
    "Problem",
    "Record",
    "Removal",
    "RunEvidence",
    "RunRecord",
    "RunStatus",
    "ScheduleSpec",
    "ScoringSpec",
    "StateScore",
    "StudyLock",
    "StudySpec",
    "TaskInfo",
    "Timings",
    "UnitFile",
    "UnitIdentity",
    "Usage",
    "Verification",
    "VerificationStatus",
    "Versioned",
]
