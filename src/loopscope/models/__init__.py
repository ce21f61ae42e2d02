"""Types of what is recorded; this room imports nothing of ours."""

from loopscope.models.base import Record, Versioned
from loopscope.models.evidence import (
    BuildSeen,
    BuildStatus,
    CheckpointEvidence,
    EvaluationSeen,
    EvaluationStatus,
    EvidenceSource,
    Grade,
    HarnessSupport,
    Moment,
    Reconstructed,
    RunEvidence,
)
from loopscope.models.imported import ImportedStudy
from loopscope.models.manifest import ArchivedFile, ArchiveIndex, FileHash, Manifest, Part, Removal
from loopscope.models.run import (
    Commit,
    CommitOrigin,
    Imported,
    Limit,
    LimitState,
    Problem,
    ReportedReward,
    RunRecord,
    RunStatus,
    Timings,
)
from loopscope.models.score import StateScore, Verification, VerificationStatus
from loopscope.models.study import AgentSpec, Budget, EnvironmentSpec, ScheduleSpec, ScoringSpec, StudySpec
from loopscope.models.task import Anchors, PreparedTask, TaskFacts, TaskInfo
from loopscope.models.unit import StudyLock, UnitFile, UnitIdentity
from loopscope.models.usage import Usage

__all__ = [
    "AgentSpec",
    "Anchors",
    "ArchiveIndex",
    "ArchivedFile",
    "Budget",
    "BuildSeen",
    "BuildStatus",
    "CheckpointEvidence",
    "Commit",
    "CommitOrigin",
    "EnvironmentSpec",
    "EvaluationSeen",
    "EvaluationStatus",
    "EvidenceSource",
    "FileHash",
    "Grade",
    "HarnessSupport",
    "Imported",
    "ImportedStudy",
    "Limit",
    "LimitState",
    "Manifest",
    "Moment",
    "Part",
    "PreparedTask",
    "Problem",
    "Reconstructed",
    "Record",
    "Removal",
    "ReportedReward",
    "RunEvidence",
    "RunRecord",
    "RunStatus",
    "ScheduleSpec",
    "ScoringSpec",
    "StateScore",
    "StudyLock",
    "StudySpec",
    "TaskFacts",
    "TaskInfo",
    "Timings",
    "UnitFile",
    "UnitIdentity",
    "Usage",
    "Verification",
    "VerificationStatus",
    "Versioned",
]
