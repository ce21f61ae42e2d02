"""Files that an instruction lets an agent change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

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
    "read-only", "off.limits", "leave", "untouched", "forbidden", "fixed", "ignored", "replaced", "no file", "nothing"
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
    r";|\(|\)|\s+(?:-|--|–|—)\s+"
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
    for found in (allowed, hinted):
        if names := [name for name in found if name not in forbidden]:
            return tuple(names)
    return tuple(name for name in listing if name not in forbidden and _is_solution(name, commands))


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
    for sentence in sentences(block.text):
        kind = under or ("yes" if _EDIT.search(_outside_code(sentence)) else None)
        kind = kind or ("perhaps" if _IMPROVE.search(_outside_code(sentence)) else None)
        if kind:
            yield from _sentence(sentence, kind, listed=under is not None)


def _heading_verdict(block: Block) -> str | None:
    if not _EDIT.search(block.heading):
        return None
    return "no" if _NOT.search(_HARMLESS.sub("", block.heading)) else "yes"


def _sentence(sentence: str, kind: str, listed: bool) -> Iterator[tuple[str, str]]:
    """Each path with its verdict: a prohibition turns its clause over, an exception turns over what follows it.

    Args:
        sentence: one sentence, code marks included.
        kind: verdict of a plain mention.
        listed: the sentence stands under a heading about editing, so that it need not say so again.
    """
    clauses = [_HARMLESS.sub(" ", clause) for clause in _clauses(sentence)]
    for words, following in zip(clauses, [*clauses[1:], ""], strict=True):
        turn = _EXCEPT.search(words)
        parts = [words[: turn.start()], words[turn.start() :]] if turn else [words]
        negated = _forbids(parts[0]) or bool(turn and turn.group().lower().startswith("nothing"))
        # "You can read `x` but not change it"
        negated = negated or (_forbids(following) and not _SPAN.search(following) and bool(_IT.search(following)))
        if not (listed or negated or _EDIT.search(words)) and _OTHER_USE.search(_outside_code(words)):
            continue
        for index, part in enumerate(parts):
            verdict = "no" if negated != bool(index) else kind
            for span in _SPAN.finditer(part):
                # "do not change the interface of `x`" speaks of a part of x, "called by `x`" of no edit at all
                if not (_PART_OF if verdict == "no" else _MEANS).search(part[: span.start()]):
                    yield span[1].strip(), verdict


def _forbids(clause: str) -> bool:
    words = _outside_code(clause)
    says_not = bool(_NOT.search(words)) and bool(_EDIT.search(words) or _CLOSED.search(words))
    return says_not or bool(_BARE_NOT.search(clause))


def _clauses(sentence: str) -> list[str]:
    hidden = re.sub(
        r"`[^`]*`", lambda m: m.group().replace("(", "\x02").replace(";", "\x03").replace("-", "\x04"), sentence
    )
    return [
        part.replace("\x02", "(").replace("\x03", ";").replace("\x04", "-")
        for part in _CLAUSE.split(hidden)
        if part.strip()
    ]


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


def _is_solution(name: str, commands: Commands) -> bool:
    used = " ".join(filter(None, (commands.build, commands.evaluate))).split()
    return (
        any(name.endswith(suffix) for suffix in _SOURCES)
        and not _NOT_A_SOLUTION.search(name)
        and not name.startswith(_OWN)
        and all(name != word.removeprefix("./") for word in used)
    )
