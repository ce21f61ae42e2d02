"""What a command string consists of: simple commands in the order in which the shell meets them."""

from __future__ import annotations

import posixpath
from dataclasses import field
from functools import lru_cache

from loopscope.models.value_types import value_type


@value_type
class Word:
    """One word after quoting is taken off and what is known is expanded."""

    text: str
    literal: bool = True
    """Whether nothing is left that only the running shell knows; else `text` holds the source of the expansion."""


@lru_cache(maxsize=16384)
def literal(text: str) -> Word:
    """A word that is known in full; most are used again and again."""
    return Word(text)


@value_type
class Redirect:
    """A redirection; of heredocs and here-strings the text."""

    operator: str
    """`>`, `>>`, `<`, `<<`, `<<<`, `&>`, `>|`, `<&`, `>&`."""
    target: Word
    """File or descriptor; for `<<` and `<<<` the text that is fed in."""
    descriptor: int | None = None
    """As written before the operator."""

    @property
    def writes(self) -> bool:
        """Whether standard output goes to a file by it."""
        return (
            self.operator in (">", ">>", ">|", "&>", "&>>")
            and self.descriptor in (None, 1)
            and not self.target.text.startswith("/dev/")
        )


@value_type
class Pipe:
    """Where a command stands in a pipeline."""

    number: int
    """Of the pipeline within the script."""
    position: int
    last: bool


@value_type
class SimpleCommand:
    """One program with its arguments, wrappers such as `timeout` and `bash -c` taken off."""

    words: tuple[Word, ...]
    """Program and arguments; empty for a redirection or assignment that stands alone."""
    order: int
    """Position in the script, from 0."""
    cwd: str | None
    """Working directory, relative to where the script starts unless absolute; None when it cannot be known."""
    text: str
    """Its source."""
    assignments: tuple[tuple[str, Word], ...] = ()
    """What stands before it, and what `env` sets."""
    redirects: tuple[Redirect, ...] = ()
    wrappers: tuple[str, ...] = ()
    """Programs that start it: `timeout`, `sudo`, `bash`, a profiler, outermost first."""
    joined: str = ""
    """How it follows the one before: `&&`, `||`, `;`, `|`; empty for the first."""
    pipe: Pipe | None = None
    background: bool = False
    loop: bool = False
    """In a loop, hence run any number of times."""
    conditional: bool = False
    """In a branch of `if` or `case`."""
    subshell: bool = False
    substitution: bool = False
    """Inside `$(...)`; it runs before the command that it stands in."""
    function: str | None = None
    """The function whose body it stands in."""
    program: str = field(init=False)
    """Base name of the program; empty if there is none."""
    arguments: tuple[str, ...] = field(init=False)
    """What follows the program."""
    file: str | None = None
    """The script file that it stands in, when the call starts one instead of naming the command itself."""
    loop_begin: int | None = None
    """In a loop that was read round by round: order of the command with which it begins; None for that one itself."""

    def __post_init__(self) -> None:
        texts = tuple([word.text for word in self.words])
        object.__setattr__(self, "program", texts[0].rpartition("/")[2] if texts else "")
        object.__setattr__(self, "arguments", texts[1:])

    @property
    def stdin_text(self) -> str | None:
        """What a heredoc or here-string feeds in."""
        for redirect in reversed(self.redirects):
            if redirect.operator in ("<<", "<<-", "<<<"):
                return redirect.target.text
        return None

    def path(self, name: str) -> str | None:
        """A file that it names, as a normal path seen from the script's start; None when that cannot be known."""
        return resolve(self.cwd, name)


@value_type
class Script:
    """A command string, parsed."""

    commands: tuple[SimpleCommand, ...]
    cwd: str | None
    """Working directory at its end."""
    broken: bool
    """Whether some of it could not be parsed; the rest was read."""


@lru_cache(maxsize=16384)
def resolve(cwd: str | None, name: str) -> str | None:
    """A path seen from a working directory, normalised; None when either cannot be known."""
    if not name or "$" in name or "`" in name:
        return None
    if name.startswith(("/", "~")):
        return posixpath.normpath(name)
    return None if cwd is None else posixpath.normpath(posixpath.join(cwd, name))
