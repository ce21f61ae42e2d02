"""Verifier of dials in segments: kernels read strictly, written anew, and counted on a model of a device; on a GPU timed as well.

No word of a solution is compiled. `language.py` reads it and writes C from what it has understood, without pointers, casts, arrays or foreign
calls, so that the counters, which stand in the same process as the kernels, can be reached by nothing that is written there. Each input is drawn from
a secret seed; each run is a new process, whose outputs hold noise before it; every output is compared with one that is computed here.
Which backend has scored stands in details.json.
"""

import os
import statistics
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import gpu  # noqa: E402
import language  # noqa: E402
import numpy as np  # noqa: E402
from guard import verdict  # noqa: E402
from guard.fence import Limits  # noqa: E402

LIMITS = Limits(wall=6.0, cpu=3, memory=1 << 30, file=1 << 20, output=4 << 20, processes=False)
BUILD = Limits(wall=15.0, cpu=15, memory=2 << 30, file=16 << 20, output=1 << 20, processes=True)
COUNTERS = ("cost", "transactions", "barriers", "operations")
MASK = 0xFFFFFFFF


def translated(source, whose):
    try:
        return language.translate(source).encode()
    except language.Refused as refused:
        raise verdict.Gate("%s: %s" % (whose, refused)) from refused


def build(guard, kernels, whose):
    """The counting program for these kernels, compiled inside the fence; fewer bytes of stack than a fibre has are seen to."""
    box = guard.new_box({**verdict.pristine("shim.c"), "kernels.inc": kernels}, writable=True)
    options = ["-std=gnu11", "-O1", "-fwrapv", "-fstack-clash-protection", "-w", "shim.c", "-o", "program"]
    outcome = guard.run([COMPILER, *options], box, BUILD, writable=True)
    if not outcome.ok:
        raise verdict.Gate("%s: it does not compile: %s; %s" % (whose, outcome.reason, outcome.errors[-500:]))
    return guard.new_box({"program": verdict.read_regular(box, "program", 16 << 20)})


def drawn_lengths(random, elements, mean):
    """Lengths of segments in random order: most up to twice the mean, one of fifty some ten times as long; evenly spread, so that inputs are alike."""
    count = max(int(elements / (1.22 * mean + 0.5)), 1)
    long, lengths = count // 50, []
    for number, least, most in ((count - long, 1, 2 * mean + 1), (long, 4 * mean, 20 * mean)):
        lengths += [int(least + (most - least) * (k + random.random()) / number) for k in range(number)]
    lengths = random.permutation(lengths).tolist()
    while sum(lengths) > elements:
        lengths.pop()
    while left := elements - sum(lengths):
        lengths.append(min(left, mean))
    return lengths


def answer_of(scale, shift, heads):
    """The running compositions, one after the other."""
    scales, shifts, a, b = [], [], 1, 0
    for p, q, head in zip(scale.tolist(), shift.tolist(), heads.tolist()):
        a, b = (p, q) if head else (p * a & MASK, (p * b + q) & MASK)
        scales.append(a)
        shifts.append(b)
    return np.array(scales + shifts, np.uint32).tobytes()


def input_of(random, lengths):
    """(input, answer): bytes for a program, and what it must answer."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    elements = int(starts[-1])
    heads = np.zeros((elements + 31) // 32 * 32, np.uint8)
    heads[starts[:-1]] = 1
    scale = random.integers(0, 1 << 32, elements, dtype=np.uint32) | np.uint32(1)  # odd: no product forgets what was before
    shift = random.integers(0, 1 << 32, elements, dtype=np.uint32)
    head = struct.pack("=3I", elements, len(lengths), int(random.integers(0, 1 << 32)))
    words = np.packbits(heads, bitorder="little").tobytes()
    content = head + scale.tobytes() + shift.tobytes() + starts.tobytes() + words
    return content, answer_of(scale, shift, heads)


def count(guard, box, given, whose):
    """{counter: number} of one run on (input, answer); `Gate` where the output is wrong or the kernels fault."""
    content, answer = given
    outcome = guard.run([guard.inside(box, "program")], box, LIMITS, given=content)
    if not outcome.ok:
        raise verdict.Gate("%s: %s; %s" % (whose, outcome.reason, outcome.errors[-300:]))
    if outcome.output[32:] != answer:
        raise verdict.Gate("%s: the outputs are wrong" % whose)
    counters = dict(zip(COUNTERS, struct.unpack("=4Q", outcome.output[:32])))
    least = 4 * (-(-len(answer) // 256))  # each word of two inputs is needed, each of two outputs is written, 32 at a time
    if counters["transactions"] < least or counters["cost"] < 2 * counters["transactions"]:
        raise verdict.Gate("%s: fewer transactions than the words need; the counters do not hold" % whose)
    return counters


def judge(guard):
    source = verdict.submitted(["scan.cu"], 32 << 10)["scan.cu"]
    kernels = translated(source, "solution")
    pristine = translated(verdict.pristine("baseline.cu")["baseline.cu"], "baseline")
    solution, baseline = build(guard, kernels, "solution"), build(guard, pristine, "baseline")
    random = np.random.default_rng(verdict.seed())
    elements, mean = min(verdict.setting("ELEMENTS", 30000), 1 << 17), min(verdict.setting("MEAN", 24), 1000)
    for lengths in ([1], [1] * 33, [9000], [1025, 1, 1022], drawn_lengths(random, 1500, 5)):
        count(guard, solution, input_of(random, lengths), "solution")
    ratios, rounds = [], []
    for number in range(min(verdict.setting("INPUTS", 7), 20)):
        given = input_of(random, drawn_lengths(random, elements - number, mean))
        first, second = ((baseline, "baseline"), (solution, "solution"))[:: 1 if number % 2 == 0 else -1]
        found = {whose: count(guard, box, given, whose) for box, whose in (first, second)}
        rounds.append(found["solution"])
        ratios.append(found["baseline"]["cost"] / found["solution"]["cost"])
    details = {"counted_ratio": statistics.median(ratios), "inputs": len(ratios)}
    details.update({name: statistics.median(each[name] for each in rounds) for name in COUNTERS})
    details.update(gpu.check(guard, kernels, pristine, BUILD))
    return score(guard, kernels, pristine, random, details)


def score(guard, kernels, pristine, random, details):
    """The reward by the GPU's time where there is one, else by the counted cost; each has anchors of its own."""
    anchors = verdict.anchors()
    backend, ratio = "counted", details["counted_ratio"]
    wanted = os.environ.get("LOOPSCOPE_BACKEND") or "auto"
    if wanted != "counted":
        try:
            draw = lambda: input_of(random, drawn_lengths(random, gpu.ELEMENTS, 24))  # noqa: E731
            timed = gpu.measure(guard, kernels, pristine, draw, BUILD, verdict.setting("PAIRS", 5))
            backend, ratio, anchors = "gpu", timed["gpu_ratio"], anchors["gpu"]
            details.update(timed)
        except gpu.NoDevice as why:
            if wanted == "gpu":
                raise
            details["gpu"] = str(why)
    details["backend"] = backend
    reward = anchors["reward"] * np.log(ratio / anchors["baseline"]) / np.log(anchors["reference"] / anchors["baseline"])
    return float(reward), {"ratio": ratio, **details}


COMPILER = next((p for p in ("/usr/bin/gcc", "/usr/local/bin/gcc", "/bin/gcc") if os.path.exists(p)), "/usr/bin/gcc")

if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
