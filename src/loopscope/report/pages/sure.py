"""Where the spread of scores comes from, how many dips noise alone would make, and what missing scores leave open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loopscope.models.interval_rows import IntervalRow, NoiseDipRow, NoiseRow, NoiseSource
from loopscope.models.standing import spelled_interval, spelled_range
from loopscope.models.tables import OVERALL
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.intervals import interval, possible, remark, share
from loopscope.report.pages.leaderboard import outcome_of
from loopscope.report.text import one_line

SOURCES = (NoiseSource.TASK, NoiseSource.SEED, NoiseSource.VERIFICATION)


@dataclass(frozen=True)
class NoiseLine:
    """One agent: the standard deviation of each source, and its dips."""

    agent: str
    sources: tuple[Cell, ...]
    dips: Cell
    by_noise: Cell


@dataclass(frozen=True)
class MissingLine:
    """One agent some of whose scores are missing, or not all of whose checkpoints could be observed."""

    agent: str
    missing: str
    avg: Cell
    """The number; between what it lies; the outer ends of its interval then, and which places it can have."""
    best: Cell
    c2: Cell


@dataclass(frozen=True)
class Sure:
    """The section."""

    noise: tuple[NoiseLine, ...]
    remarks: tuple[str, ...]
    """The guards of the table, each once."""
    missing: tuple[MissingLine, ...]


def sure(inputs: StudyInputs) -> Sure | None:
    """The section; None where there is nothing to tell."""
    split: dict[tuple[str, str], NoiseRow] = {(r.agent, r.source): r for r in inputs.noise if r.category == OVERALL}
    dips: dict[str, NoiseDipRow] = {r.agent: r for r in inputs.noise_dips if r.category == OVERALL}
    agents = [a for a in inputs.agents if a in dips or any((a, s.value) in split for s in SOURCES)]
    lines = tuple(_noise(a, split, dips.get(a)) for a in agents)
    told: list[tuple[str, str | None]] = [
        *((a, split[a, s.value].guard) for s in SOURCES for a in agents if (a, s.value) in split),
        *((a, dips[a].guard) for a in agents if a in dips),
    ]
    missing = tuple(line for a in inputs.agents if (line := _missing(inputs, a)))
    return Sure(lines, _once(told, len(agents)), missing) if lines or missing else None


def _noise(agent: str, split: dict[tuple[str, str], NoiseRow], dips: NoiseDipRow | None) -> NoiseLine:
    return NoiseLine(
        one_line(agent, 60),
        tuple(_sd(split.get((agent, source.value))) for source in SOURCES),
        _dips(dips),
        _by_noise(dips),
    )


def _sd(row: NoiseRow | None) -> Cell:
    if row is None or row.sd is None:
        return Cell(fmt.DASH, one_line((row and row.guard) or "nothing tells it", 200))
    cell = Cell(fmt.score(row.sd))
    if row.low is None or row.high is None:
        return Cell(cell.text, span="no interval", span_note=f"too few tasks to draw from; df {row.df}")
    ends = f"[{row.low**0.5:.2f}, {row.high**0.5:.2f}]"
    return Cell(cell.text, span=ends, span_note=f"95 % of resamples of the tasks; df {row.df}")


def _dips(row: NoiseDipRow | None) -> Cell:
    if row is None or not row.n_runs:
        return Cell(fmt.DASH, "no state was measured twice, so no noise is known")
    return Cell(str(row.dips), span=f"in {fmt.plural(row.n_runs, 'run')}")


def _by_noise(row: NoiseDipRow | None) -> Cell:
    if row is None or row.expected is None:
        return Cell(fmt.DASH, "no noise is known")
    share = "" if row.share is None else f"at most {100 * row.share:.0f} % of them"
    return Cell(f"{row.expected:.1f}", span="no interval", fixed=share)


def _once(told: Iterable[tuple[str, str | None]], everyone: int) -> tuple[str, ...]:
    remarks: dict[str, list[str]] = {}
    for agent, guard in told:
        if guard:
            names = remarks.setdefault(one_line(guard, 300), [])
            names += [] if agent in names else [agent]
    return tuple(remark(guard, [one_line(n, 40) for n in names], everyone) for guard, names in remarks.items())


def _missing(inputs: StudyInputs, agent: str) -> MissingLine | None:
    row = outcome_of(inputs.outcome, OVERALL).get(agent)
    cells = [_open(inputs, agent, measure) for measure in ("avg_at_k", "best_at_k", "c2")]
    if row is None or not any(cell.span for cell in cells):
        return None
    return MissingLine(one_line(agent, 60), f"{row.n_missing} of {row.n_runs + row.n_missing}", *cells)


def _open(inputs: StudyInputs, agent: str, measure: str) -> Cell:
    """A number with what it can be, whatever is missing; without a span where that is the number itself."""
    row = interval(inputs, agent, OVERALL, measure)
    bounds = possible(row)
    if row is None or row.value is None:
        return Cell(fmt.DASH, "no run has a value") if bounds is None else Cell(fmt.DASH, span=_between(bounds))
    if bounds is None:
        return Cell(fmt.score(row.value))
    further = "" if row.outer_low is None else f"interval {spelled_interval(row.outer_low, row.outer_high, share)}"
    return Cell(
        fmt.score(row.value), span=_between(bounds), fixed=", ".join(filter(None, (further, _place(inputs, row))))
    )


def _between(bounds: tuple[float, float]) -> str:
    return f"{fmt.score(bounds[0])} to {fmt.score(bounds[1])}"


def _place(inputs: StudyInputs, row: IntervalRow) -> str:
    """`place 1-3`: which places among all agents the number can have; empty where that is not told."""
    at = (row.agent, row.category, row.measure, row.reading)
    for told in inputs.rankings:
        if (told.agent, told.category, told.measure, told.reading) == at and told.best_place and told.worst_place:
            return f"place {spelled_range(told.best_place, told.worst_place)}"
    return ""
