"""Programs that rewrite files: `sed` scripts that can be computed, and scripts that show what they write."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from loopscope.evidence.artifact.budget import LINE, READ, REPLACED, Budget
from loopscope.evidence.artifact.contents import Version, derived, known
from loopscope.evidence.artifact.scope import ArtifactScope

_COMMAND = re.compile(
    r"(?:(?P<first>[0-9]{1,9}|\$)(?:,(?P<last>[0-9]{1,9}|\$))?|/(?P<match>(?:[^/\\\n]|\\.)+)/)?\s*"
    r"(?:(?P<delete>d)|s(?P<mark>[/|#,@!])(?P<old>(?:(?!(?P=mark))[^\\\n]|\\.)*)(?P=mark)"
    r"(?P<new>(?:(?!(?P=mark))[^\\\n]|\\.)*)(?P=mark)(?P<flags>g?))"
)
_MAX_TEXT = 1 << 20
_MAX_STEPS = 300_000_000
"""Of one command; the budget bounds those of all."""
_DIFFERENT = re.compile(
    r"[*+?}]\)?[*+?{]|(?<!\\)\||(?<!\\)\{(?!\d{1,3}(?:,\d{0,3})?\})|(?:^|[(^])[*+?{)]|(?<!\\)\)[*+?{]"
    r"|(?<!\\)[$^](?=[*+?{])|(?<=.)\^|\$(?=.)|\[[^\]]*(?:\[|--|&&|~~|\|\|)"
)
"""What Python and POSIX read differently, or one of them refuses."""
_WRITES = re.compile(
    r"""open\([^)\n]{0,300}['"](?:w|a|r\+|w\+|wb|x)['"]|\.write_text\(|\.write_bytes\(|\bshutil\.|\bos\.(?:rename|replace)\(|"""
    r"""\bfileinput\b|writeFileSync|File\.write|open\s{0,3}\(?\s{0,3}\w{1,40}\s{0,3},\s{0,3}['"]>"""
)
_WRITE_WORDS = ("open", ".write_", "shutil.", "os.r", "fileinput", "writeFileSync", "File.write")
_OPEN_WORDS = ("open(", "Path(")
_LITERAL_WRITE = re.compile(
    r"""open\(\s{0,3}[rbf]?['"]([^'"\n]{1,300})['"]\s{0,3},\s{0,3}(?:mode\s?=\s?)?['"](?:w|a|r\+|w\+|wb|x)"""
    r"""|Path\(\s{0,3}['"]([^'"\n]{1,300})['"]\s{0,3}\)\.write_(?:text|bytes)\("""
)
_WORD = re.compile(r"[\w./-]+")
_NAME = re.compile(r"(?<![\w./-])[\w./-]{1,300}\.\w{1,4}")


class _TooMuchError(Exception):
    """More work, or a longer text, than is computed."""


def sed(base: Version, scripts: Sequence[str], budget: Budget, *, extended: bool = False) -> Version:
    """What `sed -i` makes of a version: computed where text and script allow it, else only named.

    Args:
        base: the version before.
        scripts: the scripts that are applied to each line, in order.
        budget: of the run.
        extended: whether expressions are extended ones (`-E`, `-r`).
    """
    text = base.text
    for part in (part for script in scripts for part in _parts(script)):
        if text is None:
            break
        text = sed_text(text, part, extended, budget)
    return known(text) if text is not None else derived(base, "sed", *scripts)


def _parts(script: str) -> list[str]:
    """The commands of a script, where each stands on its own."""
    pieces = [piece.strip() for piece in re.split(r";|\n", script) if piece.strip()]
    return pieces if all(_COMMAND.fullmatch(piece) for piece in pieces) else [script.strip()]


