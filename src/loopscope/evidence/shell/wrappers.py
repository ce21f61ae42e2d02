"""Programs that only start another: taken off, so that what they start is seen."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from loopscope.evidence.shell.commands import Word, resolve

PROFILERS = frozenset(
    ["perf", "nsys", "ncu", "nvprof", "valgrind", "compute-sanitizer", "cuda-memcheck", "strace", "ltrace", "gdb", "rr"]
)
"""Programs under which another runs slower than by itself, so that times printed there mean nothing."""

SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh"])

_VALUE_OPTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "env": frozenset(["-u", "-C", "--unset", "--chdir", "-S"]),
        "sudo": frozenset(["-u", "-g", "-h", "-p", "-C", "-D", "--user", "--group", "--chdir"]),
        "nohup": frozenset(),
        "time": frozenset(["-f", "-o", "--format", "--output"]),
        "nice": frozenset(["-n", "--adjustment"]),
        "ionice": frozenset(["-c", "-n", "-p"]),
        "chrt": frozenset(["-p"]),
        "timeout": frozenset(["-s", "-k", "--signal", "--kill-after"]),
        "stdbuf": frozenset(["-i", "-o", "-e"]),
        "setsid": frozenset(),
        "command": frozenset(),
        "builtin": frozenset(),
        "exec": frozenset(["-a"]),
        "unbuffer": frozenset(),
        "taskset": frozenset(),
        "numactl": frozenset(["-C", "-N", "-m"]),
        "xargs": frozenset(["-I", "-n", "-L", "-P", "-d", "-a", "-E", "-s", "--max-args", "--max-procs"]),
        "perf": frozenset(["-e", "-r", "-o", "-F", "--call-graph", "--event", "--repeat", "--output"]),
        "nsys": frozenset(["-o", "-t", "--output", "--trace", "-f", "-s"]),
        "ncu": frozenset(["-k", "-o", "-c", "-s", "--set", "--section", "--metrics", "--kernel-name", "--launch-count",
                          "--launch-skip", "--kernel-regex", "--export", "--page"]),
        "nvprof": frozenset(["--metrics", "--events", "-o", "--log-file"]),
        "valgrind": frozenset(),
        "compute-sanitizer": frozenset(["--tool", "--log-file"]),
        "cuda-memcheck": frozenset(["--tool"]),
        "strace": frozenset(["-e", "-o", "-p", "-s"]),
        "ltrace": frozenset(["-e", "-o", "-p", "-s"]),
        "gdb": frozenset(["-ex", "-x", "--eval-command"]),
        "rr": frozenset(),
    }
)  # fmt: skip
"""Wrappers with those of their options that take the next word."""

STARTERS = frozenset([*_VALUE_OPTIONS, *SHELLS, "eval"])
"""Programs that may start another; all others are left as they are."""
_SUBCOMMANDS = MappingProxyType({"perf": ("stat", "record", "trace"), "nsys": ("profile", "nvprof"), "rr": ("record",)})
_MAX_WRAPPERS = 50
"""More are nobody's, and for each the words are copied."""
_SHELL_VALUE_OPTIONS = frozenset(["-o", "+o", "-O", "+O", "--rcfile", "--init-file"])


@dataclass
class Unwrapped:
    """What is left of a command when its wrappers are off."""

    words: list[Word]
    wrappers: list[str] = field(default_factory=list)
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    cwd: str | None = None
    script: Word | None = None
    """The text that a shell was given to run, with `words` as its arguments, `$0` first."""


def unwrap(words: list[Word], cwd: str | None, stdin: Word | None) -> Unwrapped:
    """Take wrappers off, as many as there are.

    Args:
        words: of the command.
        cwd: where it runs.
        stdin: text that is fed in, which a bare shell runs.
    """
    found = Unwrapped(words, cwd=cwd)
    while found.words and len(found.wrappers) < _MAX_WRAPPERS:
        name = posixpath.basename(found.words[0].text)
        if name in SHELLS:
            return _shell(found, name, stdin)
        if name == "eval" and len(found.words) > 1:
            texts = found.words[1:]
            found.script = Word(" ".join(word.text for word in texts), all(word.literal for word in texts))
            found.words = []
            found.wrappers.append(name)
            return found
        if name not in _VALUE_OPTIONS or not _peel(found, name):
            return found
    return found


def _shell(found: Unwrapped, name: str, stdin: Word | None) -> Unwrapped:
    words, at, command = found.words, 1, False
    while at < len(words) and words[at].text[:1] in ("-", "+") and len(words[at].text) > 1:
        option = words[at].text
        if option == "--":
            at += 1
            break
        command |= not option.startswith("--") and option[0] == "-" and "c" in option
        at += 2 if option in _SHELL_VALUE_OPTIONS else 1
    if command and at < len(words):
        found.script, found.words = words[at], words[at + 1 :]
    elif not command and stdin is not None and (at == len(words) or words[at].text == "-s"):
        found.script, found.words = stdin, []
    else:
        return found
    found.wrappers.append(name)
    return found


def _peel(found: Unwrapped, name: str) -> bool:
    """Take one wrapper off; False when nothing runs under it."""
    words, at = found.words, 1
    verbs = _SUBCOMMANDS.get(name)
    if verbs:
        if at >= len(words) or words[at].text not in verbs:
            return False
        at += 1
    assignments: list[tuple[str, Word]] = []
    cwd = found.cwd
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if text.startswith("-") and len(text) > 1:
            if name == "command" and text in ("-v", "-V"):
                return False
            takes = text in _VALUE_OPTIONS[name]
            if name in ("env", "sudo") and text in ("-C", "--chdir", "-D") and at + 1 < len(words):
                cwd = resolve(cwd, words[at + 1].text)
            at += 2 if takes else 1
            continue
        if name in ("env", "sudo") and "=" in text and text.split("=", 1)[0].isidentifier():
            key, value = text.split("=", 1)
            assignments.append((key, Word(value, words[at].literal)))
            at += 1
            continue
        break
    if name == "timeout" or (name == "taskset" and not words[1].text.startswith("--cpu-list=")):
        at += 1
    if name == "chrt" and at < len(words) and words[at].text.isdigit():
        at += 1
    if at >= len(words):
        return False
    found.words, found.cwd = words[at:], cwd
    found.wrappers.append(name)
    found.assignments += assignments
    return True
