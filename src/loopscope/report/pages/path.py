"""The path of a run as a figure: score per commit, what each mark is and says."""

from __future__ import annotations

from collections.abc import Sequence

from loopscope.models.tables import CheckpointRow, DipRow, RunRow
from loopscope.report import curve
from loopscope.report import format as fmt
from loopscope.report.inputs import RunFiles
from loopscope.report.pages.chart import Chart, chart
from loopscope.report.pages.commits import kind_of, score_missing
from loopscope.report.pages.dips import confidence
from loopscope.report.pages.reconstruction import RECONSTRUCTED
from loopscope.report.text import one_line


def path_chart(run: RunRow, rows: Sequence[CheckpointRow], dips: Sequence[DipRow], files: RunFiles) -> Chart | None:
    """The figure with all that its marks say when pointed at; None of a run without commits."""
    if not rows:
        return None
    falling = _falling(dips, rows)
    sure = {d.start_sha: confidence(d) for d in dips if d.confidence is not None}
    points = [
        curve.Point(
            number=r.position + 1,
            label=f"{r.position + 1}: {one_line(r.subject, 70)}",
            score=r.score,
            low=r.score_min,
            high=r.score_max,
            water=r.high_water,
            kind=kind_of(r),
            note=_tip(r, sure.get(r.sha, "")),
            falling=r.position in falling,
            odd=r.suspicious,
        )
        for r in rows
    ]
    final = files.scores.get("final")
    rewards = final.rewards if final else ()
    ends = (float(rewards[0]), float(rewards[-1])) if rewards else (None, None)
    title = f"Score per commit: {one_line(run.task, 60)}, {one_line(run.agent, 60)}, seed {run.seed}"
    return chart(curve.run_curve("curve", title, points, curve.FinalPoint(run.final_score, *ends)))


def _falling(dips: Sequence[DipRow], rows: Sequence[CheckpointRow]) -> set[int]:
    """Positions on a dip's way down, from its start to its lowest point."""
    places = {r.sha: r.position for r in rows}
    spans = [(places.get(d.start_sha or ""), places.get(d.low_sha or "")) for d in dips]
    return {p for start, low in spans if start is not None and low is not None for p in range(start, low + 1)}


def _tip(row: CheckpointRow, sure: str) -> str:
    if row.score is None:
        return f"{fmt.DASH} {score_missing(row)}"
    text = f"score {fmt.score(row.score)}"
    if row.score_min is not None and row.score_max is not None and row.score_max > row.score_min:
        text += f" ({fmt.score(row.score_min)} to {fmt.score(row.score_max)})"
    if row.score_source == RECONSTRUCTED:
        text += f", {RECONSTRUCTED}"
    if row.suspicious:
        text += f", {one_line('; '.join(row.remarks), 160)}"
    words = {"dip": "dip", "recovery": "recovery", "removed": "not counted", "initial": "initial state"}
    text += f", {words[kind_of(row)]}" if kind_of(row) in words else ""
    return f"{text}, shown again {sure}" if row.is_dip_start and sure else text
