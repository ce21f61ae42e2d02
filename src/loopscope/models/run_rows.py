"""Rows of the tables that tell of single runs: runs, their commits, dips, builds and evaluations.

Behind the meaning of a column stands `[unit; place]`: its unit and where the paper or a design page defines it. None is
missing, never zero. `docs/tables.md` is made of these words.
"""

from __future__ import annotations

from datetime import datetime

from loopscope.models.value_types import value_type


@value_type
class RunRow:
    """`runs.parquet`: one rollout and its measures. One row per run with a readable record, by run id."""

    run_id: str
    """Name of its directory."""
    task: str
    """Name of the task."""
    category: str
    """The task's family."""
    agent: str
    """Label of the agent."""
    harness: str
    """Agent and version."""
    model: str | None
    """`provider/model`; None for an agent that calls none."""
    seed: int
    """As the agent was given it, or as it was numbered on import."""
    status: str
    """How the rollout ended (`RunStatus`)."""
    imported: bool
    """loopscope did not do the run itself: it has no repository, and no score of it is official."""
    log_format: str | None
    """Format of the imported log; None for a run of our own."""
    final_score: float | None
    """f: official, else, for an imported run, as its log reports it, else reconstructed; `final_source` says which.
    [reward; 2.2]"""
    final_source: str | None
    """`official`, `reported` or `reconstructed`; None without a final score."""
    final_grade: str
    """How well the final score is known (`Grade`)."""
    final_reconstructed: float | None
    """Score of an imported run's last state by its transcript, also where a reported one counts. [reward; metrics]"""
    final_paired: float | None
    """The official final score with the starter and the reference as measured here, beside it and never in its place;
    None where the task is not calibrated or the score is no official one. [reward; calibration]"""
    final_spread: float | None
    """Largest minus smallest official final reward; None unless two were measured. [reward; metrics]"""
    final_status: str
    """How the verification behind the final score ended (`VerificationStatus`), or `not_verified`."""
    best_step_score: float | None
    """Best score of any commit, official, else reconstructed. [reward; ]"""
    n_commits: int
    """All commits. [count; ]"""
    n_checkpoints: int
    """Commits that passed the proposal gate. [count; C.1]"""
    n_reconstructed: int
    """Those of them whose score is reconstructed and no official one. [count; metrics]"""
    rounds_T: int | None
    """T: observed agent checkpoints. [count; C.4]"""
    duration_sec: float | None
    """From the start of the try to its record. [s; ]"""
    agent_sec: float | None
    """The agent's own run. [s; 2.3]"""
    cost_usd: float | None
    """As the agent, or an imported run's log, reports it. [USD; 2.3]"""
    priced_usd: float | None
    """All tokens at the dated list prices of the run's model (`analysis/prices.yaml`), cached ones at the cache's.
    [USD; metrics]"""
    priced_full_usd: float | None
    """The same with all input at the full price, as the paper counts it. [USD; 2.3]"""
    tokens: int | None
    """All input, cached too, plus output. [count; 2.3]"""
    usage_source: str
    """Where the tokens were taken from."""
    usage_completeness: str | None
    """Of an imported log: `complete`, `partial` (some responses are not counted: tokens and prices are too low) or
    `unknown`; None for a run of our own."""
    tool_calls: int | None
    """Interaction steps: tool calls of all threads. [count; 2.3]"""
    c1: float | None
    """C1, Solution Framing. [share; C.2]"""
    c2: float | None
    """C2, Execution, over the observable checkpoints. [share; C.3]"""
    c3: float | None
    """C3, Feedback Control. [share; C.4]"""
    c2_unobserved_as_zero: float | None
    """C2 with each unobservable checkpoint as a failed delivery. [share; C.3]"""
    c2_low: float | None
    """Least C2 over every way to fill in what is unknown. [share; C.3]"""
    c2_high: float | None
    """Greatest C2 over every way to fill in what is unknown. [share; C.3]"""
    n_dips: int | None
    """M: dip episodes. [count; C.4]"""
    build_coverage: float | None
    """The same as `trace_coverage`. [share; D.2]"""
    last_rising: bool | None
    """The last transition rises by more than eps. [; D.3]"""
    best_observed: float | None
    """p: best score of an agent proposal. [reward; D.1]"""
    early_capture: float | None
    """x_1 / p. [share; D.1]"""
    later_headroom: float | None
    """(p - x_1) / (1 - x_1); 0 where x_1 = 1. [share; D.1]"""
    builds_per_round: float | None
    """Mean b of the evaluated proposals. [count; D.2]"""
    rounds_with_build_errors: float | None
    """Share of the matched rounds with a code-related build failure. [share; D.2]"""
    builds_per_round_by_state: float | None
    """Like `builds_per_round`, counted on the very artifacts that were committed. [count; metrics]"""
    rounds_with_build_errors_by_state: float | None
    """Like `rounds_with_build_errors`, counted on the very artifacts that were committed. [share; metrics]"""
    peak_retention: float | None
    """A1. [share; D.3]"""
    dip_rate: float | None
    """M / T. [share; D.3]"""
    dip_depth: float | None
    """Mean of p_e - v_e. [reward; D.3]"""
    recovery_credit: float | None
    """A2. [share; D.3]"""
    gain_density: float | None
    """Share of the transitions between proposals that rise by more than eps. [share; D]"""
    peak_position: float | None
    """Round of the earliest highest score / T. [share; D]"""
    monotonicity: float | None
    """Share of the transitions that do not fall by more than eps. [share; D]"""
    trace_coverage: float | None
    """|I| / |C|: evaluated proposals with a matched transcript segment. [share; D.2]"""
    evaluated_before_commit: float | None
    """Share of the agent's checkpoints whose state it had evaluated before the commit. [share; extras]"""
    candidates_evaluated: int | None
    """Distinct states of the artifact that the agent evaluated. [count; extras]"""
    candidates_committed: int | None
    """Those of them that a checkpoint holds. [count; extras]"""
    committed_share: float | None
    """`candidates_committed` / `candidates_evaluated`. [share; extras]"""
    claim_gap: float | None
    """Claimed minus measured score, where the two lie farthest apart; positive: claimed too much. [reward; extras]"""
    left_behind: float | None
    """Best reconstructed score of any evaluated state minus the best score of a checkpoint. [reward; extras]"""
    noise_band: float | None
    """Median of the spreads of states that were measured repeatedly: by the verifier, else by the agent.
    [reward; extras]"""
    dip_confidence: float | None
    """Mean of the `dips.confidence` that are known. [share; extras]"""
    dips_within_noise: int | None
    """Dips no deeper than the noise band; None where no band is known. [count; extras]"""
    saturation: float | None
    """Share of the evaluated rounds at a score of 1: there only `checkpoints.metric` tells more. [share; extras]"""
    jumps: int | None
    """Transitions that rise by more than 0.3. [count; extras]"""
    suspicious: int
    """Checkpoints with a jump that no change of the artifact explains, or to exactly 1. [count; extras]"""
    n_remarks: int
    """Checkpoints of which evidence remarks something odd. [count; extras]"""
    grade_official: float | None
    """Share of the checkpoints with an official score; the next four likewise by grade. [share; extras]"""
    grade_confirmed: float | None
    """Reconstructed for sure. [share; extras]"""
    grade_inferred: float | None
    """Reconstructed, with a doubt. [share; extras]"""
    grade_proxy: float | None
    """Only a claim or a partial evaluation. [share; extras]"""
    grade_missing: float | None
    """No score. [share; extras]"""
    order_checked: bool | None
    """The log's order is the order in time, as far as it can be checked; None without a transcript. [; extras]"""
    n_disagreements: int
    """Where repository and transcript say different things. [count; evidence]"""
    n_states: int | None
    """Different states of the artifact that the transcript shows. [count; evidence]"""
    n_builds: int | None
    """Builds of the artifact in the whole run; None without a transcript. [count; evidence]"""
    n_build_failures: int | None
    """Those of them that failed because of the code. [count; evidence]"""
    n_evaluations: int | None
    """Objective evaluations in the whole run, profiled ones left out; None without a transcript. [count; evidence]"""
    plan_calls: int | None
    """Calls of task and to-do tools and of plan mode; None without a transcript, like the next six. [count; support]"""
    failed_calls: int | None
    """Tool calls that failed or that the harness refused. [count; support]"""
    failed_then_changed: int | None
    """Those that were called again with changed arguments. [count; support]"""
    compactions: int | None
    """Compactions of the context. [count; support]"""
    resumes: int | None
    """Resumed sessions. [count; support]"""
    subagents: int | None
    """Subagents that were started. [count; support]"""
    background: int | None
    """Commands that went on in the background. [count; support]"""
    flags: tuple[str, ...]
    """Remarks of the measures (`Flag`), then warnings of evidence in words."""
    problems: tuple[str, ...]
    """What went wrong, as `stage: message`."""


