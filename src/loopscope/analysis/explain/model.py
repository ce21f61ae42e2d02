"""What an explanation holds (`loopscope explain --format json`); docs/explain.md describes it."""

from __future__ import annotations

from decimal import Decimal

from loopscope.models import Record
from loopscope.models.evidence import BuildSeen, EvaluationSeen, Moment

EXPLANATION_VERSION = 1


class Step(Record):
    """One number and how it came about."""

    name: str
    """Its column in the table, else its sign in the paper."""
    table: str | None = None
    """The table that holds it; None for what only stands on the way to such a number."""
    value: bool | float | None
    """As the table has it; None when there is no value, with the reason in `note`."""
    exact: str | None = None
    """The same exactly: a decimal, or a fraction."""
    formula: str = ""
    """How it is made, in the signs of the paper or in words."""
    terms: str | None = None
    """The formula with the numbers put in: arithmetic that gives `exact`. None where nothing is to be worked out."""
    note: str = ""
    """What else decides: from where the number is, which case of the formula holds, why there is no value."""


class VerificationTold(Record):
    """One run of the task's verifier."""

    status: str
    reward: Decimal | None
    reason: str | None
    """Why there is no reward, or what was odd about it."""


class EvaluationTold(Record):
    """One evaluation in the transcript."""

    number: int
    """Position among the run's evaluations, from 0 (`RunEvidence.evaluations`)."""
    seen: EvaluationSeen


class BuildTold(Record):
    """One build in the transcript."""

    number: int
    """Position among the run's builds, from 0 (`RunEvidence.builds`)."""
    seen: BuildSeen


class CandidateTold(Record):
    """One pair of state and evaluation command: what a counts, however often it was run."""

    state: str
    command: str
    at: tuple[Moment, ...]
    """Each time that it was run."""


class ScoreTold(Record):
    """A score and where it is from."""

    origin: str
    """`official`: the task's verifier gave it. `reconstructed`: made of evaluations in the transcript. `missing`."""
    grade: str
    """How well it is known."""
    step: Step
    metric: Decimal | None = None
    """What it was made of, in the task's own unit."""
    file: str | None = None
    """Of an official score: its document, relative to the study."""
    verifier_run: str | None = None
    """The run whose state was verified, where that is another run with an equal tree."""
    verifications: tuple[VerificationTold, ...] = ()
    reconstruction: Step | None = None
    """The score by the transcript, also where an official one stands beside it."""
    evaluations: tuple[EvaluationTold, ...] = ()
    """Those that the reconstruction is made of."""
    rewards: tuple[Step, ...] = ()
    """How each value that they printed became a reward, where the task's formula is known."""


class CheckpointTold(Record):
    """One commit. Fields that are columns of `checkpoints.parquet` have their names."""

    position: int
    """Among all commits, from 0."""
    index: int | None
    """i of x_i: among the canonical checkpoints, from 1; None when the gate removed it."""
    sha: str
    subject: str
    """An agent's text."""
    kind: str | None
    canonical: bool
    gate_reason: str
    initial: bool
    ambiguous_initial: bool
    grade: str
    source: str
    at: Moment | None
    """The call that made it, as far as a transcript shows it."""
    confirmed_by: str | None
    state: str | None
    score: ScoreTold
    score_min: float | None
    score_max: float | None
    n_verifications: int
    high_water: float | None
    delivered: bool | None
    delivered_reason: str
    builds: int | None
    build_failures: int | None
    env_failures: int | None
    candidates: int | None
    builds_by_state: int | None
    build_failures_by_state: int | None
    candidates_by_state: int | None
    evaluated_before_commit: bool | None
    claimed: Decimal | None
    remarks: tuple[str, ...]
    builds_seen: tuple[BuildTold, ...]
    """Of its window, those that count nowhere too."""
    evaluations_seen: tuple[EvaluationTold, ...]
    """Of its window, those that count nowhere too."""
    candidates_seen: tuple[CandidateTold, ...]
    """The pairs that `candidates` counts."""


