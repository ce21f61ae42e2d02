"""Files that an instruction lets an agent change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import takewhile

from loopscope.agents.search.commands import Commands
from loopscope.agents.search.markdown import Block, code_spans, sentences


def _words(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.I)


_EDIT = re.compile(r"\b(?:edit|chang|modif|rewrit|alter|touch)", re.I)
_IMPROVE = re.compile(r"\b(?:improv|optimi[sz]|implement|faster|tun[ei]|submi|copie[sd]|(?:is|are) taken)", re.I)
_OTHER_USE = _words(
    "reads?", "runs?", "uses?", "see", "look", "calls?", "imports?", "prints?", "loads?", "checks?", r"evaluat\w+"
)
_CLOSED = _words(
    *(
        "read-only",
        "off.limits",
        "leave",
        "untouched",
        "forbidden",
        "fixed",
        "ignored",
        "replaced",
        "no file",
        "nothing",
    ),
    *("unchanged", "must stay", "must remain", "stays? as", "stays", "remains? as"),
)
_NOT = re.compile(
    r"\b(?:do not|don't|must not|mustn't|may not|should not|shouldn't|cannot|can't|never|not|no other file)\b"
    rf"|{_CLOSED.pattern}",
    re.I,
)
_BARE_NOT = re.compile(r"^\s*(?:and |but )?(?:not|never)\s*(?:`|in\b|the\b)", re.I)
_IT = _words("it", "them", "these", "those")
_PART_OF = re.compile(r"\b(?:in|of|from|by|with|inside|within|via|to|that)\s*$", re.I)
_MEANS = re.compile(r"\b(?:by|from|with|via)\s*$", re.I)
_SPAN = re.compile(r"`+([^`]+?)`+")
_EXCEPT = _words("except", "excepting", "other than", "apart from", "besides", "(?:nothing|anything|everything) but")
_HARMLESS = re.compile(r"\b(?:and|but)? ?(?:nothing|no (?:other )?file)s? else\b|\bno others?\b|\bnot only\b", re.I)
_CLAUSE = re.compile(
    r";|\s+(?:-|--|–|—)\s+"
    r"|,?\s+but\s+(?=(?:not|never|do|don't|leave|you)\b|`)"
    r"|,\s+(?=(?:not|never|do not|don't|leave)\b)"
    r"|\s+and\s+(?=(?:do not|don't|never|leave|must not|may not)\b)",
    re.I,
)
_SOURCES = (
    *(".py", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cu", ".cuh", ".rs", ".go", ".js", ".ts", ".java", ".jl"),
    *(".rb", ".lua", ".zig", ".f90", ".hs", ".ml", ".scala", ".kt", ".swift", ".cs", ".pl", ".r"),
)
_NOT_A_SOLUTION = re.compile(
    r"(?:^|[/_.-])(?:evaluat\w*|eval|bench\w*|test\w*|check\w*|score\w*|verif\w*|measure\w*|conftest|setup)", re.I
)
_HIDE = str.maketrans("();-", "\x02\x03\x04\x05")
_SHOW = str.maketrans("\x02\x03\x04\x05", "();-")
_OWN = ("output/", "output_snapshot/", ".git/", ".git")


def find_editable(task: Sequence[Block], listing: Sequence[str], workdir: str, commands: Commands) -> tuple[str, ...]:
    """Editable files that exist, by the strongest evidence there is.

    In this order: paths in sections and sentences about editing; paths in sentences about improving; source files that
    are not the evaluation's own. A path that any sentence forbids is left out of all three.
    """
    allowed: dict[str, None] = {}
    hinted: dict[str, None] = {}
    forbidden: set[str] = set()
    for block in task:
        for path, verdict in _verdicts(block):
            for name in _expand(path, listing, workdir):
                if verdict == "no":
                    forbidden.add(name)
                else:
                    (allowed if verdict == "yes" else hinted)[name] = None
    if names := tuple(name for name in allowed if name not in forbidden):
        return names
    used = {
        word.removeprefix("./") for command in (commands.build, commands.evaluate) for word in (command or "").split()
    }
    hints = tuple(name for name in hinted if name not in forbidden | used)
    return hints or tuple(name for name in listing if name not in forbidden | used and _is_solution(name))


def _verdicts(block: Block) -> Iterator[tuple[str, str]]:
    under = _heading_verdict(block)
    if block.code:
        if under == "yes" and block.language in ("", "text"):
            yield from ((line.strip(), under) for line in block.text.split("\n"))
        return
    if under and not code_spans(block.text):
        yield from (
            (word.strip(",;:()"), under) for word in block.text.split() if "." in word or "file" in word.lower()
        )
    clauses = list(_weighed_clauses(block.text, under))
    for index, clause in enumerate(clauses):
        if _SPAN.search(clause.words):
            behind = list(takewhile(lambda c: not _SPAN.search(c.words), clauses[index + 1 :]))
            yield from _paths(clause, behind)


def _heading_verdict(block: Block) -> str | None:
    if not _EDIT.search(block.heading):
        return None
    return "no" if _NOT.search(_HARMLESS.sub("", block.heading)) else "yes"


@dataclass(frozen=True)
class _Clause:
    """A part of a sentence, and what a plain mention of a path in it means: `yes`, `perhaps`, `no` or nothing."""

    words: str
    kind: str | None
    direct: bool
    """It permits by itself: by its own verb, or by the heading it stands under."""


def _weighed_clauses(text: str, under: str | None) -> Iterator[_Clause]:
    for sentence in sentences(text):
        said: str | None = None
        for clause in _clauses(sentence):
            words = _HARMLESS.sub(" ", clause)
            plain = _outside_code(words)
            edits = bool(_EDIT.search(plain))
            said = "yes" if edits else said or ("perhaps" if _IMPROVE.search(plain) else None)
            other = not edits and bool(_OTHER_USE.search(plain))
            yield _Clause(words, under or (None if other else said), under == "yes" or edits)


def _paths(clause: _Clause, behind: Sequence[_Clause]) -> Iterator[tuple[str, str]]:
    """Each path with its verdict: a prohibition turns its clause over, an exception turns over what follows it.

    Args:
        clause: the clause that names paths.
        behind: the clauses up to the next path, for "it" and "them".
    """
    kind = clause.kind
    turn = _EXCEPT.search(clause.words)
    parts = [clause.words[: turn.start()], clause.words[turn.start() :]] if turn else [clause.words]
    negated = _forbids(parts[0]) or bool(turn and turn.group().lower().startswith("nothing"))
    if not clause.direct:
        pointing = [c.words for c in behind if _IT.search(c.words) and _EDIT.search(_outside_code(c.words))]
        # "You can read `x` but not change it", "It is in `x`. You may edit it."
        negated = negated or any(_forbids(words) for words in pointing)
        kind = kind or ("yes" if pointing else None)
    if kind is None and not negated:
        return
    for index, part in enumerate(parts):
        verdict = "no" if kind == "no" or negated != bool(index) else kind or "yes"
        for span in _SPAN.finditer(part):
            # "do not change the interface of `x`" speaks of a part of x, "called by `x`" of no edit at all
            if not (_PART_OF if verdict == "no" else _MEANS).search(part[: span.start()]):
                yield span[1].strip(), verdict


def _forbids(clause: str) -> bool:
    words = _outside_code(clause)
    says_not = bool(_NOT.search(words)) and bool(_EDIT.search(words) or _CLOSED.search(words))
    return says_not or bool(_BARE_NOT.search(clause))


def _clauses(sentence: str) -> list[str]:
    """Clauses of a sentence; what stands in parentheses comes as clauses of its own, after the rest."""
    hidden = re.sub(r"`[^`]*`", lambda m: m.group().translate(_HIDE), sentence)
    asides = re.findall(r"\(([^()]*)\)", hidden)
    main = re.sub(r"\([^()]*\)", " ", hidden)
    return [part.translate(_SHOW) for text in [main, *asides] for part in _CLAUSE.split(text) if part.strip()]


def _outside_code(text: str) -> str:
    return re.sub(r"`[^`]*`", " ", text)


def _expand(path: str, listing: Sequence[str], workdir: str) -> list[str]:
    """Files of the work dir that a path, a folder or a pattern names."""
    name = path.strip().strip("`'\",;").removesuffix(".") if path not in listing else path
    name = name.removeprefix(workdir.rstrip("/") + "/").removeprefix("./")
    if not name or name.startswith(("/", "..")) or name.startswith(_OWN):
        return []
    if name in listing:
        return [name]
    folder = name.rstrip("/*") + "/"
    return [
        other
        for other in listing
        if not other.startswith(_OWN) and (fnmatchcase(other, name) or (len(folder) > 1 and other.startswith(folder)))
    ]


def _is_solution(name: str) -> bool:
    return name.endswith(_SOURCES) and not _NOT_A_SOLUTION.search(name) and not name.startswith(_OWN)
