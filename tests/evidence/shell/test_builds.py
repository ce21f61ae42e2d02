"""Builds: what is one, how it ended, what it was of."""

from __future__ import annotations

import pytest
from made_calls import bash, calls, fetch

from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.shell.build_tools import build_tool
from loopscope.evidence.shell.builds import BuildFinding, Outcome, find_builds
from loopscope.evidence.shell.calls import shell_calls
from loopscope.evidence.shell.parse import parse
from loopscope.evidence.shell.signatures import matches, signatures

SCOPE = ArtifactScope(
    frozenset(["/w/app/solve.cu", "/w/app/src/solve.rs", "/w/app/engine.go", "/w/app/solve.c"]), "/w/app"
)


def found(command: str, output: str | None = "", cwd: str = "/w/app") -> list[BuildFinding]:
    return find_builds(shell_calls(calls([bash(command, output)]), cwd), SCOPE)


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("make -j8 all", "make"),
        ("make -C /w/app CC=gcc", "make"),
        ("cmake --build build", "cmake --build"),
        ("/usr/local/cuda/bin/nvcc -O3 solve.cu -o s", "nvcc"),
        ("x86_64-linux-gnu-gcc-12 -c solve.c", "x86_64-linux-gnu-gcc-12"),
        ("g++ -fsyntax-only a.cpp", "g++"),
        ("RUSTFLAGS='-C x' cargo +nightly build --release", "cargo build"),
        ("cargo test --release -- --nocapture", "cargo test"),
        ("rustc -O /tmp/a.rs", "rustc"),
        ("go build -v -o solve .", "go build"),
        ("go -C app test -bench=. ./...", "go test"),
        ("go run .", "go run"),
        ("python3 -m py_compile a.py", "py_compile"),
        ("python setup.py build_ext --inplace", "setup.py"),
        ("pip install -e .", "pip install"),
        ("maturin develop --release", "maturin develop"),
        ("nasm -f elf64 a.asm -o a.o", "nasm"),
        ("bash -n run.sh", "bash -n"),
        ("timeout 600 make", "make"),
    ],
)
def test_what_is_a_build(command: str, label: str) -> None:
    tool = build_tool(parse(command).commands[0])
    assert tool is not None
    assert tool.label == label


@pytest.mark.parametrize(
    "command",
    ["make clean", "make -n", "nvcc --version", "gcc -v", "gcc -dumpversion", "cargo clean", "cargo --version", "cargo fmt",
     "go version", "go tool pprof x", "go env", "python3 main.py", "pip install numpy", "which make", "cat Makefile",
     "echo make", "gcc -E a.c", "bash run.sh"],
)  # fmt: skip
def test_what_is_none(command: str) -> None:
    assert build_tool(parse(command).commands[0]) is None


CODE = [
    ("cargo build --release 2>&1 | tail -3", "error: could not compile `solve` (bin \"solve\") due to 2 previous errors"),
    ("cargo build 2>&1 | grep '^error'", "error[E0308]: mismatched types"),
    ("nvcc solve.cu -o s 2>&1 | head", 'solve.cu(43): error: identifier "x" is undefined'),
    ("make 2>&1 | tail -1", '1 error detected in the compilation of "solve.cu".'),
    ("go build -o s . && ./s", "Exit code 1\n# bm25\n./engine.go:4:2: \"bytes\" imported and not used"),
    ("go test -bench . 2>&1 | tail", "FAIL\tbm25 [build failed]"),
    ("gcc -O2 solve.c -o s | cat", "solve.c:12:5: error: expected ';' before 'return'"),
    ("make 2>&1 | tail", "/usr/bin/ld: a.o: undefined reference to `f'\nmake: *** [Makefile:3: a] Error 1"),
    ("python3 -m py_compile a.py", "Exit code 1\n  File \"a.py\", line 3\n    x = = 1\nSyntaxError: invalid syntax"),
    ("as solve.s -o a.o; true", "solve.s:9: Error: no such instruction: `movz'"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output"), CODE)
def test_code_failures_show_behind_pipes(command: str, output: str) -> None:
    (build,) = found(command, output)
    assert build.outcome is Outcome.CODE_FAILURE
    assert not build.runtime_failure
    assert build.signature


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (
            "make 2>&1 | tail",
            "nvcc -O3 a.cu\nmake: nvcc: No such file or directory\nmake: *** [Makefile:11: a] Error 127",
        ),
        ("nvcc solve.cu -o s", "Exit code 127\n/bin/bash: line 1: nvcc: command not found"),
        ("cargo build 2>&1 | tail", "error: could not find `Cargo.toml` in `/w` or any parent directory"),
        ("make benchmark 2>&1", "Exit code 2\nmake: *** No rule to make target 'benchmark'.  Stop."),
        ("go build .", "Exit code 1\n# bm25\nwrite /tmp/x: No space left on device"),
    ],
)
def test_environment_failures_are_apart(command: str, output: str) -> None:
    (build,) = found(command, output)
    assert build.outcome is Outcome.ENVIRONMENT_FAILURE


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cargo run --release", "Exit code 101\n    Finished `release` profile in 2s\nthread 'main' panicked at src/solve.rs:3:1:\nboom"),
        ("go test ./...", "Exit code 1\n--- FAIL: TestA (0.00s)\n    a_test.go:3: wrong\nFAIL"),
        ("go run . 2>&1", "Exit code 2\npanic: runtime error: index out of range\n\ngoroutine 1 [running]:\n\t/w/app/engine.go:3 +0x1d"),
    ],
)  # fmt: skip
def test_runtime_failures_are_no_build_failures(command: str, output: str) -> None:
    (build,) = found(command, output)
    assert build.outcome is Outcome.SUCCEEDED
    assert build.runtime_failure


