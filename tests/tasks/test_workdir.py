from __future__ import annotations

import pytest

from loopscope.tasks.dockerfile import final_workdir


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM a\nWORKDIR /x\n", "/x"),
        ("FROM a\nRUN true\n", None),
        ("from a\nworkdir /x\nWORKDIR y/z\n", "/x/y/z"),
        ("FROM a\nENV HOME=/home/u\nWORKDIR $HOME/app\n", "/home/u/app"),
        ("ARG D=/srv\nFROM a\nWORKDIR ${D}/w\n", "/srv/w"),
        ("FROM a\nWORKDIR ${D:-/fall}/back\n", "/fall/back"),
        ('FROM a\nENV A="/q r" B=/b\nWORKDIR $B\n', "/b"),
        ("FROM a\nENV OLD /form\nWORKDIR $OLD\n", "/form"),
        ("FROM a AS one\nWORKDIR /one\nFROM b\n", None),
        ("FROM a AS one\nWORKDIR /one\nFROM --platform=linux/amd64 one\n", "/one"),
        ("FROM a\nRUN echo \\\n  # not the end\n  WORKDIR /no\nWORKDIR /yes\n", "/yes"),
        ("FROM a\nWORKDIR /x/../y/\n", "/y"),
        ("FROM a\n# WORKDIR /commented\n", None),
    ],
)
def test_last_workdir_of_the_last_stage(text: str, expected: str | None) -> None:
    assert final_workdir(text) == expected
