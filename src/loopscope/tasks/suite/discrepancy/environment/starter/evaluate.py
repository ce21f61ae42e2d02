"""Local evaluation on public fields: prints `score: X`, how far the discrepancy lies below the starting program's, in natural logarithms."""

import math
import random
import sys
import time

sys.dont_write_bytecode = True  # two edits within a second must not be measured from the cache

from probes import place  # noqa: E402

FIELDS, COUNT, USUAL = 8, 40, 0.0278
SECONDS = 0.7  # 1 s with the start of the interpreter, and some in reserve


def discrepancy(points):
    """The L2 star discrepancy, by Warnock's formula."""
    n = len(points)
    edge = sum((1 - x * x) * (1 - y * y) for x, y in points)
    pairs = sum((1 - max(x, u)) * (1 - max(y, v)) for x, y in points for u, v in points)
    return math.sqrt(1 / 9 - edge / (2 * n) + pairs / (n * n))


def probes(standing):
    """What `place` answers, checked and rounded."""
    points = [tuple(round(float(c), 12) for c in point) for point in place(list(standing), COUNT)]
    if len(points) != COUNT or any(len(point) != 2 for point in points):
        raise SystemExit(f"place() must return {COUNT} pairs")
    if not all(0 <= c <= 1 for point in points for c in point):
        raise SystemExit("a coordinate is not between 0 and 1")
    if len({*standing, *points}) < len(standing) + COUNT:
        raise SystemExit("two probes are in the same place")
    return points


def main():
    source = random.Random(20240229)
    logs, used = [], 0.0
    for _ in range(FIELDS):
        plots = [(column, row) for row in range(2) for column in range(4)]
        standing = [
            (round((a + source.uniform(0.25, 0.75)) / 4, 12), round((b + source.uniform(0.25, 0.75)) / 2, 12)) for a, b in plots
        ]
        start = time.process_time()
        points = probes(standing)
        used += time.process_time() - start
        logs.append(math.log(discrepancy(standing + points)))
        print(f"discrepancy {math.exp(logs[-1]):.5f}")
    print(f"{used:.2f} s of processor")
    if used > SECONDS:
        sys.exit(f"place() took longer than {SECONDS} s of processor for {FIELDS} fields")
    print(f"score: {math.log(USUAL) - sum(logs) / len(logs):.5f}")


if __name__ == "__main__":
    main()
