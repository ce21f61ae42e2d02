"""The dips of a run: from where to where each goes, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopscope.models.tables import CheckpointRow, DipRow
from loopscope.report import format as fmt
from loopscope.report.format import Cell


@dataclass(frozen=True)
class DipView:
    """One dip episode."""

    episode: int
    start: int | None
    before: str
    low: str
    depth: str
    target: int | None
    recovered: Cell
    length: str
    credit: Cell
    noise: Cell
    """Its depth in noise bands."""
    sure: Cell
    """The chance that one more measurement of each side would show it again, and by what that is known."""


def dip_view(dip: DipRow, rows: Sequence[CheckpointRow]) -> DipView:
    """A dip among the commits `rows` of its run, which it names by their numbers."""
    numbers = {r.sha: r.position + 1 for r in rows}
    target = numbers.get(dip.target_sha or "")
    never = None if dip.target_sha is not None else "nothing after it scored higher"
    return DipView(
        episode=dip.episode,
        start=numbers.get(dip.start_sha or ""),
        before=fmt.score(dip.before),
        low=fmt.score(dip.low),
        depth=fmt.score(dip.depth),
        target=target,
        recovered=Cell(fmt.DASH if never else fmt.score(dip.recovered_to), never),
        length=fmt.count(dip.length),
        credit=Cell(fmt.score(dip.credit), None if dip.credit is not None else "not defined"),
        noise=_noise(dip.depth_in_noise),
        sure=_sure(dip),
    )


def _noise(depth: float | None) -> Cell:
    if depth is None:
        return Cell(fmt.DASH, "no state was measured twice with different results, so no noise band is known")
    return Cell(f"{depth:.2f}" + (", within it" if depth <= 1 else ""))


def _sure(dip: DipRow) -> Cell:
    if dip.confidence is None:
        return Cell(fmt.DASH, "a side was measured once, and no noise is known")
    return Cell(confidence(dip), span=_known_by(dip))


def confidence(dip: DipRow) -> str:
    """How sure a dip is, as a share."""
    return fmt.percent(dip.confidence)


def _known_by(dip: DipRow) -> str:
    if dip.confidence_method == "pairs":
        return f"of {fmt.plural(dip.confidence_pairs or 0, 'pair')}"
    return "by the noise of other states" if dip.confidence_method == "pooled noise" else ""
