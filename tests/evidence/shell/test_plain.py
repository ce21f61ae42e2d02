"""Plain scripts are read as the parser's tree would be."""

from __future__ import annotations

import random

import pytest

from loopscope.evidence.shell import parse as parsing
from loopscope.evidence.shell.commands import Script
from loopscope.evidence.shell.plain import plain_commands

_PLAIN = """
a ls cd /app make -j4 ./run x=1 CC=gcc 5 2 - -- --x=y ~/f a:b %d +x @ time timeout bash -c xargs git commit -m test
[ true : . .. env A=1 sudo nohup pushd perf stat sh == a==b =a let coproc until ! 2a a,b in printf export command exec
nice 3.14 -e = != set -euo pipefail trap return wait read eval cd
"""
_WORDS = [
    *_PLAIN.split(), "'a b'", '"c d"', '" e"', "''", '""', "'#x'", "'ls -l | wc'", '"cd /tmp"', "'$x'", '"{a}"', '"*"',
    '"$x"', "--x='a b'", "a'b'\"c\"", "CC='gcc -O3'", 'A="1"', "x=", "=y", "*.go", "?x", '"a\\"b"', '"\\$x"', '"a\nb"',
    "'\n b \n'", '" \n\n x\n"', '"a # b"', '"a\\\n b"', "'it'\"'\"'s'", '"!"',
]  # fmt: skip
_JOINS = [
    " && ", "; ", " | ", "\n", " || ", ";", "|", "&&", "\n\n", " ;\n", " & ", " |& ", "\t", " \\\n ", " 2>&1 | ", " 2>&1",
    " > f", " >> f", " 2>/dev/null", " &> f", " >f", "2>&1", " 1> f", " > f 2>&1\n", " 2> f && ", " < f ",
    " > /dev/null; ", " >/dev/null 2>&1 && ", " 3> f", "\n# it's said\n", "; # x\n", " # x\n", " << 'E'\nbody\nE\n",
    " <<'E' > f\n\n  b $x `y`\n\nE\n", " > f << \"EE\"\nx'\nE \nEE\n", " <<'E'\nE\n", " <<'E' && ls\nx\nE\n",
    " <<E\nx\nE\n", " <<'E' 2>&1\nEs\nE\n", " <<'E'\nx", " <<'E'\n\tx\nE",
]  # fmt: skip


def _read(text: str) -> Script:
    return parsing.parse.__wrapped__(text, ".")


def _made_up(count: int) -> list[str]:
    """Scripts of any words, joined by anything; the same each time."""
    chance = random.Random(7)
    made = []
    for _ in range(count):
        parts: list[str] = []
        for _ in range(chance.randint(1, 5)):
            parts += [" ".join(chance.choices(_WORDS, k=chance.randint(1, 4))), chance.choice(_JOINS)]
        made.append("".join(parts[:-1] if chance.random() < 0.7 else parts))
    return made


def test_what_is_plain_is_read_as_the_tree_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for text in _made_up(20_000) if plain_commands(text) is not None]
    plainly = [_read(text) for text in texts]
    monkeypatch.setattr(parsing, "plain_commands", lambda text: None)
    assert len(texts) > 1200
    assert [text for text, found in zip(texts, plainly, strict=True) if found != _read(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "cd /app && make 2>&1",
        "cd /app; ls -l > out.txt; ./run --check 'a b' \"c d\" || echo no",
        "make -j4 2>&1 | tail",
        "a | b | c\n",
        "a | b | c && d | e || f; g | h | i && j\n",
        "timeout 60 ./run 2>/dev/null\n\ngit commit -m 'round 1: faster'\n",
        "cat > a.py << 'EOF'\n\nprint(\"it's $1\")\nEOF\npython3 a.py 2>&1 | tail -5",
        'git add *.go\n# why\ngit commit -m "round 2: change=x\n\nhypothesis=\\"y\\""',
        "GOMAXPROCS=1 CC='gcc -O2' ./run -list='a b'",
    ],
)
def test_what_agents_write_is_plain(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain_commands(text) is not None
    plainly = _read(text)
    monkeypatch.setattr(parsing, "plain_commands", lambda text: None)
    assert plainly == _read(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a &&",
        "a &",
        "a $x",
        "echo `b`",
        "x=1",
        "x=1 a:b",
        "cat << E\nx\nE",
        "cat << 'E'\nx\nEs\nE",
        "bash << 'E'\nx\nE",
        "python3 - << 'E'\nx\nE",
        'echo "a',
        'echo "a$b"',
        "for i in a; do b; done",
        "(a)",
        "cd x | b",
        "a - b",
        "é",
        "a \\\n b",
        "a < b",
        "a # b",
    ],
)
def test_what_is_not_plain_is_left_to_the_parser(text: str) -> None:
    assert plain_commands(text) is None