def test_a_program_that_fails_behind_a_build_is_not_the_builds_failure() -> None:
    (build,) = found("make 2>&1 | tail -3 && ./icp --verify", "Exit code 1\ncount mismatch: got=0 ref=2\nresult=fail")
    assert build.outcome is Outcome.SUCCEEDED
    assert not build.runtime_failure


def test_scratch_programs_are_told_apart() -> None:
    (copy,) = found("nvcc /tmp/test.cu -o /tmp/t", 'Exit code 2\n/tmp/test.cu(4): error: expected a ";"')
    (elsewhere,) = found("cd /tmp/x && cargo build", "Exit code 101\nerror[E0425]: cannot find value `x`")
    (own_test,) = found(
        "go test .", "Exit code 1\n./bench_test.go:22:2: declared and not used: n\nFAIL\tbm25 [build failed]"
    )
    (real,) = found("go test .", "Exit code 1\n./engine.go:22:2: declared and not used: n\nFAIL\tbm25 [build failed]")
    assert [item.scratch for item in (copy, elsewhere, own_test, real)] == [True, True, True, False]
    assert {item.outcome for item in (copy, elsewhere, own_test, real)} == {Outcome.CODE_FAILURE}


def test_a_script_that_cannot_be_parsed_fails_alone_and_not_the_call_that_names_it() -> None:
    told = "Exit code 2\nrun.sh: line 3: syntax error near unexpected token `fi'"
    (check,) = found("bash -n run.sh", told)
    assert (check.outcome, "run.sh: line 3" in check.reason) == (Outcome.CODE_FAILURE, True)
    (made,) = found("make; bash ./run.sh", f"gcc -O2 solve.c -o s\n{told}")
    assert made.outcome is not Outcome.NOT_RUN
    (unread,) = found("make; fi", "Exit code 2\n/bin/bash: -c: line 1: syntax error near unexpected token `fi'")
    assert unread.outcome is Outcome.NOT_RUN


def test_what_hangs_on_a_failed_build_was_not_run() -> None:
    first, second = found("go build -o s . && ./s && go test .", "Exit code 1\n./engine.go:1:1: syntax error: x")
    assert [first.outcome, second.outcome] == [Outcome.CODE_FAILURE, Outcome.NOT_RUN]
    # Behind a pipe the shell goes on, and the same sources fail again.
    first, second = found("cargo build 2>&1 | tail -1 && cargo test 2>&1 | tail -1", "error: could not compile `s`")
    assert [first.outcome, second.outcome] == [Outcome.CODE_FAILURE] * 2


def test_hidden_output_is_unknown_unless_the_exit_code_decides() -> None:
    assert found("make > /dev/null 2>&1; ls")[0].outcome is Outcome.UNKNOWN
    assert found("make 2>&1 | wc -l", "3")[0].outcome is Outcome.UNKNOWN
    assert found("make 2>&1 | grep -c warning", "3")[0].outcome is Outcome.UNKNOWN
    assert found("make > /dev/null 2>&1 && ./a", "time=1")[0].outcome is Outcome.SUCCEEDED
    assert found("make 2>&1 | grep error", "")[0].outcome is Outcome.SUCCEEDED
    assert found("make", None)[0].outcome is Outcome.UNKNOWN
    assert found("make; ./a", "bash: line 1: ./a: No such file or directory")[0].outcome is Outcome.UNKNOWN


