"""The GPU's part: a check that the kernels compile for sm_90 where nvcc is, and times by events where a device is.

What is compiled is what language.py has written: no word of a solution, so that no kernel can reach the clock, which stands in the
same program. It runs behind the guard all the same, with the device's files in sight.
"""

import contextlib
import glob
import os
import statistics
import struct

from guard import fence, verdict
from guard.child import GuardError, Limits

PLACES = ("/usr/local/cuda/bin/nvcc", "/usr/local/bin/nvcc", "/usr/bin/nvcc", "/opt/cuda/bin/nvcc")
NVCC = next((os.path.realpath(place) for place in PLACES if os.path.exists(place)), "")
ELEMENTS = 1 << 20
LIMITS = Limits(wall=30.0, cpu=30, memory=1 << 47, file=16 << 20, output=64 << 20, processes=True)


class NoDevice(Exception):
    """No GPU can be used here, and why."""


def compiled(guard, kernels, limits, *what):
    """(box, outcome) of nvcc for sm_90."""
    box = guard.new_box({**verdict.pristine("gpu.cu"), "kernels.inc": kernels}, writable=True)
    command = [NVCC, "-std=c++17", "-O3", "-arch=sm_90", "-w", *what, "gpu.cu", "-o", "program"]
    return box, guard.run(command, box, limits, writable=True)


def check(guard, kernels, pristine, limits):
    """Whether the kernels compile for sm_90: {details}. What does not, while the starter does, is a failed solution."""
    if not NVCC:
        return {"sm_90": "not tried: there is no nvcc"}
    limits = limits._replace(wall=40.0, cpu=40, memory=8 << 30)
    _, outcome = compiled(guard, kernels, limits, "-cubin")
    if outcome.ok:
        return {"sm_90": "compiles"}
    _, starters = compiled(guard, pristine, limits, "-cubin")
    if not starters.ok:
        return {"sm_90": "not tried: nvcc compiles nothing here: %s %s" % (starters.reason, starters.errors[-300:])}
    raise verdict.Gate("it does not compile for sm_90: %s; %s" % (outcome.reason, outcome.errors[-500:]))


@contextlib.contextmanager
def devices_in_sight():
    """What the guard shows its children, with the GPU's files."""
    devices, details = fence.DEVICES, fence.DETAILS
    fence.DEVICES = (*devices, *sorted(glob.glob("/dev/nvidia*[0-9lms]")))
    fence.DETAILS = (*details, "/proc/driver/nvidia", "/proc/devices", "/sys/bus/pci", "/sys/devices")
    try:
        yield
    finally:
        fence.DEVICES, fence.DETAILS = devices, details


def nanoseconds(guard, box, inputs, whose):
    """The launches' time on the last of these (input, answer), one call for each in a new process; all outputs are compared."""
    with guard.start([guard.inside(box, "program")], box, LIMITS) as child:
        try:
            for content, answer in inputs:
                child.send(content)
                (time,) = struct.unpack("=Q", child.read(8))
                if child.read(len(answer)) != answer:
                    raise GuardError("the outputs are wrong")
            child.close_input()
            if child.read_all() or child.wait():
                raise GuardError("it does not end as it should")
        except GuardError as error:
            raise verdict.Gate("%s on the GPU: %s; %s" % (whose, error, child.errors()[-300:])) from error
    return max(time, 1000)


def measure(guard, kernels, pristine, draw, limits, pairs):
    """{details} of pairs of measurements in the order A B B A; each has a warm-up and a measured call on inputs of their own."""
    if not NVCC or not os.path.exists("/dev/nvidia0"):
        raise NoDevice("no nvcc" if not NVCC else "no /dev/nvidia0")
    limits, boxes = limits._replace(wall=60.0, cpu=60, memory=8 << 30), {}
    for whose, text in (("baseline", pristine), ("solution", kernels)):
        box, outcome = compiled(guard, text, limits)
        if not outcome.ok:
            raise NoDevice("nvcc makes no program: %s %s" % (outcome.reason, outcome.errors[-300:]))
        boxes[whose] = guard.new_box({"program": verdict.read_regular(box, "program", 64 << 20)})
    with devices_in_sight():
        try:
            nanoseconds(guard, boxes["baseline"], [draw()], "baseline")
        except (verdict.Gate, GuardError, OSError) as why:
            raise NoDevice("the starter does not run on it: %s" % why) from why
        ratios, times = [], []
        for number in range(pairs):
            first, second = ("baseline", "solution")[:: 1 if number % 2 == 0 else -1]
            took = {"baseline": [], "solution": []}
            for whose in (first, second, second, first):
                took[whose].append(nanoseconds(guard, boxes[whose], [draw(), draw()], whose))
            ratios.append(min(took["baseline"]) / min(took["solution"]))
            times.append(min(took["solution"]))
    return {"gpu_ratio": statistics.median(ratios), "gpu_microseconds": statistics.median(times) / 1e3, "pairs": pairs}
