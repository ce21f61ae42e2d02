"""What happened in a run, in sentences made of its tables only."""

from __future__ import annotations

from collections.abc import Sequence

from loopscope.models.tables import CheckpointRow, DipRow, RunRow
from loopscope.report import format as fmt


def story(run: RunRow, rows: Sequence[CheckpointRow], dips: Sequence[DipRow], no_final: str = "") -> tuple[str, ...]:
    """A few sentences, the most important first; never empty.

    Args:
        run: the run.
        rows: its commits.
        dips: its dips.
        no_final: why there is no final score, as a sentence.
    """
    if not rows:
        return ("The agent made no commit, so only what it left at the end could be scored.",)
    lines = []
    removed = sum(not r.canonical for r in rows)
    first = f"{fmt.plural(len(rows), 'commit')}"
    first += f", of which {removed} {'does' if removed == 1 else 'do'} not count" if removed else ""
    scored = [r for r in rows if r.canonical and r.score is not None]
    if not scored:
        return (f"{first}. None of them has a score.",)
    best = max(scored, key=lambda r: r.score or 0.0)
    lines.append(f"{first}. The best step scored {fmt.score(best.score)}, at commit {best.position + 1}.")
    if dips:
        fixed = sum(d.target_sha is not None for d in dips)
        deepest = max(d.depth if d.depth is not None else d.before - d.low for d in dips)
        lines.append(
            f"{fmt.plural(len(dips), 'dip')}, the deepest by {fmt.score(deepest)}; "
            f"{fixed} recovered in full or in part."
        )
        if run.dips_within_noise:
            lines.append(
                f"{run.dips_within_noise} of them no deeper than the noise band of {fmt.score(run.noise_band)}, "
                "so chance alone may have lowered C3."
            )
    else:
        lines.append("No commit fell by more than 0.01 below the one before it.")
    if run.final_score is not None and best.score is not None:
        gap = best.score - run.final_score
        if gap >= fmt.EPS:
            lines.append(f"The final state scores {fmt.score(run.final_score)}, {fmt.score(gap)} below the best step.")
        else:
            lines.append(f"The final state scores {fmt.score(run.final_score)}: the best step was kept.")
    if odd := [str(r.position + 1) for r in rows if r.suspicious]:
        which, makes = ("Commit", "makes") if len(odd) == 1 else ("Commits", "make")
        lines.append(f"{which} {', '.join(odd)} {makes} a suspicious jump: read what changed there.")
    if run.final_score is None and no_final:
        lines.append(f"There is no final score. {no_final}")
    failures = sum(r.build_failures or 0 for r in rows)
    if failures:
        lines.append(f"{fmt.plural(failures, 'build')} failed on the way.")
    missing = sum(r.score is None for r in rows)
    if missing:
        lines.append(f"{fmt.plural(missing, 'commit')} {'has' if missing == 1 else 'have'} no score.")
    return tuple(lines)
