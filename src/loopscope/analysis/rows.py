"""One run's rows: itself, its commits, its dips."""

from __future__ import annotations

from loopscope.analysis.quantities import number
from loopscope.analysis.runs import CommitRow, RunAnalysis
from loopscope.measures import Recovery
from loopscope.models import StateScore, VerificationStatus
from loopscope.models.tables import NOT_VERIFIED, CheckpointRow, DipRow, RunRow

MAX_SUBJECT = 500


def run_row(run: RunAnalysis) -> RunRow:
    """The run and its measures."""
    record, usage, shape, build, feedback = run.record, run.record.usage, run.shape, run.build, run.feedback
    steps = [row.score.value for row in run.rows if row.score and row.score.value is not None]
    return RunRow(
        run_id=record.run_id,
        task=record.task,
        category=record.category,
        agent=record.agent,
        harness=record.harness,
        model=record.model,
        seed=record.seed,
        status=record.status.value,
        final_score=number(run.final_value),
        final_spread=number(run.final.spread if run.final else None),
        final_status=_status(run.final),
        best_step_score=number(max(steps, default=None)),
        n_commits=len(record.commits),
        n_checkpoints=len(run.canonical),
        rounds_T=run.c3.T,
        duration_sec=record.timings.total_sec,
        agent_sec=record.timings.agent_sec,
        cost_usd=number(usage.cost_usd),
        tokens=usage.tokens,
        tool_calls=run.evidence.tool_calls,
        c1=number(run.c1.value),
        c2=number(run.c2.value),
        c3=number(run.c3.value),
        c2_unobserved_as_zero=number(run.c2.unobservable_as_zero),
        n_dips=run.c3.M,
        build_coverage=number(build.trace_coverage),
        last_rising=feedback.last_rising,
        best_observed=number(shape.best_observed),
        early_capture=number(shape.early_capture),
        later_headroom=number(shape.later_headroom),
        builds_per_round=number(build.builds_per_round),
        rounds_with_build_errors=number(build.rounds_with_build_errors),
        peak_retention=number(feedback.peak_retention),
        dip_rate=number(feedback.dip_rate),
        dip_depth=number(feedback.dip_depth),
        recovery_credit=number(feedback.recovery_credit),
        gain_density=number(shape.gain_density),
        peak_position=number(feedback.peak_position),
        monotonicity=number(feedback.monotonicity),
        trace_coverage=number(build.trace_coverage),
        evaluated_before_commit=number(run.evaluated_before_share),
        flags=tuple(run.flags),
        problems=tuple(f"{p.stage}: {p.message}" for p in record.problems),
    )


def checkpoint_rows(run: RunAnalysis) -> list[CheckpointRow]:
    """One row per commit, in order."""
    return [_checkpoint_row(run, position, row) for position, row in enumerate(run.rows)]


def _checkpoint_row(run: RunAnalysis, position: int, row: CommitRow) -> CheckpointRow:
    index, found = row.canonical_index, row.evidence
    episodes = run.c3.episodes
    rewards = row.score.rewards if row.score else ()
    return CheckpointRow(
        run_id=run.record.run_id,
        position=position,
        canonical_index=index,
        sha=row.commit.sha,
        subject=row.commit.subject[:MAX_SUBJECT],
        commit_time=row.commit.commit_time,
        score=number(row.score.value if row.score else None),
        score_min=number(rewards[0]) if rewards else None,
        score_max=number(rewards[-1]) if rewards else None,
        n_verifications=len(row.score.verifications) if row.score else 0,
        status=_status(row.score),
        high_water=number(run.c1.high_water[index]) if index is not None else None,
        canonical=index is not None,
        initial=found.initial,
        ambiguous_initial=found.ambiguous_initial,
        gate_reason=found.reason,
        grade=found.grade.value,
        delivered=found.delivered,
        builds=found.builds,
        build_failures=found.build_failures,
        candidates=found.candidates,
        builds_by_state=found.builds_by_state,
        build_failures_by_state=found.build_failures_by_state,
        candidates_by_state=found.candidates_by_state,
        is_dip_start=any(e.start_index == index for e in episodes),
        is_recovery=any(e.target_index == index for e in episodes if e.recovery is not Recovery.NONE),
        dip_episode=_episode_at(run, index),
    )


def _episode_at(run: RunAnalysis, index: int | None) -> int | None:
    """Number of the first episode that goes over a checkpoint, from its start to its recovery."""
    if index is None:
        return None
    spans = ((e.start_index, e.target_index) for e in run.c3.episodes)
    return next((i for i, (start, target) in enumerate(spans) if start <= index <= target), None)


def _status(score: StateScore | None) -> str:
    if score is None:
        return NOT_VERIFIED
    verification = score.median_verification
    return (verification.status if verification else VerificationStatus.ERROR).value


def dip_rows(run: RunAnalysis) -> list[DipRow]:
    """One row per dip episode."""
    shas = [row.commit.sha for row in run.canonical]
    return [
        DipRow(
            run_id=run.record.run_id,
            episode=i,
            start_sha=shas[e.start_index],
            low_sha=shas[e.low_index],
            target_sha=shas[e.target_index] if e.recovery is not Recovery.NONE else None,
            before=float(e.before),
            low=float(e.low),
            recovered_to=number(e.reached) if e.recovery is not Recovery.NONE else None,
            depth=float(e.depth),
            length=e.length,
            rho=float(e.recovered),
            credit=float(e.credit),
        )
        for i, e in enumerate(run.c3.episodes)
    ]
