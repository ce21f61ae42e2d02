"""Verifier of meter readings by station: a paired measurement from outside the process, every table compared.

Each round has a file of its own, drawn from a secret seed, in memory. The measured program is started and says that it is ready; a
read-only handle of the file is sent to it, and what counts is the processor time from then to the last byte of its answer, as the kernel
tells this process. Before the handle arrives nothing in that process can know the file, and afterwards nothing of it is kept: the next
measurement is a new process. It may start no processes or threads, so that its processor time is all its work, however busy the machine.
"""

import fcntl
import itertools
import os
import re
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
from guard import verdict  # noqa: E402
from guard.fence import GuardError, Limits  # noqa: E402

LIMITS = Limits(wall=2.0, cpu=2, memory=512 << 20, file=1 << 20, output=1 << 20, processes=False)
BUILD = Limits(wall=10.0, cpu=10, memory=2 << 30, file=16 << 20, output=1 << 20, processes=True)
FLAG = re.compile(r"-(O[0-3sfast]*|[fm][A-Za-z0-9.,=_-]+|g[0-3]?|std=[a-z0-9:]+|D[A-Za-z0-9_]+(=\w+)?)")
ROW = np.dtype([("name", "S24"), ("count", "i8"), ("sum", "i8"), ("min", "i8"), ("max", "i8")])
POOL = 8000  # different readings in a file; every line is a fresh combination of time, station and one of these


def build(guard, source, flags):
    """The program, compiled inside the fence from the pristine driver and this source."""
    files = {**verdict.pristine("driver.c", "groupby.h"), "groupby.c": source}
    box = guard.new_box(files, writable=True)
    command = ["-std=gnu11", "-O1", *flags, "groupby.c", "driver.c", "-o", "program", "-lm"]
    outcome = guard.run([COMPILER, *command], box, BUILD, writable=True)
    if not outcome.ok:
        raise verdict.Gate("it does not compile: %s; %s" % (outcome.reason, outcome.errors[-1000:]))
    return guard.new_box({"program": verdict.read_regular(box, "program", 16 << 20)})


def allowed_flags(text):
    flags = text.decode("ascii", "replace").split()
    bad = [flag for flag in flags if not FLAG.fullmatch(flag)]
    if bad or len(flags) > 50:
        raise verdict.Gate("flags.txt: not allowed: %s" % " ".join(bad)[:200])
    return flags


