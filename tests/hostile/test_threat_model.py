"""What the threat model claims to hold is held by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "threat-model.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def holds() -> list[str]:
    section = PAGE.read_text(encoding="utf-8").split("\n## What holds\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def test_every_claim_names_its_test() -> None:
    rows = holds()
    assert len(rows) >= 20
    for row in rows:
        assert NAMED.search(row.split("|")[-2]), row


def test_every_named_test_exists() -> None:
    for file, name in NAMED.findall(PAGE.read_text(encoding="utf-8")):
        path = ROOT / file
        assert path.is_file(), file
        assert re.search(rf"^(async )?def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE), f"{file}::{name}"


def test_what_does_not_hold_is_said() -> None:
    section = PAGE.read_text(encoding="utf-8").split("\n## What does not hold\n")[1].split("\n## ")[0]
    for word in ("kernel", "Side channels", "One id", "mountinfo", "guard", "Harbor", "authors of tasks", "absent"):
        assert word in section, word
