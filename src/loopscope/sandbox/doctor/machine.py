"""How doctor reads a machine: files under a root that tests can make up, and programs that may hang."""

from __future__ import annotations

import os
import pwd
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_MAX_BYTES = 1 << 18
_ANSWER_SEC = 5.0
_SYSTEM = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/opt/homebrew/bin")
_QUIET = {
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CI": "1",
    "NO_UPDATE_NOTIFIER": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
"""So that programs answer plainly, look for no newer version and report to nobody."""


class NoAnswer(Exception):
    """A program did not answer in time."""


@dataclass(frozen=True)
class Machine:
    """The machine as it is read: `/proc`, `/sys` and `/etc` lie under `root`."""

    root: Path = Path("/")
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    uid: int = field(default_factory=os.geteuid)

    def path(self, name: str) -> Path:
        """Where the absolute path `name` lies."""
        return self.root / name.lstrip("/")

    def text(self, name: str) -> str | None:
        """The beginning of a file, stripped; None when it is not there or may not be read."""
        try:
            with self.path(name).open("rb") as file:
                return file.read(_MAX_BYTES).decode(errors="replace").strip()
        except OSError:
            return None

    def number(self, name: str) -> int | None:
        """A file that holds one whole number."""
        text = self.text(name)
        return int(text) if text is not None and text.lstrip("-").isdigit() else None

    def exists(self, name: str) -> bool:
        """Whether something is there, as far as this user can see."""
        try:
            return self.path(name).exists()
        except OSError:
            return False

    def names(self, name: str) -> list[str]:
        """What a directory holds, sorted; empty when it cannot be read."""
        try:
            return sorted(p.name for p in self.path(name).iterdir())
        except OSError:
            return []

    def which(self, program: str, path: str | None = None) -> str | None:
        """Where a program lies, on this user's PATH unless another is given."""
        return shutil.which(program, path=self.env.get("PATH", "") if path is None else path)

    def which_anywhere(self, program: str) -> str | None:
        """On PATH or, however short that is, in the system's own directories."""
        places = [self.env.get("PATH", ""), *(str(self.path(place)) for place in _SYSTEM)]
        return self.which(program, ":".join(places))

    def as_root(self, *commands: str) -> str:
        """The commands, one after the other, with what makes this user's shell run them as root."""
        if self.uid == 0:
            return " && ".join(commands)
        for helper in ("sudo", "doas"):
            if self.which_anywhere(helper):
                return " && ".join(f"{helper} {command}" for command in commands)
        return f"su -c {shlex.quote(' && '.join(commands))}"

    @property
    def user(self) -> str:
        """The name of the user; the number where none is known."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)


@dataclass(frozen=True)
class Answer:
    """What a program said (both streams) and its exit code."""

    code: int
    text: str

    @property
    def first_line(self) -> str:
        """The first line that says something."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


def ask(
    argv: Sequence[str], env: Mapping[str, str], timeout: float = _ANSWER_SEC, stdin: str | None = None
) -> Answer | None:
    """Run a program in an empty directory that is also its home; None when it does not start.

    Nothing of it is left running: one that says too much is killed too. Raises NoAnswer after `timeout` seconds.
    """
    until = time.monotonic() + timeout
    with tempfile.TemporaryDirectory(prefix="loopscope-doctor-", ignore_cleanup_errors=True) as home:
        whole = {**_QUIET, "PATH": env.get("PATH", os.defpath), "HOME": home, "TMPDIR": home}
        whole |= {name: env[name] for name in ("DOCKER_HOST", "LD_LIBRARY_PATH") if name in env}
        given = Path(home, ".stdin")
        given.write_text(stdin or "")
        try:
            with given.open("rb") as source:
                process = subprocess.Popen(
                    argv,
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd=home,
                    env=whole,
                    start_new_session=True,
                )
        except OSError:
            return None
        try:
            said = _read(process, until)
            capped = len(said) >= _MAX_BYTES
            while not capped and os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                if time.monotonic() >= until:
                    raise NoAnswer(f"{Path(argv[0]).name} did not answer in {timeout:g} s")
                time.sleep(0.005)
        finally:
            # Before it is reaped, while its process group cannot be anybody else's.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout:
                process.stdout.close()
    return Answer(process.returncode, said)


def _read(process: subprocess.Popen[bytes], until: float) -> str:
    """What it writes, up to a cap; ends when it has exited though a child of its keeps the pipe open."""
    kept = bytearray()
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while len(kept) < _MAX_BYTES and (left := until - time.monotonic()) > 0:
            if selector.select(min(left, 0.1)):
                chunk = os.read(process.stdout.fileno(), 1 << 16)
                if not chunk:
                    break
                kept += chunk
            elif os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
                break
    return kept.decode(errors="replace")