@value_type
class CheckpointRow:
    """`checkpoints.parquet`: one commit of a run, as the measures took it. By run id, then in order."""

    run_id: str
    """The run."""
    position: int
    """Among all commits, from 0."""
    canonical_index: int | None
    """Among the canonical checkpoints, from 0; None when the gate removed it. [; C.1]"""
    sha: str
    """Id of the commit; of an imported run as far as the log shows it, else `m<message>.<order>`."""
    subject: str
    """First line of the message, at most 500 characters; an agent's text."""
    commit_time: datetime | None
    """The agent's claim; ISO 8601 in the file, since zoned columns cannot be read where the zone files are absent."""
    score: float | None
    """x: official, else, for an imported run, reconstructed; `score_source` says which. [reward; C.1]"""
    score_source: str | None
    """`official` or `reconstructed`; None without a score."""
    score_min: float | None
    """Least of the measurements behind the score. [reward; ]"""
    score_max: float | None
    """Greatest of them. [reward; ]"""
    paired: float | None
    """The official score with the starter and the reference as measured here; None as of `runs.final_paired`.
    [reward; calibration]"""
    metric: float | None
    """What the score was made of, in the task's own unit; None where nothing tells it. [task's; extras]"""
    reconstructed: float | None
    """Score by the transcript's evaluations of this state, also beside an official one. [reward; metrics]"""
    claimed: float | None
    """What the agent's own message claims. [reward; extras]"""
    n_verifications: int
    """Official verifications of the state. [count; ]"""
    status: str
    """How the verification behind the score ended (`VerificationStatus`), or `not_verified`."""
    high_water: float | None
    """h: best score so far. [reward; C.2]"""
    canonical: bool
    """It passed the proposal gate. [; C.1]"""
    initial: bool
    """The clean initial state: a score boundary. [; C.4]"""
    ambiguous_initial: bool
    """An initial state that no audit can call clean: no attempt (C2), but an ordinary checkpoint elsewhere. [; C.3]"""
    gate_reason: str
    """Why the gate kept or removed it."""
    grade: str
    """How well the score is known (`Grade`). [; extras]"""
    source: str
    """From where the commit is known: repository, transcript or both."""
    kind: str | None
    """What the transcript shows of it: initial, change+hypothesis, round, revert, administrative, other."""
    confirmed_by: str | None
    """By what it is known that it happened: repository, output, history, exit, none."""
    message: int | None
    """Index of the message, line or step that called it, in the thread's own log."""
    state: str | None
    """State of the artifact that it holds: equal names are equal artifacts within the run."""
    delivered: bool | None
    """g: it ran to completion and passed its gate; None: not observable. [; C.3]"""
    delivered_reason: str
    """What shows that."""
    builds: int | None
    """b, in the window that ends with the commit; so are the next three. [count; D.2]"""
    build_failures: int | None
    """n: builds that failed because of the code. [count; C.3]"""
    env_failures: int | None
    """Builds and evaluations that the environment failed; they enter nothing. [count; C.3]"""
    candidates: int | None
    """a: distinct pairs of state and evaluation command. [count; C.4]"""
    builds_by_state: int | None
    """b on the very artifact that was committed, whenever in the run; so are the next two. [count; metrics]"""
    build_failures_by_state: int | None
    """n on it. [count; metrics]"""
    candidates_by_state: int | None
    """Distinct evaluation commands that were run on it. [count; metrics]"""
    evaluated_before_commit: bool | None
    """The committed state had been evaluated before the commit. [; extras]"""
    is_dip_start: bool
    """A dip begins here: d_e. [; C.4]"""
    is_recovery: bool
    """A dip ends here: b_e. [; C.4]"""
    dip_episode: int | None
    """Number of the first episode that goes over it. [; C.4]"""
    remarks: tuple[str, ...]
    """What is odd about it, in words. [; extras]"""
    suspicious: bool
    """One of the remarks is of a jump that no change of the artifact explains, or to exactly 1. [; extras]"""


