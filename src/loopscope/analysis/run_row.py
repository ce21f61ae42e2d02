"""One run's row: each part of its columns is made by a function of its own, in the order of `RunRow`.

What a column means stands at the field of `RunRow`; the types of the parts are here so that mypy holds them to it.
"""

from __future__ import annotations

from typing import TypedDict

from loopscope.analysis import left
from loopscope.analysis.quantities import RESOURCES, amount, number
from loopscope.analysis.runs import RunAnalysis, Scored, ScoreSource
from loopscope.models import BuildStatus, Grade, StateScore, VerificationStatus
from loopscope.models.tables import NOT_VERIFIED, RunRow


def run_row(run: RunAnalysis) -> RunRow:
    """The run and its measures; a column that no part gives is an error of mypy's, one that two give of Python's."""
    return RunRow(
        **_who(run),
        **_scores(run),
        **_resources(run),
        **_measures(run),
        **_extras(run),
        **_evidence(run),
        **_support(run),
        flags=tuple(run.flags),
        problems=tuple(f"{p.stage}: {p.message}" for p in run.record.problems),
    )


class _Who(TypedDict):
    run_id: str
    task: str
    category: str
    agent: str
    harness: str
    model: str | None
    seed: int
    status: str
    imported: bool
    log_format: str | None


def _who(run: RunAnalysis) -> _Who:
    """What it is: its names and how it ended."""
    record = run.record
    return {
        "run_id": record.run_id,
        "task": record.task,
        "category": run.task.category,
        "agent": record.agent,
        "harness": record.harness,
        "model": record.model,
        "seed": record.seed,
        "status": record.status.value,
        "imported": record.imported is not None,
        "log_format": record.imported.format if record.imported else None,
    }


class _Scores(TypedDict):
    final_score: float | None
    final_source: str | None
    final_grade: str
    final_reconstructed: float | None
    final_paired: float | None
    final_spread: float | None
    final_status: str
    best_step_score: float | None
    n_commits: int
    n_checkpoints: int
    n_reconstructed: int
    rounds_T: int | None


def _scores(run: RunAnalysis) -> _Scores:
    """Its final score and how much was scored on the way."""
    steps = [row.value for row in run.rows if row.value is not None]
    return {
        "final_score": number(run.final_value),
        "final_source": source_of(run.final_scored),
        "final_grade": run.final_scored.grade.value,
        "final_reconstructed": number(run.reconstructed_final),
        "final_paired": number(run.paired(run.final)),
        "final_spread": number(run.final.spread if run.final else None),
        "final_status": status_of(run.final),
        "best_step_score": number(max(steps, default=None)),
        "n_commits": len(run.rows),
        "n_checkpoints": len(run.canonical),
        "n_reconstructed": sum(row.scored.source is ScoreSource.RECONSTRUCTED for row in run.canonical),
        "rounds_T": run.c3.T,
    }


class _Resources(TypedDict):
    duration_sec: float | None
    agent_sec: float | None
    cost_usd: float | None
    priced_usd: float | None
    priced_full_usd: float | None
    tokens: int | None
    usage_source: str
    usage_completeness: str | None
    tool_calls: int | None


def _resources(run: RunAnalysis) -> _Resources:
    """What it used."""
    record, usage = run.record, run.record.usage
    return {
        "duration_sec": amount(record.timings.total_sec),
        "agent_sec": amount(record.timings.agent_sec),
        "cost_usd": number(RESOURCES["cost_usd"](run)),
        "priced_usd": number(RESOURCES["priced_usd"](run)),
        "priced_full_usd": number(RESOURCES["priced_full_usd"](run)),
        "tokens": amount(usage.tokens),
        "usage_source": usage.source,
        "usage_completeness": record.imported.usage_completeness if record.imported else None,
        "tool_calls": run.evidence.tool_calls,
    }


class _Measures(TypedDict):
    c1: float | None
    c2: float | None
    c3: float | None
    c2_unobserved_as_zero: float | None
    c2_low: float | None
    c2_high: float | None
    n_dips: int | None
    build_coverage: float | None
    last_rising: bool | None
    best_observed: float | None
    early_capture: float | None
    later_headroom: float | None
    builds_per_round: float | None
    rounds_with_build_errors: float | None
    builds_per_round_by_state: float | None
    rounds_with_build_errors_by_state: float | None
    peak_retention: float | None
    dip_rate: float | None
    dip_depth: float | None
    recovery_credit: float | None
    gain_density: float | None
    peak_position: float | None
    monotonicity: float | None
    trace_coverage: float | None


