"""Verifier of shared addition chains: fresh targets each time, one fenced process per set, every chain checked here."""

import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from guard import verdict  # noqa: E402
from guard.fence import Limits  # noqa: E402

MOST_STEPS = 5000
SECONDS = 0.4  # of processor for each set, the start of the interpreter included
LIMITS = Limits(wall=3.0, cpu=1, memory=512 << 20, file=1 << 20, output=64 << 10, processes=False)
LINES = re.compile(rb"(?:[0-9]{1,4} [0-9]{1,4}\n)*")


def binary_steps(targets):
    return max(t.bit_length() for t in targets) - 1 + sum(bin(t).count("1") - 1 for t in targets)


def chain_length(targets, output):
    """Number of steps of a valid chain with all the targets; `Gate` otherwise."""
    if not LINES.fullmatch(output):
        raise verdict.Gate("the steps are not lines of two small whole numbers")
    chain, largest = [1], max(targets)
    for line in output.splitlines():
        i, j = map(int, line.split())
        if i >= len(chain) or j >= len(chain):
            raise verdict.Gate("step %d uses a place that does not exist yet" % len(chain))
        chain.append(chain[i] + chain[j])
        if chain[-1] > largest or len(chain) > MOST_STEPS:
            raise verdict.Gate("step %d exceeds the largest target or the number of steps" % (len(chain) - 1))
    missing = set(targets) - set(chain)
    if missing:
        raise verdict.Gate("%d targets are not in the chain" % len(missing))
    return len(chain) - 1


def judge(guard):
    files = {**verdict.submitted(["chains.py"], 256 << 10), **verdict.pristine("runner.py")}
    source = random.Random(verdict.seed())
    bits, count = max(verdict.setting("BITS", 24), 12), min(verdict.setting("TARGETS", 40), 400)
    ratios = []
    for number in range(verdict.setting("INSTANCES", 4)):
        targets = source.sample(range(1 << (bits - 2), 1 << bits), count)
        outcome = guard.run(
            [sys.executable, "-I", "-B", "runner.py"], guard.new_box(files), LIMITS, given=json.dumps(targets).encode()
        )
        if not outcome.ok:
            raise verdict.Gate("set %d: %s; %s" % (number + 1, outcome.reason, outcome.errors[-500:]))
        if outcome.cpu > SECONDS:
            raise verdict.Gate("set %d: %.2f s of processor, %.2f are allowed" % (number + 1, outcome.cpu, SECONDS))
        ratios.append(chain_length(targets, outcome.output) / binary_steps(targets))
    ratio = sum(ratios) / len(ratios)
    anchors = verdict.anchors()  # the reference is worth less than 1: shorter chains than its are there to be found
    reward = anchors["reward"] * (anchors["baseline"] - ratio) / (anchors["baseline"] - anchors["reference"])
    return reward, {"length_ratio": ratio, "instances": len(ratios)}


if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
