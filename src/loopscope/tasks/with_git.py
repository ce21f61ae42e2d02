"""A task's Dockerfile with git added, for agents that are told to keep their record in it: a derived image.

The local sandbox shows the host's git and passes over the layer; Docker-like environments build it. Nothing is added
where the file installs git itself or starts from an image that is known to have it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from loopscope.models.task import GIT_LAYER
from loopscope.tasks.dockerfile import instructions
from loopscope.tasks.errors import TaskError

_INSTALL: dict[str, str] = {
    "apt-get": "apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*",
    "apk": "apk add --no-cache git",
    "dnf": "dnf install -y git && dnf clean all",
    "microdnf": "microdnf install -y git && microdnf clean all",
    "yum": "yum install -y git && yum clean all",
    "zypper": "zypper --non-interactive install git && zypper clean --all",
}
"""By package manager, in the order in which an unknown image is asked for them."""

_HAVE_GIT = frozenset({"buildpack-deps", "python", "node", "ruby", "golang", "rust", "gcc", "perl"})
"""Official images that are built on buildpack-deps, which brings git; their small variants do not."""
_SMALL = re.compile(r"slim|alpine|windows|nanoserver|curl")
_BY_IMAGE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"alpine"), "apk"),
    (re.compile(r"ubi\d*-minimal|ubi-minimal"), "microdnf"),
    (re.compile(r"fedora|rockylinux|almalinux|oraclelinux|centos|\bubi\d*\b"), "dnf"),
    (re.compile(r"opensuse|suse/"), "zypper"),
    (re.compile(r"debian|ubuntu|slim|bookworm|bullseye|trixie|buster|jammy|noble|focal"), "apt-get"),
)
_NO_SHELL = re.compile(r"^scratch$|distroless")
_GIT_INSTALLED = re.compile(
    r"\b(?:apt-get|apt|apk|dnf|microdnf|yum|zypper|conda|mamba)\b[^|;&]*\b(?:install|add)\b[^|;&]*(?<![\w./-])git(?![\w./-])"
)
_COMMENT = "# Added by loopscope: agents keep their record in git."


@dataclass
class _Stage:
    image: str
    runs: list[str] = field(default_factory=list)
    user: str | None = None


def with_git(text: str) -> tuple[str, str] | None:
    """(the Dockerfile with git, how it gets it); None where there is nothing to add, or no shell to add it with.

    Raises:
        TaskError: the file ends within an instruction, or has no FROM.
    """
    stage = _last_stage(text)
    name, _, tag = stage.image.lower().partition(":")
    short = name.removeprefix("docker.io/").removeprefix("library/")
    if _NO_SHELL.search(name) or any(_GIT_INSTALLED.search(run) for run in stage.runs):
        return None
    if short in _HAVE_GIT and not _SMALL.search(tag):
        return None
    manager = _manager(stage, f"{short}:{tag}", short)
    command = _INSTALL[manager] if manager else _whichever()
    lines = [_COMMENT, f"RUN {GIT_LAYER} && {command}"]
    if stage.user is not None and stage.user.split(":")[0] not in ("root", "0"):
        lines = [_COMMENT, "USER root", lines[1], f"USER {stage.user}"]
    return text.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n", manager or "whichever package manager it has"


def _last_stage(text: str) -> _Stage:
    stages: dict[str, _Stage] = {}
    stage: _Stage | None = None
    for keyword, rest in instructions(text):
        if keyword == "FROM":
            words = [word for word in rest.split() if not word.startswith("--")]
            image = words[0] if words else ""
            base = stages.get(image.lower())
            stage = _Stage(base.image, list(base.runs), base.user) if base else _Stage(image)
            if len(words) >= 3 and words[1].upper() == "AS":
                stages[words[2].lower()] = stage
        elif stage is not None and keyword == "RUN":
            stage.runs.append(rest)
        elif stage is not None and keyword == "USER":
            stage.user = rest
    if stage is None:
        raise TaskError("environment/Dockerfile", "has no FROM", remedy="begin it with the image to start from")
    if text.rstrip().endswith("\\"):
        raise TaskError("environment/Dockerfile", "ends within an instruction", remedy="take the last backslash off")
    return stage


def _manager(stage: _Stage, image: str, short: str) -> str | None:
    """The package manager that the file itself uses, else the one of its image; None where neither tells."""
    used = {
        manager: at for manager in _INSTALL for at, run in enumerate(stage.runs) if re.search(rf"\b{manager}\b", run)
    }
    if used:
        return max(used, key=lambda manager: used[manager])
    if any(re.search(r"\bapt\s+(?:-\w+\s+)*install\b", run) for run in stage.runs):
        return "apt-get"
    known = next((manager for pattern, manager in _BY_IMAGE if pattern.search(image)), None)
    return known or ("apt-get" if short in _HAVE_GIT else None)


def _whichever() -> str:
    tries = " || ".join(f"{{ command -v {manager} >/dev/null && {command}; }}" for manager, command in _INSTALL.items())
    return f"{{ command -v git >/dev/null || {tries}; }}"