class Readings:
    """Draws files of readings and knows their summaries."""

    def __init__(self, random, rows, stations):
        self.random, self.rows = random, rows
        letters = random.integers(97, 123, (stations * 2, 20), dtype=np.uint8)
        sizes = random.integers(6, 21, stations * 2)
        names = {bytes(row[:size]) for row, size in zip(letters, sizes)}
        self.names = sorted(names)[:stations]
        random.shuffle(self.names)

    def draw(self):
        """(text, summary): the bytes of a file and of the right answer."""
        random, rows = self.random, self.rows
        times = map(b"%d".__mod__, range(first := int(random.integers(10**9, 2 * 10**9)), first + rows))
        values, good = random.integers(-9999, 100000, POOL), random.integers(0, 4, POOL) > 0
        tails = [
            b"%s%d.%02d,%c\n" % (b"-" if value < 0 else b"", abs(value) // 100, abs(value) % 100, letter)
            for value, letter in zip(values.tolist(), np.where(good, random.integers(65, 68, POOL), ord("X")).tolist())
        ]
        names = [b",%s," % name for name in self.names]
        station, tail = random.integers(0, len(names), rows), random.integers(0, POOL, rows)
        line = zip(times, map(names.__getitem__, station.tolist()), map(tails.__getitem__, tail.tolist()))
        text = b"".join(itertools.chain.from_iterable(line))
        counts = good[tail]
        return text, self._summary(station[counts], values[tail[counts]])

    def _summary(self, station, value):
        present, first, group, count = np.unique(station, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(group, kind="stable")
        starts = np.concatenate([[0], np.cumsum(count)[:-1]])
        table = np.zeros(len(present), ROW)
        table["name"] = [self.names[s] for s in present]
        table["count"] = count
        for field, reduce in (("sum", np.add), ("min", np.minimum), ("max", np.maximum)):
            table[field] = reduce.reduceat(value[order], starts)
        return len(present).to_bytes(8, "little") + table[np.argsort(first)].tobytes()


def in_memory(text):
    """A read-only handle of a sealed file in memory."""
    handle = os.memfd_create("readings", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(text)
    while view:
        view = view[os.write(handle, view) :]
    fcntl.fcntl(handle, 1033, 1 | 2 | 4 | 8)  # F_ADD_SEALS: seal, shrink, grow, write
    return handle


def at_rest(pid):
    """Wait until a process sleeps: of what runs, the kernel counts the time at its next tick only, up to 10 ms later.

    One that goes on instead is not waited for: the time it takes is its own.
    """
    until = time.monotonic() + 0.02
    try:
        with open("/proc/%d/stat" % pid, "rb", buffering=0) as stat:
            while os.pread(stat.fileno(), 4096, 0).rpartition(b")")[2].split()[0] == b"R":
                if time.monotonic() > until:
                    break
                time.sleep(0.0001)
    except (OSError, IndexError):
        pass  # it is gone, or there is no /proc: the clock says so, or what it has


def clock_of(pid):
    """A clock of the processor time that the kernel counts for this process; the wall clock where it tells none of it."""
    clock = ~pid << 3 | 2  # CPUCLOCK_SCHED of a process, as clock_getcpuclockid(3) makes it
    try:
        time.clock_gettime(clock)
    except OSError:
        return time.perf_counter

    def now():
        at_rest(pid)
        try:
            return time.clock_gettime(clock)
        except OSError as error:
            raise GuardError("it is gone") from error

    return now


def measure(guard, box, files, whose):
    """Seconds of the last call; every call's answer is compared."""
    program = guard.inside(box, "program")
    try:
        with guard.start([program], box, LIMITS) as child:
            if child.read(1) != b"!":
                raise GuardError("it wrote before it was asked")
            now = clock_of(child.pid)
            for handle, answer in files:
                start = now()
                child.send_handle(handle)
                given = child.read(len(answer))
                seconds = now() - start
                if given != answer:
                    raise GuardError("the table is wrong")
    except GuardError as error:
        raise verdict.Gate("%s: %s; %s" % (whose, error, child.errors()[-300:])) from error
    return max(seconds, 1e-6)


def judge(guard):
    submitted = verdict.submitted(["groupby.c", "flags.txt"], 256 << 10)
    candidate = build(guard, submitted["groupby.c"], allowed_flags(submitted["flags.txt"]))
    baseline = build(guard, verdict.pristine("baseline.c")["baseline.c"], [])
    random = np.random.default_rng(verdict.seed())
    readings = Readings(random, verdict.setting("ROWS", 40000), min(verdict.setting("STATIONS", 400), 2000))
    calls, ratios, times = verdict.setting("CALLS", 1), [], []
    for number in range(verdict.setting("PAIRS", 6)):
        drawn = [readings.draw() for _ in range(calls)]
        files = [(in_memory(text), answer) for text, answer in drawn]
        order = [(baseline, "baseline"), (candidate, "solution")]
        took = {whose: measure(guard, box, files, whose) for box, whose in (order if number % 2 == 0 else order[::-1])}
        for handle, _ in files:
            os.close(handle)
        times.append(took["solution"])
        ratios.append(took["baseline"] / took["solution"])
    speedup = statistics.median(ratios)
    anchors = verdict.anchors()
    reward = anchors["reward"] * np.log(speedup / anchors["baseline"]) / np.log(anchors["reference"] / anchors["baseline"])
    return float(reward), {"speedup": speedup, "milliseconds": 1e3 * statistics.median(times), "pairs": len(ratios)}


COMPILER = next((p for p in ("/usr/bin/gcc", "/usr/local/bin/gcc", "/bin/gcc") if os.path.exists(p)), "/usr/bin/gcc")

if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
