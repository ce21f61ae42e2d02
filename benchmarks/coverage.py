"""What the intervals cover and how often the tests err, in made-up studies whose truth is known.

    python benchmarks/coverage.py [--repetitions 1000] [--part levels --part ...]

Studies are of the paper's scale: 36 tasks in families of 7, 15, 10 and 4, 3 seeds. A task's difficulty is logit-normal
about its family's; a run scores Beta about it, stretched and clipped so that ones occur, and fails to 0 in 6 of 100:
bounded, skewed, with atoms at both ends. `binary` scores are 0 or 1, `costs` lognormal. Output: Markdown tables with
Monte-Carlo standard errors. Seeded; one core. docs/statistics.md holds a run.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from loopscope.measures.uncertainty import (
    AVG,
    Difference,
    Estimator,
    Interval,
    Method,
    Panel,
    Reading,
    Settings,
    difference,
    differences,
    level_of,
    plan_of,
    power_of,
)
from loopscope.measures.uncertainty.panel import Floats, Ints

FAMILIES = {"7": 7, "15": 15, "10": 10, "4": 4}
LABELS = tuple(name for name, size in FAMILIES.items() for _ in range(size))
FAMILY = np.repeat(np.arange(4), list(FAMILIES.values()))
CENTRE, SPREAD = np.array([0.6, 0.3, 1.8, -0.6]), np.array([1.0, 1.4, 1.2, 1.0])
OWN = 0.5
"""Standard deviation of what a model finds harder or easier than others do, in logits."""
SEEDS = 3
DRAWS = 999
GRID = np.linspace(-9, 9, 181)
SHIFTS = np.linspace(0, 3, 61)
READINGS: tuple[Reading, ...] = ("random tasks", "fixed tasks")


@dataclass(frozen=True)
class World:
    """How a run's number comes from its task's difficulty, in logits."""

    kind: str

    def runs(self, logits: Floats, n: int, rng: np.random.Generator) -> Floats:
        """n independent runs of each task."""
        shape = (*logits.shape, n)
        if self.kind == "costs":
            return np.asarray(np.exp(logits[..., None] + 0.5 * rng.standard_normal(shape)))
        mean = 1 / (1 + np.exp(-logits))[..., None]
        if self.kind == "binary":
            return np.asarray((rng.random(shape) < mean).astype(float))
        stretched = np.clip(1.15 * rng.beta(5 * mean, 5 * (1 - mean), shape) - 0.05, 0, 1)
        return np.where(rng.random(shape) < 0.06, 0.0, stretched)

    def truth(self, estimator: Estimator) -> Floats:
        """The expected number of a task at each point of the grid."""
        if self.kind == "costs":
            return np.asarray(np.exp(GRID + 0.125))
        k = estimator.best or 1
        many = self.runs(GRID, 20_000 * k, np.random.default_rng(99))
        return np.asarray(many.reshape(len(GRID), k, -1).max(axis=1).mean(axis=1))

    def families(self, table: Floats, spread: Floats) -> Floats:
        """The expected number of a random task of each family."""
        z = np.linspace(-6, 6, 4001)
        weight = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
        return np.array([np.interp(c + s * z, GRID, table) @ weight for c, s in zip(CENTRE, spread, strict=True)])

    @property
    def spread(self) -> Floats:
        """Of the difficulties within each family; costs are taken to differ less, as no bound holds them."""
        return SPREAD * (0.5 if self.kind == "costs" else 1.0)


@dataclass
class Tally:
    """Counts of one row of a table."""

    told: int = 0
    hits: int = 0
    below: int = 0
    above: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, found: Interval, truth: float) -> None:
        """One interval."""
        if found.low is not None and found.high is not None:
            self.told += 1
            self.hits += found.low <= truth <= found.high
            self.below += truth < found.low
            self.above += truth > found.high
            self.widths.append(found.high - found.low)

    def count(self, hit: bool) -> None:
        """One decision."""
        self.told += 1
        self.hits += hit

    def share(self, part: int) -> str:
        """Per cent."""
        return f"{100 * part / self.told:.1f}" if self.told else "-"

    @property
    def error(self) -> str:
        """Monte-Carlo standard error of the hits, in points."""
        p = self.hits / self.told if self.told else 0.0
        return f"{100 * (p * (1 - p) / max(self.told, 1)) ** 0.5:.1f}"


type Tallies = dict[tuple[str, ...], Tally]


def study(scores: Floats) -> Panel:
    """Scores (model, task, seed) as a panel."""
    models, tasks, seeds = scores.shape
    names = [tuple(f"{letter}{i:02d}" for i in range(n)) for letter, n in (("m", models), ("t", tasks), ("s", seeds))]
    labels = tuple(LABELS[i % len(LABELS)] for i in range(tasks))
    return Panel(names[0], names[1], labels, names[2], scores, seeds)


def difficulty(rng: np.random.Generator, spread: Floats = SPREAD, families: Ints = FAMILY) -> Floats:
    """Of new tasks of these families."""
    return np.asarray(CENTRE[families] + spread[families] * rng.standard_normal(len(families)))


def own(models: int, rng: np.random.Generator, families: Ints = FAMILY) -> Floats:
    """Difficulties of the same tasks for several models that are equally good."""
    return np.asarray(difficulty(rng, families=families) + OWN * rng.standard_normal((models, len(families))))


def parts() -> Iterator[tuple[str, str | None, Ints]]:
    """The whole and each family: name, category, tasks."""
    yield "all 36", None, np.arange(36)
    for i, name in enumerate(FAMILIES):
        yield f"family of {name}", name, np.flatnonzero(i == FAMILY)


def two_stage(scores: Floats, estimator: Estimator, rng: np.random.Generator) -> tuple[float, float]:
    """The bootstrap that comes to mind first: tasks within families, then seeds within tasks, 2.5 and 97.5 % points."""
    tasks = np.empty((DRAWS, len(scores)), dtype=int)
    families = FAMILY if len(scores) == len(FAMILY) else np.zeros(len(scores), dtype=int)
    for family in np.unique(families):
        at = np.flatnonzero(families == family)
        tasks[:, at] = rng.choice(at, (DRAWS, len(at)))
    drawn = np.take_along_axis(scores[tasks], rng.integers(0, SEEDS, (DRAWS, len(scores), SEEDS)), axis=2)
    means = (drawn.mean(axis=2) if estimator.best is None else drawn.max(axis=2)).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def levels(kind: str, repetitions: int, seeds: int = SEEDS) -> Tallies:
    """Coverage of a model's level."""
    world, rng = World(kind), np.random.default_rng(1)
    tallies: Tallies = defaultdict(Tally)
    bounds = None if kind == "costs" else (0.0, 1.0)
    methods: tuple[Method, ...] = ("t", "percentile", "bca") if bounds is None else ("score", "t", "percentile", "bca")
    estimators = [AVG, Estimator(3)] if kind == "scores" and seeds >= 3 else [AVG]
    tables = {e: world.truth(e) for e in estimators}
    for _ in range(repetitions):
        logits = difficulty(rng, world.spread)
        panel = study(world.runs(logits, seeds, rng)[None])
        for estimator, table in tables.items():
            means = world.families(table, world.spread)
            for name, category, at in parts():
                truth = float(means[FAMILY[at]].mean())
                base = Settings(bounds=bounds, draws=DRAWS, seed=int(rng.integers(2**31)))
                for method in methods:
                    found = level_of(panel, "m00", estimator, category, replace(base, method=method))
                    tallies[str(estimator), "random tasks", name, method].add(found, truth)
                if kind == "scores" and seeds > 1:
                    low, high = two_stage(panel.scores[0, at], estimator, rng)
                    plain = replace(found, low=low, high=high)
                    tallies[str(estimator), "random tasks", name, "two-stage, plain"].add(plain, truth)
                here = float(np.interp(logits[at], GRID, table).mean())
                for method in methods[: 2 if bounds else 1]:
                    chosen = replace(base, method=method, reading="fixed tasks")
                    found = level_of(panel, "m00", estimator, category, chosen)
                    tallies[str(estimator), "fixed tasks", name, method].add(found, here)
    return tallies


