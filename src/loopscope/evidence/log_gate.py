"""The proposal gate (Appendix C.1) for commits that only the transcript shows.

The conditions are those of `gate`, on weaker witnesses: the followed artifact instead of trees, the files that were
seen to be written, and reconstructed scores. What cannot be known keeps a commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from loopscope.evidence.events import CommitSeen, Segment
from loopscope.evidence.gate import EPS, Decision, named, reads_as_bookkeeping


def decide_log(commits: Sequence[CommitSeen], scores: Sequence[Decimal | None]) -> list[Decision]:
    """Pass the commits of a transcript through the gate.

    Args:
        commits: in order.
        scores: of each, reconstructed; None is missing.
    """
    replaced, parts = _replaced(commits), gathered(commits)
    decisions: list[Decision] = []
    previous: CommitSeen | None = None
    last_score: Decimal | None = None
    for position, (commit, score) in enumerate(zip(commits, scores, strict=True)):
        if position in replaced:
            decisions.append(Decision(False, f"{replaced[position][1]}; counted once, the last"))
            continue
        decision = _decide_one(commit, parts[position], previous, score, last_score)
        decisions.append(decision)
        previous = commit
        if decision.keep and score is not None:
            last_score = score
    return decisions


def gathered(commits: Sequence[CommitSeen]) -> list[Segment]:
    """What each commit holds: of one that replaced others their segments too, for what they held is in it."""
    parts = [commit.segment for commit in commits]
    for position, (by, _) in sorted(_replaced(commits).items()):
        parts[by] = parts[position].followed_by(parts[by])
    return parts


def _replaced(commits: Sequence[CommitSeen]) -> dict[int, tuple[int, str]]:
    """Commits that were amended, and initial ones that were made again: the position of what replaced them, and why."""
    found: dict[int, tuple[int, str]] = {}
    initial: int | None = None
    for position, commit in enumerate(commits):
        before = next((at for at in range(position - 1, -1, -1) if at not in found), None)
        if commit.amend and commit.confirmed and before is not None:
            found[before] = position, f"amended in message {commit.at.message}"
        if commit.kind == "initial":
            if commit.repeated_initial and initial is not None and initial not in found:
                why = f"the repository was made anew, and message {commit.at.message} begins it again"
                found[initial] = position, why
            initial = position
    return found


def _decide_one(
    commit: CommitSeen,
    part: Segment,
    previous: CommitSeen | None,
    score: Decimal | None,
    last_score: Decimal | None,
) -> Decision:
    if previous is None:
        return Decision(True, "first commit")
    if score is not None and last_score is not None and abs(score - last_score) > EPS:
        return Decision(
            True, f"its reconstructed score differs from the last retained one ({last_score:.4f} to {score:.4f})"
        )
    bookkeeping = reads_as_bookkeeping(commit.message)
    if commit.state is None or previous.state is None:
        if part.records_staged and bookkeeping:
            return Decision(False, f"administrative: only {named(part.records)} was staged, and the message reads so")
        return Decision(True, "it is not known which state of the artifact it holds; uncertain commits stay")
    if commit.state != previous.state:
        what = f" ({named(part.files)})" if part.files else ""
        return Decision(True, f"the artifact differs from that of the commit before{what}")
    if part.uncertain:
        return Decision(True, f"{part.uncertain}; uncertain commits stay")
    if part.others:
        return Decision(True, f"files besides the records were written ({named(part.others)})")
    if not bookkeeping:
        return Decision(
            True, "changes no artifact, but its message does not read as bookkeeping; ambiguous commits stay"
        )
    what = f"only {named(part.records)} was written" if part.records else "nothing was seen to be written"
    return Decision(False, f"administrative: {what}, and the message reads as bookkeeping")
