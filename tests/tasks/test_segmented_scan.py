"""Solutions of dials in segments that cheat, break or attack, in the real sandbox; and the kernel language by itself."""

from __future__ import annotations

import importlib.util
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from judged import STRONGEST, assert_worthless, valid
from sandboxed import Solution, score

from loopscope.tasks.catalog import SUITE

TASK = SUITE / "segmented_scan"
STARTER = (TASK / "environment" / "starter" / "scan.cu").read_text()
REFERENCE = (TASK / "solution" / "scan.cu").read_text()
PLAN = "PLAN void plan(void) { LAUNCH(scan, (N + 63) / 64, 64); }"
SIMPLE = "PLAN void plan(void) { LAUNCH(scan, 1, 1); }"


def kernel(body: str, plan: str = PLAN, before: str = "") -> str:
    return f"{before}\nKERNEL void scan(void) {{ {body} }}\n{plan}\n"


@pytest.fixture(scope="module")
def language() -> ModuleType:
    """The task's own module, which stands beside the verifier and imports from there."""
    sys.path.insert(0, str(TASK / "tests"))
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the suite's directories are copied as they are
    try:
        spec = importlib.util.spec_from_file_location("scan_language", TASK / "tests" / "language.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.pop(0)
        sys.dont_write_bytecode = written
        sys.modules.pop("words", None)


REFUSED = {
    "a pointer": kernel("u32 *p = 0;"),
    "an address": kernel("u32 p = &THREAD;"),
    "what a number points to": kernel("u32 p = 1; *p = 2;"),
    "an array": kernel("u32 p[4];"),
    "a cast": kernel("u32 p = (int)1;"),
    "another type": kernel("int p = 1;"),
    "nothing at first": kernel("u32 p;"),
    "itself at first": kernel("u32 p = 1; if (p) { u32 p = p; }"),
    "assembly": kernel('asm("nop");'),
    "a built-in": kernel("__builtin_trap();"),
    "a system call": kernel("syscall(1, 1, 0, 0);"),
    "a counter": kernel("steps = 0;"),
    "the total": kernel("total.cost = 0;"),
    "a counter as a buffer": kernel("STORE(total, 0, 0);"),
    "a counter by STEP": kernel("STEP(-1000);"),
    "its own accessor": kernel("", before="#define LOAD 3"),
    "its own STEP": kernel("", before="#define STEP(x)"),
    "a macro over lines": "#define A \\\n3\n" + kernel(""),
    "an include": '#include "/tests/verify.py"\n' + kernel(""),
    "a pragma": "#pragma GCC optimize 3\n" + kernel(""),
    "a digraph": kernel("u32 p<:4:> = 1;"),
    "a string": kernel('u32 p = "x";'),
    "a global": "u32 x = 1;\n" + kernel(""),
    "extern": "extern u32 steps;\n" + kernel(""),
    "recursion": "DEVICE u32 f(u32 a) { return f(a); }\n" + kernel(""),
    "an unknown function": kernel("u32 x = f(1);"),
    "a kernel called": "KERNEL void k(void) { }\n" + kernel("k();"),
    "inputs written": kernel("STORE(scale, 0, 1);"),
    "host computation": kernel("", plan="PLAN void plan(void) { for (u32 i = 0; i < N; i++) STORE(out_scale, i, 1); }"),
    "loads on the host": kernel("", plan="PLAN void plan(void) { LAUNCH(scan, LOAD(heads, 0), 1); }"),
    "a variable in the plan": kernel("", plan="PLAN void plan(void) { u32 x = N; LAUNCH(scan, x, 1); }"),
    "two plans": kernel("") + PLAN.replace("plan(void)", "other(void)"),
    "no plan": kernel("", plan=""),
    "launches without end": kernel("", plan="PLAN void plan(void) {" + "LAUNCH(scan, 1, 1);" * 17 + "}"),
    "too much shared memory": kernel("", before="SHARED(x, 12289)"),
    "shared memory of no size": kernel("", before="SHARED(x, 0)"),
    "more than 32 bits": kernel("u32 x = 4294967296;"),
    "octal": kernel("u32 x = 017;"),
    "names that are taken": kernel("u32 N = 1;"),
    "parentheses without end": kernel(f"u32 x = {'(' * 5000}1;"),
    "signs without end": kernel(f"u32 x = {'-' * 5000}1;"),
    "a sum without end": kernel(f"u32 x = 1; x = x{' + x' * 5000};"),
    "blocks without end": kernel("{" * 5000),
    "a comment without end": "/*" * 5000,
    "other letters": kernel("u32 \u00e9 = 1;"),
    "a zero byte": kernel("\0"),
    "bytes": "\x7fELF",
    "braces that close more": kernel("} } static u32 x; {"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_of_the_language_is_refused(language: ModuleType, what: str) -> None:
    with pytest.raises(language.Refused):
        language.translate(REFUSED[what].encode())


def test_nothing_of_a_text_but_prefixed_names_reaches_the_compiler(language: ModuleType) -> None:
    """Texts with a few words moved, dropped or replaced: refused, or written anew with known words and prefixed names only."""
    words = (
        "BARRIER BLOCK BLOCKS THREAD THREADS DEVICE KERNEL LAUNCH LOAD STORE GET PUT DIVIDE MODULO SHIFT_LEFT SHIFT_RIGHT STEP N "
        "SEGMENTS PLAN_N PLAN_SEGMENTS SHARED_TOTAL SITES_TOTAL define u u32 void static plan if else for while return break continue"
    )
    known, drawn, accepted = set(words.split()), random.Random(5), 0
    junk = [
        "*",
        "&",
        "[",
        "]",
        "asm",
        "extern",
        "steps",
        "total",
        "(",
        ")",
        "{",
        "}",
        ";",
        '"x"',
        "#define X",
        "LOAD",
        "heads",
        "?",
        "-",
        "//",
        "/*",
    ]
    for _ in range(600):
        parts = re.findall(r"\w+|\s+|<<|>>|&&|[^\w\s]", drawn.choice([STARTER, REFERENCE]))
        for _ in range(drawn.randint(1, 3)):
            at = drawn.randrange(len(parts))
            parts[at] = drawn.choice(["", f" {drawn.choice(junk)} ", drawn.choice(parts)])
        try:
            text = language.translate("".join(parts).encode())
        except language.Refused:
            continue
        accepted += 1
        assert {w for w in re.findall(r"[A-Za-z_]\w*", text) if not re.match(r"[vfkB]_", w)} <= known
        assert set(text) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_(){};:,?<>=!+-*/%&|^~# \n"
        )
    assert accepted > 30


def test_the_agent_has_what_the_verifier_has() -> None:
    for name in ("words.py", "language.py", "shim.c"):
        assert (TASK / "environment" / "starter" / name).read_bytes() == (TASK / "tests" / name).read_bytes()
    for copy in ("environment/starter/baseline.cu", "tests/baseline.cu"):
        assert (TASK / copy).read_text() == STARTER


ARITHMETIC = {
    "5 / X": 0xFFFFFFFF, "5 % X": 0xFFFFFFFF, "1 << 33": 2, "4 >> 33": 2, "0 - 1": 0xFFFFFFFF, "-1 > 0": 1, "!5 + ~0": 0xFFFFFFFF,
    "1 ? 2 : 3": 2, "7 & 3 == 3": 1, "1 || X / X": 1, "0xffffffff * 0xffffffff": 1, "2 + 3 * 4 - 1": 13,
}  # fmt: skip


def test_numbers_are_the_same_folded_and_run(language: ModuleType, tmp_path: Path) -> None:
    """A constant that is computed when read, and the same expression computed by a kernel."""
    checks = []
    for number, (text, value) in enumerate(ARITHMETIC.items()):
        live = re.sub(r"\b(0x[0-9a-f]+|\d+)\b", r"(\1 + zero)", text.replace("X", "0"))
        checks.append(f"if (({live}) != {value} || C{number} != {value}) {{ STORE(scratch, 999999, 0); }}")
    before = "\n".join(f"#define C{number} {text.replace('X', '0')}" for number, text in enumerate(ARITHMETIC))
    source = kernel("u32 zero = LOAD(starts, 0);" + "".join(checks), SIMPLE, before)
    (tmp_path / "kernels.inc").write_text(language.translate(source.encode()))
    build = [
        "gcc",
        "-std=gnu11",
        "-O1",
        "-fwrapv",
        "-w",
        f"-I{tmp_path}",
        str(TASK / "tests" / "shim.c"),
        "-o",
        str(tmp_path / "p"),
    ]
    subprocess.run(build, check=True)
    words = [1, 1, 0, 3, 4, 0, 1, 1]  # one element in one segment; poison 0; scale, shift, starts, heads
    given = b"".join(word.to_bytes(4, "little") for word in words)
    done = subprocess.run([str(tmp_path / "p")], input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


FAULTS = {
    "no work": (kernel(""), "outputs are wrong"),
    "inputs copied": (
        kernel("u32 i = BLOCK * 64 + THREAD; if (i < N) { STORE(out_scale, i, LOAD(scale, i)); STORE(out_shift, i, LOAD(shift, i)); }"),
        "outputs are wrong",
    ),
    "one output wrong": (
        REFERENCE.replace("PLAN void", "KERNEL void spoil(void) { STORE(out_shift, N - 1, LOAD(out_shift, N - 1) + 1); }\nPLAN void")
        .replace("LAUNCH(reduce", "LAUNCH(spoil, 1, 1); LAUNCH(reduce").replace("GROUP);\n}", "GROUP);\n    LAUNCH(spoil, 1, 1);\n}"),
        "outputs are wrong",
    ),
    "one launch left out": (REFERENCE.replace("LAUNCH(scan_tiles, 1, GROUP);", ""), "outputs are wrong"),
    "the operator the other way round": (REFERENCE.replace("b = a * GET(sum_b, other) + b;", "b = GET(sum_a, other) * b + GET(sum_b, other);"), "outputs are wrong"),
    "no carry between tiles": (REFERENCE.replace("if (!(THREAD && GET(sum_head, side + THREAD - 1)))", "if (0)"), "outputs are wrong"),
    "heads left out": (REFERENCE.replace("return LOAD(heads, i >> 5) >> (i & 31) & 1;", "return i == 0;"), "outputs are wrong"),
    "what an earlier run left": (kernel("u32 i = BLOCK * 64 + THREAD; if (i < N) { u32 x = LOAD(out_scale, i); }"), "outputs are wrong"),
    "an index out of range": (kernel("STORE(scratch, 2 * N + 64, 1);", SIMPLE), "out of range"),
    "a negative index": (kernel("STORE(scratch, 0 - 40000, 1);", SIMPLE), "out of range"),
    "shared memory out of range": (kernel("PUT(x, 4, 1);", SIMPLE, "SHARED(x, 4) SHARED(y, 4)"), "out of range"),
    "shared memory not written": (kernel("u32 a = GET(x, 3);", SIMPLE, "SHARED(x, 4)"), "has not written"),
    "no barrier where one is needed": (STARTER.replace("BARRIER();", "", 1), "no barrier between"),
    "no barrier in the reference": (REFERENCE.replace("        BARRIER();\n", "", 1), "no barrier between"),
    "threads that hand on, in turn": (
        kernel("PUT(x, THREAD, THREAD ? GET(x, THREAD - 1) + 1 : 1);", before="SHARED(x, 64)"), "no barrier between"),
    "blocks that hand on, in turn": (
        kernel("if (THREAD == 0) { STORE(scratch, BLOCK, BLOCK ? LOAD(scratch, BLOCK - 1) : 1); }", "PLAN void p(void) { LAUNCH(scan, 2, 64); }"), "no barrier between"),
    "one word written by two blocks": (kernel("STORE(scratch, 0, 1);", "PLAN void p(void) { LAUNCH(scan, 2, 1); }"), "no barrier between"),
    "a barrier for half": (kernel("if (THREAD < 32) { BARRIER(); }"), "same barrier"),
    "two barriers": (kernel("if (THREAD < 32) { BARRIER(); } else { BARRIER(); }"), "same barrier"),
    "no block": (kernel("", "PLAN void p(void) { LAUNCH(scan, 0, 64); }"), "no launch"),
    "too many threads": (kernel("", "PLAN void p(void) { LAUNCH(scan, 1, 1025); }"), "no launch"),
    "no end": (kernel("while (1) { }"), "signal"),
    "accesses without end": (kernel("u32 x = 1; while (x) { x = x * LOAD(scale, 0) | 1; }"), ""),
    "deep frames": (
        "DEVICE u32 f0(u32 a) { return a; }\n"
        + "".join(f"DEVICE u32 f{k}(u32 a) {{ return f{k - 1}(f{k - 1}(a) + 1) + f{k - 1}(a); }}\n" for k in range(1, 38))
        + kernel("u32 x = f37(THREAD);"), "",
    ),
    "a pointer after all": (REFUSED["a pointer"], "line 2"),
    "host computation": (REFUSED["host computation"], "LAUNCH"),
    "a counter": (REFUSED["the total"], "line 2"),
}  # fmt: skip


@pytest.mark.sandbox
@pytest.mark.slow
def test_kernels_that_are_wrong() -> None:
    for what, (text, _) in FAULTS.items():
        assert text not in (STARTER, REFERENCE), f"{what}: nothing was changed"
    solutions = [Solution(files={"scan.cu": text}) for text, _ in FAULTS.values()]
    for (what, (_, why)), scored in zip(FAULTS.items(), score(TASK, *solutions), strict=True):
        assert_worthless(scored, what)
        assert why in scored.details["reason"], (what, scored.details)


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("level", STRONGEST)
def test_planted_files_are_not_used(level: str) -> None:
    """The model, the language, the starter and a compiler in the work directory are the agent's own business."""
    plant = (
        "for f in shim.c language.py words.py baseline.cu kernels.inc gpu.cu; do echo '#error' > $f; done; cp /bin/true gcc; cp /bin/true nvcc; "
        "mkdir -p numpy guard; echo 'raise SystemExit' | tee numpy/__init__.py guard/__init__.py struct.py > /dev/null"
    )
    env = {"LOOPSCOPE_GUARD": level} if level else {}
    (scored,) = score(TASK, Solution(before=plant, env=env))
    assert (valid(scored)["correctness"], valid(scored)["ratio"]) == (1, 1), scored.details


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_count_is_the_same_each_time_and_says_its_backend() -> None:
    fixed = Solution(reference=True, env={"LOOPSCOPE_SEED": "3", "LOOPSCOPE_BACKEND": "counted"})
    first, second, fresh = score(TASK, fixed, fixed, Solution(reference=True, env={"LOOPSCOPE_BACKEND": "counted"}))
    assert valid(first)["cost"] == valid(second)["cost"]
    assert valid(first)["ratio"] == valid(second)["ratio"] != valid(fresh)["ratio"]
    assert first.details["backend"] == "counted"
    assert first.details["sm_90"] == "compiles" or first.details["sm_90"].startswith("not tried: ")


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a GPU")
def test_a_gpu_that_was_asked_for_and_is_not_there_gives_no_reward() -> None:
    (scored,) = score(TASK, Solution(env={"LOOPSCOPE_BACKEND": "gpu"}))
    assert scored.reward is None
    assert "NoDevice" in scored.output
