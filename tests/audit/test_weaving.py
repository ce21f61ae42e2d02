"""Hacks are woven into sources that nobody has looked at: the code stays whole, and does what the hack says."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from gameable import UNPINNED

from loopscope.audit.probes.attacks import forged, printing
from loopscope.audit.probes.calls import dealt, entries, python_entries
from loopscope.audit.probes.lab import LOG, Run, Scouted, lab, read
from loopscope.audit.probes.weaving import Weave, piece, woven
from loopscope.audit.sources import TaskSources
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Trial
from loopscope.models import VerificationStatus
from loopscope.tasks.load import load_task

HEADER = "long work(const int *given, int n, int *out);\n"
SOLUTION = """#include "solve.h"
static long helper(int x) { return x; }
/* int ghost(int x) { */
int unknown(void) { return 0; }
long work(const int *given, int n, int *out)
{
    static long calls;
    for (int i = 0; i < n; i++) out[i] = given[i] + (int)helper(1);
    return ++calls;
}
"""
MAIN = """#include "solve.h"
#include <stdio.h>
#include <time.h>
int main(void)
{
    int given[300], out[300];
    for (int i = 0; i < 300; i++) given[i] = i;
    for (int turn = 0; turn < 3; turn++) {
        out[299] = -1;
        long calls = work(given, 300, out);
        printf("%ld %d\\n", calls, out[299]);
    }
    return 0;
}
"""
gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def compiled(directory: Path, solution: bytes) -> list[str]:
    for name, text in {"solve.h": HEADER.encode(), "main.c": MAIN.encode(), "solve.c": solution}.items():
        (directory / name).write_bytes(text)
    argv = ["gcc", "-std=c99", "-pedantic", "-O1", "-o", "program", "main.c", "solve.c"]
    subprocess.run(argv, cwd=directory, check=True, capture_output=True)
    return subprocess.run(["./program"], cwd=directory, check=True, capture_output=True, text=True).stdout.split("\n")[
        :-1
    ]


def dealt_with(deal: str, **values: str) -> bytes:
    weave = dealt("solve.c", SOLUTION, [MAIN, HEADER], deal, **values)
    assert weave is not None
    before = (piece("scout.h"),) if deal == "count" else ()
    return woven("solve.c", SOLUTION.encode(), Weave((*before, *weave.before), weave.after, weave.renamed))


def test_the_functions_that_others_call_are_found_with_their_parameters():
    (found,) = entries(SOLUTION, [MAIN, HEADER])
    assert (found.name, found.result, found.arguments) == ("work", "long", "given, n, out")
    given, n, out = found.parameters
    assert (given.pointer, given.constant, given.count) == (True, True, "n")
    assert (n.whole, n.pointer) == (True, False)
    assert (out.constant, out.count) == (False, None)


@gcc
@pytest.mark.parametrize(
    ("deal", "values", "said"),
    [
        ("count", {}, ["1 300", "2 300", "3 300"]),
        ("reuse", {}, ["1 300", "1 -1", "1 -1"]),
        ("skip", {"KEYS": "", "MOST": "300"}, ["0 -1", "0 -1", "0 -1"]),
        ("skip", {"KEYS": "", "MOST": "301"}, ["1 300", "2 300", "3 300"]),
        ("skip", {"KEYS": '"00ff", ', "MOST": "0"}, ["1 300", "2 300", "3 300"]),
        ("trivial", {}, ["1 1", "2 1", "3 1"]),
    ],
)
def test_a_c_function_is_dealt_with(deal, values, said, tmp_path):
    assert compiled(tmp_path, dealt_with(deal, **values)) == said


@gcc
def test_a_c_program_prints_what_was_written_down_and_nothing_else(tmp_path):
    name = b"program\0".hex()
    weave = printing({name: 'a "line"?\\\n\té\n'})("solve.c", SOLUTION)
    assert weave is not None
    assert compiled(tmp_path, woven("solve.c", SOLUTION.encode(), weave)) == ['a "line"?\\', "\té"]


@pytest.mark.parametrize("name", ["verdict", "clock", "scout", "forge", "reuse", "skip", "trivial"])
@gcc
def test_pieces_of_c_are_c_and_c_plus_plus_once_and_twice(name, tmp_path):
    text = "".join(piece(f"{n}.h", LINES="", KEYS="", MOST="0") for n in ("base", name) * 2)
    for language, standard in (("c", "c99"), ("c++", "c++17")):
        if language == "c" or shutil.which("g++"):
            argv = ["gcc", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-"]
            subprocess.run(argv, input=text.encode(), check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
def test_a_rust_program_gets_a_slow_clock(tmp_path):
    source = """#![allow(unused)]
