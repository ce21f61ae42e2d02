"""The few git commands that built-in agents run inside the sandbox."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from loopscope.models.annotation import StepStatus

GIT_ENV = {
    "GIT_AUTHOR_NAME": "loopscope",
    "GIT_AUTHOR_EMAIL": "agent@loopscope.invalid",
    "GIT_COMMITTER_NAME": "loopscope",
    "GIT_COMMITTER_EMAIL": "agent@loopscope.invalid",
    # The files may belong to another user of the image.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_CONFIG_KEY_1": "init.defaultBranch",
    "GIT_CONFIG_VALUE_1": "main",
}
"""Environment of every git command: an identity, no question asked, nothing written to a config."""

INITIAL_COMMAND = (
    "test -d .git || git init -q; git add -A && git commit -q --allow-empty -m 'initial: the files as they were found'"
)
"""Makes the repository, unless there is one, and its first commit."""

COMMIT_FAILED = StepStatus.ENV_FAILURE
"""A commit that git refuses: no code of the task takes part in it."""

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def commit_command(message: str, paths: Sequence[str]) -> str:
    """Command that commits the given paths (relative to the work dir), even when nothing changed in them."""
    quoted = " ".join(shlex.quote(path) for path in paths)
    return f"git add -A -- {quoted} && git commit -q --allow-empty -m {shlex.quote(message)}"


def sha_of(text: str | None) -> str | None:
    """The commit id that `git rev-parse` printed, if it is one."""
    found = _SHA.fullmatch((text or "").strip())
    return found.group() if found else None
