"""One run's rows: itself, its commits, its dips, its builds and evaluations."""

from __future__ import annotations

from loopscope.analysis import left
from loopscope.analysis.quantities import RESOURCES, amount, number
from loopscope.analysis.runs import CommitRow, RunAnalysis, Scored, ScoreSource
from loopscope.measures import Episode, Recovery
from loopscope.models import BuildStatus, Grade, StateScore, VerificationStatus
from loopscope.models.tables import NOT_VERIFIED, BuildRow, CheckpointRow, DipRow, EvaluationRow, RunRow

MAX_TEXT = 500
"""Characters that are kept of an agent's text."""


def run_row(run: RunAnalysis) -> RunRow:
    """The run and its measures."""
    record, evidence, usage = run.record, run.evidence, run.record.usage
    shape, build, feedback = run.shape, run.build, run.feedback
    steps = [row.value for row in run.rows if row.value is not None]
    looked = left.candidates(run)
    counted = [seen for seen in evidence.builds if seen.counted] if evidence.tool_calls is not None else None
    support = evidence.support
    return RunRow(
        run_id=record.run_id,
        task=record.task,
        category=run.task.category,
        agent=record.agent,
        harness=record.harness,
        model=record.model,
        seed=record.seed,
        status=record.status.value,
        imported=record.imported is not None,
        log_format=record.imported.format if record.imported else None,
        final_score=number(run.final_value),
        final_source=_source(run.final_scored),
        final_grade=run.final_scored.grade.value,
        final_reconstructed=number(run.reconstructed_final),
        final_spread=number(run.final.spread if run.final else None),
        final_status=_status(run.final),
        best_step_score=number(max(steps, default=None)),
        n_commits=len(run.rows),
        n_checkpoints=len(run.canonical),
        n_reconstructed=sum(row.scored.source is ScoreSource.RECONSTRUCTED for row in run.canonical),
        rounds_T=run.c3.T,
        duration_sec=amount(record.timings.total_sec),
        agent_sec=amount(record.timings.agent_sec),
        cost_usd=number(RESOURCES["cost_usd"](run)),
        priced_usd=number(RESOURCES["priced_usd"](run)),
        priced_full_usd=number(RESOURCES["priced_full_usd"](run)),
        tokens=amount(usage.tokens),
        usage_source=usage.source,
        usage_completeness=record.imported.usage_completeness if record.imported else None,
        tool_calls=evidence.tool_calls,
        c1=number(run.c1.value),
        c2=number(run.c2.value),
        c3=number(run.c3.value),
        c2_unobserved_as_zero=number(run.c2.unobservable_as_zero),
        c2_low=number(run.c2.low),
        c2_high=number(run.c2.high),
        n_dips=run.c3.M,
        build_coverage=number(build.trace_coverage),
        last_rising=feedback.last_rising,
        best_observed=number(shape.best_observed),
        early_capture=number(shape.early_capture),
        later_headroom=number(shape.later_headroom),
        builds_per_round=number(build.builds_per_round),
        rounds_with_build_errors=number(build.rounds_with_build_errors),
        builds_per_round_by_state=number(run.build_by_state.builds_per_round),
        rounds_with_build_errors_by_state=number(run.build_by_state.rounds_with_build_errors),
        peak_retention=number(feedback.peak_retention),
        dip_rate=number(feedback.dip_rate),
        dip_depth=number(feedback.dip_depth),
        recovery_credit=number(feedback.recovery_credit),
        gain_density=number(shape.gain_density),
        peak_position=number(feedback.peak_position),
        monotonicity=number(feedback.monotonicity),
        trace_coverage=number(build.trace_coverage),
        evaluated_before_commit=number(run.evaluated_before_share),
        candidates_evaluated=looked.evaluated if looked else None,
        candidates_committed=looked.committed if looked else None,
        committed_share=number(looked.share if looked else None),
        claim_gap=number(left.claim_gap(run)),
        left_behind=number(left.left_behind(run)),
        noise_band=number(left.band(run)),
        dip_confidence=number(left.mean_confidence(run)),
        dips_within_noise=left.dips_within_noise(run),
        saturation=number(left.saturation(run)),
        jumps=left.jumps(run),
        suspicious=left.suspicious(run),
        n_remarks=sum(bool(row.evidence.remarks) for row in run.canonical),
        grade_official=number(left.graded(run, Grade.OFFICIAL)),
        grade_confirmed=number(left.graded(run, Grade.CONFIRMED)),
        grade_inferred=number(left.graded(run, Grade.INFERRED)),
        grade_proxy=number(left.graded(run, Grade.PROXY)),
        grade_missing=number(left.graded(run, Grade.MISSING)),
        order_checked=evidence.order_checked,
        n_disagreements=len(evidence.disagreements),
        n_states=evidence.states,
        n_builds=None if counted is None else len(counted),
        n_build_failures=None if counted is None else sum(b.status is BuildStatus.CODE_FAILURE for b in counted),
        n_evaluations=None if counted is None else sum(seen.counted for seen in evidence.evaluations),
        plan_calls=support.plan_calls if support else None,
        failed_calls=support.failed_calls if support else None,
        failed_then_changed=support.failed_then_changed if support else None,
        compactions=support.compactions if support else None,
        resumes=support.resumes if support else None,
        subagents=support.subagents if support else None,
        background=support.background if support else None,
        flags=tuple(run.flags),
        problems=tuple(f"{p.stage}: {p.message}" for p in record.problems),
    )


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
        score_source=_source(scored),
        score_min=number(scored.rewards[0]) if scored.rewards else None,
        score_max=number(scored.rewards[-1]) if scored.rewards else None,
        metric=number(scored.metric),
        reconstructed=number(made.value if made else None),
        claimed=number(found.claimed),
        n_verifications=len(row.score.verifications) if row.score else 0,
        status=_status(row.score),
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


def _source(scored: Scored) -> str | None:
    return scored.source.value if scored.source else None


def _status(score: StateScore | None) -> str:
    if score is None:
        return NOT_VERIFIED
    verification = score.median_verification
    return (verification.status if verification else VerificationStatus.ERROR).value


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