class Mark(Record):
    """One canonical checkpoint in C1."""

    i: int
    position: int
    sha: str
    x: str | None
    """Exactly; None when missing."""
    h: str
    counts: bool
    """Within the horizon."""


class Framing(Record):
    """C1 (Appendix C.2)."""

    marks: tuple[Mark, ...]
    early: Step
    middle: Step
    late: Step
    c1: Step


class Attempt(Record):
    """One canonical checkpoint in C2."""

    i: int
    position: int
    sha: str
    g: bool | None
    """None: not observable."""
    g_reason: str
    n: int | None
    """None: unknown, and not discounted."""
    failures: tuple[BuildTold, ...]
    """The builds that n counts."""
    score: Step | None
    """g * d(n); None outside I."""
    left_out: str = ""
    """Why it is not in I."""
    note: str = ""


class Execution(Record):
    """C2 (Appendix C.3)."""

    attempts: tuple[Attempt, ...]
    c2: Step
    as_zero: Step
    """Each unobservable checkpoint a failed delivery: the lowest that C2 can have been."""
    as_one: Step
    """... a clean delivery: the highest."""
    low: Step
    """The least that C2 can have been, whatever is unknown: not observable, or a count of failures."""
    high: Step
    """The most."""


class Transition(Record):
    """One step i+1..j of a recovery."""

    i: int
    """Of the checkpoint that it leads into."""
    a: int
    """Known candidate pairs, those of missing checkpoints before it included."""
    a_known: bool
    """All of them are known; what is unknown adds nothing."""
    u: int
    """max(0, a - 1)"""
    d: str
    """d(u)"""
    candidates: tuple[CandidateTold, ...]
    note: str = ""


class EpisodeTold(Record):
    """One dip episode (Appendix C.4). Checkpoints by their i of x_i."""

    episode: int
    """As in `dips.parquet`, from 0."""
    before_i: int
    start_i: int
    low_i: int
    target_i: int | None
    """j; None when nothing was regained."""
    recovery: str
    """full, partial, none."""
    found: str
    """How the recovery target was found, in words."""
    transitions: tuple[Transition, ...]
    steps: tuple[Step, ...]
    """p_e, d_e, v_e, depth, b_e, rho_e, L_e, D_e, q_e."""


class FeedbackStep(Record):
    """One observed score of C3, in order."""

    i: int
    position: int
    y: str
    boundary: bool
    """The clean initial state: y_0, no agent round."""


class Feedback(Record):
    """C3 (Appendix C.4)."""

    observed: tuple[FeedbackStep, ...]
    dropped: tuple[int, ...]
    """i of the checkpoints without a score: their neighbours are compared."""
    final: ScoreTold
    f: Step
    """As it was used."""
    peak: Step
    a1: Step
    episodes: tuple[EpisodeTold, ...]
    a2: Step
    c3: Step


class FlagTold(Record):
    """A remark of a measure, spelled out."""

    flag: str
    meaning: str


class Explanation(Record):
    """How the numbers of one run came about. Sections that were not asked for are null."""

    explanation_version: int = EXPLANATION_VERSION
    run_id: str
    task: str
    category: str
    agent: str
    harness: str
    model: str | None
    seed: int
    status: str
    imported: str | None
    """Format and name of the log, of an imported run; an agent's text may be in it."""
    checkpoints: tuple[CheckpointTold, ...] | None = None
    outcome: ScoreTold | None = None
    outcome_steps: tuple[Step, ...] | None = None
    """Counts and scores of the run as a whole."""
    c1: Framing | None = None
    c2: Execution | None = None
    c3: Feedback | None = None
    diagnostics: tuple[Step, ...] | None = None
    extras: tuple[Step, ...] | None = None
    transcript: tuple[Step, ...] | None = None
    usage: tuple[Step, ...] | None = None
    flags: tuple[FlagTold, ...] = ()
    warnings: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
