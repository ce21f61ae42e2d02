"""Run code that is not trusted next to a verifier: it sees none of its files, cannot touch it, and leaves nothing running.

Vendored into each task's tests/ from one source; standard library only, Python 3.9 and later. The strongest fence that the
place allows is found by trying (`Guard.level`):

    uid+namespaces   another uid, in namespaces of its own with a root made of system directories and its own files
    namespaces       the same uid, in such namespaces
    uid              another uid, Landlock where the kernel has it; everything of that uid is killed after each run
    process          the same uid: Landlock, seccomp against signals and tracing, an undumpable verifier, a swept group

Secrets never reach the child: its memory is replaced at exec, its handles are closed, its environment is built anew.
"""

import fcntl
import os
import random
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import namedtuple

import guard_layers as layers

HIDDEN = ("/tests", "/logs", "/solution", "/app", "/orig", "/proc", "/sys", "/root", "/home")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt")
DETAILS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
BOX = "/box"
LEVELS = ("uid+namespaces", "namespaces", "uid", "process")

Limits = namedtuple("Limits", "wall cpu memory file output processes")
Limits.__new__.__defaults__ = (10.0, 10, 1 << 30, 16 << 20, 4 << 20, False)
Limits.__doc__ = (
    """Seconds of wall clock and of processor, bytes of memory, of one file and of output; whether it may fork."""
)

Outcome = namedtuple("Outcome", "ok output errors reason")
Outcome.__doc__ = """What came of a run: `reason` is empty when it exited with 0 inside its limits."""


class GuardError(Exception):
    """The child did not do what was asked of it: it ended, was too slow, or answered too much."""


class Guard:
    """One fence for one verification. Use as a context manager; `level` names what holds. Run one child at a time."""

    def __init__(self, level=None):
        """`level`: start looking from this one (tests do); the strongest that works otherwise."""
        self.base = tempfile.mkdtemp(prefix="guard-", dir="/tmp" if os.path.isdir("/tmp") else None)
        os.chmod(self.base, 0o711)
        self.landlock = 0
        layers.prctl(layers.PR_SET_DUMPABLE, 0)  # nobody of the same uid may trace this process or read its memory
        layers.prctl(layers.PR_SET_CHILD_SUBREAPER, 1)  # orphans come here, to be killed
        self.uid = _free_id()
        self.refusals = []
        for self.level in LEVELS[LEVELS.index(level) if level else 0 :]:
            try:
                probe = self.run([sys.executable, "-I", "-S", "-c", ""], self.new_box())
                if probe.ok:
                    return
                self.refusals.append("%s: %s %s" % (self.level, probe.reason, probe.errors))
            except OSError as error:
                self.refusals.append("%s: %s" % (self.level, error))
        raise OSError("no fence works: " + "; ".join(self.refusals))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.base, ignore_errors=True)

    @property
    def namespaced(self):
        return "namespaces" in self.level

    @property
    def foreign(self):
        """Whether children run under another uid."""
        return self.level.startswith("uid")

    def new_box(self, files=None, writable=False):
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

    def start(self, argv, box, limits=Limits(), writable=False, env=None):  # noqa: B008
        """Start a program in a box; its standard input and output are pipes, handle 3 is a socket to `Running.socket`."""
        return Running(self, argv, box, limits, writable, env or {})

    def run(self, argv, box, limits=Limits(), writable=False, env=None, given=b""):  # noqa: B008
        """Run a program to its end."""
        with self.start(argv, box, limits, writable, env) as child:
            try:
                child.send(given)
                child.close_input()
                output = child.read_all()
                reason = child.wait()
            except GuardError as error:
                output, reason = b"", str(error)
            return Outcome(not reason, output, child.errors(), reason)


