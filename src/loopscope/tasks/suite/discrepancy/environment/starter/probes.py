"""Place probes in a field. See the task's instruction; this file is yours to change."""

import random

FIRST = 1  # place in the Halton sequence of the first probe that is put up
MOVES = 0  # how many moves of one probe are tried; those that lower the discrepancy are kept
REACH = 0.5  # how far a move goes at most, in either direction


def digits_reversed(number, base):
    """The number's digits in this base, mirrored behind the point: the van der Corput sequence."""
    value, digit = 0.0, 1.0
    while number:
        digit /= base
        value += digit * (number % base)
        number //= base
    return value


def discrepancy_squared(points):
    """The square of the L2 star discrepancy, by Warnock's formula."""
    n = len(points)
    total = n * n / 9
    for x, y in points:
        total -= n * (1 - x * x) * (1 - y * y) / 2
        for u, v in points:
            total += (1 - max(x, u)) * (1 - max(y, v))
    return total / (n * n)


def place(standing, count):
    """`count` places (x, y) for new probes, given those that stand already."""
    points = [(digits_reversed(k, 2), digits_reversed(k, 3)) for k in range(FIRST, FIRST + count)]
    source = random.Random(1)
    best = discrepancy_squared(standing + points)
    for _ in range(MOVES):
        chosen = source.randrange(count)
        before = points[chosen]
        points[chosen] = tuple(source.uniform(max(c - REACH, 0.0), min(c + REACH, 1.0)) for c in before)
        now = discrepancy_squared(standing + points)
        if now < best:
            best = now
        else:
            points[chosen] = before
    return points