def compared(repetitions: int) -> tuple[Tallies, Tallies]:
    """Coverage of a difference (the second model half a logit better), and errors of the tests (both equally good)."""
    world = World("scores")
    covered: Tallies = defaultdict(Tally)
    erred: Tallies = defaultdict(Tally)
    rng = np.random.default_rng(2)
    tables = {e: world.truth(e) for e in (AVG, Estimator(3))}
    wide = np.hypot(SPREAD, OWN)
    shift = np.array([[0.0], [0.5]])
    for _ in range(repetitions):
        apart = own(2, rng) + shift
        same = np.repeat(own(1, rng), 2, axis=0)
        better, alike = study(world.runs(apart, SEEDS, rng)), study(world.runs(own(2, rng), SEEDS, rng))
        twins = study(world.runs(same, SEEDS, rng))
        for estimator, table in tables.items():
            raised = World("scores").families(np.interp(GRID + 0.5, GRID, table), wide)
            means = raised - world.families(table, wide)
            cells = np.interp(apart[1], GRID, table) - np.interp(apart[0], GRID, table)
            for name, category, at in parts():
                base = Settings(draws=DRAWS, seed=int(rng.integers(2**31)))
                for method in ("score", "t", "percentile", "bca"):
                    found = difference(better, "m01", "m00", estimator, category, replace(base, method=method))
                    row = (str(estimator), "random tasks", name, method)
                    covered[row].add(found.interval, float(means[FAMILY[at]].mean()))
                fixed = replace(base, reading="fixed tasks")
                found = difference(better, "m01", "m00", estimator, category, fixed)
                covered[str(estimator), "fixed tasks", name, "score"].add(found.interval, float(cells[at].mean()))
                errors(
                    erred,
                    (str(estimator), "random tasks", name),
                    difference(alike, "m01", "m00", estimator, category, base),
                )
                errors(
                    erred,
                    (str(estimator), "fixed tasks", name),
                    difference(twins, "m01", "m00", estimator, category, fixed),
                )
    return covered, erred