class Running:
    """A guarded program under way. Leaving the context kills it and all it started."""

    def __init__(self, guard, argv, box, limits, writable, env):
        self.guard, self.limits, self.status = guard, limits, None
        self.deadline = time.monotonic() + limits.wall
        self.scratch = tempfile.mkdtemp(prefix="scratch-", dir=guard.base)
        if guard.foreign:
            os.chown(self.scratch, guard.uid, guard.uid)
        self._stderr = os.memfd_create("stderr")
        self.socket, theirs = socket.socketpair()
        child_in, self._in = os.pipe()
        self._out, child_out = os.pipe()
        failed, report = os.pipe()
        go, ready = os.pipe()
        root = tempfile.mkdtemp(prefix="root-", dir=guard.base)
        sources = self._plan(box, writable) if guard.namespaced else None
        if guard.namespaced:
            layers.prctl(layers.PR_SET_DUMPABLE, 1)  # else this process may not write the child's id maps
        self.pid = layers.clone_into_namespaces() if guard.namespaced else os.fork()
        if self.pid == 0:
            try:
                layers.prctl(layers.PR_SET_PDEATHSIG, signal.SIGKILL)
                os.close(ready)
                os.read(go, 1)
                self._become(
                    argv, box, root, sources, writable, env, (child_in, child_out, self._stderr, theirs, report)
                )
            except BaseException as error:
                os.write(report, repr(error).encode()[:2000])
            finally:
                os._exit(127)
        for handle in (child_in, child_out, report, go):
            os.close(handle)
        theirs.close()
        try:
            if guard.namespaced:
                layers.map_ids(self.pid, *self._identity(), privileged=guard.foreign)
                layers.prctl(layers.PR_SET_DUMPABLE, 0)
            os.close(ready)
            self._confirm(failed)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(failed)

    # -- the child's half ---------------------------------------------------------------------------------------------

    def _identity(self):
        return (self.guard.uid, self.guard.uid) if self.guard.foreign else (os.geteuid(), os.getegid())

    def _plan(self, box, writable):
        """Symlinks and binds of the child's root: [(source, path, writable)]."""
        links = {path: os.readlink(path) for path in SYSTEM if os.path.islink(path)}
        kept = [path for path in SYSTEM if os.path.isdir(path) and path not in links]
        binds = [(path, path, False) for path in kept + _python_places(kept) if os.path.exists(path)]
        binds += [(path, path, False) for path in DETAILS if os.path.exists(path)]
        binds += [(path, path, True) for path in DEVICES if os.path.exists(path)]
        return links, [*binds, (box, BOX, writable)]

    def _become(self, argv, box, root, sources, writable, env, handles):
        """Everything between clone and exec, in an order where no step undoes what an earlier one needs."""
        guard, limits = self.guard, self.limits
        os.setsid()
        if guard.namespaced:
            links, binds = sources
            opened = layers.open_sources([source for source, _, _ in binds])
            if guard.foreign:
                os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            layers.prctl(layers.PR_SET_DUMPABLE, 1)
            layers.enter_root(root, links, [(h, path, w) for h, (_, path, w) in zip(opened, binds)])
            box, home = BOX, "/tmp"
        else:
            home = self.scratch
        layers.drop_bounding_set()
        if guard.foreign and not guard.namespaced:
            os.setgroups([])
            os.setresgid(guard.uid, guard.uid, guard.uid)
            os.setresuid(guard.uid, guard.uid, guard.uid)
        layers.prctl(layers.PR_SET_PDEATHSIG, signal.SIGKILL)  # changing ids has cleared it
        os.chdir(box)
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
        if not guard.namespaced:
            readable = [*SYSTEM, *DETAILS, *_python_places(SYSTEM), box]
            layers.landlock(readable, [*DEVICES, self.scratch, *([box] if writable else [])])
        layers.seccomp(processes=limits.processes, signals=guard.level != "process")
        self._exec(argv, env, home, handles)

    def _exec(self, argv, env, home, handles):
        standard_in, standard_out, errors, channel, report = handles
        kept = _above((standard_in, standard_out, errors, channel.fileno(), report), 5)
        for target, source in enumerate(kept):
            os.dup2(source, target, inheritable=target < 4)  # 4 reports failure: it closes at exec
        os.closerange(5, 1 << 16)
        clean = {"PATH": _PATH, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        clean.update({name + "_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")})
        clean.update(env)
        try:
            os.execve(argv[0], argv, clean)
        except OSError as error:
            os.write(4, repr(error).encode()[:2000])
            os._exit(127)

    # -- the verifier's half ------------------------------------------------------------------------------------------

    def _confirm(self, failed):
        """Wait until the child has executed its program: the handle closes then, or tells why not."""
        readable, _, _ = select.select([failed], [], [], 10)
        told = os.read(failed, 2000) if readable else b"the child did not start in 10 s"
        if told:
            raise OSError(told.decode(errors="replace"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _ready(self, reading, writing, what):
        left = self.deadline - time.monotonic()
        ready = select.select(reading, writing, [], max(left, 0)) if left > 0 else ((), (), ())
        if not (ready[0] or ready[1]):
            raise GuardError("timeout while %s" % what)
        return ready

    def limit(self, seconds):
        """From now on it has this much time."""
        self.deadline = time.monotonic() + seconds

    def send(self, data):
        """Write all of `data` to the child's standard input; a child that closed it early is not an error here."""
        view = memoryview(data)
        os.set_blocking(self._in, False)
        while len(view):
            self._ready([], [self._in], "it should have taken its input")
            try:
                view = view[os.write(self._in, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                return

    def close_input(self):
        if self._in is not None:
            os.close(self._in)
            self._in = None

    def send_handle(self, handle):
        """Pass an open file to the child through its handle 3."""
        try:
            socket.send_fds(self.socket, [b"!"], [handle])
        except OSError as error:
            raise GuardError("it closed its channel") from error

    def read(self, count):
        """Exactly `count` bytes of its output."""
        parts, missing = [], count
        while missing:
            self._ready([self._out], [], "its output was awaited")
            part = os.read(self._out, min(missing, 1 << 20))
            if not part:
                raise GuardError("it ended before its output was complete (%s)" % (self.wait() or "exit 0"))
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def read_all(self):
        """Its output up to the end, at most `limits.output` bytes."""
        parts, size = [], 0
        while True:
            self._ready([self._out], [], "its output was awaited")
            part = os.read(self._out, 1 << 16)
            if not part:
                return b"".join(parts)
            size += len(part)
            if size > self.limits.output:
                raise GuardError("more than %d bytes of output" % self.limits.output)
            parts.append(part)

    def wait(self):
        """Wait for its end; why it failed, or an empty string."""
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
            elif time.monotonic() > self.deadline:
                raise GuardError("timeout while it should have ended")
            else:
                time.sleep(0.0005)
        if os.WIFSIGNALED(self.status):
            return "killed by signal %d" % os.WTERMSIG(self.status)
        return "exit %d" % os.WEXITSTATUS(self.status) if os.WEXITSTATUS(self.status) else ""

    def errors(self):
        """The beginning of its standard error."""
        return os.pread(self._stderr, 2000, 0).decode(errors="replace")

    def close(self):
        """Kill it and everything it started, and forget its scratch files."""
        if self._out is None:
            return
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
        if not self.guard.namespaced:  # elsewhere the end of its first process is the end of its whole pid namespace
            _kill_group(self.pid)
        if self.status is None:
            self.status = os.waitpid(self.pid, 0)[1]
        if self.guard.level == "uid":
            _kill_everything_of(self.guard.uid)
        if not self.guard.namespaced:
            _reap()
        self.close_input()
        os.close(self._out)
        os.close(self._stderr)
        self._out = None
        self.socket.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _above(handles, floor):
    return [h if h >= floor else fcntl.fcntl(h, fcntl.F_DUPFD, floor) for h in handles]


def _python_places(covered):
    """Directories this interpreter and its packages live in, as far as `covered` does not hold them already.

    Never one that is hidden, that holds a hidden one, or that holds this file: the verifier's own.
    """
    own = os.path.dirname(os.path.abspath(__file__))
    places = [sys.base_prefix, sys.prefix, os.path.dirname(os.path.realpath(sys.executable)), *sys.path]
    chosen = []
    for place in sorted({os.path.abspath(p) for p in places if p}):
        secret = any(_inside(s, place) for s in (*HIDDEN, own)) or any(_inside(place, s) for s in (own, *HIDDEN[:5]))
        if not secret and not any(_inside(place, c) for c in [*covered, *chosen]):
            chosen.append(place)
    return chosen


def _inside(path, directory):
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _free_id():
    """An id that is mapped here as uid and gid and that no process uses."""
    used = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                used.add(os.stat("/proc/" + name).st_uid)
            except OSError:
                continue
    for _ in range(1000):
        candidate = random.SystemRandom().randrange(20000, 60000)
        if candidate not in used:
            return candidate
    return 65534


def _kill_group(leader):
    try:
        os.killpg(leader, signal.SIGKILL)
    except OSError:
        pass


def _kill_everything_of(uid):
    """kill(-1) by that uid reaches every process of it at once, so that nothing can fork away from it."""
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                os.kill(-1, signal.SIGKILL)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)


def _reap():
    """Kill what was orphaned to this process, the subreaper, until nothing is left."""
    for _ in range(100):
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            _kill_children()
            time.sleep(0.001)


def _kill_children():
    try:
        with open("/proc/self/task/%d/children" % os.getpid()) as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        return
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
        except OSError:
            pass
