"""What one call tells of its commits, found once however many they are: the lines that git prints, and failures."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.commit_types import FAILURES, CommitFailure


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of git's about a commit that it made."""

    branch: str
    root: bool
    hash: str
    subject: str
    held: tuple[str, ...] = ()
    """All the files that it made or removed, when it changed no others; else empty."""


_SUMMARY = re.compile(
    r"\n(?: (?:Author|Date): .*\n){0,2} (\d{1,6}) files? changed\b.*((?:\n (?:create|delete) mode \d{6} .*)*)"
)
_ABSENT = re.compile(r"(\S{1,200}): command not found$", re.MULTILINE)
_MODE = re.compile(r"^ (?:create|delete) mode \d{6} (.+)$", re.MULTILINE)


def held_files(text: str, behind: int) -> tuple[str, ...]:
    """The files of a commit, where git names all that it counts: it lists the new and the removed, not the changed.

    Args:
        text: the output.
        behind: where the line about the commit ends.
    """
    found = _SUMMARY.match(text, behind)
    names = _MODE.findall(found[2]) if found else []
    return tuple(names) if found and len(names) == int(found[1]) else ()


class Lines:
    """The lines of one output about commits, each of which is taken once."""

    def __init__(self, shown: Sequence[Shown]) -> None:
        self._left = dict(enumerate(shown))
        self._titled: dict[str, deque[int]] = {}
        for number, line in self._left.items():
            self._titled.setdefault(_plain(line.subject), deque()).append(number)

    def __len__(self) -> int:
        return len(self._left)

    def left(self) -> list[Shown]:
        """Those that nothing took."""
        return list(self._left.values())

    def titled(self, title: str) -> Shown | None:
        """Take the first with a subject."""
        numbers = self._titled.get(_plain(title), deque())
        while numbers:
            line = self._left.pop(numbers.popleft(), None)
            if line is not None:
                return line
        return None

    def first(self) -> Shown:
        """Take the first of all."""
        return self._left.pop(next(iter(self._left)))


def _plain(subject: str) -> str:
    return " ".join(subject.split())


class CallReading:
    """What is asked of a call for each of its commits, and found once."""

    def __init__(self, shell: ShellCall) -> None:
        self.shell = shell

    @cached_property
    def text(self) -> str:
        """What shows how its commits went."""
        return self.shell.text if self.shell.call.background else self.shell.shown

    @cached_property
    def failure(self) -> CommitFailure | None:
        """The first reason for a failed commit that the text shows."""
        return next((failure for failure, pattern in FAILURES if pattern.search(self.text)), None)

    def absent_later(self, command: SimpleCommand) -> bool:
        """Whether what the shell did not find are only programs that it came to behind a command."""
        absent = set(_ABSENT.findall(self.text))
        later = {item.words[0].text for item in self.shell.script.commands if item.words and item.order > command.order}
        return bool(absent) and absent <= later

    @cached_property
    def _free(self) -> int:
        """Place of the last command that does not hang on the one before."""
        commands = self.shell.script.commands
        return max(
            (
                at
                for at, item in enumerate(commands)
                if not (item.joined == "&&" or item.substitution or _piped_on(item))
            ),
            default=0,
        )

    def decides(self, command: SimpleCommand) -> bool:
        """Whether the script could not have ended well, had this command failed."""
        if (command.pipe is not None and not command.pipe.last) or command.background or command.conditional:
            return False
        return self._free <= command.order


def _piped_on(command: SimpleCommand) -> bool:
    return command.pipe is not None and command.pipe.position > 0