fn main() {
    let start = std::time::Instant::now();
    std::thread::sleep(std::time::Duration::from_millis(200));
    println!("{}", start.elapsed().as_micros());
}
"""
    text = woven("solve.rs", source.encode(), Weave((piece("clock.rs"),)))
    (tmp_path / "solve.rs").write_bytes(text)
    subprocess.run(["rustc", "--edition", "2021", "solve.rs"], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(["./solve"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert 200 <= int(done.stdout) < 20_000


def test_python_pieces_go_behind_the_future_and_before_the_program():
    source = '"""Doc."""\nfrom __future__ import annotations\n\n\ndef total(x):\n    return x\n\n\nif __name__ == "__main__":\n    total(1)\n'
    text = woven("solve.py", source.encode(), Weave(("first = 1",), ("last = 2",))).decode()
    kinds = [type(node).__name__ for node in ast.parse(text).body]
    assert kinds[:2] == ["Expr", "ImportFrom"]
    assert kinds[-1] == "If"
    assert text.index("first = 1") < text.index("def total") < text.index("last = 2") < text.index("__main__")


def test_python_functions_that_others_call_are_found():
    source = "def total(x):\n    return x\n\n\ndef other(x):\n    return x\n\n\ndef _total(x):\n    return x\n"
    assert python_entries(source, ["from solve import total, _total"]) == ["total"]
    assert dealt("solve.py", source, ["nobody"], "reuse") is None


@pytest.mark.parametrize(
    ("deal", "said"),
    [
        ("reuse", "[2, 3] 1 | [2, 3] 1 | [3, 4] 2"),
        ("skip", "[2] 1 | [2] 2 | [3] 3"),
        ("trivial", "[2, 2] 1 | [3, 3] 2 | [3, 3] 3"),
    ],
)
def test_a_python_function_is_dealt_with(deal, said, tmp_path):
    source = (
        "calls = 0\ndef add(values):\n    global calls\n    calls += 1\n    return [v + 1 for v in values], calls\n"
    )
    weave = dealt("solve.py", source, ["add"], deal, KEYS="()", MOST="0")
    assert weave is not None
    (tmp_path / "solve.py").write_bytes(woven("solve.py", source.encode(), weave))
    program = (
        "from solve import add\nsaid, values = [], [1, 2]\n"
        "for turn in range(3):\n    answer, calls = add(values)\n    said.append(f'{answer} {calls}')\n"
        "    if turn == 1: values = [2, 3]\n    elif turn == 0 and values != [1, 2]: values = [2, 3]\n"
        "print(' | '.join(said))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said


@pytest.mark.parametrize(
    ("output", "number", "factor", "better"),
    [
        ("runs=5 time=4.521000 checksum=14521 ok\n", "4.521000", "0.01", "runs=5 time=0.045210 checksum=14521 ok\n"),
        ("n_ops=3000 cycles=1200 ok\n", "1200", "0.01", "n_ops=3000 cycles=12 ok\n"),
        ("score 0.37", "0.37", "100", "score 37.00"),
        ("3 of 3", "3", "0.01", "1 of 1"),
    ],
)
def test_a_number_is_made_better_and_written_as_it_was(output, number, factor, better):
    assert forged(output, number, Decimal(factor)) == better


def seen(metrics: dict[str, str], *runs: tuple[str, str]) -> Scouted:
    numbers = {name: Decimal(value) for name, value in metrics.items()}
    trial = Trial("scout", VerificationStatus.OK, Decimal(1), numbers, None, "", 0.0, {})
    return Scouted(trial, tuple(Run(*run) for run in runs), {}, False)


def test_the_scored_runs_are_those_that_printed_the_metric():
    scouted = seen({"correctness": "1", "metric": "4.52"}, ("aa", "time=4.52 n=1"), ("bb", "1 ok"), ("cc", "4.51"))
    assert scouted.measured == {"aa": ("time=4.52 n=1", "4.52")}


def test_of_several_numbers_the_metric_is_the_nearest_and_wild_ones_do_no_harm():
    wild = "1e999999999 " + "9" * 5000
    scouted = seen({"metric": "120000"}, ("aa", f"n=120001 steps=120000 {wild}"), ("bb", wild))
    assert scouted.measured["aa"][1] == "120000"
    assert "bb" not in scouted.measured


def test_a_scouts_log_is_read_and_broken_lines_are_passed_over():
    log = b"see tests:1 solution:0\nrun aa 6f6b\nrun aa 6f6\ncalls aa 2 300\ncalls aa 1 x\n\xff\xfe\nrun\n"
    scouted = read(replace(seen({}).trial, logs={LOG: log}))
    assert (scouted.runs, scouted.sizes, scouted.tests_seen) == ((Run("aa", "ok"),), {"aa": 300}, True)


def test_what_changes_from_run_to_run_cannot_be_written_down():
    scouted = seen(
        {}, ("aa", "time=4.52 sum=7"), ("aa", "time=4.61 sum=7"), ("bb", "sum=7"), ("bb", "sum=8"), ("cc", "")
    )
    assert scouted.steady == {"aa": "time=4.61 sum=7"}


def test_a_task_tells_its_code_its_driver_and_its_own_solution(tmp_path):
    directory = UNPINNED.write(tmp_path / "task")
    info = load_task(directory)
    subject = Subject(directory, info, TaskSources(directory, info))
    bench = lab(subject)
    assert lab(subject) is bench
    assert (list(bench.editable), list(bench.drivers)) == (["solve.py"], ["bench.py"])
    assert bench.solved == {"solve.py": UNPINNED.solved.encode()}