@value_type
class DipRow:
    """`dips.parquet`: one dip episode of C3 (Appendix C.4). By run id, then in order."""

    run_id: str
    """The run."""
    episode: int
    """Among the run's episodes, from 0."""
    start_sha: str
    """i: the first fallen checkpoint. [; C.4]"""
    low_sha: str
    """The lowest of the descending segment. [; D.3]"""
    target_sha: str | None
    """j, where it was recovered to; None when nothing was regained. [; C.4]"""
    before: float
    """p_e. [reward; C.4]"""
    low: float
    """v_e. [reward; D.3]"""
    recovered_to: float | None
    """b_e; None when nothing was regained. [reward; C.4]"""
    depth: float
    """p_e - v_e. [reward; D.3]"""
    length: int
    """L_e: official transitions that the recovery took, at least 1. [count; C.4]"""
    rho: float
    """Share of the fall that was regained. [share; C.4]"""
    credit: float
    """q_e. [share; C.4]"""
    confidence: float | None
    """The chance that one more measurement of each side shows the dip again; None where a side was measured once and no
    noise is known. [share; extras]"""
    confidence_method: str | None
    """`pairs`: both sides were measured repeatedly; `pooled noise`: the noise of other states stands in. [; extras]"""
    confidence_pairs: int | None
    """Pairs (measurement before, measurement at the start). [count; extras]"""
    depth_in_noise: float | None
    """depth / the run's noise band; None where there is no band or nothing ever differed. [bands; extras]"""


