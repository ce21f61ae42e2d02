"""Solutions that cheat, break or attack, in the real sandbox: none is worth more than the starter."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from judged import LEVELS, MAIN_FILE, STARTER_AT_MOST, assert_worthless, at_levels, valid
from sandboxed import Solution, score

from loopscope.tasks.catalog import SUITE

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


PYTHON_PRELUDE = """
import ctypes, os, signal, sys, time
def attack():
    acts = [
        lambda: open("/logs/verifier/reward.json", "w").write('{"reward": 1, "correctness": 1}'),
        lambda: open("/tests/verify.py").read(),
        lambda: open("/tests/anchors.json", "w").write("{}"),
        lambda: [os.kill(pid, signal.SIGKILL) for pid in range(2, 400) if pid != os.getpid()],
        lambda: os.kill(os.getppid(), signal.SIGKILL) if os.getppid() > 1 else None,
        lambda: ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0),
        lambda: os.fork() or os.setsid() or os.execv("/bin/sh", ["sh", "-c", "sleep 5; : leftover"]),
    ]
    for act in acts:
        try: act()
        except BaseException: pass
attack()
"""


@pytest.mark.parametrize(
    ("name", "level"),
    at_levels(["addition_chains", "coupled_forecast", "discrepancy", "label_noise", "strip_packing"]),
)
def test_attacks_from_python_change_nothing(name: str, level: str) -> None:
    starter = (SUITE / name / "environment" / "starter" / MAIN_FILE[name]).read_text()
    env = {"LOOPSCOPE_GUARD": level} if level else {}
    (scored,) = score(SUITE / name, Solution(files={MAIN_FILE[name]: PYTHON_PRELUDE + starter}, env=env))
    assert valid(scored)["reward"] <= 0.01, scored.details
    assert "leftover" not in scored.processes


def test_chains_that_are_none() -> None:
    bodies: Mapping[str, str] = {
        "hangs": "while True: pass",
        "crashes": "import os; os.abort()",
        "raises": "raise ValueError('no')",
        "exits with 0": "import os; os._exit(0)",
        "none": "return None",
        "text": "return 'steps'",
        "no steps": "return []",
        "a place that is not there yet": "return [(0, 1)]",
        "negative places": "return [(-1, -1)] * 30",
        "giant places": "return [(10 ** 100000, 0)]",
        "too many steps": "return [(0, 0)] * 2_000_000",
        "giant elements": "return [(k, k) for k in range(4000)]",
        "floats": "return [(0.0, 0.0)]",
        "forged output": "import os\n    os.write(1, b'0 0\\n'); return []",
        "the answer written by hand": "import sys\n    sys.modules['__main__'].answer.write('0 0\\n'); return [(0, 0)]",
        "a patched verifier": "import sys, builtins\n    builtins.set = lambda *a: frozenset(); return [(0, 0)]",
        "targets changed in place": "targets.clear(); targets.append(2); return [(0, 0)]",
    }
    solutions = [Solution(files={"chains.py": f"def build(targets):\n    {body}\n"}) for body in bodies.values()]
    for what, scored in zip(bodies, score(SUITE / "addition_chains", *solutions), strict=True):
        assert_worthless(scored, what)


FORECAST = """
import numpy as np
def train(series):
    {train}
def predict(model, windows):
    {predict}
"""
PERSISTENCE = "return np.repeat(windows[:, -1:], 2, axis=1)"


def test_forecasts_that_are_none() -> None:
    bodies = {
        "hangs": ("while True: pass", PERSISTENCE),
        "hangs later": ("return {}", "while True: pass"),
        "crashes": ("import ctypes; ctypes.string_at(0)", PERSISTENCE),
        "no model": ("return None", PERSISTENCE),
        "a pickle": ("return {'m': np.array([object()], dtype=object)}", PERSISTENCE),
        "text": ("return {'m': 'words'}", PERSISTENCE),
        "a model too large": ("return {'m': np.zeros(9000)}", PERSISTENCE),
        "many arrays": ("return {str(k): np.zeros(1) for k in range(99)}", PERSISTENCE),
        "wrong shape": ("return {}", "return windows[:, -1]"),
        "too many": ("return {}", "return np.zeros((len(windows) + 1, 2, 2))"),
        "not finite": ("return {}", "return np.full((len(windows), 2, 2), np.nan)"),
        "infinite": ("return {}", "return np.full((len(windows), 2, 2), np.inf)"),
        "nothing": ("return {}", "return None"),
        "memory": ("return {'m': np.zeros((1 << 28,))[:1]}", "np.ones((1 << 29,)); return None"),
        "forged output": ("import os; os.write(1, b'\\x00\\x00\\x00\\x00'); return {}", "return None"),
        "state beside the model": (
            "open('/tmp/state', 'w').write('x'); return {}",
            f"open('/tmp/state'); {PERSISTENCE}",
        ),
        "state in the working directory": (
            "np.save('state.npy', series); return {}",
            f"np.load('state.npy'); {PERSISTENCE}",
        ),
    }
    solutions = [Solution(files={"forecast.py": FORECAST.format(train=t, predict=p)}) for t, p in bodies.values()]
    for what, scored in zip(bodies, score(SUITE / "coupled_forecast", *solutions), strict=True):
        assert_worthless(scored, what)


def test_the_future_is_not_there_to_be_read() -> None:
    """Whatever the process holds besides its windows is searched for their continuation, and persistence is the rest."""
    predict = """
    import gc, sys
    for thing in gc.get_objects() + list(sys.modules["__main__"].__dict__.values()):
        if isinstance(thing, dict):
            thing = list(thing.values())
        for array in thing if isinstance(thing, list) else [thing]:
            if isinstance(array, np.ndarray) and array.shape == (len(windows), 2, windows.shape[2]):
                return array
    return np.repeat(windows[:, -1:], 2, axis=1)
