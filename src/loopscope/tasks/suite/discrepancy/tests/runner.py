"""Runs inside the fence: fields as JSON from standard input, the places of new probes as lines `x y` to standard output."""

import json
import os
import sys

answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the solution prints is not its answer
given = json.load(sys.stdin)
sys.path.insert(0, os.getcwd())
from probes import place  # noqa: E402

for standing in given["fields"]:
    points = place([tuple(point) for point in standing], given["count"])
    # + 0.0 makes a zero without a sign
    answer.write("".join("%.12f %.12f\n" % (float(x) + 0.0, float(y) + 0.0) for x, y in points))
answer.flush()
