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
from loopscope.models.study import AgentSpec, Budget, EnvironmentSpec, ScoringSpec, StudySpec
from loopscope.models.task import Anchors, PreparedTask, TaskInfo
from loopscope.models.unit import StudyLock, UnitIdentity
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
    "ScoringSpec",
    "StateScore",
    "StudyLock",
    "StudySpec",
    "TaskInfo",
    "Timings",
    "UnitIdentity",
    "Usage",
    "Verification",
    "VerificationStatus",
    "Versioned",
]