@value_type
class BuildRow:
    """`builds.parquet`: one invocation of a build tool, or an evaluation that builds. By run id, then in order."""

    run_id: str
    """The run."""
    number: int
    """Among the run's builds, from 0."""
    thread: str
    """`main`, or the name of the subagent's thread."""
    message: int
    """Index of the message, line or step that called it, in the thread's own log."""
    call: int
    """Position of the call among the thread's calls."""
    order: int
    """Of the command within the call's script."""
    tool: str
    """`make`, `cargo build`, ...; `evaluation`: one that builds by itself; of a built-in agent's step: its kind."""
    status: str
    """How it ended (`BuildStatus`). [; C.3]"""
    reason: str
    """By what that is known."""
    runtime_failure: bool
    """It built, and what it then ran failed."""
    counted: bool
    """It enters b and, as a code failure, n. [; C.3]"""
    state: str | None
    """State of the artifact that it built; None when unknown."""
    checkpoint: int | None
    """Position of the commit whose window it is in; None behind the last."""


@value_type
class EvaluationRow:
    """`evaluations.parquet`: one objective evaluation that an agent ran. By run id, then in order."""

    run_id: str
    """The run."""
    number: int
    """Among the run's evaluations, from 0."""
    thread: str
    """`main`, or the name of the subagent's thread."""
    message: int
    """Index of the message, line or step that called it, in the thread's own log."""
    call: int
    """Position of the call among the thread's calls."""
    order: int
    """Of the command within the call's script."""
    command: str
    """Normalised, at most 500 characters; two that are equal on one state are one candidate. [; C.4]"""
    role: str
    """`score` gives the number that counts, `part` that of a part, `check` only right or wrong."""
    status: str
    """What became of it (`EvaluationStatus`)."""
    raw: tuple[float, ...]
    """What it printed. [task's; ]"""
    rewards: tuple[float, ...]
    """The same through the task's formula; empty without one. Never official. [reward; metrics]"""
    reason: str
    """What is to be said of it."""
    state: str | None
    """State of the artifact that it measured; None when unknown."""
    certain: bool
    """That is the state for sure."""
    builds: bool | None
    """It builds by itself; None where nothing shows it. [; D.2]"""
    counted: bool
    """It enters a. [; C.4]"""
    checkpoint: int | None
    """Position of the commit whose window it is in; None behind the last."""
    result_message: int | None
    """Index of the message that shows the values."""
