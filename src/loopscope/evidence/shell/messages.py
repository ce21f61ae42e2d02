"""The message that a `git commit` was given."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loopscope.evidence.shell.git import GitCall

_SHORT_VALUES = "mFCcStu"
"""Short options of `git commit` that take a value (`-S`, `-u` only when it is attached)."""
_LONG_VALUES = frozenset(
    ["--message", "--file", "--author", "--date", "--reuse-message", "--reedit-message", "--fixup", "--squash",
     "--template", "--trailer", "--cleanup", "--pathspec-from-file"]
)  # fmt: skip
_CHOOSING = frozenset(["-i", "--include", "-o", "--only", "-p", "--patch", "--interactive", "--pathspec-from-file"])


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """What matters of a `git commit` invocation."""

    message: str | None
    """As the shell expanded it; None when it comes from elsewhere (an editor, a file, another commit)."""
    literal: bool
    """Whether the message is known in full."""
    amend: bool
    quiet: bool
    dry: bool
    """Changes nothing (`--dry-run`, `--help`)."""
    all: bool = False
    """Takes every file that git knows (`-a`)."""
    paths: tuple[str, ...] = ()
    """Files that it takes as they are, staged or not."""
    chosen: bool = False
    """Takes more than was staged, or other than that (`-i`, `-o`, `-p`, a file of paths)."""

    @property
    def staged_alone(self) -> bool:
        """Whether it takes what was staged, and nothing else."""
        return not (self.all or self.paths or self.chosen)


def commit_options(git: GitCall, stdin: str | None) -> CommitOptions:
    """Read the arguments of `git commit`.

    Args:
        git: the invocation.
        stdin: text that is fed in, for `-F -`.
    """
    texts: list[str] = []
    paths: list[str] = []
    literal = True
    flags: set[str] = set()
    arguments = list(zip(git.arguments, git.literal, strict=True))
    at = 0
    while at < len(arguments):
        item, known = arguments[at]
        at += 1
        if item == "--":
            paths += [path for path, _ in arguments[at:]]
            break
        if not item.startswith("-"):
            paths.append(item)
            continue
        option, value, value_known = _split(item, known)
        for short in option[1:-1] if _is_short(option) else "":
            flags.add(f"-{short}")
        last = f"-{option[-1]}" if _is_short(option) else option
        flags.add(last)
        if value is None and (last in _LONG_VALUES or last in ("-m", "-F", "-C", "-c", "-t")) and at < len(arguments):
            value, value_known = arguments[at]
            at += 1
        if last in ("-m", "--message") and value is not None:
            texts.append(value)
            literal &= value_known
        elif last in ("-F", "--file") and value == "-" and stdin is not None:
            texts.append(stdin)
    return CommitOptions(
        message="\n\n".join(text.strip("\n") for text in texts) if texts else None,
        literal=literal,
        amend="--amend" in flags,
        quiet=bool(flags & {"-q", "--quiet"}),
        dry=bool(flags & {"--dry-run", "--help", "-h"}),
        all=bool(flags & {"-a", "--all"}),
        paths=tuple(paths),
        chosen=bool(flags & _CHOOSING),
    )


def _is_short(option: str) -> bool:
    return len(option) > 1 and option[0] == "-" and option[1] != "-"


def _split(item: str, known: bool) -> tuple[str, str | None, bool]:
    """An option and the value attached to it."""
    if item.startswith("--") and "=" in item:
        option, _, value = item.partition("=")
        return option, value, known
    found = re.match(rf"-([a-zA-Z]*?[{_SHORT_VALUES}])(.+)", item, re.DOTALL) if _is_short(item) else None
    if found:
        return f"-{found[1]}", found[2], known
    return item, None, known


def subject(message: str) -> str:
    """The subject that git makes of a message: its first paragraph on one line."""
    lines: list[str] = []
    for line in message.strip().split("\n"):
        if not line.strip():
            break
        lines.append(line.strip())
    return " ".join(lines)
