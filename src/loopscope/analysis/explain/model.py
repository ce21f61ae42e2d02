"""What an explanation holds (`loopscope explain --json`); docs/explain.md describes it."""

from __future__ import annotations

from loopscope.analysis.explain.told import BuildTold, CandidateTold, CheckpointTold, ScoreTold, Step
from loopscope.models import Record

EXPLANATION_VERSION = 1


class Mark(Record):
    """One canonical checkpoint in C1."""

    i: int
    """Of x_i."""
    position: int
    """Among all commits, from 0."""
    sha: str
    """Id of the commit."""
    x: str | None
    """Exactly; None when missing."""
    h: str
    """Exactly."""
    counts: bool
    """Within the horizon."""


class Framing(Record):
    """C1 (Appendix C.2)."""

    marks: tuple[Mark, ...]
    """All canonical checkpoints."""
    early: Step
    """Mean of h over positions 1 to 5."""
    middle: Step
    """... over 6 to 10."""
    late: Step
    """... over 11 to 20."""
    c1: Step
    """C1."""


class Attempt(Record):
    """One canonical checkpoint in C2."""

    i: int
    """Of x_i."""
    position: int
    """Among all commits, from 0."""
    sha: str
    """Id of the commit."""
    g: bool | None
    """None: not observable."""
    g_reason: str
    """What shows it."""
    n: int | None
    """None: unknown, and not discounted."""
    failures: tuple[BuildTold, ...]
    """The builds that n counts."""
    score: Step | None
    """g * d(n); None outside I."""
    left_out: str = ""
    """Why it is not in I."""
    note: str = ""
    """What else there is to know of n."""


class Execution(Record):
    """C2 (Appendix C.3)."""

    attempts: tuple[Attempt, ...]
    """All canonical checkpoints."""
    c2: Step
    """C2 over I."""
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
    """The pairs that a counts."""
    note: str = ""
    """What else there is to know of a."""


class EpisodeTold(Record):
    """One dip episode (Appendix C.4). Checkpoints by their i of x_i."""

    episode: int
    """As in `dips.parquet`, from 0."""
    before_i: int
    """Where the score stood before it fell."""
    start_i: int
    """i: the first fallen score."""
    low_i: int
    """The last of the falling segment."""
    target_i: int | None
    """j; None when nothing was regained."""
    recovery: str
    """full, partial, none."""
    found: str
    """How the recovery target was found, in words."""
    transitions: tuple[Transition, ...]
    """i+1..j."""
    steps: tuple[Step, ...]
    """p_e, d_e, v_e, depth, b_e, rho_e, L_e, D_e, q_e."""


class FeedbackStep(Record):
    """One observed score of C3, in order."""

    i: int
    """Of x_i."""
    position: int
    """Among all commits, from 0."""
    y: str
    """Exactly."""
    boundary: bool
    """The clean initial state: y_0, no agent round."""


class Feedback(Record):
    """C3 (Appendix C.4)."""

    observed: tuple[FeedbackStep, ...]
    """y_0..y_T with a boundary, else the observed x."""
    dropped: tuple[int, ...]
    """i of the checkpoints without a score: their neighbours are compared."""
    final: ScoreTold
    """The final score, and from where."""
    f: Step
    """As it was used."""
    peak: Step
    """p."""
    a1: Step
    """A1."""
    episodes: tuple[EpisodeTold, ...]
    """In order of their start."""
    a2: Step
    """A2."""
    c3: Step
    """C3."""


class FlagTold(Record):
    """A remark of a measure, spelled out."""

    flag: str
    """As in the column `flags`."""
    meaning: str
    """In words."""


class Explanation(Record):
    """How the numbers of one run came about. Sections that were not asked for are null."""

    explanation_version: int = EXPLANATION_VERSION
    """Of this format."""
    run_id: str
    """Of the run."""
    task: str
    """Its task."""
    category: str
    """The task's family."""
    agent: str
    """Label of the agent."""
    harness: str
    """Agent and version."""
    model: str | None
    """`provider/model`; None for an agent that calls none."""
    seed: int
    """As the agent was given it."""
    status: str
    """How the rollout ended."""
    imported: str | None
    """Format and name of the log, of an imported run; an agent's text may be in it."""
    checkpoints: tuple[CheckpointTold, ...] | None = None
    """All commits, or the one that was asked for."""
    outcome: ScoreTold | None = None
    """The final score, and from where."""
    outcome_steps: tuple[Step, ...] | None = None
    """Counts and scores of the run as a whole."""
    c1: Framing | None = None
    """C1."""
    c2: Execution | None = None
    """C2."""
    c3: Feedback | None = None
    """C3."""
    diagnostics: tuple[Step, ...] | None = None
    """Appendix D."""
    extras: tuple[Step, ...] | None = None
    """What the paper does not have (docs/tables.md)."""
    transcript: tuple[Step, ...] | None = None
    """Counts over the whole transcript."""
    usage: tuple[Step, ...] | None = None
    """Tokens, money, time."""
    flags: tuple[FlagTold, ...] = ()
    """The measures' remarks."""
    warnings: tuple[str, ...] = ()
    """Of evidence; and that the tables are older than the records."""
    disagreements: tuple[str, ...] = ()
    """Between repository and transcript."""
    problems: tuple[str, ...] = ()
    """Of the record, as `stage: message`."""
