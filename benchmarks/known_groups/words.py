"""The tables of the study in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from known_groups.design import Design, Factor
from known_groups.effects import MEASURES, Counted, Effect

Effects = Mapping[tuple[str, str], Effect]
_ARROWS = {"up": "↑", "down": "↓"}


def doses(design: Design, effects: Effects) -> str:
    """Means by level of C1, C2 and C3."""
    lines = []
    for factor in design.factors:
        head = [factor.name, *(f"{level.value:g}" for level in factor.levels), "difference", "monotone"]
        lines += ["", *_table(head, (_dose_row(factor, effects, m) for m in ("c1", "c2", "c3")))]
    return "\n".join(lines[1:])


def _dose_row(factor: Factor, effects: Effects, measure: str) -> list[str]:
    found = effects[factor.name, measure]
    meant = factor.moves.get(measure)  # type: ignore[call-overload]
    name = f"**{MEASURES[measure]}** {_ARROWS[meant]}" if meant else MEASURES[measure]
    monotone = {True: "yes", False: "no", None: "-"}[found.monotone]
    return [name, *map(_number, found.means), _difference(found), monotone]


def matrix(design: Design, effects: Effects) -> str:
    """Every measure by every factor: highest dose less control."""
    head = ["", *(factor.name for factor in design.factors)]
    rows = ([name, *(_difference(effects[f.name, m]) for f in design.factors)] for m, name in MEASURES.items())
    return "\n".join(_table(head, rows))


def census(parts: Sequence[Counted]) -> str:
    """What was planted beside what the evidence counted."""
    head = ["arm", "runs", "failing builds in the open", "counted", "hidden", "candidates in the open", "hidden"]
    rows = (
        [p.label, *map(str, (p.runs, p.open_failures, p.counted_failures, p.hidden_failures)), *_candidates(p)]
        for p in parts
        if p.open_failures or p.hidden_failures or p.open_candidates or p.hidden_candidates
    )
    return "\n".join(_table(head, rows))


def _candidates(part: Counted) -> list[str]:
    return [str(part.open_candidates), str(part.hidden_candidates)]


def _difference(found: Effect) -> str:
    if found.difference is None or found.low is None or found.high is None:
        return "-"
    text = f"{_signed(found.difference)} [{_signed(found.low)}, {_signed(found.high)}]"
    return f"**{text}**" if found.shown else text


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if round(value, 3) else "0"


def _table(head: Sequence[str], rows: Iterator[list[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
