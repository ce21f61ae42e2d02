"""Build and evaluation commands in an instruction, by the words that stand around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loopscope.agents.search.markdown import Block, code_spans, sentences

_EVALUATE = re.compile(r"evaluat|measur|\bscor|benchmark|local(?:ly)?\b.*\b(?:test|run|check)|try it|check your")
_BUILD = re.compile(r"\bbuild|\bbuilt|compil")
_HINT = re.compile(r"eval|bench|score|measure")
_NOT = re.compile(r"\b(?:do not|don't|never|must not|may not|cannot|not (?:be )?(?:run|available|use))\b", re.I)
_COMPILES = re.compile(r"^(?:make|gcc|g\+\+|cc|c\+\+|clang\S*|cmake|ninja|cargo build|go build|rustc|javac|nvcc)\b")
_BARE_COMPILER = re.compile(r"^(?:gcc|g\+\+|cc|c\+\+|clang\S*|rustc|javac|nvcc)(?:\s+-\S+)*$")
"""A compiler with flags alone: how something is built, said in passing, and nothing that can be run."""
_STARTS = re.compile(
    r"^(?:[A-Z_][A-Z0-9_]*=\S*\s+)*(?:python[\d.]*|make|bash|sh|gcc|g\+\+|cc|c\+\+|clang\S*|cmake|ninja|cargo|go|rustc|java|javac"
    r"|node|ruby|perl|Rscript|julia|nvcc|env|time|timeout|cd|npm|pytest|\.{1,2}/\S+|/\S+)(?:\s|$)"
)
_OUTPUT = re.compile(r"^\s*(?:score|reward)\s*[:=]|^\s*[{\[]|^\s*#|^\s*>|^\s*\.\.\.")
_SHELLS = {"", "bash", "sh", "shell", "console", "shell-session", "zsh", "terminal"}
_SCRIPT = re.compile(r"(?:^|/)(?:local_?)?(?:evaluate?|eval|bench|benchmark|score|measure)\w*\.(py|sh)$")
_TARGET = re.compile(r"^((?:local_?)?(?:evaluate?|eval|bench|benchmark|score|measure))\s*:(?!=)", re.M)
_ENOUGH = 2.0


@dataclass(frozen=True)
class Commands:
    """Shell commands, run in the work dir; None where there is none."""

    build: str | None
    evaluate: str | None


@dataclass(frozen=True)
class _Found:
    lines: tuple[str, ...]
    evaluate: float
    build: float


def find_commands(task: Sequence[Block], listing: Sequence[str], makefile: str = "") -> Commands:
    """The likeliest build and evaluation command of an instruction; scripts and make targets where it names none."""
    found = [*_fenced(task), *_inline(task)]
    best = max(found, key=lambda f: f.evaluate, default=None)
    lines = best.lines if best and best.evaluate >= _ENOUGH else _fallback(listing, makefile)
    builds = [f for f in found if f.build >= _ENOUGH and f is not best and not set(f.lines) & set(lines)]
    build = max(builds, key=lambda f: f.build, default=None)
    if build:
        return Commands(" && ".join(build.lines), " && ".join(lines) or None)
    first = 0
    while first < len(lines) - 1 and _COMPILES.match(lines[first]):
        first += 1
    return Commands(" && ".join(lines[:first]) or None, " && ".join(lines[first:]) or None)


def _fenced(task: Sequence[Block]) -> Iterator[_Found]:
    for block in task:
        if block.code and block.language in _SHELLS and not _NOT.search(block.lead):
            lines = tuple(_command_lines(block.text))
            if lines:
                yield _weigh(lines, block.heading, block.lead.lower(), 0.5)


def _inline(task: Sequence[Block]) -> Iterator[_Found]:
    for block in task:
        if block.code:
            continue
        for sentence in sentences(block.text):
            for span in code_spans(sentence):
                whole = _STARTS.match(span) and (" " in span or span == "make" or span.startswith("./"))
                if whole and not _BARE_COMPILER.match(span) and not _NOT.search(sentence):
                    yield _weigh((span,), block.heading, sentence.replace(span, "").lower(), 0.0)


def _weigh(lines: tuple[str, ...], heading: str, words: str, bonus: float) -> _Found:
    text = "\n".join(lines)
    compiles = bool(_COMPILES.match(lines[-1])) and not _HINT.search(text)

    def weight(pattern: re.Pattern[str]) -> float:
        return bonus + 4.0 * bool(pattern.search(heading)) + 3.0 * bool(pattern.search(words))

    evaluate = weight(_EVALUATE) + 1.5 * bool(_HINT.search(text)) + ("local" in heading + words)
    return _Found(lines, evaluate - 4.0 * compiles, weight(_BUILD) - (0.0 if compiles else 2.0))


def _command_lines(code: str) -> Iterator[str]:
    lines = code.replace("\\\n", " ").split("\n")
    prompts = [line.strip()[2:].strip() for line in lines if line.strip().startswith("$ ")]
    for line in prompts or [line.strip() for line in lines if not _OUTPUT.match(line)]:
        command = re.sub(r"\s+#\s.*$", "", line).strip()
        if command and not command.startswith("git ") and (prompts or _STARTS.match(command)):
            yield command


def _fallback(listing: Sequence[str], makefile: str) -> tuple[str, ...]:
    for name in sorted(listing, key=lambda path: (path.count("/"), path)):
        if script := _SCRIPT.search(name):
            return (f"{'python3' if script[1] == 'py' else 'bash'} {name}",)
    target = _TARGET.search(makefile)
    return (f"make {target[1]}",) if target else ()
