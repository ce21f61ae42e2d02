"""What shell commands other than git do to files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from loopscope.evidence.artifact.contents import Version, derived, known, unknown
from loopscope.evidence.artifact.replaying import replay
from loopscope.evidence.artifact.rewriting import rewritten, sed
from loopscope.evidence.artifact.world import World
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.scripts import printed
from loopscope.models.value_types import value_type

_COPIES = frozenset(["cp", "mv", "install", "rsync"])
_FORMATTERS = {"gofmt": "-w", "rustfmt": "", "clang-format": "-i", "black": "", "goimports": "-w", "yapf": "-i"}
_INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|node)[\d.]*\Z")
_PATCHED = re.compile(r"^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)


_PROGRAMS = frozenset([*_COPIES, *_FORMATTERS, "tee", "rm", "sed", "patch", "cargo", "go", "awk"])


@lru_cache(maxsize=4096)
def _acts(program: str) -> bool:
    """Whether some command of a program changes files that are named in it."""
    return program in _PROGRAMS or _INTERPRETER.match(program) is not None


@value_type
class Effect:
    """An artifact file that a command changed."""

    name: str
    reason: str
    exact: bool
    """Whether the new content could be computed."""


def effects(command: SimpleCommand, shell: ShellCall, world: World) -> Iterator[Effect]:
    """Carry out what a command does to files, and tell which artifact files it changed.

    Args:
        command: not git, and not known to have been skipped.
        shell: its call, whose output tells of failures.
        world: what is known, which is changed.
    """
    program = command.program
    if command.redirects or program == "tee":
        yield from _redirections(command, shell, world)
    if not _acts(program):
        return
    if program in _COPIES:
        yield from _copies(command, shell, world)
    elif program == "rm":
        yield from _removes(command, world)
    elif program == "sed" and any(
        item.startswith(("-i", "--in-place")) or _inplace(item) for item in command.arguments
    ):
        yield from _sed(command, shell, world)
    elif program == "patch":
        yield from _patch(command, shell, world)
    elif program in _FORMATTERS and (not _FORMATTERS[program] or _FORMATTERS[program] in command.arguments):
        yield from _formats(command, world, command.arguments)
    elif (program, command.arguments[:1]) in (("cargo", ("fmt",)), ("go", ("fmt",)), ("cargo", ("fix",))):
        yield from _formats(command, world, sorted(world.scope.files))
    elif program == "awk" and "inplace" in command.arguments:
        yield from _formats(command, world, command.arguments)
    elif program not in _PROGRAMS:
        yield from _scripts(command, shell, world)


def _inplace(item: str) -> bool:
    return bool(re.fullmatch(r"-[nErsuz]*i\S*", item))


def _redirections(command: SimpleCommand, shell: ShellCall, world: World) -> Iterator[Effect]:
    targets = [(item.target.text, item.operator == ">>") for item in command.redirects if item.writes]
    if command.program == "tee":
        append = any(item in ("-a", "--append") for item in command.arguments)
        targets += [(item, append) for item in command.arguments if not item.startswith("-")]
    for target, append in targets:
        path = command.path(target)
        if path is None:
            continue
        text = printed(command)
        base = world.files.get(world.key(path))
        if text is None or command.loop:
            version = unknown("output", str(shell.index), str(shell.position), str(command.order), path)
        elif append:
            version = known(base.text + text) if base.text is not None else derived(base, "append", text)
        else:
            version = known(text)
        name = world.set(path, version)
        if name is not None:
            yield Effect(name, f"`{command.program or '>'}` writes it", version.text is not None)


def _copies(command: SimpleCommand, shell: ShellCall, world: World) -> Iterator[Effect]:
    plain = [item for item in command.arguments if not item.startswith("-")]
    if len(plain) < 2:
        return
    goal = command.path(plain[-1])
    if goal is None:
        return
    for item in plain[:-1]:
        path = command.path(item)
        if path is None or _no_such(command.program, item, shell.shown):
            continue
        for source in world.expand(path):
            target = goal
            if plain[-1].endswith("/") or plain[-1] in (".", "..") or len(plain) > 2 or _is_directory(goal, source):
                target = posixpath.join(goal, posixpath.basename(source))
            name = world.copy(source, posixpath.normpath(target))
            if name is not None:
                exact = world.files.get(name).text is not None
                yield Effect(name, f"`{command.program}` puts {posixpath.basename(source)} in its place", exact)
            if command.program == "mv":
                gone = world.remove(source)
                if gone is not None:
                    yield Effect(gone, "`mv` takes it away", True)


def _no_such(program: str, name: str, shown: str) -> bool:
    """Whether a program said that there is no file of that name."""
    return "cannot stat" in shown and bool(re.search(rf"{program}: cannot stat '?{re.escape(name)}", shown))


def _is_directory(goal: str, source: str) -> bool:
    """Whether a target without an ending is a directory that a file with one is copied into."""
    base = posixpath.basename(goal)
    return "." not in base and "." in posixpath.basename(source)


def _removes(command: SimpleCommand, world: World) -> Iterator[Effect]:
    for item in command.arguments:
        path = None if item.startswith("-") else command.path(item)
        if path is None:
            continue
        if posixpath.basename(path) == ".git":
            world.repository.restart()
        for one in world.expand(path):
            name = world.remove(one) if world.name(one) or one in world.products else None
            if name is not None:
                yield Effect(name, "`rm` takes it away", True)


def _sed(command: SimpleCommand, shell: ShellCall, world: World) -> Iterator[Effect]:
    scripts: list[str] = []
    files: list[str] = []
    rest = iter(command.words[1:])
    literal = True
    for word in rest:
        if word.text in ("-e", "--expression", "-f"):
            following = next(rest, None)
            if following is not None:
                scripts.append(following.text)
                literal &= following.literal
        elif not word.text.startswith("-"):
            if scripts:
                files.append(word.text)
            else:
                scripts.append(word.text)
                literal &= word.literal
    for item in files:
        path = command.path(item)
        for one in world.expand(path) if path else ():
            base = world.files.get(world.key(one))
            if literal and not command.loop:
                extended = any(re.match(r"-[nsuz]*[Er]|--regexp-ext", word) for word in command.arguments)
                version = sed(base, scripts, world.budget, extended=extended)
            else:
                version = _once(command, shell, base)
            name = world.set(one, version)
            if name is not None:
                yield Effect(name, "`sed -i` edits it", version.text is not None)


def _patch(command: SimpleCommand, shell: ShellCall, world: World) -> Iterator[Effect]:
    if "--dry-run" in command.arguments or "patch: ****" in shell.shown:
        return
    text = command.stdin_text or ""
    for redirect in command.redirects:
        if redirect.operator == "<":
            text = text or _text_at(world, command.path(redirect.target.text)) or ""
    plain = [item for item in command.arguments if not item.startswith("-")]
    for item in plain[:1] or _PATCHED.findall(text):
        path = command.path(item)
        if path is None:
            continue
        base = world.files.get(world.key(path))
        name = world.set(path, derived(base, "patch", text) if text else _once(command, shell, base))
        if name is not None:
            yield Effect(name, "`patch` changes it", False)


def _formats(command: SimpleCommand, world: World, names: tuple[str, ...] | list[str]) -> Iterator[Effect]:
    for item in names:
        path = None if item.startswith("-") else command.path(item)
        if path is not None and world.name(path):
            name = world.set(path, derived(world.files.get(world.key(path)), command.program, *command.arguments[:1]))
            if name is not None:
                yield Effect(name, f"`{command.program}` rewrites it", False)


def _scripts(command: SimpleCommand, shell: ShellCall, world: World) -> Iterator[Effect]:
    """Programs of an interpreter that write artifact files, told by their text."""
    if "Traceback (most recent call last)" in shell.shown and shell.succeeded is False:
        stop = shell.stop
        if stop is None or stop.order == command.order:
            return
    text = _program_text(command, world)
    inline = command.program.startswith("perl") and any(re.match(r"-\w*i", item) for item in command.arguments)
    names = [item for item in command.arguments if world.name(command.path(item))] if inline else ()
    targets = list(names) or _targets(text, world)
    if targets and text and not inline and not command.loop and command.program.startswith(("python", "pypy")):
        made = replay(text, lambda name: _text_at(world, command.path(name)), world.budget)
        if made is not None:
            yield from _replayed(command, made, world)
            return
    for item in targets:
        path = command.path(item) or item
        base = world.files.get(world.key(path))
        same = not command.loop and (text or inline)
        version = derived(base, text or " ".join(command.arguments)) if same else _once(command, shell, base)
        name = world.set(path, version)
        if name is not None:
            yield Effect(name, f"a script of `{command.program}` rewrites it", False)


def _targets(text: str | None, world: World) -> Sequence[str]:
    if not text:
        return ()
    if text not in world.targets:
        world.targets[text] = tuple(rewritten(text, world.scope))
    return world.targets[text]


def _replayed(command: SimpleCommand, made: Mapping[str, str], world: World) -> Iterator[Effect]:
    for item, content in made.items():
        path = command.path(item)
        name = world.set(path, known(content)) if path is not None else None
        if name is not None:
            yield Effect(name, f"a script of `{command.program}` rewrites it", True)


def _text_at(world: World, path: str | None) -> str | None:
    return world.files.get(world.key(path)).text if path is not None else None


def _program_text(command: SimpleCommand, world: World) -> str | None:
    """The text of the program that an interpreter runs."""
    arguments = command.arguments
    for number, item in enumerate(arguments):
        if item in ("-c", "-e", "-pe", "-ne") and number + 1 < len(arguments):
            return arguments[number + 1]
        if item == "-":
            return command.stdin_text
        if not item.startswith("-"):
            return _text_at(world, command.path(item))
    return command.stdin_text


def _once(command: SimpleCommand, shell: ShellCall, base: Version) -> Version:
    return derived(base, "once", str(shell.index), str(shell.position), str(command.order))
