"""What a hostile agent is: what it tries, how, and what must be seen afterwards."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from loopscope.records import RunDir

COMPLETED = ("completed",)
SWIFT, SHORT = "swift", "short"
Part = Literal["normal", "long", "rest"]
"""Agents of one study and user that are tried together; only `normal` is not for `make long` alone."""


@dataclass(frozen=True)
class Hostile:
    """One hostile agent. Before its script it works honestly: the first commit scores 0.1, the second 0.3.

    The script is bash in /app, as root inside. It knows of the host: HOST_PLACE (all that the study owns lies there),
    HOST_CANARY (a file of value), HOST_PID (the engine), HOST_PORT and HOST_SOCKET (listeners on its loopback and in its
    abstract namespace), MARK (a word that must not turn up outside).
    """

    name: str
    tries: str
    script: str = ""
    study: str = SWIFT
    """`swift`: a guarded verifier, 60 s for the agent; `short`: 2 s, and a verifier without any guard."""
    final: tuple[str | None, ...] = ("0.3",)
    """What the final state may be worth; None: missing, with a reason."""
    history: tuple[str, ...] = ("0.1", "0.3")
    """Scores of the first commits; empty when the agent's own doing left none."""
    further: tuple[str | None, ...] = ("0.3", None)
    """What commits beyond these may be worth."""
    status: tuple[str, ...] = COMPLETED
    says: tuple[str, ...] = ()
    """Regular expressions, each found in a line `kind: message` of the record's problems or in a score's reason."""
    claims: dict[str, Any] = field(default_factory=dict)
    """Fields that the agent sets in Harbor's context, whatever their types."""
    raises: str = ""
    meets: tuple[str, ...] = ()
    """Limits of the sandbox that it must have met, wherever they are not absent."""
    also: Callable[[RunDir], None] | None = None
    """What else must be seen."""
    long: bool = False
    """Gigabytes, millions or minutes: only `make long` runs it."""
    same_for_all: bool = False
    """Text, claims or git objects, which no right of a user changes: where root can be tried, an ordinary user tries it
    in the long set."""

    def part(self, user: str) -> Part:
        """With which others this one is tried."""
        if self.long:
            return "long"
        return "rest" if self.same_for_all and user == "user" and os.geteuid() == 0 else "normal"


def python(text: str) -> str:
    """A shell command that runs this Python inside."""
    return f"python3 - <<'END_OF_SCRIPT'\n{textwrap.dedent(text).strip()}\nEND_OF_SCRIPT\n"


GIT_OBJECTS = """
import hashlib, os, subprocess, zlib
def put(raw, name=None):
    name = name or hashlib.sha1(raw).hexdigest()
    os.makedirs(f".git/objects/{name[:2]}", exist_ok=True)
    path = f".git/objects/{name[:2]}/{name[2:]}"
    if not os.path.exists(path):
        open(path, "wb").write(zlib.compress(raw))
    return name
def thing(kind, body): return put(kind + b" %d\\0" % len(body) + body)
def blob(body): return thing(b"blob", body)
def tree(*entries): return thing(b"tree", b"".join(b"%s %s\\0%s" % (m, n, bytes.fromhex(h)) for m, n, h in entries))
def commit(tree, *parents, who=b"a <a@b> 1700000000 +0000", message=b"m"):
    lines = [b"tree " + tree.encode(), *(b"parent " + p.encode() for p in parents), b"author " + who, b"committer " + who]
    return thing(b"commit", b"\\n".join(lines) + b"\\n\\n" + message)
def ref(name, sha):
    os.makedirs(os.path.dirname(".git/refs/" + name), exist_ok=True)
    open(".git/refs/" + name, "w").write(sha + "\\n")
def git(*words): return subprocess.run(["git", *words], capture_output=True, text=True).stdout.strip()
HEAD, TREE = git("rev-parse", "HEAD"), git("rev-parse", "HEAD^{tree}")
"""


def with_git(text: str) -> str:
    """The same with helpers that write git objects byte by byte."""
    return f"python3 - <<'END_OF_SCRIPT'\n{GIT_OBJECTS}\n{textwrap.dedent(text).strip()}\nEND_OF_SCRIPT\n"
