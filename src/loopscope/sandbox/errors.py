"""What can go wrong with a sandbox, each as its own type."""

from __future__ import annotations


class SandboxError(RuntimeError):
    """The sandbox could not be started, entered or filled. The message says what to do."""


class SandboxGoneError(SandboxError):
    """The sandbox died (or was stopped) while something was asked of it."""


class SandboxUnavailableError(SandboxError):
    """This machine cannot run local sandboxes at all; the message names the remedy."""


class NoDiskError(SandboxUnavailableError):
    """The disk has too little room for the sandbox's files just now; the message says how much is to be freed."""


class DockerfileError(SandboxError):
    """The task's Dockerfile asks for something the local sandbox cannot follow."""


class TransferError(SandboxError):
    """A file transfer into or out of the sandbox failed."""


class TransferTooLarge(TransferError):
    """A transfer out of the sandbox passed its size cap and was broken off."""

    def __init__(self, path: str, max_bytes: int) -> None:
        super().__init__(f"{path}: more than {max_bytes} bytes; the transfer was broken off")
        self.path = path
        self.max_bytes = max_bytes


class MissingTools(SandboxError):
    """The task's image would bring tools that this machine lacks."""

    def __init__(self, missing: dict[str, str], where: str) -> None:
        """`missing` maps each tool to the package that brings it; `where` is the Dockerfile."""
        self.missing = dict(missing)
        listed = ", ".join(f"{tool} ({package})" for tool, package in sorted(missing.items()))
        super().__init__(
            f"{where}: the local sandbox offers the host's tools, and lacks {listed}; "
            "`loopscope doctor` names commands that install them"
        )
