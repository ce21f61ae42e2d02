"""Run code that is not trusted beside a verifier: it sees none of its files, cannot touch it, leaves nothing running.

The strongest fence that the place allows is found by trying (`Guard.level`):

    uid+namespaces   another uid, in namespaces of its own with a root made of system directories and its own files
    namespaces       the same uid, in such namespaces
    uid              another uid, Landlock where the kernel has it; everything of that uid is killed after each run
    process          the same uid: Landlock, seccomp against signals and tracing, an undumpable verifier, a swept group

Secrets never reach the child: its memory is replaced at exec, its handles are closed, its environment is built anew.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from . import layers
from .child import GuardError, Handles, Limits, Running

__all__ = ["BOX", "Guard", "GuardError", "Limits", "Outcome"]

HIDDEN = ("/tests", "/logs", "/solution", "/app", "/orig")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
DETAILS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOX = "/box"
"""Where a child in namespaces finds its box; elsewhere the box has its own path. `Guard.inside` knows."""
LEVELS = ("uid+namespaces", "namespaces", "uid", "process")


class Outcome(NamedTuple):
    """What came of a run."""

    ok: bool
    output: bytes
    errors: str
    reason: str
    """Why it is not ok: how it ended, or which limit it met. Empty when it is."""
    cpu: float
    """Seconds of processor it used, its start included."""


class Guard:
    """One fence for one verification, a context manager. Run one child at a time."""

    def __init__(self, level: str | None = None) -> None:
        """Find the strongest fence that works, looking from `level` on (tests name one)."""
        self.base = tempfile.mkdtemp(prefix="guard-", dir="/tmp" if os.path.isdir("/tmp") else None)
        os.chmod(self.base, 0o711)
        layers.prctl(layers.PR_SET_DUMPABLE, 0)  # nobody of the same uid may trace this process or read its memory
        layers.prctl(layers.PR_SET_CHILD_SUBREAPER, 1)  # orphans come here, to be killed
        self.uid = free_id()
        self.refusals: list[str] = []
        for self.level in LEVELS[LEVELS.index(level) if level else 0 :]:
            try:
                probe = self.run([sys.executable, "-I", "-S", "-c", ""], self.new_box())
                if probe.ok:
                    return
                self.refusals.append("%s: %s %s" % (self.level, probe.reason, probe.errors))
            except OSError as error:
                self.refusals.append("%s: %s" % (self.level, error))
        raise OSError("no fence works: " + "; ".join(self.refusals))

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.base, ignore_errors=True)

    @property
    def namespaced(self) -> bool:
        """Whether children live in namespaces and see a root of their own."""
        return "namespaces" in self.level

    @property
    def foreign(self) -> bool:
        """Whether children run under another uid."""
        return self.level.startswith("uid")

    def inside(self, box: str, name: str) -> str:
        """The path by which a child finds a file of its box."""
        return (BOX if self.namespaced else box) + "/" + name

    def new_box(self, files: Mapping[str, bytes] | None = None, writable: bool = False) -> str:
        """A directory of files {name: bytes}: the working directory of a run, read-only to it unless `writable`."""
        box = tempfile.mkdtemp(prefix="box-", dir=self.base)
        for name, content in (files or {}).items():
            with open(os.path.join(box, name), "wb") as file:
                file.write(content)
            os.chmod(os.path.join(box, name), 0o755 if content[:4] == b"\x7fELF" else 0o644)
        os.chmod(box, 0o755)
        if writable and self.foreign:
            os.chown(box, self.uid, self.uid)
        return box

    def start(self, argv: Sequence[str], box: str, limits: Limits | None = None, writable: bool = False) -> Running:
        """Start a program in a box; its standard input and output are pipes, its handle 3 receives `send_handle`."""
        limits = limits or Limits()
        scratch = tempfile.mkdtemp(prefix="scratch-", dir=self.base)
        root = tempfile.mkdtemp(prefix="root-", dir=self.base)
        if self.foreign:
            os.chown(scratch, self.uid, self.uid)
        plan = self._plan(box, writable)

        def become(handles: Handles) -> None:
            self._become(argv, box, limits, writable, scratch, root, plan, handles)

        identity = (self.uid, self.uid) if self.foreign else (os.geteuid(), os.getegid())
        maps = (*identity, self.foreign) if self.namespaced else None
        return Running(become, limits, scratch, maps, self.uid if self.level == "uid" else None)

    def run(
        self,
        argv: Sequence[str],
        box: str,
        limits: Limits | None = None,
        writable: bool = False,
        given: bytes = b"",
    ) -> Outcome:
        """Run a program to its end, with these bytes as its input."""
        with self.start(argv, box, limits, writable) as child:
            output, reason = b"", ""
            try:
                child.send(given)
                child.close_input()
                output = child.read_all()
                reason = child.wait()
            except GuardError as error:
                reason = str(error)
            return Outcome(not reason, output, child.errors(), reason, child.cpu)

    # -- in the child, between clone and exec -------------------------------------------------------------------------

    def _plan(self, box: str, writable: bool) -> tuple[dict[str, str], list[tuple[str, str, bool]]]:
        """Links {path: target} and binds [(source, path, writable)] of the child's root."""
        links = {path: os.readlink(path) for path in SYSTEM if os.path.islink(path)}
        kept = [path for path in SYSTEM if os.path.isdir(path) and path not in links]
        shown = [path for path in (*kept, *python_places(kept), *DETAILS) if os.path.exists(path)]
        devices = [path for path in DEVICES if os.path.exists(path)]
        return links, [*((p, p, False) for p in shown), *((p, p, True) for p in devices), (box, BOX, writable)]

    def _become(
        self,
        argv: Sequence[str],
        box: str,
        limits: Limits,
        writable: bool,
        scratch: str,
        root: str,
        plan: tuple[dict[str, str], list[tuple[str, str, bool]]],
        handles: Handles,
    ) -> None:
        """Turn this process into the guarded program, in an order where no step undoes what a later one needs."""
        os.setsid()
        links, binds = plan
        if self.namespaced:
            opened = layers.open_sources(source for source, _, _ in binds)
            if self.foreign:
                os.setgroups([])
            os.setresgid(0, 0, 0)  # the only id there is inside; outside it is `self.uid`, or the verifier's own
            os.setresuid(0, 0, 0)
            layers.enter_root(root, links, [(handle, path, w) for handle, (_, path, w) in zip(opened, binds)])
        layers.drop_bounding_set()
        if self.foreign and not self.namespaced:
            os.setgroups([])
            os.setresgid(self.uid, self.uid, self.uid)
            os.setresuid(self.uid, self.uid, self.uid)
        layers.prctl(layers.PR_SET_PDEATHSIG, signal.SIGKILL)  # changing ids has cleared it
        os.chdir(BOX if self.namespaced else box)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would hand that on
        layers.set_limits(
            {
                resource.RLIMIT_CPU: limits.cpu,
                resource.RLIMIT_AS: limits.memory,
                resource.RLIMIT_FSIZE: limits.file,
                resource.RLIMIT_CORE: 0,
                resource.RLIMIT_NOFILE: 64,
                resource.RLIMIT_MEMLOCK: 1 << 16,
                resource.RLIMIT_MSGQUEUE: 0,
            }
        )
        layers.drop_capabilities()
        layers.prctl(layers.PR_SET_NO_NEW_PRIVS, 1)
        if not self.namespaced:
            layers.landlock(
                [*SYSTEM, *DETAILS, *python_places(SYSTEM), box], [*DEVICES, scratch, *([box] if writable else [])]
            )
        layers.seccomp(processes=limits.processes, signals=self.level != "process")
        handles.install()
        os.execve(argv[0], list(argv), environment("/tmp" if self.namespaced else scratch))


def environment(home: str) -> dict[str, str]:
    """A child's environment: nothing of the verifier's, one thread for every numerical library."""
    threads = {name + "_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")}
    return {"PATH": PATH, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **threads}


def python_places(covered: Iterable[str]) -> list[str]:
    """Directories this interpreter and its packages live in, as far as `covered` does not hold them already.

    Never one that is hidden, that holds a hidden one, or that holds the verifier's own files.
    """
    secret = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *HIDDEN)
    packages = [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]
    places = [sys.base_prefix, sys.prefix, os.path.dirname(os.path.realpath(sys.executable)), *packages]
    chosen: list[str] = []
    for place in sorted({os.path.abspath(p) for p in places}):
        if any(_within(s, place) or _within(place, s) for s in secret):
            continue
        if not any(_within(place, c) for c in (*covered, *chosen)):
            chosen.append(place)
    return chosen


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def free_id() -> int:
    """An id that no process here uses, for the uid and gid of the children."""
    used = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                used.add(os.stat("/proc/" + name).st_uid)
            except OSError:  # it has ended
                continue
    system = random.SystemRandom()
    while (candidate := system.randrange(20000, 60000)) in used:
        continue
    return candidate
