"""Work directories as an agent would leave them: made with real git, archived with real tar."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

GIT_ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


class Work:
    """A work directory with a clock that moves one minute per commit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.minute = 0
        path.mkdir()

    def git(self, *args: str, date: int | None = None) -> str:
        self.minute += 1
        when = f"{1_700_000_000 + 60 * (self.minute if date is None else date)} +0000"
        env = GIT_ENV | {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        done = subprocess.run(["git", *args], cwd=self.path, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, message: str, *extra: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message, *extra)
        return self.git("rev-parse", "HEAD")

    def tar(self, target: Path) -> Path:
        subprocess.run(["tar", "-cf", target, "-C", self.path, "."], check=True)
        return target
