"""Verifier of strip packing: fresh rectangles each time, one fenced process for all sets, each packing checked here."""

import json
import math
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from guard import verdict  # noqa: E402
from guard.fence import GuardError, Limits  # noqa: E402
from rectangles import COUNT, WIDTH, bound, draw, height  # noqa: E402

SECONDS = 0.1  # of processor for each set, the start of the interpreter included
GRACE = 1.25  # a busy machine counts more processor for the same work
LEAST = 1e-3  # of waste that is told apart
PLACES = re.compile(rb"(?:[0-9]{1,4} [0-9]{1,5}\n)*")


def places(answer):
    """[(x, y)] of a set's lines; `Gate` otherwise."""
    if not PLACES.fullmatch(answer):
        raise verdict.Gate("the places are not lines of two small whole numbers")
    return [tuple(map(int, line.split())) for line in answer.splitlines()]


def ask(guard, files, width, sets):
    """The solution's answer to each set. A set is sent when the one before it is answered."""
    allowed = SECONDS * len(sets)
    limits = Limits(wall=20.0, cpu=int(GRACE * allowed) + 1, memory=512 << 20, file=1 << 20, processes=False)
    answers = []
    with guard.start([sys.executable, "-I", "-B", "runner.py"], guard.new_box(files), limits) as child:
        try:
            for sizes in sets:
                child.send(json.dumps([width, sizes]).encode() + b"\n")
                length = child.read(8)
                if not re.fullmatch(rb"[0-9]{7}\n", length) or int(length) > 12 * len(sizes):
                    raise GuardError("the length of an answer is missing, or too large")
                answers.append(child.read(int(length)))
            child.close_input()
            if child.read_all():
                raise GuardError("something follows the answers")
            if reason := child.wait():
                raise GuardError(reason)
        except GuardError as error:
            raise verdict.Gate("set %d: %s; %s" % (len(answers) + 1, error, child.errors()[-500:])) from error
        if child.cpu > GRACE * allowed:
            raise verdict.Gate("%.2f s of processor, %.2f are allowed" % (child.cpu, allowed))
    return answers


def judge(guard):
    files = {**verdict.submitted(["shelves.py"], 256 << 10), **verdict.pristine("runner.py")}
    source = random.Random(verdict.seed())
    count, width = min(verdict.setting("RECTANGLES", COUNT), 400), min(max(verdict.setting("WIDTH", WIDTH), 50), 1000)
    sets = [draw(source, count, width) for _ in range(min(verdict.setting("SETS", 12), 60))]
    waste = 0.0
    for number, (sizes, answer) in enumerate(zip(sets, ask(guard, files, width, sets))):
        try:
            reached = height(width, sizes, places(answer))
        except ValueError as error:
            raise verdict.Gate("set %d: %s" % (number + 1, error)) from error
        waste += (reached / bound(width, sizes) - 1) / len(sets)
    metric, anchors = math.log(max(waste, LEAST)), verdict.anchors()
    reward = anchors["reward"] * (anchors["baseline"] - metric) / (anchors["baseline"] - anchors["reference"])
    return reward, {"log_waste": metric, "waste": waste, "sets": len(sets)}


if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
