"""What each measure means, in the report's own words: one entry feeds table heads and the definitions page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loopscope.report import format as fmt


@dataclass(frozen=True)
class Term:
    """One measure or word of the report."""

    key: str
    """Name in tables and anchor on the definitions page."""
    name: str
    shows: str
    """One sentence: what it tells."""
    not_shows: str = ""
    """One sentence: what it must not be read as."""
    formula: str = ""
    show: Callable[[float | None], str] = fmt.score
    missing: str = "no run of this agent has a value"
    """Why a value is typically absent."""
    section: str = ""
    """Where the paper defines it."""
    group: str = ""


OUTCOME = (
    Term(
        "avg-at-k",
        "avg@k",
        "The mean official final score of the k independent rollouts of a task, then the mean over tasks: what one "
        "attempt is worth on average.",
        "Not the quality of the path that led there; two agents with the same mean can work in opposite ways.",
        section="Section 2.2",
    ),
    Term(
        "best-at-k",
        "best@k",
        "The best of the k rollouts of a task, then the mean over tasks: what is in reach when one may try k times.",
        "It rises with k and with luck. Compare it only at equal k, and read it next to avg@k.",
        section="Section 2.2",
    ),
)

PROCESS = (
    Term(
        "c1",
        "C1 Framing",
        "How high the best score so far stands early, midway and late over the first 20 checkpoints.",
        "A run whose starting point already scores is ahead by that; a longer run gets no bonus after 20 checkpoints.",
        "⅓ · ( mean h₁…h₅ + mean h₆…h₁₀ + mean h₁₁…h₂₀ ), h the high-water mark",
        section="Appendix C.2",
        missing="no run has a checkpoint",
        group="Process",
    ),
    Term(
        "c2",
        "C2 Execution",
        "The share of checkpoints that run and pass their correctness gate, discounted for each build that failed on "
        "the way.",
        "It says nothing about how good a delivered checkpoint is. Checkpoints without evidence are left out, not "
        "counted as failed.",
        "mean of g · d(n); d = 1, .85, .70, .60, then .50 for 0, 1, 2, 3, ≥ 4 failed builds",
        section="Appendix C.3",
        missing="no checkpoint could be observed",
        group="Process",
    ),
    Term(
        "c3",
        "C3 Feedback control",
        "How much of the peak survives to the end, and how fully and quickly dips are repaired.",
        "A run that never risked anything has no dips and scores high: read it next to the number of rounds.",
        "A₁ without a dip, else ½ · (A₁ + A₂); A₁ = final over peak, A₂ = mean recovery credit",
        section="Appendix C.4",
        missing="no agent checkpoint with a score",
        group="Process",
    ),
)

DIAGNOSTICS = (
    Term(
        "best_observed",
        "Best observed",
        "The highest official score among the agent's own checkpoints.",
        "The baseline is left out.",
        "p = max x",
        group="C1 shape",
        section="Appendix D",
    ),
    Term(
        "early_capture",
        "Early capture",
        "The share of the best score that the first checkpoint already had.",
        "A high value can mean a good first idea or little progress after it.",
        "x₁ / p",
        fmt.percent,
        "no run with a peak above 0",
        group="C1 shape",
        section="Appendix D",
    ),
    Term(
        "later_headroom",
        "Later headroom",
        "How much of the room left after the first checkpoint was used later.",
        "It is 0 by convention when the first checkpoint already scores 1.",
        "(p − x₁) / (1 − x₁)",
        fmt.percent,
        group="C1 shape",
        section="Appendix D",
    ),
    Term(
        "builds_per_round",
        "Builds per round",
        "How often the agent built or checked between two checkpoints.",
        "Interpreted tasks need no build; few is not bad.",
        show=fmt.rate,
        missing="no round with a matched transcript",
        group="C2 builds",
        section="Appendix D",
    ),
    Term(
        "rounds_with_build_errors",
        "Rounds with errors",
        "The share of rounds with at least one build that failed because of the code.",
        "An agent that never builds shows none.",
        "",
        fmt.percent,
        "no round with a matched transcript",
        group="C2 builds",
        section="Appendix D",
    ),
    Term(
        "trace_coverage",
        "Coverage",
        "The share of rounds whose transcript could be matched, so that builds could be counted.",
        "Low coverage makes the two columns before it weak evidence.",
        "",
        fmt.percent,
        "no round at all",
        group="C2 builds",
        section="Appendix D",
    ),
    Term(
        "peak_retention",
        "Peak retention",
        "How much of the highest step score the final score keeps.",
        "",
        "A₁",
        fmt.score,
        "no scored checkpoint",
        group="C3 feedback",
        section="Appendix D",
    ),
    Term(
        "dip_rate",
        "Dip rate",
        "Dips per round: how often a commit lost more than 0.01.",
        "Exploring costs dips; a rate of 0 may mean nothing was tried.",
        "M / T",
        fmt.score,
        "no round at all",
        group="C3 feedback",
        section="Appendix D",
    ),
    Term(
        "dip_depth",
        "Dip depth",
        "How far a dip falls from the score before it, at its lowest.",
        "Only runs with a dip count.",
        "mean (before − lowest)",
        fmt.score,
        "no run of this agent had a dip",
        group="C3 feedback",
        section="Appendix D",
    ),
    Term(
        "recovery_credit",
        "Recovery credit",
        "How fully and quickly dips are repaired; 1 is a full repair by the next commit.",
        "Only runs with a dip count.",
        "A₂",
        fmt.score,
        "no run of this agent had a dip",
        group="C3 feedback",
        section="Appendix D",
    ),
    Term(
        "rounds",
        "Rounds T",
        "Evaluated commit rounds: how much was observed.",
        "Support for the other columns, not a merit.",
        "",
        fmt.count,
        "no evaluated round",
        group="Exposure",
        section="Appendix D",
    ),
    Term(
        "gain_density",
        "Gain density",
        "The share of transitions that rise by more than 0.01.",
        "",
        "",
        fmt.percent,
        group="Detail",
        section="Appendix D",
    ),
    Term(
        "peak_position",
        "Peak position",
        "Where in the run the best score first appears, from 0 (start) to 1 (end).",
        "",
        "",
        fmt.percent,
        group="Detail",
        section="Appendix D",
    ),
    Term(
        "monotonicity",
        "Monotonicity",
        "The share of transitions that do not fall by more than 0.01.",
        "",
        "",
        fmt.percent,
        group="Detail",
        section="Appendix D",
    ),
    Term(
        "last_rising",
        "Ends rising",
        "The share of runs whose last transition rises by more than 0.01.",
        "A sign that more time might have helped; no proof.",
        "",
        fmt.percent,
        group="Detail",
        section="Appendix D",
    ),
    Term(
        "runs_with_dip",
        "Runs with a dip",
        "The share of runs with at least one dip.",
        "",
        "",
        fmt.percent,
        group="Detail",
        section="Appendix D",
    ),
    Term(
        "evaluated_before_commit",
        "Evaluated first",
        "The share of checkpoints whose state the agent had evaluated before it committed it.",
        "Committing first is a habit, not a fault.",
        "",
        fmt.percent,
        "no transcript tells",
        group="Detail",
    ),
)

WORDS = (
    Term(
        "missing", "— (missing)", "There is no number. It is never counted as 0; the reason stands behind the dash.", ""
    ),
    Term(
        "score",
        "Score",
        "The official reward of the task's verifier, in 0 … 1, run on one state in a fresh sandbox.",
        "Not the agent's own measurement.",
    ),
    Term(
        "spread",
        "Spread",
        "Lowest to highest of repeated verifications of the same state; the score is their median.",
        "A range of few repeats, not a confidence interval.",
    ),
    Term(
        "high-water",
        "High-water mark",
        "The best score of the counted checkpoints so far. A missing score leaves it where it is.",
    ),
    Term(
        "checkpoint",
        "Checkpoint and gate",
        "Every commit is scored. The proposal gate takes out commits that only keep the books (no task artifact "
        "changed, the change and the message are administrative); the rest are canonical and count. The reason of "
        "every decision is kept.",
    ),
    Term(
        "dip",
        "Dip and recovery",
        "A dip starts where a counted score is more than 0.01 below the one before it. It has recovered at the first "
        "later checkpoint that is back to within 0.01; else at the best one after it.",
        "A dip in a noisy verifier can be noise: look at the spread.",
    ),
    Term(
        "grade",
        "Evidence grade",
        "How well a score is known: official (verified here), confirmed, inferred, proxy, missing, in falling order.",
    ),
    Term(
        "final",
        "Final score",
        "The official score of the workspace as the agent left it, from a verification of its own.",
    ),
    Term(
        "k", "k and n", "k is the number of rollouts per agent and task (seeds); n counts the runs that have a value."
    ),
)

GROUPS = ("C1 shape", "C2 builds", "C3 feedback", "Exposure", "Detail")
FLAGS = {
    "out_of_range": "A score lies outside 0 … 1; the measures’ bounds do not hold here.",
    "cut_at_horizon": "C1 looks at the first 20 checkpoints only; this run has more.",
    "no_observed_score": "No checkpoint has a score, so C1 is literally 0; tables over agents leave it out.",
    "unobservable": "C2 leaves out checkpoints that gave no evidence.",
    "failures_unknown": "The failed builds of some checkpoints are unknown, so C2 could not discount them.",
    "final_missing": "There is no final score; C3 takes the last scored step in its place.",
    "counts_unknown": "The candidates tried during a recovery are partly unknown, so C3 could not discount them.",
    "all_zero_rounds": "All rounds and the final score 0: nothing to lose. C3 is literally 1; read it as failure.",
    "singleton_zero": "The only round and the final score 0, so C3 is 0.",
}
"""The measures' remarks on a run, spelled out; other remarks are shown as they stand."""

MEASURES = {term.key: term for term in (*PROCESS, *DIAGNOSTICS)}


def term(key: str) -> Term:
    """The entry of a measure; an unknown one is shown by its name in the table."""
    return MEASURES.get(key) or Term(key, key, "A measure this report has no description of.", group="Other")