def errors(tallies: Tallies, row: tuple[str, ...], found: Difference) -> None:
    """Whether a test found something where nothing is."""
    if found.test is not None:
        test = "sign flips" if row[1] == "random tasks" else "shuffled labels"
        tallies[*row, test].count(found.test.p <= 0.05)
    if found.signs.test is not None and row[1] == "random tasks":
        tallies[*row, "sign test"].count(found.signs.test.p <= 0.05)
    tallies[*row, "verdict"].count(not found.verdict.startswith("no"))


def families_of_tests(repetitions: int) -> Tallies:
    """Seven equally good models, 21 comparisons: how often any differs, and how often a detectable one is found."""
    world, rng = World("scores"), np.random.default_rng(3)
    tallies: Tallies = defaultdict(Tally)
    for _ in range(repetitions):
        panel = study(world.runs(own(7, rng), SEEDS, rng))
        for correction in ("none", "holm", "benjamini-hochberg"):
            found = differences(panel, settings=Settings(draws=DRAWS), correction=correction)
            tallies["any of 21 verdicts wrong", correction].count(any(not d.verdict.startswith("no") for d in found))
    return tallies


def found_as_promised(repetitions: int) -> Tallies:
    """Differences as large as `power_of` calls detectable from one study: how often another study finds them.

    Each is planted by shifting one model's logits. For random tasks the other study has tasks of its own, for fixed
    ones it has the same. "4 x seeds", "4 x tasks": the promise of the same pilot for so much larger a study.
    """
    world, rng = World("scores"), np.random.default_rng(4)
    tallies: Tallies = defaultdict(Tally)
    for estimator in (AVG, Estimator(3)):
        table = world.truth(estimator)
        for _ in range(repetitions):
            alone = own(1, rng)
            pilots = {
                "random tasks": study(world.runs(own(2, rng), SEEDS, rng)),
                "fixed tasks": study(world.runs(np.repeat(alone, 2, axis=0), SEEDS, rng)),
            }
            for reading, category, power, more in promises():
                plan = plan_of(pilots[reading], "m00", "m01", category, reading, estimator)
                plan = replace(plan, **{more: 4 * getattr(plan, more)} if more else {})
                families = np.tile(FAMILY, 4) if more == "tasks" else FAMILY
                logits = np.repeat(alone, 2, axis=0) if reading == "fixed tasks" else own(2, rng, families)
                at = np.flatnonzero([category in (None, LABELS[i % 36]) for i in range(len(families))])
                gains = gained(world, table, families[at], alone[0, at] if reading == "fixed tasks" else None)
                wanted = power_of(plan, power=power).detectable
                if wanted is None or wanted > gains[-1]:
                    continue  # no shift makes so large a difference of scores
                shift = np.array([[0.0], [np.interp(wanted, gains, SHIFTS)]])
                new = study(world.runs(logits + shift, plan.seeds, rng))
                settings = Settings(reading=reading, draws=DRAWS, seed=int(rng.integers(2**31)))
                found = difference(new, "m01", "m00", estimator, category, settings).verdict
                where = f"family of {category}" if category else "all 36"
                row = (str(estimator), reading, f"4 x {more}" if more else where, f"{100 * power:.0f}")
                tallies[row].count(found.startswith("m01 is higher"))
    return tallies


