"""Objective evaluations: which commands are some, and what they printed."""

from __future__ import annotations

from typing import Any

import pytest
from made_calls import bash, calls, fetch, read

from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.shell.builds import find_builds
from loopscope.evidence.shell.calls import shell_calls
from loopscope.evidence.shell.evaluations import EvaluationFinding, EvaluationStatus, find_evaluations
from loopscope.evidence.shell.rules import Role, rules_for, rules_from_instruction, task_rules

ICP = "icp_correspondence_step_cuda"
TIME = "result=ok N=200000 count=200000 time_ms=0.312896"


def found(*made: tuple[str, dict[str, Any], str | None], task: str = ICP) -> list[EvaluationFinding]:
    shells = shell_calls(calls(made), "/w/app")
    return find_evaluations(shells, rules_for(task, ""), find_builds(shells, ArtifactScope()))


@pytest.mark.parametrize(
    ("task", "command", "output", "role", "values"),
    [
        (ICP, "./icp_corr --benchmark", TIME, Role.SCORE, ("0.312896",)),
        (ICP, "./icp_corr --verify | tail", "__VERIFIER_CORRECTNESS__=PASS", Role.CHECK, ("PASS",)),
        (ICP, "timeout 60 /w/app/icp_corr --benchmark || true", TIME, Role.SCORE, ("0.312896",)),
        ("bm25_search_go", "./solve_round5 -mode=benchmark -runs 5", "result=ok time=0.044610 hits=400", Role.SCORE, ("0.044610",)),
        ("bm25_search_go", "go build -o solve . && ./solve", "result=ok time=0.010918 hits=400", Role.SCORE, ("0.010918",)),
        ("bm25_search_go", "./solve -runs=11", "result=ok time=0.010439 hits=400", Role.SCORE, ("0.010439",)),
        ("bm25_search_go", "go run .", "result=ok time=0.010439 hits=400", Role.SCORE, ("0.010439",)),
        ("bm25_search_go", "go run . -mode verify", "result=ok time=0.000000 checksum=17", Role.CHECK, ("ok",)),
        ("regex_engine", "./target/release/solve", "patterns=23 haystacks=100000 time=1.98 matches=1", Role.SCORE, ("1.98",)),
        ("regex_engine", "cargo run --release -- --verify", "verify patterns=23 matches=556 checksum=10", Role.CHECK, ("10",)),
        ("adaptive_compression", 'python3 "/w/app/main.py"', "=== Overall: 4.07 bpb (9 sequences) ===", Role.SCORE, ("4.07",)),
        ("adaptive_compression", "python3 main.py --family x", "=== Overall: 4.07 bpb ===", Role.PART, ("4.07",)),
        ("moving_mnist_world_model", "python3 train.py", "  >> saved checkpoint (PSNR=17.40 dB)\nstep 9", Role.SCORE, ("17.40",)),
        ("moving_mnist_world_model", "bash train.sh", "val PSNR 9.1 dB (best 9.3 dB)\nDone. Best val PSNR: 9.4 dB | P", Role.SCORE, ("9.4",)),
        ("moving_mnist_world_model", "cd app; python evaluate_local.py", "Val PSNR: 17.25 dB", Role.SCORE, ("17.25",)),
    ],
)  # fmt: skip
def test_the_commands_of_the_five_tasks(
    task: str, command: str, output: str, role: Role, values: tuple[str, ...]
) -> None:
    (one,) = found(bash(command, output), task=task)
    assert (one.role, one.values, one.status) == (role, values, EvaluationStatus.RESULT)
    assert one.counts


@pytest.mark.parametrize("command", ["go run check.go", "./solve -h", "./engine.test -test.bench=.", "go run -race ."])
def test_what_the_bm25_program_was_told_otherwise_is_no_benchmark(command: str) -> None:
    assert not found(bash(command, "result=ok time=0.010439"), task="bm25_search_go")


def test_reading_a_log_is_no_evaluation() -> None:
    assert not found(
        bash("grep time_ms bench.log", TIME),
        bash("cat bench.log | tail -1", TIME),
        bash("head -20 icp_corr.cu; grep -- --benchmark run.sh", TIME),
        bash("echo './icp_corr --benchmark'", TIME),
        read("/w/app/bench.log", TIME),
    )


