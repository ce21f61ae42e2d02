from __future__ import annotations

from pathlib import Path

import pytest
from lab import TASKS

from loopscope.agents.search.reading import Reading, read_instruction

FILES = [
    "Makefile",
    "bench.py",
    "data/in.txt",
    "evaluate.py",
    "main.c",
    "solve.c",
    "solve.py",
    "src/a.c",
    "src/b.c",
    "util.py",
]
RECORDS = (
    (Path(__file__).parents[2] / "src/loopscope/tasks/record_keeping.md")
    .read_text()
    .replace("$budget", "1 hour 30 minutes")
    .replace("$workdir", "/app")
)


def read(text: str, files: list[str] | None = None) -> Reading:
    return read_instruction(text, FILES if files is None else files, "/app")


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("## Files you may edit\n\n- `solve.c`\n- `Makefile`\n\nThe rest is read-only.", ["solve.c", "Makefile"]),
        ("You may edit `solve.py` and `Makefile`.", ["solve.py", "Makefile"]),
        ("You may edit `solve.py` and nothing else.", ["solve.py"]),
        ("Only `solve.py` may be changed. Do not touch `util.py`.", ["solve.py"]),
        ("Edit `/app/solve.py`; do not modify `bench.py`.", ["solve.py"]),
        ("You may edit `solve.py`, but not `util.py`.", ["solve.py"]),
        ("You may edit `solve.py` (not `util.py`).", ["solve.py"]),
        ("You may change any file in `src/` except `src/b.c`.", ["src/a.c"]),
        ("Do not change anything except `src/a.c`.", ["src/a.c"]),
        ("Nothing but `solve.c` may be edited.", ["solve.c"]),
        ("No file other than `solve.c` may be modified.", ["solve.c"]),
        ("You can read `bench.py` but not change it. You may edit `solve.py`.", ["solve.py"]),
        ("You may edit `src/*.c`.", ["src/a.c", "src/b.c"]),
        ("You may edit `solve.py`. Do not change the signature of `solve` in `solve.py`.", ["solve.py"]),
        ("## What to change\n\n`solve.c`, which must not print anything but the answer.", ["solve.c"]),
        ("## What to change\n\n- `solve.c`: called by `main.c`.\n", ["solve.c"]),
        ("## Editable files\n\n```\nsolve.c\nutil.py\n```\n", ["solve.c", "util.py"]),
        ("## Files you may not edit\n\n- `main.c`\n\n## Files you may edit\n\n- `solve.c`", ["solve.c"]),
        ("Make `solve.py` faster. Run `python3 bench.py` to evaluate.", ["solve.py"]),
        ("`solve.py` may be edited; `bench.py` is fixed and must not be edited.", ["solve.py"]),
        ("**Files you may edit:**\n\n1. `solve.c`\n2. `Makefile` (flags only)", ["solve.c", "Makefile"]),
        (
            "Tune `solve.py`. `util.py` defines the function; you can read it but you must not change it.\n\n"
            "Only `solve.py` is taken from your work directory.\n\nTry it: `python3 bench.py` measures the distance.",
            ["solve.py"],
        ),
        (
            "`util.py` holds the data. Do not edit it. The program is in `solve.py`. You may change it freely.",
            ["solve.py"],
        ),
        ("You may edit `solve.py`. Its functions are called by the harness; do not change them.", ["solve.py"]),
        ("`solve.py` (the solver) and `util.py` (helpers) may be edited.", ["solve.py", "util.py"]),
        ("Improve `solve.py`; it is run by `bench.py`, which measures it.", ["solve.py"]),
        ("You may edit `missing.py` and `solve.py`.", ["solve.py"]),
        ("### You may change\n\n* `src/a.c` – anything but the format\n\n`bench.py` must stay as it is.", ["src/a.c"]),
    ],
)
@pytest.mark.parametrize("records", ["", RECORDS])
def test_editable_files(text: str, files: list[str], records: str) -> None:
    assert list(read(text + "\n" + records).editable) == files


def test_without_a_word_about_files_sources_that_are_not_the_evaluations_own() -> None:
    text = "Find a good answer.\n\n## Evaluation\n\n```\npython3 util.py\n```\nDo not modify `main.c`."
    assert list(read(text).editable) == ["solve.c", "solve.py", "src/a.c", "src/b.c"]


