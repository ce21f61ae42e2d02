"""What a verifier does that matters to a rule, in the order of its text."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopscope.audit.reading.values import Value


@dataclass(frozen=True)
class Condition:
    """Something that must hold for a line to be reached."""

    where: str
    text: str
    value: Value


@dataclass(frozen=True)
class Place:
    """Where something happens."""

    where: str
    """`file:line` below the task."""
    loops: tuple[str, ...]
    """The loops around it, callers' among them."""
    conditions: tuple[Condition, ...]
    """What must hold."""


@dataclass(frozen=True)
class Run:
    """A program is started."""

    place: Place
    name: str
    """Of this run; a run is one line reached through one chain of calls."""
    fenced: bool
    """By the guard."""
    argv: Value
    box: Value
    """What lies beside it."""
    given: Value
    """Its standard input."""
    builds: bool
    """It is a compiler or a build tool."""
    writable: bool
    """It may write into its box."""

    @property
    def holds_source(self) -> bool:
        """The solution's own text, or what was compiled from it, runs."""
        return any(v.has("src") for v in (self.box, self.argv))

    @property
    def holds_solution(self) -> bool:
        """That, or what the verifier has made of it."""
        return self.holds_source or any(v.has("parsed") for v in (self.box, self.argv))


@dataclass(frozen=True)
class Sent:
    """Something is given to a program under way."""

    place: Place
    run: str
    value: Value
    box: Value
    how: str


@dataclass(frozen=True)
class Gate:
    """A condition on which a solution is refused."""

    place: Place
    value: Value
    swallowed: str = ""
    """Where the refusal is caught and forgotten."""


@dataclass(frozen=True)
class Happening:
    """Anything else, by kind:

    seed        a generator gets a seed
    pickle      something is unpickled, or run as a program text
    load        the solution's code comes into this process
    reward      a reward is decided
    fence       the guard's own tables are changed, or a weaker fence is asked for
    read        a file that a solution can plant is read
    wrote       something is written where a solution can read it
    compare     two values are compared
    """

    kind: str
    place: Place
    value: Value
    text: str
    other: Value = field(default_factory=Value)


@dataclass
class Story:
    """All that happens."""

    runs: list[Run] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)

    def of(self, kind: str) -> list[Happening]:
        """Happenings of one kind."""
        return [h for h in self.happenings if h.kind == kind]
