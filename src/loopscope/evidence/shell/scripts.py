"""Shell scripts that a run writes into files and starts later: their commands take the place of what starts them."""

from __future__ import annotations

import posixpath
from collections.abc import MutableMapping
from dataclasses import dataclass, replace

from loopscope.evidence.shell.commands import Script, SimpleCommand
from loopscope.evidence.shell.drafts import inside
from loopscope.evidence.shell.limits import MAX_COMMANDS
from loopscope.evidence.shell.parse import parse
from loopscope.evidence.shell.wrappers import SHELLS

_MAX_TEXT = 64 << 10
_MAX_NESTING = 3


@dataclass(slots=True)
class _Left:
    """What the scripts that a script starts, and those that these start, may still come to."""

    started: int = MAX_COMMANDS
    """How many of them, with all their commands."""


def expand(script: Script, texts: MutableMapping[str, str]) -> Script:
    """A script with the commands of the files that it starts.

    Args:
        script: what was parsed.
        texts: what is known of files by path; what the script writes is put in.
    """
    return _expand(script, texts, 0, _Left())


def _expand(script: Script, texts: MutableMapping[str, str], depth: int, left: _Left) -> Script:
    found: list[SimpleCommand] = []
    grown = False
    for command in script.commands:
        path = _started(command)
        text = texts.get(path) if path is not None else None
        if path is not None and text is not None and depth < _MAX_NESTING and left.started > 0:
            started = replace(command, wrappers=(*command.wrappers, "bash"), file=posixpath.basename(path))
            nested = _expand(parse(text, command.cwd), texts, depth + 1, left)
            left.started -= 1 + len(nested.commands)
            found += [inside(item, started, 0) for item in nested.commands]
            grown = True
        else:
            found.append(command)
        _remember(command, texts)
    if not grown:
        return script
    # Where loops begin is not followed through files.
    commands = tuple(replace(item, order=order, loop_begin=None) for order, item in enumerate(found))
    return replace(script, commands=commands)


def _started(command: SimpleCommand) -> str | None:
    """The script file that a command starts."""
    if command.program in SHELLS or command.program in ("source", "."):
        plain = [item for item in command.arguments if not item.startswith(("-", "+"))]
        return command.path(plain[0]) if plain else None
    if command.words and "/" in command.words[0].text:
        return command.path(command.words[0].text)
    return None


def _remember(command: SimpleCommand, texts: MutableMapping[str, str]) -> None:
    for redirect in command.redirects:
        path = command.path(redirect.target.text) if redirect.writes else None
        if path is None:
            continue
        text = printed(command)
        if redirect.operator == ">>" and text is not None:
            text = texts[path] + text if path in texts else None
        if text is not None and len(text) <= _MAX_TEXT and not command.loop:
            texts[path] = text
        else:
            texts.pop(path, None)


def printed(command: SimpleCommand) -> str | None:
    """What a command surely prints."""
    arguments, pipe = command.words[1:], command.pipe
    if pipe is not None and pipe.position > 0 and command.program != "cat":
        return None
    if command.program in ("cat", "tee") and command.stdin_text is not None:
        plain = [word for word in arguments if not word.text.startswith("-")]
        fed = [item.target for item in command.redirects if item.operator.startswith("<<")]
        known_text = bool(fed) and fed[-1].literal and (not plain or command.program == "tee")
        return fed[-1].text if known_text else None
    if command.program == "echo" and all(word.literal for word in arguments):
        words = [word.text for word in arguments]
        if words[:1] == ["-n"]:
            return " ".join(words[1:])
        return None if words[:1] == ["-e"] else " ".join(words) + "\n"
    if not command.words and command.redirects:
        return ""
    return None
