"""C1, step by step (Appendix C.2)."""

from __future__ import annotations

from loopscope.analysis.explain.figures import exactly, mean_of, step, total
from loopscope.analysis.explain.model import Framing, Mark
from loopscope.analysis.explain.rows import Told
from loopscope.measures import HORIZON, Flag
from loopscope.measures.framing import carried_forward

_UNSCORED = "no canonical checkpoint: unscored"


def framing(told: Told) -> Framing:
    """The scores, their high-water marks, the three means and C1."""
    c1 = told.run.c1
    marks = tuple(
        Mark(
            i=i,
            position=position,
            sha=row.evidence.sha,
            x=None if (x := row.value) is None else exactly(x),
            h=exactly(h),
            counts=i <= HORIZON,
        )
        for i, ((position, row), h) in enumerate(zip(told.canonical, c1.high_water, strict=True), 1)
    )
    h = carried_forward(c1.high_water) if c1.high_water else ()
    value = step("c1", c1.value, "(early + middle + late) / 3", table="runs", note=_note(told))
    if c1.early is not None and c1.middle is not None and c1.late is not None:
        parts = (c1.early, c1.middle, c1.late)
        value = value.model_copy(update={"terms": f"({total(parts)}) / 3"})
    why = "" if h else _UNSCORED
    return Framing(
        marks=marks,
        early=step("early", c1.early, "mean(h_1..h_5)", mean_of(h[0:5]), note=why),
        middle=step("middle", c1.middle, "mean(h_6..h_10)", mean_of(h[5:10]), note=why),
        late=step("late", c1.late, "mean(h_11..h_20)", mean_of(h[10:20]), note=why),
        c1=value,
    )


def _note(told: Told) -> str:
    run, count = told.run, len(told.canonical)
    if not count:
        return _UNSCORED
    notes = []
    if count < HORIZON:
        last = exactly(run.c1.high_water[-1])
        notes.append(f"{count} checkpoints: h_{count} = {last} stands for positions {count + 1} to {HORIZON} too")
    elif count > HORIZON:
        notes.append(f"{count} checkpoints: only the first {HORIZON} count")
    if Flag.NO_OBSERVED_SCORE in run.c1.flags:
        notes.append("no score within the horizon: the literal 0 is kept in runs, and process leaves it out")
    return "; ".join(notes)
