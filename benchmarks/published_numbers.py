"""What the published numbers of "Beyond Final Scores" let one conclude, and what not.

    python benchmarks/published_numbers.py PAPER.yaml

PAPER.yaml holds the printed aggregates: no task, no seed, so no interval can be made as for a study of one's own. What
they do hold: the gap between best@3 and avg@3, at most 0.894 seed standard deviations whatever the distribution; the
counts of tasks won, tied and lost in the transfer experiments; and orders of models. docs/statistics.md tells more.
"""

from __future__ import annotations

import argparse
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import yaml
from pydantic import BaseModel

from loopscope.measures.uncertainty import adjusted, kendall_tau
from loopscope.measures.uncertainty.distributions import binomial_two_sided, normal_cdf
from loopscope.measures.uncertainty.panel import Floats

LARGEST_OF_THREE = 2 / 5**0.5
"""(n-1)/sqrt(2n-1): no distribution's largest of n lies further above its mean, in standard deviations (Hartley and
David 1954; Gumbel 1954). Of normals it is 0.846."""
SEEDS = 3


class Signs(BaseModel):
    """Tasks with a positive, no, a negative change, per model."""

    intra: list[tuple[int, int, int]]
    inter_avg: list[tuple[int, int, int]]
    inter_best: list[tuple[int, int, int]]


class Paper(BaseModel):
    """The parts that are used."""

    models: list[str]
    categories: dict[str, int]
    table1: dict[str, list[tuple[float, float]]]
    process: dict[str, tuple[float, float, float]]
    signs: Signs
    harness: dict[str, list[tuple[float, float]]]


def seed_errors(pairs: list[tuple[float, float]], tasks: int) -> tuple[Floats, Floats]:
    """avg@3 and the least its standard error can be over other seeds on the same tasks.

    The gap is at most 0.894 times the mean over tasks of the seeds' standard deviation; the mean of squares is no less
    than the square of the mean.
    """
    numbers = np.array(pairs)
    spread = (numbers[:, 1] - numbers[:, 0]) / LARGEST_OF_THREE
    return numbers[:, 0], spread / np.sqrt(SEEDS * tasks)


def compare(names: list[str], levels: Floats, errors: Floats, pairs: list[tuple[int, int]]) -> None:
    """Differences against what other seeds alone would do."""
    apart = [levels[a] - levels[b] for a, b in pairs]
    least = [float(np.hypot(errors[a], errors[b])) for a, b in pairs]
    ps = adjusted([2 * normal_cdf(-abs(d) / e) for d, e in zip(apart, least, strict=True)])
    for (a, b), d, e, p in zip(pairs, apart, least, ps, strict=True):
        words = "no evidence of a difference" if p is None or p > 0.05 else "more than the least that seeds do"
        print(f"| {names[a]} - {names[b]} | {d:+.3f} | {e:.3f} | {p:.3f} | {words} |")


def outcomes(paper: Paper) -> None:
    """Neighbours in the table, and each model in two harnesses."""
    tasks = sum(paper.categories.values())
    levels, errors = seed_errors(paper.table1["overall"], tasks)
    print("\n| avg@3 | difference | seeds' error, at least | Holm p | |\n|---|---|---|---|---|")
    compare(paper.models, levels, errors, list(combinations(range(len(levels)), 2)))
    sizes = np.array(list(paper.categories.values()))
    print("\n| one model in two harnesses | difference | seeds' error, at least | Holm p | |\n|---|---|---|---|---|")
    names = list(paper.harness)
    whole = [tuple(np.array(paper.harness[n]).T @ (sizes / tasks)) for n in names]
    levels, errors = seed_errors([(float(a), float(b)) for a, b in whole], tasks)
    same = [(a, b) for a, b in combinations(range(len(names)), 2) if names[a].split("/")[0] == names[b].split("/")[0]]
    compare(names, levels, errors, same)


def transfer(paper: Paper) -> None:
    """Sign tests, Holm over the seven models."""
    print("\n| transfer | model | won, tied, lost | p | Holm p |\n|---|---|---|---|---|")
    for name, counts in paper.signs:
        ps = [binomial_two_sided(won, won + lost) for won, _, lost in counts]
        for model, signs, p, holm in zip(paper.models, counts, ps, adjusted(ps), strict=True):
            print(f"| {name} | {model} | {', '.join(map(str, signs))} | {p:.3f} | {holm:.3f} |")


def orders(paper: Paper) -> None:
    """Kendall's tau with the overall outcome, and its exact p over all orders of the models."""
    overall = np.array([avg for avg, _ in paper.table1["overall"]])
    lists = {f"avg@3, {name}": np.array([avg for avg, _ in paper.table1[name]]) for name in paper.categories}
    lists["best@3"] = np.array([best for _, best in paper.table1["overall"]])
    for i, name in enumerate(("C1", "C2", "C3")):
        lists[name] = np.array([paper.process[model][i] for model in paper.models])
    signs = [np.sign(np.subtract.outer(values, values)) for values in (overall, *lists.values())]
    every = np.array(list(permutations(range(len(overall)))))
    print("\n| order of the models by avg@3 against | tau | exact p |\n|---|---|---|")
    for (name, values), other in zip(lists.items(), signs[1:], strict=True):
        agreed = np.abs((signs[0] * other[every[:, :, None], every[:, None, :]]).sum(axis=(1, 2)))
        p = float((agreed >= abs((signs[0] * other).sum()) - 1e-9).mean())
        print(f"| {name} | {kendall_tau(overall, values):.2f} | {p:.3f} |")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper", type=Path)
    paper = Paper.model_validate(yaml.safe_load(parser.parse_args().paper.read_text()))
    outcomes(paper)
    transfer(paper)
    orders(paper)


if __name__ == "__main__":
    main()