def test_profiled_runs_do_not_count() -> None:
    for command in ("nsys profile -o /tmp/p ./icp_corr --benchmark", "PROFILE=1 ./icp_corr --benchmark"):
        (one,) = found(bash(command, TIME))
        assert one.profiled
        assert not one.counts


def test_a_run_behind_a_failed_build_did_not_happen_but_behind_a_pipe_it_did() -> None:
    error = 'solve.cu(4): error: expected a ";"'
    (stopped,) = found(bash("make && ./icp_corr --benchmark", f"Exit code 2\n{error}"))
    assert stopped.status is EvaluationStatus.NOT_RUN
    (stale,) = found(bash("make 2>&1 | tail -1 && ./icp_corr --benchmark", f"{error}\n{TIME}"))
    assert stale.status is EvaluationStatus.RESULT


def test_failures_and_missing_results() -> None:
    (wrong,) = found(bash("./icp_corr --verify", "Exit code 1\n__VERIFIER_CORRECTNESS__=FAIL"))
    assert wrong.status is EvaluationStatus.FAILED
    assert wrong.counts
    (absent,) = found(
        bash("./icp_corr --benchmark 2>&1 | tail", "/bin/bash: line 1: ./icp_corr: No such file or directory")
    )
    assert absent.status is EvaluationStatus.NOT_RUN
    (killed,) = found(bash("./icp_corr --benchmark", "Exit code 143\nTerminated"))
    assert killed.status is EvaluationStatus.NO_RESULT


def test_several_in_one_call_share_the_values_in_order() -> None:
    output = f"__VERIFIER_CORRECTNESS__=PASS\n{TIME}\ntime_ms=0.5\ntime_ms=0.6\ntime_ms=0.7"
    check, one, loop = found(
        bash("./icp_corr --verify && ./icp_corr --benchmark; while x; do ./icp_corr --benchmark; done", output)
    )
    assert [check.values, one.values, loop.values] == [("PASS",), ("0.312896",), ("0.5", "0.6", "0.7")]
    assert one.command == loop.command


def test_lines_that_fit_two_rules_belong_to_one_evaluation() -> None:
    lines = "result=ok time=0.000000 checksum=17\nresult=ok time=0.5 hits=3"
    check, score = found(bash("./solve -mode=verify && ./solve -mode=benchmark", lines), task="bm25_search_go")
    assert (check.values, score.values) == (("ok",), ("0.5",))
    # Where one line is all there is, it is the score's.
    check, score = found(
        bash("./solve -mode=verify > /dev/null; ./solve -mode=benchmark", "result=ok time=0.5"), task="bm25_search_go"
    )
    assert (check.values, score.values) == ((), ("0.5",))


def test_a_value_behind_what_the_next_evaluation_printed_is_not_of_the_one_before() -> None:
    verified = "__VERIFIER_CORRECTNESS__=PASS\nresult=ok time_ms=0.7"
    score, check = found(bash("./icp_corr --benchmark && ./icp_corr --verify", f"result=ok time_ms=0.5\n{verified}"))
    assert (score.values, check.values) == (("0.5",), ("PASS",))


def test_a_benchmark_that_also_checks_or_is_told_how_often_is_one() -> None:
    verified = "__VERIFIER_CORRECTNESS__=PASS\n__VERIFIER_SCORE__=0.28\nresult=ok time_ms=0.28"
    (both,) = found(bash("./icp_corr --benchmark-verify", verified))
    assert (both.role, both.status, both.values) == (Role.SCORE, EvaluationStatus.RESULT, ("0.28",))
    (wrong,) = found(bash("./icp_corr --benchmark-verify", verified.replace("PASS", "FAIL")))
    assert wrong.status is EvaluationStatus.FAILED
    (often,) = found(bash("./icp_corr --benchmark --iterations 5", "time_ms=0.2"))
    assert (often.role, often.values) == (Role.SCORE, ("0.2",))
    (smaller,) = found(bash("./icp_corr --benchmark --verify", "time_ms=0.2"))
    assert smaller.role is Role.CHECK


