"""Break a log in one of the ways that logs break, or that somebody could think of."""

from __future__ import annotations

import json
import random
from typing import Any

NASTY: tuple[Any, ...] = (
    None, True, False, 0, -1, 1 << 63, 1 << 200, 1.5, -0.0, 1e308, "", " ", "\0", "\ud800", "x" * 5000, "Exit code 99999999999",
    "../../etc/passwd", "/dev/zero", "\x1b[31m", "é", "Process exited with code -1", [], {}, [[]], [None], {"": None},
    {"type": "text"}, [{"type": "text", "text": 5}], "2026-13-45T99:99:99Z", "9999-12-31T23:59:59.999999+23:59", "main", "a", "b",
    "ATIF-v9.99", "NaN", [1, "a", {}], {"type": ["x"]}, "<persisted-output>",
)  # fmt: skip
_TOKENS = (
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"1e999",
    b"NaN",
    b"\n",
)
_DEEP = b"[" * 3000


def mutated(data: bytes, chance: random.Random, *, text: bool) -> bytes:
    """The data, broken in one to three places; `text` when it is JSON or JSON lines."""
    for _ in range(chance.randint(1, 3)):
        data = _structure(data, chance) if text and chance.random() < 0.6 else _bytes(data, chance)
    return data


def overwritten(data: bytes, chance: random.Random) -> bytes:
    """The data with some bytes written over: what breaks a container less than a shift of all that follows."""
    broken = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 5, 50))):
        broken[chance.randrange(len(broken))] = chance.randrange(256)
    return bytes(broken)


def _bytes(data: bytes, chance: random.Random) -> bytes:
    here = chance.randint(0, len(data))
    there = min(len(data), here + chance.choice((1, 2, 10, 200)))
    match chance.randrange(7):
        case 0:
            return data[:here]
        case 1:
            return data[:here] + data[there:]
        case 2:
            return data[:here] + chance.choice(_TOKENS) + data[here:]
        case 3:
            return data[:here] + bytes(chance.randrange(256) for _ in range(there - here)) + data[there:]
        case 4:
            return data[:there] + data[here:there] + data[there:]
        case 5:
            return data[:here] + (_DEEP if chance.random() < 0.1 else b"[[[[") + data[here:]
        case _:
            rows = data.split(b"\n")
            chance.shuffle(rows)
            return b"\n".join(rows[: chance.randint(1, len(rows))])


def _structure(data: bytes, chance: random.Random) -> bytes:
    """Change one value of one document in the data; whatever is no JSON stays."""
    rows = data.split(b"\n")
    number = chance.randrange(len(rows))
    try:
        document = json.loads(rows[number])
    except (ValueError, RecursionError):
        return data
    places = list(_places(document))
    if not places:
        return data
    container, key = chance.choice(places)
    match chance.randrange(4):
        case 0 | 1:
            container[key] = chance.choice(NASTY)
        case 2:
            del container[key]
        case _:
            other, name = chance.choice(places)
            # A copy: a value inside itself could not be written.
            container[key] = json.loads(json.dumps(other[name])) if name in other or isinstance(other, list) else None
    rows[number] = json.dumps(document, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return b"\n".join(rows)


def _places(document: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    stack = [document]
    while stack:
        value = stack.pop()
        keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        for key in keys:
            found.append((value, key))
            stack.append(value[key])
    return found
