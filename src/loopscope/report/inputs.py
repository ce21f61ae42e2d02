"""What the report reads: tables, checked at the border, and the records of its runs, opened one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from loopscope.models import RunEvidence, RunRecord, StateScore
from loopscope.models.interval_rows import ComparisonRow, IntervalRow, NoiseDipRow, NoiseRow, RankingRow, StabilityRow
from loopscope.models.standing import Standing, standing
from loopscope.models.tables import (
    OVERALL,
    CategoryRow,
    CheckpointRow,
    DipRow,
    MeasureRow,
    OutcomeRow,
    ResourceRow,
    RunRow,
    StudySummary,
    TaskScoreRow,
)
from loopscope.records import FileDiff, RecordError, Repository, RunDir, StudyStore
from loopscope.report.errors import ReportError


@dataclass(frozen=True)
class RunFiles:
    """The records of one run, opened when its page is made and closed after."""

    record: RunRecord | None
    scores: Mapping[str, StateScore]
    directory: Path
    repository: Repository | None = None
    evidence: RunEvidence | None = None
    """What analysis found in its transcript and its repository."""
    unreadable: tuple[str, ...] = ()
    """What could not be read, for people."""

    def diff(self, old: str | None, new: str, max_bytes: int) -> list[FileDiff] | str:
        """The change between two trees, or one line that says why it cannot be shown."""
        if self.repository is None:
            return "The agent left no repository, so there is no diff."
        if any(tree and self.repository.tree(tree.encode()) is None for tree in (old, new)):
            return "The diff cannot be read: a tree is missing. The repository is damaged or incomplete."
        try:
            return self.repository.diff(old, new, max_bytes=max_bytes)
        except Exception as error:  # an agent's damaged object must not cost the page; dulwich raises many kinds
            return f"The diff cannot be read: {type(error).__name__}. The repository is damaged or incomplete."


class StudyInputs:
    """All tables of a study, read once, and its runs' records on demand.

    Raises:
        ReportError: a table is absent or does not have the columns and types described here.
    """

    def __init__(self, study_dir: Path) -> None:
        self.path = study_dir
        tables = study_dir / "tables"
        self.study = _study(tables / "study.json")
        self.runs = tuple(sorted(_table(tables, "runs", RunRow), key=lambda r: (r.task, r.agent, r.seed, r.run_id)))
        self.checkpoints = _by_run(sorted(_table(tables, "checkpoints", CheckpointRow), key=lambda r: r.position))
        self.dips = _by_run(sorted(_table(tables, "dips", DipRow), key=lambda r: r.episode))
        self.outcome = _table(tables, "outcome", OutcomeRow)
        self.process = _table(tables, "process", MeasureRow)
        self.process_by_category = _table(tables, "process_by_category", CategoryRow)
        self.diagnostics = _table(tables, "diagnostics", MeasureRow)
        self.resources = _table(tables, "resources", ResourceRow)
        self.task_scores = _table(tables, "task_scores", TaskScoreRow)
        self.intervals = {
            (r.agent, r.category, r.measure, r.reading): r for r in _table(tables, "intervals", IntervalRow)
        }
        self.comparisons = _table(tables, "comparisons", ComparisonRow)
        self.rankings = _table(tables, "rankings", RankingRow)
        self.stability = _table(tables, "stability", StabilityRow)
        self.noise = _table(tables, "noise", NoiseRow)
        self.noise_dips = _table(tables, "noise_dips", NoiseDipRow)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """Agents in the order of every figure: by overall avg@k, the unscored last, then by name.

        Where agents have scores on different tasks, by avg@k over the common ones; where there are none, by name.
        """
        overall = {r.agent: r for r in self.outcome if r.category == OVERALL}
        names = {a.label for a in self.study.agents} | overall.keys() | {r.agent for r in self.runs}

        def place(agent: str) -> tuple[bool, float, str]:
            row = overall.get(agent)
            value = row and (row.avg_at_k if self.standing.same_tasks else row.common_avg)
            return row is None or row.avg_at_k is None, -(value or 0.0), agent

        return tuple(sorted(names, key=place))

    @cached_property
    def standing(self) -> Standing:
        """Whether the agents can be ranked over all tasks."""
        return standing(r for r in self.outcome if r.category == OVERALL)

    @cached_property
    def rollouts(self) -> tuple[int, int]:
        """Fewest and most rollouts that an agent was given on a task, done or not."""
        counts = [r.k for r in self.task_scores] or [self.study.k]
        return min(counts), max(counts)

    @cached_property
    def done(self) -> tuple[int, int]:
        """Fewest and most rollouts of an agent on a task that there are, whatever was planned; 0 of none."""
        found = Counter((r.agent, r.task) for r in self.runs)
        counts = [found[r.agent, r.task] for r in self.task_scores] or [0]
        return min(counts), max(counts)

    @property
    def k(self) -> str:
        """The k of avg@k in headings: the number where all have as many rollouts, else the letter."""
        low, high = self.rollouts
        return str(low) if low == high else "k"

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Categories by name, without the overall one."""
        found = {t.category for t in self.study.tasks} | {r.category for r in self.runs}
        return tuple(sorted(found - {OVERALL}))

    def open_run(self, run_id: str) -> RunFiles:
        """The records of a run; what cannot be read is said, not raised."""
        directory = RunDir(StudyStore(self.path).run(run_id).path)
        trouble: list[str] = []
        record: RunRecord | None = None
        scores: dict[str, StateScore] = {}
        repository: Repository | None = None
        evidence: RunEvidence | None = None
        try:
            record = directory.record
            scores = directory.scores()
            evidence = directory.evidence()
        except RecordError as error:
            trouble.append(_without_path(str(error), self.path))
        try:
            repository = directory.repository()
        except Exception as error:  # an agent's repository; whatever is wrong with it, the page stands
            trouble.append(f"repository: cannot be opened ({type(error).__name__})")
        return RunFiles(record, scores, directory.path, repository, evidence, tuple(trouble))


