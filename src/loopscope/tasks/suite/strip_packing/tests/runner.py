"""Runs inside the fence: a set of rectangles on each line of input; answers each with a length and lines `x y`."""

import json
import os
import sys

answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the solution prints is not its answer
sys.path.insert(0, os.getcwd())
from shelves import pack  # noqa: E402

for line in sys.stdin:
    width, sizes = json.loads(line)
    text = "".join("%d %d\n" % (x, y) for x, y in pack(width, sizes))
    answer.write("%07d\n%s" % (len(text), text))
    answer.flush()
