"""Verifier of probes in a field: fresh fields each time, places as decimals, the discrepancy computed here in whole numbers."""

import json
import math
import os
import random
import re
import sys
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from guard import verdict  # noqa: E402
from guard.fence import Limits  # noqa: E402

UNIT = 10**12  # places are whole multiples of 1 / UNIT
COLUMNS, ROWS = 4, 2  # plots; in the middle half of each stands a probe
USUAL = 48  # probes in all, for which the anchors hold
START, SECONDS, TOLERANCE = 0.2, 0.1, 1.2  # of processor: of the interpreter, and for each field; busy machines count more
LINE = re.compile(rb"([01])\.([0-9]{12}) ([01])\.([0-9]{12})")


def draw(source, number, swap):
    """That many fields: of each the probes that stand, (x, y) in units.

    Each coordinate of each plot's probe falls once into every `number`-th part of its range (a Latin hypercube), so that the average over the
    fields varies little from seed to seed.
    """
    parts = [source.sample(range(number), number) for _ in range(2 * COLUMNS * ROWS)]
    fields = []
    for n in range(number):
        place = iter([0.25 + 0.5 * (part[n] + source.random()) / number for part in parts])
        points = [((column + next(place)) / COLUMNS, (row + next(place)) / ROWS) for row in range(ROWS) for column in range(COLUMNS)]
        source.shuffle(points)
        fields.append([tuple(round(c * UNIT) for c in (point[::-1] if swap else point)) for point in points])
    return fields


def placed(lines, standing):
    """The new probes of one field in units; `Gate` where one is no place or is taken."""
    points = []
    for line in lines:
        found = LINE.fullmatch(line)
        if not found:
            raise verdict.Gate("not a pair of coordinates between 0 and 1: %r" % line[:60])
        points.append((int(found[1] + found[2]), int(found[3] + found[4])))
    if any(c > UNIT for point in points for c in point):
        raise verdict.Gate("a coordinate is larger than 1")
    if len({*standing, *points}) < len(standing) + len(points):
        raise verdict.Gate("two probes are in the same place")
    return points


def discrepancy(points):
    """The L2 star discrepancy by Warnock's formula, exact up to the root."""
    n = len(points)
    edge = sum((UNIT**2 - x * x) * (UNIT**2 - y * y) for x, y in points)
    pairs = sum((UNIT - max(x, u)) * (UNIT - max(y, v)) for x, y in points for u, v in points)
    return math.sqrt(Fraction(1, 9) - Fraction(edge, 2 * n * UNIT**4) + Fraction(pairs, n * n * UNIT**2))


def answers(guard, fields, count):
    """Lines of the solution's output, `count` for each field."""
    files = {**verdict.submitted(["probes.py"], 256 << 10), **verdict.pristine("runner.py")}
    seconds = TOLERANCE * (START + SECONDS * len(fields))
    limits = Limits(wall=5.0 + seconds, cpu=int(seconds) + 1, memory=512 << 20, file=1 << 20, output=1 << 20, processes=False)
    given = {"fields": [[[x / UNIT, y / UNIT] for x, y in standing] for standing in fields], "count": count}
    outcome = guard.run([sys.executable, "-I", "-B", "runner.py"], guard.new_box(files), limits, given=json.dumps(given).encode())
    if not outcome.ok:
        raise verdict.Gate("%s; %s" % (outcome.reason, outcome.errors[-500:]))
    if outcome.cpu > seconds:
        raise verdict.Gate("%.2f s of processor, %.2f are allowed" % (outcome.cpu, seconds))
    lines = outcome.output.split(b"\n")
    if lines.pop() != b"" or len(lines) != count * len(fields):
        raise verdict.Gate("%d lines, not %d" % (len(lines), count * len(fields)))
    return lines


def judge(guard):
    source = random.Random(verdict.seed())
    count, swap = min(verdict.setting("PROBES", 40), 100), verdict.setting("SWAP", 1) > 1
    fields = draw(source, min(verdict.setting("FIELDS", 8), 32), swap)
    lines = answers(guard, fields, count)
    logs = []
    for number, standing in enumerate(fields):
        points = placed(lines[number * count : (number + 1) * count], standing)
        logs.append(math.log(discrepancy(standing + points)))
    value = math.exp(sum(logs) / len(logs))
    anchors = verdict.anchors()
    scaled = value * (COLUMNS * ROWS + count) / USUAL  # it falls about as 1 / n
    reward = anchors["reward"] * math.log(anchors["baseline"] / scaled) / math.log(anchors["baseline"] / anchors["reference"])
    return reward, {"discrepancy": value, "fields": len(fields)}


if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
