"""What every part of an explanation is made of: steps, scores, checkpoints. docs/explain.md describes it."""

from __future__ import annotations

from decimal import Decimal

from loopscope.models import Record
from loopscope.models.evidence import BuildSeen, EvaluationSeen, Moment


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
    """How it ended (`VerificationStatus`)."""
    reward: Decimal | None
    """Exactly as printed; None when it gave none."""
    reason: str | None
    """Why there is no reward, or what was odd about it."""


class EvaluationTold(Record):
    """One evaluation in the transcript."""

    number: int
    """Position among the run's evaluations, from 0 (`RunEvidence.evaluations`)."""
    seen: EvaluationSeen
    """As in evidence.json."""


class BuildTold(Record):
    """One build in the transcript."""

    number: int
    """Position among the run's builds, from 0 (`RunEvidence.builds`)."""
    seen: BuildSeen
    """As in evidence.json."""


class CandidateTold(Record):
    """One pair of state and evaluation command: what a counts, however often it was run."""

    state: str
    """Name of the state of the artifact."""
    command: str
    """Normalised; an agent's text."""
    at: tuple[Moment, ...]
    """Each time that it was run."""


class ScoreTold(Record):
    """A score and where it is from."""

    origin: str
    """`official`: the task's verifier gave it. `reported`: an imported log states it. `reconstructed`: made of
    evaluations in the transcript. `missing`."""
    grade: str
    """How well it is known."""
    step: Step
    """The score that the tables have."""
    metric: Decimal | None = None
    """What it was made of, in the task's own unit."""
    file: str | None = None
    """Of an official score: its document, relative to the study."""
    where: str | None = None
    """Of a reported score: file and field of the log."""
    verifier_run: str | None = None
    """The run whose state was verified, where that is another run with an equal tree."""
    verifications: tuple[VerificationTold, ...] = ()
    """All of them, in order."""
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
    """Id of the commit; of an imported run as far as the log shows it, else `m<message>.<order>`."""
    subject: str
    """An agent's text."""
    kind: str | None
    """What the transcript shows of it."""
    canonical: bool
    """It passed the proposal gate."""
    gate_reason: str
    """Why the gate kept or removed it."""
    initial: bool
    """The clean initial state."""
    ambiguous_initial: bool
    """A first commit that is neither surely clean nor surely changed."""
    grade: str
    """How well its score is known."""
    source: str
    """From where the commit is known: repository, transcript or both."""
    at: Moment | None
    """The call that made it, as far as a transcript shows it."""
    confirmed_by: str | None
    """By what it is known that it happened."""
    state: str | None
    """State of the artifact that it holds."""
    score: ScoreTold
    """Its score, and from where."""
    score_min: float | None
    """Least of the measurements behind the score."""
    score_max: float | None
    """Greatest of them."""
    n_verifications: int
    """Official verifications."""
    high_water: float | None
    """h: best score so far."""
    delivered: bool | None
    """g; None: not observable."""
    delivered_reason: str
    """What shows that."""
    builds: int | None
    """b of its window; None where unknown, as are the next three."""
    build_failures: int | None
    """n: those that failed because of the code."""
    env_failures: int | None
    """Builds and evaluations that the environment failed."""
    candidates: int | None
    """a: distinct pairs of state and evaluation command."""
    builds_by_state: int | None
    """On the very artifact that was committed, whenever in the run; so are the next two."""
    build_failures_by_state: int | None
    """Code failures on it."""
    candidates_by_state: int | None
    """Distinct evaluation commands on it."""
    evaluated_before_commit: bool | None
    """Its state had been evaluated before."""
    claimed: Decimal | None
    """What its own message claims."""
    remarks: tuple[str, ...]
    """What is odd about it."""
    builds_seen: tuple[BuildTold, ...]
    """Of its window, those that count nowhere too."""
    evaluations_seen: tuple[EvaluationTold, ...]
    """Of its window, those that count nowhere too."""
    candidates_seen: tuple[CandidateTold, ...]
    """The pairs that `candidates` counts."""
