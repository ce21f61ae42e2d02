"""One run's rows: its commits, its dips, its builds and evaluations; `run_row.py` makes that of itself."""

from __future__ import annotations

from loopscope.analysis import left
from loopscope.analysis.quantities import number
from loopscope.analysis.run_row import source_of, status_of
from loopscope.analysis.runs import CommitRow, RunAnalysis
from loopscope.measures import Episode, Recovery
from loopscope.models.tables import BuildRow, CheckpointRow, DipRow, EvaluationRow

MAX_TEXT = 500
"""Characters that are kept of an agent's text."""


def checkpoint_rows(run: RunAnalysis) -> list[CheckpointRow]:
    """One row per commit, in order."""
    return [_checkpoint_row(run, position, row) for position, row in enumerate(run.rows)]


def _checkpoint_row(run: RunAnalysis, position: int, row: CommitRow) -> CheckpointRow:
    index, found, scored = row.canonical_index, row.evidence, row.scored
    episodes = run.c3.episodes
    made = found.reconstructed
    return CheckpointRow(
        run_id=run.record.run_id,
        position=position,
        canonical_index=index,
        sha=row.sha,
        subject=row.subject[:MAX_TEXT],
        commit_time=row.commit_time,
        score=number(scored.value),
        score_source=source_of(scored),
        score_min=number(scored.rewards[0]) if scored.rewards else None,
        score_max=number(scored.rewards[-1]) if scored.rewards else None,
        paired=number(run.paired(row.score)),
        metric=number(scored.metric),
        reconstructed=number(made.value if made else None),
        claimed=number(found.claimed),
        n_verifications=len(row.score.verifications) if row.score else 0,
        status=status_of(row.score),
        high_water=number(run.c1.high_water[index]) if index is not None else None,
        canonical=index is not None,
        initial=found.initial,
        ambiguous_initial=found.ambiguous_initial,
        gate_reason=found.reason,
        grade=scored.grade.value,
        source=found.source.value,
        kind=found.kind,
        confirmed_by=found.confirmed_by,
        message=found.at.message if found.at else None,
        state=found.state,
        delivered=found.delivered,
        delivered_reason=found.delivered_reason,
        builds=found.builds,
        build_failures=found.build_failures,
        env_failures=found.env_failures,
        candidates=found.candidates,
        builds_by_state=found.builds_by_state,
        build_failures_by_state=found.build_failures_by_state,
        candidates_by_state=found.candidates_by_state,
        evaluated_before_commit=found.evaluated_before_commit,
        is_dip_start=any(e.start_index == index for e in episodes),
        is_recovery=any(e.target_index == index for e in episodes if e.recovery is not Recovery.NONE),
        dip_episode=_episode_at(run, index),
        remarks=found.remarks,
        suspicious=left.is_suspicious(row),
    )


def _episode_at(run: RunAnalysis, index: int | None) -> int | None:
    """Number of the first episode that goes over a checkpoint, from its start to its recovery."""
    if index is None:
        return None
    spans = ((e.start_index, e.target_index) for e in run.c3.episodes)
    return next((i for i, (start, target) in enumerate(spans) if start <= index <= target), None)


def dip_rows(run: RunAnalysis) -> list[DipRow]:
    """One row per dip episode."""
    shas = [row.sha for row in run.canonical]
    return [_dip_row(run, shas, position, episode) for position, episode in enumerate(run.c3.episodes)]


def _dip_row(run: RunAnalysis, shas: list[str], position: int, e: Episode) -> DipRow:
    regained, sure = e.recovery is not Recovery.NONE, left.confidence(run, e)
    return DipRow(
        run_id=run.record.run_id,
        episode=position,
        start_sha=shas[e.start_index],
        low_sha=shas[e.low_index],
        target_sha=shas[e.target_index] if regained else None,
        before=float(e.before),
        low=float(e.low),
        recovered_to=number(e.reached) if regained else None,
        depth=float(e.depth),
        length=e.length,
        rho=float(e.recovered),
        credit=float(e.credit),
        confidence=number(left.confidence_value(sure) if sure else None),
        confidence_method=sure.method if sure else None,
        confidence_pairs=sure.pairs if sure else None,
        depth_in_noise=number(left.depth_in_noise(run, e)),
    )


def build_rows(run: RunAnalysis) -> list[BuildRow]:
    """One row per build, in order."""
    return [
        BuildRow(
            run_id=run.record.run_id,
            number=position,
            thread=seen.at.thread,
            message=seen.at.message,
            call=seen.at.call,
            order=seen.at.order,
            tool=seen.tool,
            status=seen.status.value,
            reason=seen.reason,
            runtime_failure=seen.runtime_failure,
            counted=seen.counted,
            state=seen.state,
            checkpoint=seen.checkpoint,
        )
        for position, seen in enumerate(run.evidence.builds)
    ]


def evaluation_rows(run: RunAnalysis) -> list[EvaluationRow]:
    """One row per objective evaluation, in order."""
    return [
        EvaluationRow(
            run_id=run.record.run_id,
            number=position,
            thread=seen.at.thread,
            message=seen.at.message,
            call=seen.at.call,
            order=seen.at.order,
            command=seen.command[:MAX_TEXT],
            role=seen.role,
            status=seen.status.value,
            raw=tuple(map(float, seen.raw)),
            rewards=tuple(map(float, seen.rewards)),
            reason=seen.reason,
            state=seen.state,
            certain=seen.certain,
            builds=seen.builds,
            counted=seen.counted,
            checkpoint=seen.checkpoint,
            result_message=seen.result_message,
        )
        for position, seen in enumerate(run.evidence.evaluations)
    ]
