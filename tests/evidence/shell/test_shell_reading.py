"""Plain commands, which are read by their text, mean what their nodes say."""

from __future__ import annotations

import re

import pytest

from loopscope.evidence.shell import reading
from loopscope.evidence.shell.parse import parse

SCRIPTS = [
    "make",
    "ls -la /tmp/a_b.c",
    "cd /app && ./bench --size=100 --seed 7",
    "cd ..\npwd",
    "timeout 60 nice -n 5 python3 run.py data/x.txt 2>&1 | tail -5",
    "env A=1 B=2 ./run",
    "A=1 ./run",
    "A=1",
    "export A=1 B",
    "gcc -DX=1 -O3 -o a.out a.c -lm; ./a.out 3 4.5",
    "test a == b",
    "[ a = b ] && echo yes",
    "x == y",
    "a\tb   c",
    "git commit -m fix-it@{1}",
    "git show HEAD~2:src/a.c",
    "cp ~/a.txt ./b.txt",
    "echo 100% +x a,b",
    "for i in 1 2; do ./bench $i; done",
    "if true; then make -j4; else false; fi",
    "sudo bash run.sh",
    "echo $(date +%s) > log",
    "echo caf\u00e9 plain",
    "f() { make clean; }; f",
    "source env.sh && pushd sub && make all",
    "a=b=c d=e f",
    "-x y",
    "2>err make all",
    "echo a\\\n b",
    "! grep -q x y",
    "time make",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_plain_command_is_what_its_nodes_say(script, monkeypatch):
    quick = parse.__wrapped__(script)
    monkeypatch.setattr(reading, "_PLAIN", re.compile(r"(?!)"))
    assert parse.__wrapped__(script) == quick


def test_most_commands_are_plain():
    assert reading._PLAIN.fullmatch("cmake --build build -j 8")
    assert not reading._PLAIN.fullmatch("A=1 cmake")
    assert not reading._PLAIN.fullmatch("echo 'a'")
    assert not reading._PLAIN.fullmatch("rm *.o")