def _measures(run: RunAnalysis) -> _Measures:
    """The headline measures and the diagnostics."""
    shape, build, feedback = run.shape, run.build, run.feedback
    return {
        "c1": number(run.c1.value),
        "c2": number(run.c2.value),
        "c3": number(run.c3.value),
        "c2_unobserved_as_zero": number(run.c2.unobservable_as_zero),
        "c2_low": number(run.c2.low),
        "c2_high": number(run.c2.high),
        "n_dips": run.c3.M,
        "build_coverage": number(build.trace_coverage),
        "last_rising": feedback.last_rising,
        "best_observed": number(shape.best_observed),
        "early_capture": number(shape.early_capture),
        "later_headroom": number(shape.later_headroom),
        "builds_per_round": number(build.builds_per_round),
        "rounds_with_build_errors": number(build.rounds_with_build_errors),
        "builds_per_round_by_state": number(run.build_by_state.builds_per_round),
        "rounds_with_build_errors_by_state": number(run.build_by_state.rounds_with_build_errors),
        "peak_retention": number(feedback.peak_retention),
        "dip_rate": number(feedback.dip_rate),
        "dip_depth": number(feedback.dip_depth),
        "recovery_credit": number(feedback.recovery_credit),
        "gain_density": number(shape.gain_density),
        "peak_position": number(feedback.peak_position),
        "monotonicity": number(feedback.monotonicity),
        "trace_coverage": number(build.trace_coverage),
    }


class _Extras(TypedDict):
    evaluated_before_commit: float | None
    candidates_evaluated: int | None
    candidates_committed: int | None
    committed_share: float | None
    claim_gap: float | None
    left_behind: float | None
    noise_band: float | None
    dip_confidence: float | None
    dips_within_noise: int | None
    saturation: float | None
    jumps: int | None
    suspicious: int
    n_remarks: int


def _extras(run: RunAnalysis) -> _Extras:
    """Measures beside the headline ones: candidates, claims, noise, jumps."""
    looked = left.candidates(run)
    return {
        "evaluated_before_commit": number(run.evaluated_before_share),
        "candidates_evaluated": looked.evaluated if looked else None,
        "candidates_committed": looked.committed if looked else None,
        "committed_share": number(looked.share if looked else None),
        "claim_gap": number(left.claim_gap(run)),
        "left_behind": number(left.left_behind(run)),
        "noise_band": number(left.band(run)),
        "dip_confidence": number(left.mean_confidence(run)),
        "dips_within_noise": left.dips_within_noise(run),
        "saturation": number(left.saturation(run)),
        "jumps": left.jumps(run),
        "suspicious": left.suspicious(run),
        "n_remarks": sum(bool(row.evidence.remarks) for row in run.canonical),
    }


class _Evidence(TypedDict):
    grade_official: float | None
    grade_confirmed: float | None
    grade_inferred: float | None
    grade_proxy: float | None
    grade_missing: float | None
    order_checked: bool | None
    n_disagreements: int
    n_states: int | None
    n_builds: int | None
    n_build_failures: int | None
    n_evaluations: int | None


def _evidence(run: RunAnalysis) -> _Evidence:
    """How well its scores are known, and how much the transcript shows."""
    evidence = run.evidence
    counted = [seen for seen in evidence.builds if seen.counted] if evidence.tool_calls is not None else None
    return {
        "grade_official": number(left.graded(run, Grade.OFFICIAL)),
        "grade_confirmed": number(left.graded(run, Grade.CONFIRMED)),
        "grade_inferred": number(left.graded(run, Grade.INFERRED)),
        "grade_proxy": number(left.graded(run, Grade.PROXY)),
        "grade_missing": number(left.graded(run, Grade.MISSING)),
        "order_checked": evidence.order_checked,
        "n_disagreements": len(evidence.disagreements),
        "n_states": evidence.states,
        "n_builds": None if counted is None else len(counted),
        "n_build_failures": None if counted is None else sum(b.status is BuildStatus.CODE_FAILURE for b in counted),
        "n_evaluations": None if counted is None else sum(seen.counted for seen in evidence.evaluations),
    }


class _Support(TypedDict):
    plan_calls: int | None
    failed_calls: int | None
    failed_then_changed: int | None
    compactions: int | None
    resumes: int | None
    subagents: int | None
    background: int | None


def _support(run: RunAnalysis) -> _Support:
    """How the harness's own tools were used."""
    support = run.evidence.support
    return {
        "plan_calls": support.plan_calls if support else None,
        "failed_calls": support.failed_calls if support else None,
        "failed_then_changed": support.failed_then_changed if support else None,
        "compactions": support.compactions if support else None,
        "resumes": support.resumes if support else None,
        "subagents": support.subagents if support else None,
        "background": support.background if support else None,
    }


def source_of(scored: Scored) -> str | None:
    """Where a score comes from (`ScoreSource`), as tables say it."""
    return scored.source.value if scored.source else None


def status_of(score: StateScore | None) -> str:
    """How the verification behind a score ended (`VerificationStatus`), or `not_verified`."""
    if score is None:
        return NOT_VERIFIED
    verification = score.median_verification
    return (verification.status if verification else VerificationStatus.ERROR).value
