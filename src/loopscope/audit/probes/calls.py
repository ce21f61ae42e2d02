"""The functions by which a task's other files call a solution, and wrappers around them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from loopscope.audit.probes.weaving import Weave, defined, language, piece

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINITION = re.compile(
    r"^((?!static\b|typedef\b|return\b|else\b|#)[A-Za-z_][\w:<>*&\s]*?)\b(\w+)\s*\(([^;{}()]*)\)\s*\{", re.MULTILINE
)
_WHOLE = re.compile(r"(const\s+)?(unsigned|signed|long|short|int|size_t|ssize_t|u?int\d+_t|uint|std::size_t|\s)+")
_SIMPLE = re.compile(r"\b(void|char|bool|short|int|long|float|double|signed|unsigned|size_t|u?int\d+_t)\b")


@dataclass(frozen=True)
class Parameter:
    """One of a C function."""

    kind: str
    """Its type as it is written, without the name."""
    name: str
    count: str | None = None
    """For a pointer: the whole number behind it, which may be its length."""

    @property
    def whole(self) -> bool:
        """Whether it is a whole number."""
        return bool(_WHOLE.fullmatch(self.kind))

    @property
    def pointer(self) -> bool:
        """Whether it is an address or a reference."""
        return any(c in self.kind for c in "*&[")

    @property
    def place(self) -> str:
        """An expression for the address."""
        return f"&{self.name}" if "&" in self.kind else self.name

    @property
    def one(self) -> str:
        """An expression for the bytes of one element."""
        if re.search(r"\bvoid\b", self.kind):
            return "(size_t)1"
        return f"sizeof({self.name})" if "&" in self.kind else f"sizeof(*({self.name}))"

    @property
    def size(self) -> str | None:
        """An expression for the bytes behind it, where a guess is possible."""
        if "&" in self.kind:
            return self.one
        if self.count:
            return f"((size_t)({self.count}) * {self.one})"
        return None if _SIMPLE.search(self.kind) else self.one

    @property
    def constant(self) -> bool:
        """Whether it points at what must not be changed."""
        return bool(re.search(r"\bconst\b", self.kind))


@dataclass(frozen=True)
class Entry:
    """A C function that others call."""

    result: str
    name: str
    parameters: tuple[Parameter, ...]
    written: str
    """The parameter list as it stands in the source."""

    @property
    def arguments(self) -> str:
        """For the call of the real one."""
        return ", ".join(p.name for p in self.parameters)


def _parameters(written: str) -> tuple[Parameter, ...] | None:
    found: list[Parameter] = []
    for part in written.split(",") if written.strip() not in ("", "void") else ():
        match = re.fullmatch(r"(.*?)(\w+)\s*((?:\[[^\]]*\]\s*)*)", part.strip(), re.DOTALL)
        if not match or not match[1].strip():
            return None
        kind = " ".join((match[1] + ("[" if match[3] else "")).replace("restrict", "").replace("__", "").split())
        found.append(Parameter(kind, match[2]))
    named = []
    for number, parameter in enumerate(found):
        count = next((p.name for p in found[number + 1 :] if p.whole), None) if parameter.pointer else None
        named.append(Parameter(parameter.kind, parameter.name, count))
    return tuple(named)


def entries(text: str, others: Iterable[str]) -> list[Entry]:
    """C functions defined in `text` whose names stand in other files as well."""
    elsewhere = "\n".join(others)
    found = []
    for match in _DEFINITION.finditer(_COMMENT.sub(" ", text)):
        result = " ".join(match[1].replace("extern", "").split())
        parameters = _parameters(match[3])
        known = re.search(rf"\b{match[2]}\b", elsewhere)
        if match[2] != "main" and known and parameters is not None and not result.startswith("static"):
            found.append(Entry(result, match[2], parameters, match[3]))
    return found


def python_entries(text: str, others: Iterable[str]) -> list[str]:
    """Python functions likewise."""
    elsewhere = "\n".join(others)
    return [n for n in defined(text) if not n.startswith("_") and re.search(rf"\b{n}\b", elsewhere)]


def dealt(name: str, text: str, others: Iterable[str], deal: str, **values: str) -> Weave | None:
    """Every entry goes through a deal (`count`, `reuse`, `skip`, `trivial`, `answers`); None: there is none."""
    if language(name) == "python":
        if not (names := python_entries(text, others)):
            return None
        wraps = "\n".join(f"_lsp_wrap({n!r}, _lsp_deal)" for n in names)
        return Weave(after=(piece("calls.pyt"), piece(f"{deal}.pyt", **values), wraps))
    if language(name) == "rust" or deal not in _C_DEALS or not (found := entries(text, others)):
        return None
    before = () if deal == "count" else (piece(f"{deal}.h", **values),)
    after = tuple(_wrapper(entry, _C_DEALS[deal](entry, number)) for number, entry in enumerate(found))
    return Weave(before, after, tuple(entry.name for entry in found))


def _wrapper(entry: Entry, body: str) -> str:
    return f"{entry.result} {entry.name}({entry.written})\n{{\n{body}\n}}"


def _call(entry: Entry) -> str:
    return f"{entry.name}_lsp({entry.arguments})"


def _most(entry: Entry, target: str) -> str:
    return "".join(
        f"if ((long long){p.name} > {target}) {target} = (long long){p.name};\n" for p in entry.parameters if p.whole
    )


def _count(entry: Entry, _: int) -> str:
    return f"lsp_calls++;\n{_most(entry, 'lsp_most')}return {_call(entry)};"


def _skip(entry: Entry, _: int) -> str:
    sized = any(p.whole for p in entry.parameters)
    start = "long long lsp_m = 0;\n" + _most(entry, "lsp_m") if sized else "long long lsp_m = 1LL << 62;\n"
    none = "return;" if entry.result == "void" else f"{{ static {_bare(entry)} lsp_none; return lsp_none; }}"
    return f"{start}if (lsp_counts(lsp_m)) {none}\nreturn {_call(entry)};"


def _trivial(entry: Entry, _: int) -> str:
    lines = [
        f"lsp_trivial((const void *)({p.place}), (size_t)({p.count}), {p.one});"
        for p in entry.parameters
        if p.pointer and p.count
    ]
    return "\n".join([*lines, f"return {_call(entry)};"])


def _bare(entry: Entry) -> str:
    return entry.result.removeprefix("const ") if "*" not in entry.result else entry.result


def _reuse(entry: Entry, number: int) -> str:
    pointers = [p for p in entry.parameters if p.pointer]
    read = [p for p in pointers if p.constant] or pointers
    lines = [f"uint64_t lsp_k = 14695981039346656037ULL + {number};"]
    for p in entry.parameters:
        if "&" not in p.kind:
            lines.append(f"lsp_k = lsp_mix(lsp_k, &{p.name}, sizeof {p.name});")
        if p in read and p.size:
            lines.append(
                f"if ({p.place}) lsp_k = lsp_mix(lsp_k, (const void *)({p.place}), {p.size} < 64 ? {p.size} : 64);"
            )
    lines.append("struct lsp_known *lsp_n = lsp_find(lsp_k);")
    void = entry.result == "void"
    kind = _bare(entry)
    back = (
        "return;" if void else f"{{ {kind} lsp_o; memcpy((void *)&lsp_o, lsp_n->result, sizeof lsp_o); return lsp_o; }}"
    )
    fits = "1" if void else f"sizeof({kind}) <= sizeof lsp_n->result"
    lines.append(f"if (lsp_n && lsp_n->used && {fits}) {{ lsp_give(lsp_n); lsp_rest(lsp_n->took); {back} }}")
    lines.append("long long lsp_s = lsp_now();")
    lines.append(f"{_call(entry)};" if void else f"{kind} lsp_r = {_call(entry)};")
    saves = " ".join(
        f"lsp_save(lsp_n, (const void *)({p.place}), {p.size});" for p in pointers if not p.constant and p.size
    )
    keep = "" if void else "memcpy(lsp_n->result, (const void *)&lsp_r, sizeof lsp_r);"
    lines.append(
        f"if (lsp_n && {fits}) {{ lsp_n->key = lsp_k; lsp_n->used = 1; "
        f"lsp_n->took = lsp_now() - lsp_s; {saves} {keep} }}"
    )
    lines.append("return;" if void else "return lsp_r;")
    return "\n".join(lines)


_C_DEALS = {"count": _count, "reuse": _reuse, "skip": _skip, "trivial": _trivial}
