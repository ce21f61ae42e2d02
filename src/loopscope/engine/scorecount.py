"""How many states of a run have a score, and how many another scoring pass would verify; read fast, for status."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import orjson

from loopscope.models import Part, PreparedTask, RunRecord, ScoringSpec, VerificationStatus
from loopscope.models.seal import unseal
from loopscope.records import FINAL, RecordError, RunDir
from loopscope.records.completeness import end_without_reward, is_enough, is_given_up, settles
from loopscope.records.manifest import removed_parts

MISSING = "missing"
"""A state that was not verified."""
NO_WORKSPACE = "workspace_removed"
"""A state that was not verified, or whose score was lost, and that cannot be any more: its workspace was removed."""


@dataclass(frozen=True)
class StateCounts:
    """Of one run."""

    states: int = 0
    unscored: Mapping[str, int] = MappingProxyType({})
    """States without a reward: `missing`, `workspace_removed`, `given_up`, or the status of their last verification."""
    todo: int = 0
    """States that lack verifications; some of them have a score already."""


@dataclass(frozen=True)
class ScoreReader:
    """Counts under a study's settings; of a task that is not among `tasks`, what is there counts as enough."""

    scoring: ScoringSpec
    tasks: Mapping[str, PreparedTask]

    def of(self, run: RunDir, record: RunRecord) -> StateCounts:
        """With `max_checkpoints` the engine chooses commits; as many others may lack a score and are not missing."""
        task = self.tasks.get(record.task)
        wanted = list(dict.fromkeys(commit.state for commit in record.commits))
        most = self.scoring.max_checkpoints
        spared = max(0, len(wanted) - most) if most is not None else 0
        whole = os.path.lexists(run.workspace)
        if whole or _was_removed(run) or (run.path / "scores" / f"{FINAL}.json").exists():
            wanted.append(FINAL)
        folder = os.fspath(run.path / "scores")
        found = [self._score(f"{folder}/{state}.json", task) for state in wanted]
        spared = min(spared, found.count((MISSING, True)))
        unscored = Counter(end for end, _ in found if end != VerificationStatus.OK)
        unscored[MISSING] -= spared
        if not whole and unscored[MISSING] > 0:
            unscored[NO_WORKSPACE] = unscored.pop(MISSING)
        todo = sum(is_open for _, is_open in found) - spared
        return StateCounts(len(wanted) - spared, dict(sorted((+unscored).items())), todo if whole else 0)

    def _score(self, path: str, task: PreparedTask | None) -> tuple[str, bool]:
        """(`ok`, or why a state has no reward; whether it lacks verifications).

        Read without the models, which would take seconds where there are ten thousand; the seal is held all the same.
        """
        try:
            body, whole = unseal(_read(path))
            score = orjson.loads(body)
            if whole is False or (task is not None and score["verifier_hash"] != task.verifier_hash):
                return MISSING, True  # the engine verifies it again
            done = [(VerificationStatus(v["status"]), float(v["verifier_timeout_sec"])) for v in score["verifications"]]
            rewarded = any(v.get("reward") is not None for v in score["verifications"])
            end = VerificationStatus.OK if rewarded else end_without_reward([status for status, _ in done])
            return end, self._lacks(done, task)
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return MISSING, True

    def _lacks(self, done: list[tuple[VerificationStatus, float]], task: PreparedTask | None) -> bool:
        if task is None or is_given_up([status for status, _ in done]):
            return False
        deadline = self.scoring.deadline_of(task.info)
        settled = [status for status, limit in done if settles(status, limit, deadline)]
        return not is_enough(settled, self.scoring.repeats_of(task.info))


def _was_removed(run: RunDir) -> bool:
    try:
        return Part.WORKSPACE in removed_parts(run.path)
    except RecordError:
        return False


def _read(path: str) -> bytes:
    """A plain file's bytes; half the time of `Path.read_bytes`, which counts where there are ten thousand."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(fd, 1 << 18):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)
