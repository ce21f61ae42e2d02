from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab import TASKS

from loopscope.agents.search.mutate import Files, Move, catalogue, is_well_formed
from loopscope.agents.search.mutate.literals import read_literal, steps

C = b"""#include <string.h>
#define TABLE 64 /* slots */
#define MASK 0xffu
#define BIG (1 << 10)
enum { DEPTH = 3 };
static const double rate = 0.5;
static int plain(int a) { return a + 1; }
static int clever(int a) { return a * 2; }
int run(const char *s, int n) {
    int found = 0;
    for (int i = 0; i < strlen(s); i++) {
        if (s[i] == 'x') {
            found = plain(i);
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < TABLE; j++) {
            found += clever(i) > 40;
        }
    }
    return found;
}
"""
PY = b"""METHOD = "slow"  # or "fast"
LEARNING_RATE = 0.0
USE_CACHE = False


def area(w, h, scale=2.5):
    if METHOD == "exact":
        return w * h
    elif METHOD == "slow":
        return sum(1 for _ in range(100)) * scale
    return sorted(list(w))
"""


def moves(path: str, data: bytes) -> list[Move]:
    return catalogue({path: data})


def after(path: str, data: bytes, operator: str, words: str) -> str:
    """The file after the one move with this operator whose change mentions these words."""
    found = [m for m in moves(path, data) if m.operator == operator and words in m.change]
    assert len(found) == 1, [m.change for m in found]
    return found[0].apply({path: data})[path].decode()


@pytest.mark.parametrize(
    ("operator", "words", "line"),
    [
        ("x4", "TABLE", "#define TABLE 256 /* slots */"),
        ("/4", "TABLE", "#define TABLE 16 /* slots */"),
        ("x4", "MASK", "#define MASK 0x3fcu"),
        ("x2", "BIG", "#define BIG (1 << 20)"),
        ("x4", "DEPTH", "enum { DEPTH = 12 };"),
        ("/4", "rate", "static const double rate = 0.125;"),
        ("halfway to 1", "rate", "static const double rate = 0.75;"),
        ("call clever", "plain(i)", "            found = clever(i);"),
        ("insert break", "s[i]", "            found = plain(i); break;"),
        ('pragma GCC optimize("O3")', "O3", '#pragma GCC optimize("O3")'),
        ("> to >=", "clever(i) > 40", "            found += clever(i) >= 40;"),
        ("hoist call", "strlen(s)", "    const __typeof__(strlen(s)) bound_"),
        ("swap loops", "for", "        for (int i = 0; i < n; i++) {"),
        ("inline function", "plain", "__attribute__((always_inline)) inline static int plain(int a) { return a + 1; }"),
        ("delete", "found += clever(i) > 40;", "            \n"),
    ],
)
def test_c(operator: str, words: str, line: str) -> None:
    text = after("solve.c", C, operator, words)
    assert text != C.decode()
    assert line in text


@pytest.mark.parametrize(
    ("operator", "words", "line"),
    [
        ("choose fast", "METHOD", 'METHOD = "fast"'),
        ("choose exact", "METHOD", 'METHOD = "exact"'),
        ("0 to 1.0", "LEARNING_RATE", "LEARNING_RATE = 1.0"),
        ("flip", "USE_CACHE", "USE_CACHE = True"),
        ("x4", "scale", "def area(w, h, scale=10.0):"),
        ("x4", "range", "range(400)"),
        ("cache calls", "area", '@__import__("functools").lru_cache(maxsize=None)\ndef area'),
        ("unwrap call", "list(w)", "return sorted(w)"),
        ("swap branches", "METHOD", 'if METHOD == "slow":\n        return sum'),
        ("* to /", "w * h", "return w / h"),
    ],
)
def test_python(operator: str, words: str, line: str) -> None:
    found = [m for m in moves("solve.py", PY) if m.operator == operator and words in m.change]
    assert any(line in m.apply({"solve.py": PY})["solve.py"].decode() for m in found), [m.change for m in found]


@pytest.mark.parametrize(
    ("path", "text", "operator", "result"),
    [
        ("Makefile", "CFLAGS = -O0 -g\nx:\n\tcc -O1 x.c\n", "set -O3", "CFLAGS = -O3 -g\nx:\n\tcc -O3 x.c\n"),
        ("Makefile", "CFLAGS = -O0 -g\n", "drop -g", "CFLAGS = -O0 \n"),
        ("Makefile", "x:\n\tgcc -o x x.c\n", "set -O2", "x:\n\tgcc -O2 -o x x.c\n"),
        ("options.txt", "-O1\n", "add -funroll-loops", "-funroll-loops -O1\n"),
        ("build.sh", "gcc x.c\n", "add -DNDEBUG", "gcc -DNDEBUG x.c\n"),
    ],
)
def test_flags(path: str, text: str, operator: str, result: str) -> None:
    found = [m for m in moves(path, text.encode()) if m.operator == operator]
    assert [m.apply({path: text.encode()})[path].decode() for m in found] == [result]


def test_other_languages_by_their_tokens() -> None:
    go = b"package main\n// 99 in a comment\nconst Workers = 8\nvar rate = 0.25\n"
    changes = {m.change for m in moves("main.go", go) if m.operator == "x4"}
    assert changes == {"Workers 8 -> 32 (x4) in main.go", "rate 0.25 -> 1.0 (x4) in main.go"}


def test_a_step_can_be_repeated_where_it_was_made() -> None:
    files: Files = {"solve.c": C}
    for expected in (b"TABLE 256 ", b"TABLE 1024 "):
        move = next(m for m in catalogue(files) if m.key[1:] == ("file:TABLE#1", "x4"))
        files = move.apply(files)
        assert expected in files["solve.c"]


@pytest.mark.parametrize("name", ["counting_words", "smoothing", "packing"])
def test_every_move_changes_its_file_alone_and_names_are_unique(name: str) -> None:
    paths = [p for p in (TASKS / name).iterdir() if p.name != "instruction.md"]
    files = {p.name: p.read_bytes() for p in paths}
    found = catalogue(files)
    assert len(found) > 30
    assert found == catalogue(dict(reversed(list(files.items()))))
    assert len({m.key for m in found}) == len(found)
    for move in found:
        changed = move.apply(files)
        assert {p for p in files if files[p] != changed[p]} == {move.file}, move.change
        assert "\n" not in move.change


def test_what_a_parser_refuses_is_not_well_formed() -> None:
    assert not is_well_formed({"a.py": b"x = 1\n"}, {"a.py": b"x = = 1\n"})
    assert is_well_formed({"a.py": b"x = = 1\n"}, {"a.py": b"x = = 2\n"})
    assert is_well_formed({"notes.txt": b"a"}, {"notes.txt": b"((("})


@given(st.integers(min_value=0, max_value=1 << 50) | st.floats(min_value=0, max_value=1e12))
def test_steps_keep_type_and_sign_and_change_the_value(value: int | float) -> None:
    literal = read_literal(repr(value))
    assert literal is not None
    for step in steps(literal):
        again = read_literal(literal.write(step.value))
        assert again is not None, literal.write(step.value)
        assert type(again.value) is type(value)
        assert again.value >= 0
        if isinstance(value, int):
            assert again.value != value


@pytest.mark.parametrize("text", ["1j", "0b101", "017", "abc", "1.2.3", ""])
def test_unreadable_literals(text: str) -> None:
    assert read_literal(text) is None


@given(st.binary(max_size=400))
def test_any_bytes_are_survived(data: bytes) -> None:
    for path in ("x.c", "x.py", "Makefile", "x.rs"):
        files = {path: data}
        for move in catalogue(files):
            move.apply(files)
