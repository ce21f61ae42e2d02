"""Verifier of six colours of moss: a paired measurement from outside the process, every grown floor compared cell by cell.

Each measurement has a floor of its own, drawn from a secret seed, in memory, and grown here by a plain copy of the rule. The measured program
is started and says that it is ready; a read-only handle of the floor is sent to it, and what counts is the processor time from then to
the last byte of its answer, as the kernel tells this process. Before the handle arrives nothing in that process can know the floor; the next
measurement is a new process. It may start no processes or threads, so that its processor time is all its work, however busy the machine.
"""

import fcntl
import os
import re
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
from guard import verdict  # noqa: E402
from guard.fence import GuardError, Limits  # noqa: E402

LIMITS = Limits(wall=5.0, cpu=2, memory=512 << 20, file=1 << 20, output=1 << 20, processes=False)
BUILD = Limits(wall=10.0, cpu=10, memory=2 << 30, file=16 << 20, output=1 << 20, processes=True)
FLAG = re.compile(r"-(O[0-3sfast]*|[fm][A-Za-z0-9.,=_-]+|g[0-3]?|std=[a-z0-9:]+|D[A-Za-z0-9_]+(=\w+)?)")
COLOURS, NEEDED = 6, 2


def build(guard, source, flags):
    """The program, compiled inside the fence from the pristine driver and this source."""
    files = {**verdict.pristine("driver.c", "moss.h"), "moss.c": source}
    box = guard.new_box(files, writable=True)
    command = ["-std=gnu11", "-O1", *flags, "moss.c", "driver.c", "-o", "program", "-lm"]
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


def grown(floor, steps):
    """The floor after so many steps, by the rule as the instruction states it."""
    height, width = floor.shape
    ring = np.empty((height + 2, width + 2), np.uint8)  # the floor with a border of the opposite edges
    own, line = ring[1:-1, 1:-1], width + 2
    own[:] = floor
    flat, size = ring.reshape(-1), height * line - 2  # from the first cell to the last; the border between them is done anew
    places = [flat[down * line + right :][:size] for down in range(3) for right in range(3)]
    wanted, found = np.empty(size, np.uint8), np.empty(size, np.uint8)
    same = np.empty(size, bool)
    for _ in range(steps):
        ring[0, 1:-1], ring[-1, 1:-1] = own[-1], own[0]
        ring[:, 0], ring[:, -1] = ring[:, -2], ring[:, 1]
        np.add(places[4], 1, out=wanted)
        wanted *= np.not_equal(wanted, COLOURS, out=same).view(np.uint8)
        found[:] = 0
        for neighbour in places:  # the cell itself is among them, and never has its next colour
            found += np.equal(neighbour, wanted, out=same).view(np.uint8)
        change = np.greater_equal(found, NEEDED, out=same).view(np.uint8)
        places[4] += change * (wanted - places[4])  # modulo 256, as bytes are
    return own


def draw(random, width, height, steps):
    """(file, answer): the bytes of a fresh floor with its sizes, and of what grows from it."""
    floor = random.integers(0, COLOURS, (height, width), dtype=np.uint8)
    head = np.array([width, height, steps], np.uint32)
    return head.tobytes() + floor.tobytes(), grown(floor, steps).tobytes()


def in_memory(content):
    """A read-only handle of a sealed file in memory."""
    handle = os.memfd_create("floor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
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


def measure(guard, box, floors, whose):
    """Seconds of the last of these calls, one for each (floor, answer), in one new process; every answer is compared."""
    program = guard.inside(box, "program")
    handles = [(in_memory(content), answer) for content, answer in floors]
    try:
        with guard.start([program], box, LIMITS) as child:
            if child.read(1) != b"!":
                raise GuardError("it wrote before it was asked")
            now = clock_of(child.pid)
            for handle, answer in handles:
                start = now()
                child.send_handle(handle)
                given = child.read(len(answer))
                seconds = now() - start
                if given != answer:
                    raise GuardError("the grown floor is wrong")
    except GuardError as error:
        raise verdict.Gate("%s: %s; %s" % (whose, error, child.errors()[-300:])) from error
    finally:
        for handle, _ in handles:
            os.close(handle)
    return max(seconds, 1e-6)


def judge(guard):
    submitted = verdict.submitted(["moss.c", "flags.txt"], 256 << 10)
    candidate = build(guard, submitted["moss.c"], allowed_flags(submitted["flags.txt"]))
    baseline = build(guard, verdict.pristine("baseline.c")["baseline.c"], [])
    random = np.random.default_rng(verdict.seed())
    width = max(min(verdict.setting("WIDTH", 256), 1024) // 64, 1) * 64
    height, steps = min(verdict.setting("HEIGHT", 96), 512), min(verdict.setting("STEPS", 96), 200)
    sizes, calls, ratios, times = (width, height, steps), verdict.setting("CALLS", 1), [], []
    for number in range(verdict.setting("PAIRS", 7)):
        first, second = ((baseline, "baseline"), (candidate, "solution"))[:: 1 if number % 2 == 0 else -1]
        took = {"baseline": [], "solution": []}
        for box, whose in (first, second, second, first):
            took[whose].append(measure(guard, box, [draw(random, *sizes) for _ in range(calls)], whose))
        times.append(min(took["solution"]))
        ratios.append(min(took["baseline"]) / times[-1])
    speedup = statistics.median(ratios)
    anchors = verdict.anchors()
    reward = anchors["reward"] * np.log(speedup / anchors["baseline"]) / np.log(anchors["reference"] / anchors["baseline"])
    return float(reward), {"speedup": speedup, "milliseconds": 1e3 * statistics.median(times), "pairs": len(ratios)}


COMPILER = next((p for p in ("/usr/bin/gcc", "/usr/local/bin/gcc", "/bin/gcc") if os.path.exists(p)), "/usr/bin/gcc")

if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
