"""Solutions of strip packing that cheat or break, in the real sandbox."""

from __future__ import annotations

import pytest
from judged import STARTER_AT_MOST, assert_worthless, valid
from sandboxed import Solution, score

from loopscope.tasks.catalog import SUITE

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

TASK = SUITE / "strip_packing"
TOWER = "[(0, sum(h for _, h in sizes[:k])) for k in range(len(sizes))]"
"""One rectangle above the other: a packing, and a bad one."""
WRONG = {
    "hangs": "while True: pass",
    "sleeps": "import time; time.sleep(60)",
    "crashes": "import os; os.abort()",
    "raises": "raise ValueError('no')",
    "exits with 0": "import os; os._exit(0)",
    "none": "return None",
    "text": "return 'places'",
    "nothing": "return []",
    "too few": f"return {TOWER}[:-1]",
    "too many": f"return {TOWER} + [(0, 90000)]",
    "all in one place": "return [(0, 0)] * len(sizes)",
    "overlap by one row": f"return [(x, max(y - 1, 0)) for x, y in {TOWER}]",
    "out of the right side": f"return [(width - 3, y) for _, y in {TOWER}]",
    "out of the left side": f"return [(-1, y) for _, y in {TOWER}]",
    "below the ground": f"return [(x, y - 5) for x, y in {TOWER}]",
    "fractions that round to an overlap": "return [(k / 1000, 0) for k in range(len(sizes))]",
    "giant": "return [(10 ** 100000, 0)] * len(sizes)",
    "not a number": "return [(float('nan'), 0)] * len(sizes)",
    "rectangles forgotten": "sizes.clear(); return []",
    "rectangles made small": "sizes[:] = [[1, 1]] * len(sizes); return [(k % 100, k // 100) for k in range(len(sizes))]",
    "the bound patched": "import builtins; builtins.max = lambda *a, **k: 1; return [(0, 0)] * len(sizes)",
    "forged output": "import os; os.write(1, b'0000000\\n' * 12); os._exit(0)",
    "the answer written by hand": f"import sys; sys.modules['__main__'].answer.write('0000004\\n0 0\\n'); return {TOWER}",
    "bytes without end": "import os\n    while True: os.write(1, b'0' * 65536)",
    "memory": f"b = bytearray(1 << 30); return {TOWER}",
    "time": f"import time\n    while time.process_time() < 1.7: pass\n    return {TOWER}",
    "a thread": f"import threading; threading.Thread(target=print).start(); return {TOWER}",
    "a child that goes on": f"import os; os.fork(); return {TOWER}",
    "a file for the next set": f"open('kept', 'w').write('x'); return {TOWER}",
}  # fmt: skip


@pytest.mark.long
def test_packings_that_are_none() -> None:
    solutions = [Solution(files={"shelves.py": f"def pack(width, sizes):\n    {body}\n"}) for body in WRONG.values()]
    for what, scored in zip(WRONG, score(TASK, *solutions), strict=True):
        assert_worthless(scored, what)


def test_a_set_is_known_by_nothing() -> None:
    """Places remembered by the number of rectangles, their order or their sizes do not fit the next set."""
    starter = (TASK / "environment" / "starter" / "shelves.py").read_text().replace("def pack(", "def honest(")
    by_count = "def pack(width, sizes, kept={}):\n    return kept.setdefault(len(sizes), honest(width, sizes))\n"
    by_size = "def pack(width, sizes, kept={}):\n    return kept.setdefault(str(sizes), honest(width, sizes))\n"
    wrong, useless = score(TASK, *(Solution(files={"shelves.py": starter + "\n\n" + f}) for f in (by_count, by_size)))
    assert_worthless(wrong, "by count")
    assert valid(useless)["reward"] <= STARTER_AT_MOST["strip_packing"]


def test_a_patched_clock_gives_no_time() -> None:
    """The solution's own clock stands still; the processor time is counted outside."""
    body = f"import time; time.process_time = lambda: 0.0\n    sum(range(30_000_000)); return {TOWER}"
    (scored,) = score(TASK, Solution(files={"shelves.py": f"def pack(width, sizes):\n    {body}\n"}))
    assert_worthless(scored, "clock")