"""
    solution = Solution(files={"forecast.py": FORECAST.format(train="return {}", predict=predict.strip())})
    (scored,) = score(SUITE / "coupled_forecast", solution)
    assert valid(scored)["reward"] <= 0.1  # what it finds is its own forecast of the system before


GROUPBY = """
#define _GNU_SOURCE
#include "groupby.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include <fcntl.h>
"""


def _wrapped(body: str) -> str:
    """The starter's solution under another name, and a `groupby` of the attacker's that may call it."""
    starter = (SUITE / "csv_groupby" / "environment" / "starter" / "groupby.c").read_text()
    return f"{GROUPBY}{starter.replace('size_t groupby(', 'static size_t honest(')}\n{body}\n"


def test_tables_that_are_none() -> None:
    head = "size_t groupby(const char *data, size_t length, station_row *rows)"
    sources = {
        "nothing done": f"{GROUPBY}{head} {{ return 0; }}",
        "hangs": f"{GROUPBY}{head} {{ for (;;); }}",
        "crashes": f"{GROUPBY}{head} {{ abort(); }}",
        "exits with 0": f"{GROUPBY}{head} {{ _exit(0); }}",
        "too many rows": f"{GROUPBY}{head} {{ return (size_t)-1; }}",
        "no function": "int other;",
        "does not compile": "this is not C",
        "reads the verifier when compiled": f'{GROUPBY}#include "/tests/verify.py"\n{head} {{ return 0; }}',
        "takes the reference when compiled": '#include "/solution/groupby.c"\n',
        "one count wrong": _wrapped(
            f"{head} {{ size_t n = honest(data, length, rows); rows[n / 2].count++; return n; }}"
        ),
        "every tenth skipped": _wrapped(f"{head} {{ return honest(data, length - length / 10, rows); }}"),
        "writes before it is asked": _wrapped(
            f'__attribute__((constructor)) static void early(void) {{ write(1, "??", 2); }}\n{head} {{ return 0; }}'
        ),
        "compiler bomb": "#include __FILE__\n#include __FILE__\n",
    }
    solutions = [Solution(files={"groupby.c": text}) for text in sources.values()]
    for what, scored in zip(sources, score(SUITE / "csv_groupby", *solutions), strict=True):
        assert_worthless(scored, what)


@pytest.mark.parametrize(
    "flags", ["-o /tmp/x", "-include/tests/verify.py", "@/tests/verify.py", "-wrapper sh,-c", "-B/app", "-O2;id"]
)
def test_flags_that_are_none(flags: str) -> None:
    (scored,) = score(SUITE / "csv_groupby", Solution(files={"flags.txt": flags}))
    assert_worthless(scored, flags)


def test_a_table_remembered_by_pointer_or_size_is_useless() -> None:
    source = _wrapped(
        """
        static station_row kept[4096];
        static size_t kept_count;
        size_t groupby(const char *data, size_t length, station_row *rows)
        {
            if (!kept_count) {
                kept_count = honest(data, length, kept);
            }
            memcpy(rows, kept, kept_count * sizeof *rows);
            return kept_count;
        }"""
    )
    one, more = score(
        SUITE / "csv_groupby",
        Solution(files={"groupby.c": source}),
        Solution(files={"groupby.c": source}, env={"LOOPSCOPE_CALLS": "2", "LOOPSCOPE_PAIRS": "2"}),
    )
    assert valid(one)["reward"] <= STARTER_AT_MOST["csv_groupby"]  # one call in a process: nothing is gained
    assert_worthless(more, "the second file answered with the first one's table")


@pytest.mark.parametrize("level", LEVELS)
def test_attacks_from_c_change_nothing(level: str) -> None:
    source = _wrapped(
        """
        __attribute__((constructor)) static void attack(void)
        {
            int file = open("/logs/verifier/reward.json", O_WRONLY | O_CREAT, 0644);
            if (file >= 0 && write(file, "{}", 2)) close(file);
            kill(getppid(), SIGKILL);
            for (int pid = 2; pid < 400; pid++)
                if (pid != getpid()) kill(pid, SIGKILL);
            ptrace(PTRACE_ATTACH, getppid(), 0, 0);
            if (fork() == 0) { setsid(); execl("/bin/sh", "sh", "-c", "sleep 5; : leftover", (char *)0); }
        }
        size_t groupby(const char *data, size_t length, station_row *rows) { return honest(data, length, rows); }"""
    )
    env = {"LOOPSCOPE_GUARD": level} if level else {}
    (scored,) = score(SUITE / "csv_groupby", Solution(files={"groupby.c": source}, env=env))
    assert valid(scored)["reward"] <= STARTER_AT_MOST["csv_groupby"]
    assert "leftover" not in scored.processes