def _without_path(message: str, study: Path) -> str:
    return message.replace(f"{study}/", "")


def _study(path: Path) -> StudySummary:
    try:
        return StudySummary.model_validate_json(_bytes(path))
    except ValidationError as error:
        raise ReportError(f"{path}: {_explain(error)}; run `loopscope analyze STUDY` again") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise ReportError(f"{path}: not there; run `loopscope analyze STUDY` first") from None


def _table[Row](folder: Path, name: str, kind: type[Row]) -> tuple[Row, ...]:
    path = folder / f"{name}.parquet"
    data = _bytes(path)
    try:
        frame = pl.read_parquet(data)
    except Exception as error:  # polars raises several unrelated kinds on a file that is no Parquet
        raise ReportError(
            f"{path}: no readable Parquet ({type(error).__name__}); run `loopscope analyze STUDY` again"
        ) from None
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # every kind here is a dataclass
    absent = [n for n in names if n not in frame.columns]
    if absent:
        raise ReportError(f"{path}: lacks the columns {', '.join(absent)}; run `loopscope analyze STUDY` again")
    rows = frame.select(names).with_columns(_finite(pl.selectors.float())).to_dicts()
    try:
        return tuple(TypeAdapter(list[kind]).validate_python(rows))  # type: ignore[valid-type]
    except ValidationError as error:
        raise ReportError(f"{path}: row {_explain(error)}; run `loopscope analyze STUDY` again") from None


def _finite(columns: pl.Expr) -> pl.Expr:
    """NaN and infinities are no measurements: they are missing."""
    return pl.when(columns.is_finite()).then(columns)


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def _by_run(rows: list[Any]) -> dict[str, tuple[Any, ...]]:
    grouped: dict[str, list[Any]] = {}
    for row in rows:
        grouped.setdefault(row.run_id, []).append(row)
    return {run_id: tuple(found) for run_id, found in grouped.items()}
