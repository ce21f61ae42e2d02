"""Where the spread of scores comes from, how many dips noise alone would make, and what missing scores leave open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loopscope.models.interval_rows import NoiseDipRow, NoiseRow, NoiseSource
from loopscope.models.tables import OVERALL
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.intervals import interval, possible, remark
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
    """One agent some of whose scores are missing."""

    agent: str
    missing: str
    avg: tuple[str, str]
    """The number, and between what it must lie."""
    best: tuple[str, str]


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
    avg, best = (interval(inputs, agent, OVERALL, measure) for measure in ("avg_at_k", "best_at_k"))
    bounds = possible(avg), possible(best)
    if row is None or not any(bounds):
        return None
    planned = row.n_runs + row.n_missing
    spelled = [f"{fmt.score(b[0])} to {fmt.score(b[1])}" if b else fmt.DASH for b in bounds]
    return MissingLine(
        one_line(agent, 60),
        f"{row.n_missing} of {planned}",
        (fmt.score(row.avg_at_k), spelled[0]),
        (fmt.score(row.best_at_k), spelled[1]),
    )
