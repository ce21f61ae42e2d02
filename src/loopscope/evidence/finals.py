"""Why nothing tells what the state is worth that a run ended with."""

from __future__ import annotations

from loopscope.evidence.events import Seen
from loopscope.evidence.scores import StateScores

NO_TRANSCRIPT = "no transcript tells what became of its last state"


def why_no_final(scores: StateScores) -> str:
    """The reason for a final score that is missing, in words: where the last state came to be, whether it was committed
    or evaluated, and what the last commit with a score is worth."""
    seen, evaluator, made = scores.seen, scores.evaluator, scores.of_commits
    if evaluator is None or evaluator.reward is None:
        return "its task has no evaluator file with a reward formula"
    if seen.last is None:
        return "no state of the artifact is followed"
    scored = [at for at, item in enumerate(made) if item is not None]
    last = made[scored[-1]] if scored else None
    known = "the transcript gives no commit a score"
    if last is not None:
        commit = seen.commits[scored[-1]]
        known = f"the last commit with a score, {commit.sha} (message {commit.at.message}), is worth {last.value}"
    return f"{_state(scores)}; {known}"


def _state(scores: StateScores) -> str:
    """What became of the last state."""
    seen = scores.seen
    if scores.measures_file and any(item.counted and item.rewards for item in seen.evaluations):
        return "it is not known from which state the file comes that was evaluated last"
    if seen.last_change is None:
        said = "its artifact was never changed"
    else:
        said = f"its artifact was last changed in message {seen.last_change.message}"
    committed = next((commit for commit in reversed(seen.commits) if commit.state == seen.last), None)
    said += f", was committed ({committed.sha})" if committed is not None else ", was not committed"
    return f"{said}, and {_evaluated(seen)}"


def _evaluated(seen: Seen) -> str:
    same = {seen.last, *(variant for variant, files in seen.variants.items() if files == seen.last)}
    tried = [item for item in seen.evaluations if item.state in same]
    if tried:
        return f"no evaluation of it gave a number that counts (message {tried[-1].at.message})"
    unfitted = next((item for item in seen.unfitted if item.state in same), None)
    if unfitted is not None:
        return f"was only run in a way that no rule of the evaluator fits (message {unfitted.at.message})"
    return "was not evaluated"
