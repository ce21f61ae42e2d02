"""Read invocations of git: the verb, its arguments, and the directory that it works in."""

from __future__ import annotations

from loopscope.evidence.shell.commands import SimpleCommand, resolve
from loopscope.models.value_types import value_type

_GLOBAL_VALUES = frozenset(["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"])


@value_type
class GitCall:
    """One invocation of git."""

    verb: str
    arguments: tuple[str, ...]
    literal: tuple[bool, ...]
    """For each argument whether it is known in full."""
    directory: str | None
    """Where git looks for the repository; None when unknown."""

    def has(self, *options: str) -> bool:
        """Whether one of the options is given."""
        return any(item in options for item in self.arguments)

    @property
    def paths(self) -> tuple[str, ...]:
        """What stands behind `--`; without one, what is no option."""
        if "--" in self.arguments:
            return self.arguments[self.arguments.index("--") + 1 :]
        return tuple(item for item in self.arguments if not item.startswith("-"))


def git_call(command: SimpleCommand) -> GitCall | None:
    """The invocation of git that a command is, if it is one."""
    if command.program != "git":
        return None
    words, at, directory = command.words, 1, command.cwd
    while at < len(words) and words[at].text.startswith("-"):
        option = words[at].text
        if option in ("-C", "--work-tree") and at + 1 < len(words):
            directory = resolve(directory, words[at + 1].text)
        elif option.startswith("--work-tree="):
            directory = resolve(directory, option.partition("=")[2])
        at += 2 if option in _GLOBAL_VALUES else 1
    if at >= len(words):
        return None
    literal = tuple([word.literal for word in words[at + 1 :]])
    return GitCall(words[at].text, command.arguments[at:], literal, directory)
