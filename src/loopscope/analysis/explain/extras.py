"""The measures beyond the paper (`loopscope.measures.extras`, `.noise`), each with what it was counted from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopscope.analysis import left
from loopscope.analysis.explain.figures import Figure, call, exactly, mean_of, step, term
from loopscope.analysis.explain.rows import Told
from loopscope.analysis.explain.told import Step
from loopscope.analysis.runs import ScoreSource
from loopscope.evidence.remarks import SUSPICIOUS
from loopscope.measures.exact import exact
from loopscope.measures.extras import JUMP
from loopscope.models import Grade

_SOME = 20
"""So many names are listed."""


def extras(told: Told) -> tuple[Step, ...]:
    """All of them, in the order of the table."""
    return (
        *_candidates(told),
        _claim_gap(told),
        _left_behind(told),
        _noise_band(told),
        *_dips(told),
        _saturation(told),
        _jumps(told),
        *_grades(told),
        *_oddities(told),
    )


def _of_runs(name: str, value: Figure | None, formula: str, terms: str | None = None, note: str = "") -> Step:
    return step(name, value, formula, terms, note=note, table="runs")


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SOME} more" if len(listed) > _SOME else ""
    return (", ".join(listed[:_SOME]) or "none") + more


def _candidates(told: Told) -> list[Step]:
    run, found = told.run, left.candidates(told.run)
    unseen = "" if found else "no readable transcript"
    counted = (seen.state for seen in run.evidence.evaluations if seen.counted and seen.state is not None)
    evaluated = dict.fromkeys(counted)
    held = [f"{told.name(row)} ({row.evidence.state})" for row in run.canonical if row.evidence.state in evaluated]
    return [
        _of_runs(
            "candidates_evaluated",
            found.evaluated if found else None,
            "distinct states that the agent evaluated",
            note=unseen or f"states: {_some(evaluated)}",
        ),
        _of_runs(
            "candidates_committed",
            found.committed if found else None,
            "those of them that a checkpoint holds",
            note=unseen or f"held by {_some(held)}",
        ),
        _of_runs(
            "committed_share",
            found.share if found else None,
            "candidates_committed / candidates_evaluated",
            f"{found.committed} / {found.evaluated}" if found else None,
            unseen or ("" if found and found.evaluated else "nothing was evaluated"),
        ),
    ]


def _claim_gap(told: Told) -> Step:
    gap = left.claim_gap(told.run)
    formula = "claimed - measured score, where they lie farthest apart"
    for row in told.run.canonical:
        claimed, measured = exact(row.evidence.claimed), exact(row.value)
        if claimed is not None and measured is not None and claimed - measured == gap:
            return _of_runs("claim_gap", gap, formula, f"{term(claimed)} - {term(measured)}", told.name(row))
    return _of_runs("claim_gap", gap, formula, note="no checkpoint has both a claim and a score")


def _left_behind(told: Told) -> Step:
    states = left.measured_states(told.run)
    medians = [call("median", rewards) for rewards in states.values()]
    kept = [row.value for row in told.run.canonical if row.value is not None]
    gap = left.left_behind(told.run)
    return _of_runs(
        "left_behind",
        gap,
        "best reward of any evaluated state - best score of a checkpoint",
        f"max({', '.join(medians)}) - {call('max', kept)}" if medians and kept else None,
        f"evaluated: {_some(f'state {state}' for state in states)}"
        if gap is not None
        else "no evaluated state with a reward, or no checkpoint with a score",
    )


def _noise_band(told: Told) -> Step:
    run, band = told.run, left.band(told.run)
    formula = "median of the spreads of states that were measured repeatedly"
    if spreads := left.verified_spreads(run):
        names = _some("the final state" if at is None else f"#{at}" for at, _ in spreads)
        return _of_runs("noise_band", band, formula, call("median_high", sorted(s for _, s in spreads)), f"of {names}")
    note = "no state was measured twice" if band is None else "of the agent's own evaluations, as evidence.json has it"
    return _of_runs("noise_band", band, formula, note=note)


def _dips(told: Told) -> list[Step]:
    run, band = told.run, left.band(told.run)
    shares = left.confidences(run)
    shallow = [f"dip {at}" for at, episode in enumerate(run.c3.episodes) if band is not None and episode.depth <= band]
    within = f"no deeper than {exactly(band)}: {_some(shallow)}" if band is not None else "no noise band is known"
    return [
        _of_runs(
            "dip_confidence",
            left.mean_confidence(run),
            "mean of the dips' confidence, where it is known",
            mean_of(shares),
            "" if shares else "no dip episode" if not run.c3.episodes else "no dip whose noise is known",
        ),
        _of_runs("dips_within_noise", left.dips_within_noise(run), "dips no deeper than the noise band", note=within),
    ]


def _saturation(told: Told) -> Step:
    rounds = [row for row in told.run.canonical if row.is_evaluated_proposal]
    full = [told.name(row) for row in rounds if row.value is not None and row.value >= 1]
    return _of_runs(
        "saturation",
        left.saturation(told.run),
        "share of the evaluated rounds at 1 or above",
        f"{len(full)} / {len(rounds)}",
        f"at 1: {_some(full)}" if rounds else "no round has a score",
    )


def _jumps(told: Told) -> Step:
    rows = [row for row in told.run.canonical if row.value is not None]
    x = [exact(row.value) or 0 for row in rows]
    names = [f"{told.name(rows[i - 1])} to {told.name(rows[i])}" for i in range(1, len(x)) if x[i] > x[i - 1] + JUMP]
    note = _some(names) if len(x) > 1 else "no transition between scores"
    formula = f"transitions that rise by more than {exactly(JUMP)}"
    return _of_runs("jumps", left.jumps(told.run), formula, note=note)


def _grades(told: Told) -> list[Step]:
    grades: Sequence[Grade] = [row.scored.grade for row in told.run.canonical]
    return [
        _of_runs(
            f"grade_{grade}",
            left.graded(told.run, grade),
            f"share of the checkpoints whose score is {grade}",
            f"{grades.count(grade)} / {len(grades)}",
            "" if grades else "no checkpoint",
        )
        for grade in Grade
        if grade is not Grade.REPORTED  # only a final score can be
    ]


def _oddities(told: Told) -> list[Step]:
    run, evidence = told.run, told.run.evidence
    remarked = [told.name(row) for row in run.canonical if row.evidence.remarks]
    jumped = [row for row in run.canonical if any(said.startswith(SUSPICIOUS) for said in row.evidence.remarks)]
    odd = _some(map(told.name, jumped))
    made = [told.name(row) for row in run.canonical if row.scored.source is ScoreSource.RECONSTRUCTED]
    return [
        _of_runs(
            "suspicious",
            left.suspicious(run),
            "checkpoints with a jump that no change explains, or to exactly 1",
            note=odd,
        ),
        _of_runs("n_remarks", len(remarked), "checkpoints with a remark of evidence", note=_some(remarked)),
        _of_runs("n_reconstructed", len(made), "checkpoints whose score is reconstructed", note=_some(made)),
        _of_runs("n_disagreements", len(evidence.disagreements), "where repository and transcript disagree"),
        step(
            "order_checked",
            evidence.order_checked,
            "the log's order is the order in time, as far as it can be checked",
            note=""
            if evidence.order_checked is not None
            else "the transcript does not let it be checked, or there is none",
            table="runs",
        ),
    ]
