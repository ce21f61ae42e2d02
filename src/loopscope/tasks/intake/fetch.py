"""Where others' tasks come from: a directory, or a git repository, which is read without git and within bounds."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from loopscope.tasks.errors import TaskError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[\w.-]+@[\w.-]+:")
_SCHEMES = ("https", "http", "file")
_ENVIRONMENT = re.compile(r"PATH|HOME|LANG|TMPDIR|SSL_CERT_\w+|(?i:https?_proxy|no_proxy|all_proxy)|REQUESTS_CA_BUNDLE")
"""What the reader is told of ours: how to reach the network, no secret."""
CLONE_SEC = 900.0
"""Wall clock of a whole clone."""


@dataclass(frozen=True)
class Source:
    """A tree of tasks on this machine."""

    directory: Path
    origin: str
    """As it was written, without any password."""
    commit: str | None = None


@contextlib.contextmanager
def opened(written: str, scratch: Path) -> Iterator[Source]:
    """The tree that a path or URL names; of a repository, what its default branch holds, in a temporary directory.

    Args:
        written: a directory, a git repository without a work tree, or an https, http or file URL.
        scratch: where temporary files go.

    Raises:
        TaskError: there is no such thing, or it cannot be read within the bounds.
    """
    path = Path(written).expanduser()
    if not _URL.match(written) and not path.exists():
        raise TaskError(written, "there is no such directory", remedy="give a directory of tasks, or a git URL")
    if not _URL.match(written) and not path.is_dir():
        raise TaskError(written, "is not a directory", remedy="unpack it, or give the directory that holds the tasks")
    if not _URL.match(written) and not is_bare_repository(path):
        yield Source(path, written)
        return
    url, shown = (
        (_checked(written), without_password(written)) if _URL.match(written) else (str(path.resolve()), written)
    )
    with tempfile.TemporaryDirectory(prefix=".tmp-clone-", dir=scratch) as folder:
        commit = _clone(url, shown, Path(folder))
        yield Source(Path(folder, "tree"), shown, commit)


def is_bare_repository(path: Path) -> bool:
    """A git directory itself, such as `repo.git`; one with a work tree is read as the directory that it is."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _checked(url: str) -> str:
    scheme = url.split("://", 1)[0].lower() if "://" in url else "ssh"
    if scheme not in _SCHEMES:
        remedy = "give an https URL, or clone it yourself and give the directory"
        raise TaskError(without_password(url), f"cannot be fetched over {scheme}", remedy=remedy)
    return url


def without_password(url: str) -> str:
    """A URL as it may be shown and kept."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def _clone(url: str, shown: str, folder: Path) -> str:
    """In a process of its own, whose memory, files and time are bounded; the name of the commit."""
    command = [sys.executable, "-I", "-m", "loopscope.tasks.intake.clone", url, str(folder)]
    remedy = "see that the URL and the network are right, or clone it yourself and give the directory"
    told = {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name)}
    try:
        done = subprocess.run(
            command,
            env=told,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CLONE_SEC,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise TaskError(shown, f"took more than {CLONE_SEC:g} seconds to fetch", remedy=remedy) from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        why = said[-1] if said else f"the reader ended with {done.returncode}, out of its bounds?"
        why = why.replace(url, shown)[:300]
        raise TaskError(shown, f"cannot be read as a git repository ({why})", remedy=remedy)
    return done.stdout.strip()
