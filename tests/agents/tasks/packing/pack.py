"""First fit after a short random search over orders."""

import random

CAPACITY = 100
TRIES = 1
SWAPS = 0


def first_fit(items, descending=False):
    order = sorted(items, reverse=True) if descending else list(items)
    bins = []
    for item in order:
        for index, used in enumerate(bins):
            if used + item <= CAPACITY:
                bins[index] += item
                break
        else:
            bins.append(item)
    return bins


def next_fit(items, descending=False):
    bins = [0]
    for item in items:
        if bins[-1] + item > CAPACITY:
            bins.append(0)
        bins[-1] += item
    return bins


def pack(items, seed=1):
    rng = random.Random(seed)
    best = next_fit(items)
    for _ in range(TRIES):
        order = list(items)
        rng.shuffle(order)
        bins = next_fit(order, descending=False)
        if len(bins) < len(best):
            best = bins
    return best
