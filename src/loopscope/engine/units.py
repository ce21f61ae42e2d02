"""Which states there are to score, and which of them a verifier cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from loopscope.engine.events import Event, Notify, Phase
from loopscope.engine.states import tracked_paths
from loopscope.models import Commit, PreparedTask, RunStatus, StateScore
from loopscope.records import FINAL, RecordError, RunDir, StudyStore, is_machine_fault
from loopscope.records.repository import Repository, TreeUnreadable
from loopscope.records.workspace import list_workspace


@dataclass(frozen=True)
class Unit:
    """One state to verify: a commit's, or the frozen workspace (`commit` is None)."""

    run: RunDir
    task: PreparedTask
    commit: Commit | None
    tracked: frozenset[bytes]
    """Paths that some commit of the run tracks and the image holds too: removed where a commit lacks them."""
    identity: tuple[str, ...]
    """Equal for units that a verifier cannot tell apart."""

    @property
    def state(self) -> str:
        """Key of its score."""
        return self.commit.state if self.commit else FINAL

    def score(self) -> StateScore | None:
        """What is known so far; a score by another verifier, or one that cannot be read, counts as none."""
        try:
            score = self.run.score(self.state)
        except RecordError:
            return None
        return score if score and score.verifier_hash == self.task.verifier_hash else None


class UnitFinder:
    """Finds the states of a study's runs; what cannot be read is said and left out."""

    def __init__(self, store: StudyStore, max_checkpoints: int | None, notify: Notify) -> None:
        self._store, self._max_checkpoints, self._notify = store, max_checkpoints, notify
        self.unreadable: set[str] = set()
        """Runs that could not be listed, or not wholly."""
        self.gone: list[tuple[RunDir, PreparedTask]] = []
        """Runs without a workspace: it was removed, or there never was one; what has no score can get none."""

    def units(self) -> Iterator[Unit]:
        """Every state of every run that leaves one, each once per run, in the order of runs and commits."""
        for run in self._store.runs():
            yield from self._units(run)

    def _units(self, run: RunDir) -> Iterator[Unit]:
        try:
            record = run.record
            if record.imported is not None:
                return
            task = self._store.task(record.task)
        except RecordError as error:
            self._leave_out(run, str(error))
            return
        if record.status is RunStatus.ENVIRONMENT_ERROR:
            return
        if not run.workspace.is_file():
            self.gone.append((run, task))
            return
        if record.task_hash != task.content_hash:
            what = "a change of the study was cut short; `loopscope run` completes it"
            self._leave_out(run, f"{run.run_id}: is of another version of {record.task} than the study holds: {what}")
            return
        try:
            yield from self._commit_units(run, task)
        except Exception as error:  # a damaged repository costs this run's steps; its final state is scored
            if is_machine_fault(error):
                raise
            self._leave_out(run, f"{run.run_id}: its commits cannot be read ({type(error).__name__}: {error})")
        yield Unit(run, task, None, frozenset(), (FINAL, run.run_id))

    def _leave_out(self, run: RunDir, message: str) -> None:
        self.unreadable.add(run.run_id)
        self._notify(Event(Phase.SCORE, 0, 0, message, problem=True))

    def _commit_units(self, run: RunDir, task: PreparedTask) -> Iterator[Unit]:
        record, repository = run.record, run.repository()
        if repository is None:
            if record.commits:
                self._leave_out(run, f"{run.path}: its repository is gone, so its commits cannot be scored; restore it")
            return
        try:
            tracked = tracked_paths(repository, record.commits) & self._image_paths(task.info.name)
            distinct = {commit.state: commit for commit in reversed(record.commits)}
            ordered = [commit for commit in record.commits if distinct[commit.state] is commit]
            for commit in _spaced(ordered, self._max_checkpoints):
                lacking = sorted(path.hex() for path in tracked - _tracked_by(repository, commit))
                yield Unit(run, task, commit, tracked, (task.verifier_hash, commit.state, *lacking))
        finally:
            repository.close()

    @cache  # noqa: B019  # lives as long as one scoring pass
    def _image_paths(self, task: str) -> frozenset[bytes]:
        baseline = self._store.baseline(task)
        return frozenset(list_workspace(baseline).files) if baseline.is_file() else frozenset()


def _tracked_by(repository: Repository, commit: Commit) -> set[bytes]:
    try:
        return {path for path, _ in repository.files(commit.tree.encode())}
    except TreeUnreadable:
        return set()


def _spaced(commits: list[Commit], most: int | None) -> list[Commit]:
    """At most `most` commits: the first, the last and others evenly between."""
    if most is None or len(commits) <= most:
        return commits
    if most == 1:
        return commits[-1:]
    return [commits[round(i * (len(commits) - 1) / (most - 1))] for i in range(most)]