@pytest.mark.parametrize(
    ("text", "build", "evaluate"),
    [
        ("## Local evaluation\n\n```bash\npython3 bench.py\n```", None, "python3 bench.py"),
        ("## Local evaluation\n\n```\nmake\npython3 bench.py --quick\n```", "make", "python3 bench.py --quick"),
        ("## Building\n\n```sh\nmake -j2\n```\n\n## Measuring\n\n```sh\n./run.sh\n```", "make -j2", "./run.sh"),
        ("Build it with `make all`. To score it locally run `python3 bench.py`.", "make all", "python3 bench.py"),
        ("# T\n\nRun `make bench` to measure it.", None, "make bench"),
        (
            "## Local evaluation\n\n```console\n$ python3 bench.py\nscore: 1.5\n```\n\n## Setup\n\n```\npython3 util.py\n```",
            None,
            "python3 bench.py",
        ),
        ("Evaluate with\n\n    $ bash eval.sh   # about a second\n    score: 3\n", None, "bash eval.sh"),
        (
            "Evaluate with:\n\n```\nOMP_NUM_THREADS=1 python3 bench.py \\\n  --size 3\n```",
            None,
            "OMP_NUM_THREADS=1 python3 bench.py    --size 3",
        ),
        (
            "The verifier scores with `python3 /tests/check.py`, which you cannot run. Evaluate with `python3 bench.py`.",
            None,
            "python3 bench.py",
        ),
        (
            "Compile:\n\n```\ngcc -O2 -o solve solve.c\n```\n\nEvaluate:\n\n```\n./solve < data/in.txt\n```",
            "gcc -O2 -o solve solve.c",
            "./solve < data/in.txt",
        ),
        (
            "### How to build\n\n    sh build.sh\n\n### How to evaluate\n\n    sh run_eval.sh\n",
            "sh build.sh",
            "sh run_eval.sh",
        ),
        (
            "It is built by `gcc -O3 -static`.\n\n## Building\n\n```\nmake -s\n```\n\n## Local evaluation\n\n```\n./run.sh\n```",
            "make -s",
            "./run.sh",
        ),
        ("## Usage\n\n```python\nimport solve\n```\nNothing about commands.", None, "python3 bench.py"),
    ],
)
@pytest.mark.parametrize("records", ["", RECORDS])
def test_commands(text: str, build: str | None, evaluate: str, records: str) -> None:
    commands = read(text + "\n" + records).commands
    assert (commands.build, commands.evaluate) == (build, evaluate)


def test_make_target_where_the_text_is_silent() -> None:
    commands = read_instruction("Improve it.", ["solve.c"], "/app", "all: x\nbenchmark: all\n\t./x\n").commands
    assert (commands.build, commands.evaluate) == (None, "make benchmark")


def test_no_command_at_all() -> None:
    assert read("Improve it.", ["solve.c"]).commands.evaluate is None


@pytest.mark.parametrize(
    ("text", "lower"),
    [
        ("It prints seconds, lower is better.", True),
        ("Lower values are better.", True),
        ("The fewer bins the better, so a smaller score is better.", True),
        ("Prints the speedup; higher is better.", False),
        ("It prints `score: NUMBER`.", False),
        ("Higher reward is better.\n\n## Local evaluation\n\nThe error is printed (lower is better).", True),
        ("## Local evaluation\n\nHigher is better, although lower memory is better elsewhere.", False),
    ],
)
def test_direction(text: str, lower: bool) -> None:
    assert read(text).lower_is_better is lower


def test_budget_comes_from_the_record_keeping_addition_alone() -> None:
    assert read("Training may take 1 second of wall-clock time.").budget_sec is None
    assert read("Training may take 1 second of wall-clock time.\n" + RECORDS).budget_sec == 5400


def test_toy_tasks_are_read_as_their_authors_meant() -> None:
    def toy(name: str) -> Reading:
        files = sorted(str(p.relative_to(TASKS / name)) for p in (TASKS / name).rglob("*") if p.is_file())
        return read((TASKS / name / "instruction.md").read_text() + RECORDS, files)

    counting, smoothing, packing = toy("counting_words"), toy("smoothing"), toy("packing")
    assert (counting.editable, counting.commands.build) == (("count.c", "Makefile"), "make")
    assert (counting.commands.evaluate, counting.lower_is_better) == ("bash evaluate.sh", False)
    assert (smoothing.editable, smoothing.commands.evaluate) == (("smooth.py",), "python3 measure.py")
    assert (packing.editable, packing.commands.evaluate) == (("pack.py",), "python3 -m run")
    assert smoothing.lower_is_better and packing.lower_is_better