def test_the_output_of_a_build_in_the_background_comes_later() -> None:
    made = calls(
        [bash("cargo build", "Command running in background with ID: b1"), bash("ls"), fetch("b1", CODE[0][1])]
    )
    (build,) = find_builds(shell_calls(made, "/w/app"), SCOPE)
    assert (build.outcome, build.index) == (Outcome.CODE_FAILURE, 1)
    made = calls([bash("make > b.log 2>&1 &"), bash("tail b.log", CODE[2][1])])
    (build,) = find_builds(shell_calls(made, "/w/app"), SCOPE)
    assert build.outcome is Outcome.CODE_FAILURE


def test_compiler_remarks_are_no_errors() -> None:
    (build,) = found(
        "go build -gcflags=-m . 2>&1 | head", "./engine.go:10:6: can inline f\n./engine.go:12:9: x escapes to heap"
    )
    assert build.outcome is Outcome.SUCCEEDED


def test_the_words_of_a_signature_are_in_whatever_it_fits() -> None:
    texts = "\n".join(output for _, output in CODE)
    kinds = {match.signature.name for match in matches(texts)}
    direct = {item.name for item in signatures() for line in texts.split("\n") if item.pattern.search(line)}
    assert kinds == direct
    assert {item.kind for item in signatures()} == {"code", "environment", "runtime", "success"}


GO = ArtifactScope(frozenset(["/w/app/engine.go", "/w/app/rank.go"]), "/w/app", frozenset(["main.go"]))


@pytest.mark.parametrize(
    ("command", "errors", "outcome", "scratch"),
    [
        ("cp /tmp/x.go x.go && go run . 2>&1 | tail -5; rm -f x.go", "./main.go:9:6: main redeclared in this block\n./x.go:5:2: \"m\" imported and not used", Outcome.CODE_FAILURE, True),
        ("go run .; rm -f x.go", "./engine.go:9:6: undefined: y", Outcome.CODE_FAILURE, False),
        ("cp /tmp/x.go x.go && go run .", "./x.go:5:2: \"m\" imported and not used", Outcome.CODE_FAILURE, False),
        ("go build -gcflags=-S engine.go", "./engine.go:2:1: undefined: Document\ntoo many errors", Outcome.ENVIRONMENT_FAILURE, False),
        ("go build engine.go", "./engine.go:2:1: undefined: Document\n./engine.go:3:1: missing return", Outcome.CODE_FAILURE, False),
        ("go build *.go", "./engine.go:2:1: undefined: Document", Outcome.CODE_FAILURE, False),
        ("go run /tmp/a.go", "/tmp/a.go:2:1: undefined: Document", Outcome.CODE_FAILURE, True),
    ],
)  # fmt: skip
def test_what_failed_is_of_the_solution_or_not(command: str, errors: str, outcome: Outcome, scratch: bool) -> None:
    (one,) = find_builds(shell_calls(calls([bash(command, f"# bm25\n{errors}")]), "/w/app"), GO)
    assert (one.outcome, one.scratch) == (outcome, scratch)


def test_each_of_several_builds_has_the_lines_up_to_its_own_end() -> None:
    failed = '# app [app.test]\n./mem_test.go:4:2: "os" imported and not used\nFAIL\tapp [build failed]\nFAIL'
    ok = "=== RUN   TestProfile\nPASS\nok  \tapp\t0.621s"
    command = "go test -run A\ncat > mem_test.go <<'E'\npackage main\nE\ngo test -run B"
    for outputs in ([ok, failed], [failed, ok]):
        outcomes = [item.outcome for item in found(command, "\n".join(outputs))]
        assert outcomes == [Outcome.SUCCEEDED if text is ok else Outcome.CODE_FAILURE for text in outputs]
    # Where one is not told of, what is told belongs to any.
    assert [item.outcome for item in found(command, failed)] == [Outcome.CODE_FAILURE, Outcome.CODE_FAILURE]


def test_builds_of_cargo_are_told_apart_too() -> None:
    broken = (
        'error[E0425]: cannot find value `x`\nerror: could not compile `solve` (bin "solve") due to 1 previous error'
    )
    fine = "   Compiling solve v0.1.0\n    Finished `release` profile [optimized] target(s) in 7.65s"
    runs = found("cargo build --release; sed -i s/x/y/ src/solve.rs; cargo build --release", f"{broken}\n{fine}")
    assert [item.outcome for item in runs] == [Outcome.CODE_FAILURE, Outcome.SUCCEEDED]
    assert not any(item.runtime_failure for item in runs)
