"""Solutions of probes in a field that cheat or break, in the real sandbox."""

from __future__ import annotations

import pytest
from judged import STARTER_AT_MOST, assert_worthless, valid
from sandboxed import Solution, score

from loopscope.tasks.catalog import SUITE

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

TASK = SUITE / "discrepancy"
GOOD = "[((k + 0.5) / count, (k * 0.6180339887) % 1) for k in range(count)]"
LAST = f"{GOOD}[:-1] + "
WRONG = {
    "hangs": "while True: pass",
    "crashes": "import os; os.abort()",
    "raises": "raise ValueError('no')",
    "exits with 0": "import os; os._exit(0)",
    "none": "return None",
    "text": "return 'places'",
    "nothing": "return []",
    "too few": f"return {GOOD}[:-1]",
    "too many": f"return {GOOD} + [(0.123, 0.456)]",
    "without end": "import itertools; return ((k / 1e6 % 1, 0.5) for k in itertools.count())",
    "not a number": f"return {LAST}[(float('nan'), 0.5)]",
    "all not a number": "return [(float('nan'), float('nan'))] * count",
    "infinite": f"return {LAST}[(float('inf'), 0.5)]",
    "negative": f"return {LAST}[(-0.5, 0.5)]",
    "a little negative": f"return {LAST}[(-1e-9, 0.5)]",
    "larger than 1": f"return {LAST}[(1.5, 0.5)]",
    "a little larger than 1": f"return {LAST}[(1.00000000001, 0.5)]",
    "giant": f"return {LAST}[(1e300, 0.5)]",
    "a giant whole number": f"return {LAST}[(10**400, 0.5)]",
    "complex": f"return {LAST}[(0.5j, 0.5)]",
    "three coordinates": f"return {LAST}[(0.1, 0.2, 0.3)]",
    "twice the same": f"return {LAST}[{GOOD}[0]]",
    "all the same": "return [(0.7, 0.7)] * count",
    "the same but for rounding": f"return {LAST}[tuple(c + 1e-14 for c in {GOOD}[0])]",
    "where one stands": f"return {LAST}[standing[0]]",
    "no field": "standing.clear(); return []",
    "forged output": "import os; os.write(1, b'0.500000000000 0.500000000000\\n' * count); return []",
    "forged text": f"import sys; sys.modules['__main__'].answer.write('1e-3 0.5\\n'); return {GOOD}[:-1]",
    "underscores": f"import sys; sys.modules['__main__'].answer.write('0.5_0_0_0 0.5\\n'); return {GOOD}[:-1]",
    "other digits": f"import sys; sys.modules['__main__'].answer.write('0.' + '\\u0665' * 12 + ' 0.500000000000\\n'); return {GOOD}[:-1]",
    "bytes without end": "import os\n    while True: os.write(1, b'0' * 65536)",
    "memory": f"b = bytearray(1 << 30); return {GOOD}",
    "time": f"import time\n    while time.process_time() < 1.4: pass\n    return {GOOD}",
    "a file for the next field": f"open('kept', 'w').write('x'); return {GOOD}",
}  # fmt: skip


@pytest.mark.long
def test_places_that_are_none() -> None:
    solutions = [Solution(files={"probes.py": f"def place(standing, count):\n    {body}\n"}) for body in WRONG.values()]
    for what, scored in zip(WRONG, score(TASK, *solutions), strict=True):
        assert_worthless(scored, what)


def test_changing_what_stands_changes_nothing() -> None:
    """The verifier keeps its own fields: that the solution moves the standing probes to better places is nothing to it."""
    honest = f"def place(standing, count):\n    return {GOOD}\n"
    moved = f"def place(standing, count):\n    standing[:] = [(0.0, 0.0)] * 8\n    return {GOOD}\n"
    env = {"LOOPSCOPE_SEED": "5"}
    first, second = score(TASK, *(Solution(files={"probes.py": text}, env=env) for text in (honest, moved)))
    assert valid(first)["discrepancy"] == valid(second)["discrepancy"]
    assert valid(first)["correctness"] == 1


def test_a_patched_verifier_is_none() -> None:
    """What a solution does to modules and built-ins stays in its own process."""
    starter = (TASK / "environment" / "starter" / "probes.py").read_text()
    patch = (
        "import builtins, fractions, math, sys\nmath.sqrt = math.log = lambda x: -9.0\nbuiltins.max = lambda *a: 0\n"
    )
    solution = Solution(files={"probes.py": f"{patch}sys.modules['verify'] = sys\n{starter}"})
    (scored,) = score(TASK, solution)
    assert valid(scored)["reward"] <= STARTER_AT_MOST["discrepancy"]


def test_exchanging_the_axes_changes_nothing_for_points_that_do_not_heed_the_field() -> None:
    """The switch does what it says: mirrored places in mirrored fields are worth the same."""
    here, there = (f"def place(standing, count):\n    return [{p} for x, y in {GOOD}]\n" for p in ("(x, y)", "(y, x)"))
    first, second = score(
        TASK,
        Solution(files={"probes.py": here}, env={"LOOPSCOPE_SEED": "5"}),
        Solution(files={"probes.py": there}, env={"LOOPSCOPE_SEED": "5", "LOOPSCOPE_SWAP": "2"}),
    )
    assert valid(first)["discrepancy"] == pytest.approx(valid(second)["discrepancy"], rel=1e-9)