def test_each_round_of_a_loop_is_an_evaluation() -> None:
    rounds = found(bash("for i in 1 2 3; do ./icp_corr; done", "time_ms=0.5\ntime_ms=0.6\ntime_ms=0.7"))
    assert [one.values for one in rounds] == [("0.5",), ("0.6",), ("0.7",)]
    broken = found(bash("for i in 1 2; do ./icp_corr; done", "Exit code 1\nresult=fail\nresult=fail"))
    assert [one.status for one in broken] == [EvaluationStatus.FAILED] * 2


def test_an_evaluation_behind_one_that_failed_did_not_take_place() -> None:
    output = "Exit code 1\nstream sync error: misaligned address\nresult=fail"
    check, score = found(bash("make && ./icp_corr --verify && ./icp_corr --benchmark", output))
    assert (check.status, score.status) == (EvaluationStatus.FAILED, EvaluationStatus.NOT_RUN)
    output = "Exit code 1\n__VERIFIER_CORRECTNESS__=PASS\nresult=fail"
    check, score = found(bash("./icp_corr --verify && ./icp_corr --benchmark", output))
    assert (check.status, score.status) == (EvaluationStatus.RESULT, EvaluationStatus.FAILED)
    (run,) = found(bash("cargo run --release", "Exit code 101\nerror[E0308]: mismatched types"), task="regex_engine")
    assert (run.status, run.counts) == (EvaluationStatus.NOT_RUN, False)


def test_no_round_of_a_loop_behind_a_failed_build_took_place() -> None:
    error = 'Exit code 2\nsolve.cu(4): error: expected a ";"'
    nested = "make && ./icp_corr --verify && for i in 1 2; do for k in a b; do ./icp_corr; ./icp_corr; done; done"
    rounds = found(bash(nested, error))
    assert len(rounds) == 9
    assert {one.status for one in rounds} == {EvaluationStatus.NOT_RUN}
    separate = found(bash("make; for i in 1 2; do ./icp_corr; done", f"{error}\ntime_ms=0.5\ntime_ms=0.6"))
    assert [one.values for one in separate] == [("0.5",), ("0.6",)]


def test_a_wrapper_that_cannot_start_the_program_is_no_evaluation() -> None:
    output = "Exit code 1\ntaskset: failed to set pid 4452's affinity: Invalid argument"
    (one,) = found(bash("taskset -c 0,1 ./icp_corr --benchmark", output))
    assert one.status is EvaluationStatus.NOT_RUN


def test_a_file_that_a_call_writes_and_reads_is_its_own_output() -> None:
    command = "./icp_corr --benchmark > r.txt && cat r.txt"
    first, second = found(
        bash(command, "time_ms=0.5"), bash(command, "time_ms=0.6"), read("/w/app/r.txt", "time_ms=0.6")
    )
    assert [(one.values, one.result_index) for one in (first, second)] == [(("0.5",), 2), (("0.6",), 4)]


def test_results_that_come_later() -> None:
    started = "Command running in background with ID: t1. Output is being written to: /t/tasks/t1.output"
    by_tool, by_read, by_file = (
        found(bash("./icp_corr --benchmark", started), fetch("t1", TIME)),
        found(bash("./icp_corr --benchmark", started), read("/t/tasks/t1.output", TIME)),
        found(bash("./icp_corr --benchmark > /w/b.log 2>&1 &"), bash("sleep 9; tail -1 /w/b.log", TIME)),
    )
    for (one,) in (by_tool, by_read, by_file):
        assert one.values == ("0.312896",)
        assert (one.index, one.result_index) == (1, 4)
        assert one.background


def test_rules_from_an_instruction() -> None:
    text = (
        "# Task\n## Evaluation\n```bash\npython3 /w/app/main.py --family a   # subset\n./bench --verify\n```\n"
        "## Set-up\n```\npython3 prepare.py\n```\nTo benchmark, run `./run.sh 3`. Do not edit `main.c`.\n"
    )
    rules = rules_from_instruction(text)
    assert {(rule.program.pattern, rule.role) for rule in rules} == {
        ("main\\.py", Role.SCORE), ("bench", Role.CHECK), ("run\\.sh", Role.SCORE),
    }  # fmt: skip
    assert rules_for("bm25_search_go", text) == task_rules()["bm25_search_go"]
    assert rules_for("unknown", text) == rules
    assert rules_from_instruction("") == ()
