"""What a run evaluated, claimed, left behind and measured twice, taken from evidence for the extra measures."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from loopscope.analysis.commits import ScoreSource
from loopscope.analysis.runs import CommitRow, RunAnalysis
from loopscope.evidence.remarks import SUSPICIOUS
from loopscope.measures import (
    DipConfidence,
    Episode,
    confidence_of_dip,
    depth_in_bands,
    exact,
    extras,
    mean,
    noise_band,
    pooled_sd,
)
from loopscope.models import Grade
from loopscope.models.evaluator import EvaluationRole
from loopscope.records import FINAL


def candidates(run: RunAnalysis) -> extras.Candidates | None:
    """States that the agent evaluated, and those of them that its checkpoints hold; None without a transcript."""
    if run.evidence.tool_calls is None:
        return None
    evaluated = (seen.state for seen in run.evidence.evaluations if seen.counted and seen.state is not None)
    committed = (row.evidence.state for row in run.canonical if row.evidence.state is not None)
    return extras.candidates(evaluated, committed)


def claim_gap(run: RunAnalysis) -> Fraction | None:
    """Claimed minus measured where they lie farthest apart, over the checkpoints that have both."""
    return extras.largest_claim_gap((row.evidence.claimed, row.value) for row in run.canonical)


def measured_states(run: RunAnalysis) -> dict[str, list[Decimal]]:
    """Rewards of every state that was surely evaluated, ascending, by its name."""
    by_state: dict[str, list[Decimal]] = {}
    for seen in run.evidence.evaluations:
        if seen.counted and seen.certain and seen.state is not None and seen.role == EvaluationRole.SCORE:
            by_state.setdefault(seen.state, []).extend(seen.rewards)
    return {state: sorted(rewards) for state, rewards in by_state.items() if rewards}


def left_behind(run: RunAnalysis) -> Fraction | None:
    """Best reconstructed score of any state that was surely evaluated, minus the best score of a checkpoint."""
    # As for every score, the middle of what was measured: a lucky single run of many is no better candidate.
    found = [rewards[(len(rewards) - 1) // 2] for rewards in measured_states(run).values()]
    return extras.left_behind(found, [row.value for row in run.canonical])


def verified_spreads(run: RunAnalysis) -> list[tuple[int | None, Decimal]]:
    """(position of the commit, largest minus smallest official reward) of what was verified twice; None: the end."""
    scored = [*enumerate(row.scored for row in run.rows), (None, run.final_scored)]
    return [
        (at, found.rewards[-1] - found.rewards[0])
        for at, found in scored
        if found.source is ScoreSource.OFFICIAL and len(found.rewards) > 1
    ]


def band(run: RunAnalysis) -> Fraction | None:
    """The run's noise band: of its repeated official verifications, else of the agent's own repeated evaluations."""
    official = noise_band((0, spread) for _, spread in verified_spreads(run))
    return exact(run.evidence.noise_band) if official is None else official


def repeats(run: RunAnalysis) -> tuple[tuple[Decimal, ...], ...]:
    """All measurements of each state that was measured repeatedly: by the verifier, else by the agent, as in `band`.

    The agent's are told apart by their command, too: another command may measure something else.
    """
    verified: dict[str, tuple[Decimal, ...]] = {}
    named = ((row.commit.state if row.commit else row.sha, row.scored) for row in run.rows)
    for state, found in (*named, (FINAL, run.final_scored)):
        if found.source is ScoreSource.OFFICIAL and len(found.rewards) > 1:
            verified[state] = found.rewards
    if verified:
        return tuple(verified.values())
    if run.evidence.noise_band is None:  # where a file is measured, nobody can tell noise from progress
        return ()
    seen: dict[tuple[str, str], tuple[Decimal, ...]] = {}
    for one in run.evidence.evaluations:
        if one.counted and one.certain and one.state is not None:
            seen[one.state, one.command] = seen.get((one.state, one.command), ()) + one.rewards
    return tuple(rewards for rewards in seen.values() if len(rewards) > 1)


def confidence(run: RunAnalysis, episode: Episode) -> DipConfidence | None:
    """How sure a dip is, from the measurements of its two checkpoints, or from the noise of the run's other states."""
    before, after = (run.canonical[at].scored.rewards for at in (episode.before_index, episode.start_index))
    if not before or not after:
        return None
    return confidence_of_dip(before, after, noise_sd(run) if min(len(before), len(after)) == 1 else None)


def noise_sd(run: RunAnalysis) -> float | None:
    """Standard deviation of one measurement, pooled over the states that were measured repeatedly."""
    return pooled_sd(repeats(run))


def confidences(run: RunAnalysis) -> list[Fraction]:
    """Of the dips whose confidence is known."""
    found = (confidence(run, episode) for episode in run.c3.episodes)
    return [confidence_value(one) for one in found if one is not None]


def confidence_value(found: DipConfidence) -> Fraction:
    """A share of pairs exactly; a probability of the normal as its double is printed."""
    if found.method == "pairs":
        return Fraction(round(found.value * found.pairs), found.pairs)
    return exact(found.value) or Fraction(0)


def mean_confidence(run: RunAnalysis) -> Fraction | None:
    """Mean over the dips whose confidence is known; None without one."""
    return mean(confidences(run))


def dips_within_noise(run: RunAnalysis) -> int | None:
    """Dips no deeper than the noise band; None where no band is known."""
    found = band(run)
    return None if found is None else sum(episode.depth <= found for episode in run.c3.episodes)


def depth_in_noise(run: RunAnalysis, episode: Episode) -> Fraction | None:
    """How many noise bands deep a dip is."""
    return depth_in_bands(episode.depth, band(run))


def saturation(run: RunAnalysis) -> Fraction | None:
    """Share of the evaluated rounds at a score of 1."""
    return extras.saturation(row.value for row in run.canonical if row.is_evaluated_proposal)


def jumps(run: RunAnalysis) -> int | None:
    """Transitions between checkpoints that rise by more than 0.3."""
    return extras.jumps(row.value for row in run.canonical)


def suspicious(run: RunAnalysis) -> int:
    """Checkpoints whose jump evidence cannot explain."""
    return sum(map(is_suspicious, run.canonical))


def is_suspicious(row: CommitRow) -> bool:
    """Whether evidence cannot explain a commit's jump."""
    return any(remark.startswith(SUSPICIOUS) for remark in row.evidence.remarks)


def graded(run: RunAnalysis, grade: Grade) -> Fraction | None:
    """Share of the checkpoints whose score is known so well."""
    return extras.share_of(grade, [row.scored.grade for row in run.canonical])
