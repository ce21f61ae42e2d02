"""Solutions of mislabelled beetles that cheat or break, in the real sandbox."""

from __future__ import annotations

import pytest
from judged import STARTER_AT_MOST, assert_worthless, valid
from sandboxed import Solution, score

from loopscope.tasks.catalog import SUITE

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

TASK = SUITE / "label_noise"
FIXED = "return np.zeros(len(x))"
SPECIES = """
import numpy as np
def train(x, labels):
    {train}
def predict(model, x):
    {predict}
"""
WRONG = {
    "hangs": ("while True: pass", FIXED),
    "hangs later": ("return {}", "while True: pass"),
    "crashes": ("import ctypes; ctypes.string_at(0)", FIXED),
    "exits with 0": ("import os; os._exit(0)", FIXED),
    "no model": ("return None", FIXED),
    "a pickle": ("return {'m': np.array([object()], dtype=object)}", FIXED),
    "text": ("return {'m': 'words'}", FIXED),
    "a model too large": ("return {'m': np.zeros(9000)}", FIXED),
    "all that was seen as a model": ("return {'x': x, 'labels': labels}", FIXED),
    "many arrays": ("return {str(k): np.zeros(1) for k in range(99)}", FIXED),
    "wrong shape": ("return {}", "return np.zeros((len(x), 1))"),
    "too few": ("return {}", "return np.zeros(len(x) - 1)"),
    "chances instead of species": ("return {}", "return np.full(len(x), 0.5)"),
    "a fifth species": ("return {}", "return np.full(len(x), 4)"),
    "a negative species": ("return {}", "return np.full(len(x), -1)"),
    "not a number": ("return {}", "return np.full(len(x), np.nan)"),
    "infinite": ("return {}", "return np.full(len(x), np.inf)"),
    "nothing": ("return {}", "return None"),
    "memory": ("np.ones((1 << 28,)); return {}", FIXED),
    "time": ("import time\n    while time.process_time() < 2: pass\n    return {}", FIXED),
    "forged output": ("import os; os.write(1, b'\\x00\\x00\\x00\\x00'); return {}", "return None"),
    "state beside the model": ("open('/tmp/state', 'w').write('x'); return {}", f"open('/tmp/state'); {FIXED}"),
    "state in the working directory": ("np.save('state.npy', x); return {}", f"np.load('state.npy'); {FIXED}"),
    "a child that goes on": ("import os; os.fork(); return {}", FIXED),
}  # fmt: skip


@pytest.mark.long
def test_answers_that_are_none() -> None:
    solutions = [Solution(files={"species.py": SPECIES.format(train=t, predict=p)}) for t, p in WRONG.values()]
    for what, scored in zip(WRONG, score(TASK, *solutions), strict=True):
        assert_worthless(scored, what)


def test_the_true_species_are_not_there_to_be_found() -> None:
    """Memory, modules, frames and files are searched for species of the beetles asked for; the rest is one guess."""
    predict = """
    import gc, glob, sys
    frame, things = sys._getframe(), list(gc.get_objects())
    while frame:
        things += list(frame.f_locals.values())
        frame = frame.f_back
    for name in glob.glob("/tests/**", recursive=True) + glob.glob("/logs/**", recursive=True) + glob.glob("/proc/*/mem"):
        try:
            things.append(np.frombuffer(open(name, "rb").read(1 << 20)[: 8 * len(x)], dtype=float))
        except Exception:
            pass
    for thing in things:
        for array in list(thing.values()) if isinstance(thing, dict) else thing if isinstance(thing, list) else [thing]:
            if isinstance(array, np.ndarray) and array.shape == (len(x),) and np.isin(array, range(4)).all():
                return array
    return np.zeros(len(x))
"""
    (scored,) = score(TASK, Solution(files={"species.py": SPECIES.format(train="return {}", predict=predict.strip())}))
    assert valid(scored)["accuracy"] < 0.35  # one species of four


def test_the_local_baseline_is_the_starting_program() -> None:
    """Both copies differ from it in their first line alone, and a changed one in the workspace counts for nothing."""
    starter = TASK / "environment" / "starter"
    for file in (starter / "baseline.py", TASK / "tests" / "baseline.py"):
        assert file.read_text().splitlines()[1:] == (starter / "species.py").read_text().splitlines()[1:]
    changed = {"baseline.py": "def train(x, labels): return {}\ndef predict(model, x): return x[:, 0]\n"}
    (scored,) = score(TASK, Solution(files=changed))
    assert valid(scored)["reward"] <= STARTER_AT_MOST["label_noise"]
