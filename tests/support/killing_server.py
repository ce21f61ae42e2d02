"""A fork server: imports everything once and forks a child for each start of the command.

Run as a program. It reads one request (JSON) per line and answers with one line. Orphans of its children become its
own, so it can say of each start when the last process that the start left behind is gone.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import killing_clock
from killing_blows import Blow
from killing_child import Saboteur
from killing_processes import descendants

# What draws charts is loaded by those who draw: its engine does not survive a fork.
_MODULES = (
    "loopscope.cli",
    "loopscope.engine.clock",
    "loopscope.engine.plan",
    "loopscope.engine.study",
    "loopscope.engine.verifier",
    "loopscope.engine.harvest",
    "loopscope.agents.replay",
    "loopscope.agents.oracle",
    "loopscope.agents.search",
    "loopscope.sandbox.environment",
    "loopscope.analysis.build",
    "harbor.agents.nop",
    "harbor.trial.trial",
    "harbor.trial.single_step",
    "harbor.trial.sync_trajectory",
    "killing_agent",
    # What these load only when it is needed; `dirhash` asks git for its version meanwhile.
    "dirhash",
    "dulwich.trailers",
    "dulwich.worktree",
    "loopscope.analysis.anew",
    "loopscope.cli.summary",
    "loopscope.models.standing",
    "numpy.ma",
    "numpy.random",
    "polars._utils.parquet",
    "rich._emoji_codes",
)
_PR_SET_CHILD_SUBREAPER = 36
_GONE_SEC = 20.0
_LONGEST_SEC = 150
_MS_NOSUID_NODEV = 2 | 4
_MS_REMOUNT, _MS_RDONLY = 32, 1
_MS_PRIVATE_REC = (1 << 18) | 0x4000


class Server:
    """Serves one test process."""

    def __init__(self) -> None:
        self.usage = 0.0

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run the command in a child; returns when it ended and nothing of it is left, or when it stopped itself."""
        pid = os.fork()
        if pid == 0:
            _become(request)
        return self._follow(pid)

    def go_on(self, request: dict[str, Any]) -> dict[str, Any]:
        """Continue a start that stopped itself, or kill it, and wait for its end."""
        os.kill(request["pid"], signal.SIGKILL if request["kill"] else signal.SIGCONT)
        return self._follow(request["pid"])

    def _follow(self, pid: int) -> dict[str, Any]:
        began, self.usage = time.monotonic(), 0.0
        while True:
            found, status, usage = os.wait4(-1, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                if found == pid:
                    return {"pid": pid, "stopped": True}
                continue
            self.usage += usage.ru_utime + usage.ru_stime
            if found == pid:
                break
        left = self._settle()
        seconds = time.monotonic() - began
        code = os.waitstatus_to_exitcode(status)
        return {"pid": pid, "stopped": False, "code": code, "left": left, "seconds": seconds, "cpu": self.usage}

    def _settle(self) -> list[str]:
        """Wait for orphans; the command lines of those that would not go, which are killed."""
        until = time.monotonic() + _GONE_SEC
        while time.monotonic() < until:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return []
            if pid == 0:
                if any(_stopped(process.pid) for process in descendants(os.getpid())):
                    return []  # another start stands still; its processes are not this one's
                time.sleep(0.002)
            elif not os.WIFSTOPPED(status):
                self.usage += usage.ru_utime + usage.ru_stime
        left = descendants(os.getpid())
        for process in left:
            os.kill(process.pid, signal.SIGKILL)
        return [process.command for process in left]

    def mount(self, request: dict[str, Any]) -> dict[str, Any]:
        """A file system of so many bytes and inodes, seen by later starts alone; mounted again, it changes them or its
        mode."""
        path = os.fsencode(request["path"])
        size = b"size=%d,nr_inodes=%d" % (request["size"], request["inodes"])
        flags = _MS_NOSUID_NODEV | (_MS_RDONLY if request["read_only"] else 0)
        if os.path.ismount(path):
            flags |= _MS_REMOUNT
        else:
            _own_mounts()
        _checked(_libc.mount(b"tmpfs", path, b"tmpfs", ctypes.c_ulong(flags), size + b",mode=755"))
        return {}

    def unmount(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take `mount` back, if it came to it."""
        if os.path.ismount(request["path"]):
            _checked(_libc.umount2(os.fsencode(request["path"]), 2))
        return {}

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Call `module:function` with one string in a child; its answer, JSON. It sees what starts see."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                module, _, function = request["function"].partition(":")
                answer = getattr(importlib.import_module(module), function)(request["argument"])
                text = json.dumps({"answer": answer})
            except BaseException:
                text = json.dumps({"error": traceback.format_exc()})
            with os.fdopen(write, "w") as file:
                file.write(text)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as file:
            result: dict[str, Any] = json.load(file)
        os.waitpid(pid, 0)
        return result


_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _own_mounts() -> None:
    """A mount namespace of this process; without root's rights in a user namespace that keeps the ids."""
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        os.unshare(os.CLONE_NEWNS)
    else:
        os.unshare(os.CLONE_NEWNS | os.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _checked(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_PRIVATE_REC), None))


def _stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"T"
    except OSError:
        return False


def _become(request: dict[str, Any]) -> None:
    """In the child: the command, as a shell would have started it, in the hands of a saboteur. Does not return."""
    code = 70
    try:
        os.setsid()
        signal.alarm(_LONGEST_SEC)  # kills; nothing here takes so long
        os.chdir(request["cwd"])
        os.environ.update(request["env"])
        tempfile.tempdir = None
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{request['logs']}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["loopscope", *request["argv"]]
        killing_clock.install(frozen=request["frozen"])
        saboteur = Saboteur(Path(request["study"]), Blow.read(request["blow"]), Path(request["logs"], "report"))
        saboteur.install()
        code = _main()
        if request["trace"]:
            Path(request["trace"]).write_text(json.dumps(saboteur.trace))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _main() -> int:
    from loopscope.cli import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    finally:
        atexit._run_exitfuncs()
    return 0


def serve() -> None:
    """Until the test process closes the pipe."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for module in _MODULES:
        importlib.import_module(module)
    # Some libraries keep threads of their own, which stand idle; no child goes on with their work.
    warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork", category=DeprecationWarning)
    importlib.import_module("loopscope.sandbox.toolchain").build()  # looked for once; else half a second of each start
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    gc.collect()
    gc.freeze()
    server = Server()
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(server, request["do"])(request)
        except OSError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve()