def promises() -> Iterator[tuple[Reading, str | None, float, str]]:
    """Reading, category, promised power, and what the study is to have four times as much of."""
    for reading in READINGS:
        yield reading, None, 0.8, ""
        yield reading, None, 0.9, ""
        yield reading, "15", 0.8, ""
    yield "random tasks", None, 0.8, "tasks"
    yield "fixed tasks", None, 0.8, "seeds"


def gained(world: World, table: Floats, families: Ints, logits: Floats | None) -> Floats:
    """By how much each of `SHIFTS` raises the mean over random tasks of these families, or over these very tasks."""
    if logits is None:
        wide = np.hypot(SPREAD, OWN)
        raised = [world.families(np.interp(GRID + shift, GRID, table), wide)[families].mean() for shift in SHIFTS]
    else:
        raised = [np.interp(logits + shift, GRID, table).mean() for shift in SHIFTS]
    return np.array(raised) - raised[0]


def show_coverage(title: str, tallies: Tallies) -> None:
    """A Markdown table of intervals."""
    print(f"\n**{title}**\n\n| of | reading | tasks | method | covers % | +- | truth below % | above % | mean width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row, tally in tallies.items():
        width = f"{np.mean(tally.widths):.3f}" if tally.widths else "-"
        numbers = (tally.share(tally.hits), tally.error, tally.share(tally.below), tally.share(tally.above), width)
        print("|", " | ".join((*row, *numbers)), "|")


def show_errors(title: str, tallies: Tallies) -> None:
    """A Markdown table of decisions."""
    print(f"\n**{title}**\n")
    rows = list(tallies.items())
    print("|", " | ".join(["what", *[" "] * (len(rows[0][0]) - 1), "%", "+-"]), "|")
    print("|" + "---|" * (len(rows[0][0]) + 2))
    for row, tally in rows:
        print("|", " | ".join((*row, tally.share(tally.hits), tally.error)), "|")


PARTS = ("levels", "binary", "single", "costs", "differences", "families", "power")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--part", action="append", choices=PARTS, help="only these; may be repeated")
    options = parser.parse_args()
    n = options.repetitions
    for part in options.part or PARTS:
        began = time.process_time()
        if part == "levels":
            show_coverage(f"Levels, {n} studies", levels("scores", n))
        elif part == "binary":
            show_coverage(f"Scores of 0 and 1 only, {n} studies", levels("binary", n))
        elif part == "single":
            show_coverage(f"One seed, {n} studies", levels("scores", n, seeds=1))
        elif part == "costs":
            show_coverage(f"Costs, {n} studies", levels("costs", n))
        elif part == "differences":
            covered, erred = compared(n)
            show_coverage(f"Differences, {n} studies", covered)
            show_errors(f"Errors at alpha = 0.05 of {n} studies in which nothing differs", erred)
        elif part == "families":
            show_errors(f"Seven equal models, {n // 4} studies", families_of_tests(n // 4))
        else:
            show_errors(f"Power, {n} pairs of studies: promised and found %", found_as_promised(n))
        print(f"\n({part}: {time.process_time() - began:.0f} s CPU)", flush=True)


if __name__ == "__main__":
    main()
