"""Commands while their surroundings are still being read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from loopscope.evidence.shell.commands import Pipe, Redirect, SimpleCommand, Word
from loopscope.models.value_types import value_type


@value_type
class Place:
    """What a command stands in."""

    loop: bool = False
    conditional: bool = False
    subshell: bool = False
    substitution: bool = False
    function: str | None = None


@dataclass(slots=True)
class Draft:
    """A command while its surroundings are still being read."""

    words: list[Word]
    cwd: str | None
    text: str
    place: Place
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    wrappers: list[str] = field(default_factory=list)
    joined: str = ""
    pipe: tuple[int, int] | None = None
    background: bool = False
    nested: tuple[SimpleCommand, ...] = ()
    loop_begin: int | None = None
    """Number of the draft with which its loop begins, when it is not that one."""


def freeze(drafts: Sequence[Draft], pipe_sizes: Mapping[int, int]) -> tuple[SimpleCommand, ...]:
    """The commands, in order; those of nested scripts in place of what started them."""
    found: list[SimpleCommand] = []
    orders: list[int] = []
    for draft in drafts:
        orders.append(len(found))
        begin = orders[draft.loop_begin] if draft.loop_begin is not None else None
        whole = _freeze(draft, len(found), begin, pipe_sizes)
        if not draft.nested:
            found.append(whole)
        for inner in draft.nested:
            found.append(inside(inner, whole, len(found)))
    return tuple(found)


def _freeze(draft: Draft, order: int, begin: int | None, pipe_sizes: Mapping[int, int]) -> SimpleCommand:
    pipe = None
    if draft.pipe:
        number, position = draft.pipe
        pipe = Pipe(number, position, position == pipe_sizes[number] - 1)
    place = draft.place
    return SimpleCommand(
        tuple(draft.words), order, draft.cwd, draft.text, tuple(draft.assignments), tuple(draft.redirects),
        tuple(draft.wrappers), draft.joined, pipe, draft.background, place.loop, place.conditional,
        place.subshell, place.substitution, place.function, loop_begin=begin,
    )  # fmt: skip


def inside(inner: SimpleCommand, outer: SimpleCommand, order: int) -> SimpleCommand:
    """A command of a nested script, with what surrounds the script."""
    return replace(
        inner,
        order=order,
        wrappers=outer.wrappers + inner.wrappers,
        assignments=outer.assignments + inner.assignments,
        redirects=tuple(item for item in outer.redirects if item.operator[:2] != "<<") + inner.redirects,
        joined=inner.joined or outer.joined,
        pipe=inner.pipe or outer.pipe,
        background=inner.background or outer.background,
        loop=inner.loop or outer.loop,
        conditional=inner.conditional or outer.conditional,
        subshell=True,
        substitution=inner.substitution or outer.substitution,
        function=inner.function or outer.function,
        file=inner.file or outer.file,
        loop_begin=outer.loop_begin if inner.loop_begin is None else order - inner.order + inner.loop_begin,
    )