def sed_text(text: str, command: str, extended: bool, budget: Budget) -> str | None:
    """What one command of `sed` makes of a text; None when it is none of those that are computed: `s` and `d`."""
    found = _COMMAND.fullmatch(command)
    if found is None or len(text) > _MAX_TEXT:
        return None
    ending = text.endswith("\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    if not budget.spend(len(lines) * LINE):
        return None
    chosen = _chosen(lines, found["first"], found["last"], found["match"], extended, budget)
    if chosen is None:
        return None
    if found["delete"]:
        gone = set(chosen)
        kept = [line for number, line in enumerate(lines) if number not in gone]
        return "\n".join(kept) + ("\n" if kept and ending else "")
    pattern = _expression(found["old"], extended)
    if pattern is None or re.search(r"\\[^&/n\d\\t.*\[\]\"|#]", found["new"]):
        return None
    flags = found["flags"]
    references = [int(digit) for digit in re.findall(r"\\(\d)", found["new"])]
    if max(references, default=0) > pattern.groups or ("g" in flags and pattern.search("")):
        return None
    if not _affordable(pattern, [lines[number] for number in chosen], budget):
        return None
    try:
        _substitute(lines, chosen, pattern, found["new"], budget, count=0 if "g" in flags else 1)
    except (re.error, IndexError, _TooMuchError):
        return None
    return "\n".join(lines) + ("\n" if ending else "")


def _substitute(
    lines: list[str], chosen: Sequence[int], pattern: re.Pattern[str], new: str, budget: Budget, *, count: int
) -> None:
    """Replace what an expression finds, in place. _TooMuchError: the budget is spent, or the text grows too long."""
    made = sum(map(len, lines))
    named = [
        0 if mark == "&" else int(mark[1]) for mark in re.findall(r"\\.|&", new) if mark[-1].isdigit() or mark == "&"
    ]
    cost = REPLACED + len(new) * READ

    def replaced(match: re.Match[str]) -> str:
        nonlocal made
        # Before it is made: a replacement may name what was found hundreds of times.
        made += len(new) + sum(len(match[number] or "") for number in named) - len(match[0])
        if made > _MAX_TEXT or not budget.spend(cost):
            raise _TooMuchError
        return _expanded(match, new)

    for number in chosen:
        lines[number] = pattern.sub(replaced, lines[number], count=count)


def _affordable(pattern: re.Pattern[str], lines: list[str], budget: Budget) -> bool:
    """Whether an expression, which may be anybody's, is tried in reasonable time at the worst; takes it."""
    repeats = len(re.findall(r"(?<!\\)[*+{]", pattern.pattern))
    begin = _literal_start(pattern.pattern)
    if not budget.spend(sum(map(len, lines)) * READ):
        return False
    # A line without the words that every match begins with costs nothing.
    steps = sum(len(line) ** (repeats + 1) for line in lines if begin in line) if repeats else 0
    return steps <= _MAX_STEPS and budget.step(steps)


def _literal_start(expression: str) -> str:
    """The words that each match of an expression begins with."""
    if "|" in expression:
        return ""
    found = re.match(r"(?:\\[^\w\s]|[\w <>=,;:!@#%&~/'\"-])*(?![*?{])", expression)
    return re.sub(r"\\(.)", r"\1", found[0]) if found else ""


def _chosen(
    lines: list[str], first: str | None, last: str | None, match: str | None, extended: bool, budget: Budget
) -> list[int] | None:
    """Numbers of the lines that an address chooses, from 0."""
    if match is not None:
        pattern = _expression(match, extended)
        if pattern is None or not _affordable(pattern, lines, budget):
            return None
        return [number for number, line in enumerate(lines) if pattern.search(line)]
    if first is None:
        return list(range(len(lines)))
    begin = len(lines) if first == "$" else int(first)
    end = begin if last is None else len(lines) if last == "$" else max(int(last), begin)
    return list(range(max(begin - 1, 0), min(end, len(lines))))


def _expression(text: str, extended: bool) -> re.Pattern[str] | None:
    """A POSIX expression as a Python one; None where the two may differ."""
    if not text or len(text) > 500 or re.search(r"\[\[[:.=]|\[[^\]]*\\|\\[<>`'wWsSbBn0-9]|\*\*|\+\+|\[\^?\]", text):
        return None
    translated = text if extended else re.sub(r"\\([(){}+?|])|([(){}+?|])", _swapped, text)
    if re.match(r"\^?\*", text) or _DIFFERENT.search(translated):
        return None
    try:
        return re.compile(translated.replace("\\/", "/"))
    except re.error:
        return None


def _swapped(match: re.Match[str]) -> str:
    """In basic expressions `\\(` groups and `(` is itself; in Python it is the other way round."""
    return match[1] if match[1] else "\\" + match[2]


def _expanded(match: re.Match[str], new: str) -> str:
    def value(found: re.Match[str]) -> str:
        if found[0] == "&":
            return match[0]
        mark = found[1]
        if mark.isdigit():
            return match[int(mark)] or ""
        return {"n": "\n", "t": "\t"}.get(mark, mark)

    return re.sub(r"\\(.)|&", value, new)


def _found(pattern: re.Pattern[str], words: Sequence[str], text: str) -> list[re.Match[str]]:
    """What `finditer` finds of a pattern whose matches begin with one of some words; these are quicker to look for."""
    starts: list[int] = []
    for word in words:
        at = text.find(word)
        while at >= 0:
            starts.append(at)
            at = text.find(word, at + 1)
    found: list[re.Match[str]] = []
    for start in sorted(starts):
        match = pattern.match(text, start) if not found or start >= found[-1].end() else None
        if match is not None:
            found.append(match)
    return found


def rewritten(text: str, scope: ArtifactScope) -> Iterator[str]:
    """The artifact files that a script's text shows it to write.

    Where every place that writes names its file, these are taken; where some do not, every artifact file that the text
    names counts, since a change that is missed is worse than one that is supposed.
    """
    bases = {posixpath.basename(name) for name in scope.files}
    if not any(base in text for base in bases):
        return
    places = len(_found(_WRITES, _WRITE_WORDS, text))
    if not places:
        return
    literal = [match[1] or match[2] for match in _found(_LITERAL_WRITE, _OPEN_WORDS, text)]
    if len(literal) >= places:
        names = [name for name in literal if scope.name(name)]
    else:
        words = [word for word in _WORD.findall(text) if any(base in word for base in bases)]
        names = [
            name
            for word in words
            for name in _NAME.findall(word)
            if posixpath.basename(name) in bases and not name.startswith("/tmp/")  # noqa: S108
        ]
    seen: set[str] = set()
    for name in names:
        key = scope.name(name)
        if key is not None and key not in seen:
            seen.add(key)
            yield name
