"""Read a git repository without git: `python -m loopscope.tasks.intake.clone URL FOLDER` lays its newest tree there.

A process of its own, since the repository is anybody's: memory, file sizes and processor time are bounded by the
kernel, so that an object that inflates without end costs this process and nothing else. No configuration, hook or
filter of the repository acts: objects are read, and files written, here.
"""

from __future__ import annotations

import os
import resource
import stat
import sys
from io import BytesIO
from pathlib import Path

from dulwich import porcelain
from dulwich.config import ConfigFile
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

MOST_MEMORY = 3 << 30
MOST_FILE = 1 << 30
MOST_CPU_SEC = 600
MOST_FILES = 50_000
MOST_BYTES = 2 << 30
_DEEPEST = 40


class TooMuch(Exception):
    """The repository is larger than what is read."""


def main() -> None:
    """Clone, lay out, print the commit; what goes wrong is one line on standard error and exit code 1."""
    url, folder = sys.argv[1], Path(sys.argv[2])
    for limit, value in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_FSIZE, MOST_FILE),
        (resource.RLIMIT_CPU, MOST_CPU_SEC),
    ):
        resource.setrlimit(limit, (value, value))
    try:
        # A configuration of nobody: no rewriting of URLs, no credential helper.
        repo = porcelain.clone(
            url,
            folder / "repo.git",
            bare=True,
            depth=1,
            errstream=BytesIO(),
            config=_nobodys(),
            recurse_submodules=False,
        )
        with repo:
            head = repo.head()
            lay_out(repo, head, folder / "tree")
    except MemoryError:
        sys.exit("more memory than is given to reading it")
    except Exception as error:  # whatever a hostile repository makes a library raise
        sys.exit(" ".join(f"{type(error).__name__}: {error}".split())[:300])
    sys.stdout.write(head.decode("ascii") + "\n")


def _nobodys() -> ConfigFile:
    return ConfigFile()


def lay_out(repo: Repo, commit: bytes, target: Path) -> None:
    """Write the tree of a commit below the new directory `target`: files, executable bits and links; no submodules.

    Raises:
        TooMuch: more files, bytes or depth than anybody's tasks have.
        ValueError: a name that would leave the directory.
    """
    found = repo[commit]
    if not isinstance(found, Commit):
        raise ValueError("the default branch names no commit")
    left = [MOST_FILES, MOST_BYTES]
    target.mkdir()
    _write(repo, found.tree, target, left, 0)


def _write(repo: Repo, tree: bytes, target: Path, left: list[int], depth: int) -> None:
    content = repo[tree]
    if not isinstance(content, Tree) or depth > _DEEPEST:
        raise TooMuch("directories nest too deep")
    for entry in content.items():
        name = os.fsdecode(entry.path)
        if name in ("", ".", "..") or "/" in name or "\0" in name or name.lower() == ".git":
            raise ValueError(f"a file is called {name!r}")
        left[0] -= 1
        if left[0] < 0:
            raise TooMuch(f"more than {MOST_FILES} files")
        path = target / name
        if stat.S_ISDIR(entry.mode):
            path.mkdir()  # of two entries of one name the second fails, so that nothing is written through a link
            _write(repo, entry.sha, path, left, depth + 1)
        elif stat.S_ISLNK(entry.mode) or stat.S_ISREG(entry.mode):
            blob = repo[entry.sha]
            data = blob.data if isinstance(blob, Blob) else b""
            left[1] -= len(data)
            if left[1] < 0:
                raise TooMuch(f"more than {MOST_BYTES >> 20} MiB")
            if stat.S_ISLNK(entry.mode):
                path.symlink_to(os.fsdecode(data))
            else:
                mode = 0o755 if entry.mode & 0o100 else 0o644
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
                    file.write(data)


if __name__ == "__main__":
    main()
