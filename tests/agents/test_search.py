from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lab import TASKS, annotations, in_loop, logs_dir, run_agent, sandbox, sh, transcript

import loopscope.agents
import loopscope.tasks
from loopscope.agents.search import SearchAgent
from loopscope.models.annotation import StepKind, StepStatus

RECORDS = "\n---\n# Working time and records\n\nCommit before you run the main evaluation. Keep `output/journal.md`.\n"


def search(
    tmp_path: Path, source: Path, *looks: str, limit_sec: float | None = None, more: str = "", **kwargs: Any
) -> tuple[dict[str, Any], list[str]]:
    """Run the agent on a directory with an instruction; what it reports, and what the looks print afterwards."""
    agent = SearchAgent(logs_dir=logs_dir(tmp_path), **kwargs)
    instruction = (source / "instruction.md").read_text() + RECORDS

    async def body() -> tuple[dict[str, Any], list[str]]:
        async with sandbox(tmp_path, source, more) as env:
            await sh(env, "rm instruction.md")
            context = await run_agent(agent, env, instruction, limit_sec)
            return context.metadata or {}, [await sh(env, look) for look in looks]

    return in_loop(body)


def directory(tmp_path: Path, **files: str) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    for name, text in files.items():
        (source / name.replace("__", ".")).write_text(text)
    return source


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("name", "rounds"), [("counting_words", 14), ("smoothing", 14), ("packing", 14)])
def test_it_improves_toy_tasks(tmp_path: Path, name: str, rounds: int) -> None:
    report, looks = search(tmp_path, TASKS / name, "git log --reverse --format=%s", rounds=rounds, seed=2)
    assert report["rounds"] == rounds
    sign = 1 if name == "counting_words" else -1
    assert sign * float(report["best"]) > sign * float(report["baseline"])
    subjects = looks[0].splitlines()
    numbers = [int(m[1]) for s in subjects if (m := re.match(r"round (\d+): change=.+ hypothesis=.+", s))]
    assert numbers[:rounds] == list(range(1, rounds + 1))
    assert len(subjects) == rounds + 2


@pytest.mark.sandbox
def test_commits_come_before_evaluations_and_the_journal_after(tmp_path: Path) -> None:
    _, looks = search(
        tmp_path, TASKS / "smoothing", "cat output/journal.md", "git show HEAD:output/journal.md", rounds=4, seed=1
    )
    steps = annotations(transcript(tmp_path))
    for number in range(1, 5):
        kinds = [s.kind for s in steps if s.round == number]
        order = [kinds.index(k) for k in (StepKind.EDIT, StepKind.COMMIT, StepKind.EVALUATE, StepKind.JOURNAL)]
        assert order == sorted(order), kinds
        states = {s.state for s in steps if s.round == number and s.kind in (StepKind.COMMIT, StepKind.EVALUATE)}
        assert len(states) == 1
    assert "## Hardware" in looks[0]
    assert all(f"## Round {n}" in looks[0] for n in range(1, 5))
    assert looks[1] == looks[0]


@pytest.mark.sandbox
def test_what_is_measured_is_what_was_committed(tmp_path: Path) -> None:
    """Edits of one digit within a second (here: with equal file times) must not be hidden by a cached module."""
    source = directory(
        tmp_path,
        instruction__md="You may edit `knob.py`.\n\n## Local evaluation\n\n```\npython3 bench.py\n```\n",
        knob__py="KNOB = 4\n",
        bench__py='import os\nos.utime("knob.py", (1e9, 1e9))\nimport knob\nprint("score:", -(knob.KNOB - 5) ** 2)\n',
    )
    look = 'git log --format=%H | while read c; do echo "$c $(git show $c:knob.py)"; done'
    _, looks = search(tmp_path, source, look, rounds=12, seed=1)
    values = {line.split()[0]: line.split()[3] for line in looks[0].splitlines()}
    notes = annotations(transcript(tmp_path))
    commits = {note.round: note.commit for note in notes if note.kind is StepKind.COMMIT and note.commit}
    pairs = {
        (values[str(commits[n.round])], n.score) for n in notes if n.kind is StepKind.EVALUATE and n.score and n.round
    }
    assert len(pairs) > 2
    assert all(-((float(committed) - 5) ** 2) == float(measured) for committed, measured in pairs), pairs


@pytest.mark.sandbox
def test_equal_seeds_and_scores_give_equal_runs(tmp_path: Path) -> None:
    look = "git log --format=%s; git rev-parse HEAD:smooth.py; grep -c . output/journal.md"
    runs = [search(tmp_path / str(n), TASKS / "smoothing", look, rounds=5, seed=7)[1] for n in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.sandbox
def test_the_best_state_is_what_it_leaves(tmp_path: Path) -> None:
    report, looks = search(
        tmp_path, TASKS / "smoothing", "python3 measure.py", "git status --porcelain -- smooth.py", rounds=6, seed=3
    )
    assert report["best"] in looks[0]
    assert looks[1] == ""


@pytest.mark.sandbox
def test_a_cancelled_run_keeps_everything_so_far(tmp_path: Path) -> None:
    source = directory(
        tmp_path,
        instruction__md="You may edit `solve.py`. Evaluate with `bash evaluate.sh`.",
        solve__py="SIZE = 8\n",
        # The third evaluation never ends: Harbor's deadline falls into it.
        evaluate__sh="n=$(cat /tmp/n 2>/dev/null || echo 0); echo $((n + 1)) > /tmp/n\n[ $n -lt 2 ] || sleep 1000\necho score: 1\n",
    )
    report, looks = search(tmp_path, source, "git log --format=%s", limit_sec=3, seed=1)
    assert report["baseline"] == "1"
    assert report["stopped"] == "cancelled"
    assert re.match(r"round \d+: change=", looks[0])
    commits = [s.status for s in annotations(transcript(tmp_path), StepKind.COMMIT)]
    assert len(commits) >= 2
    assert set(commits) == {StepStatus.OK}


@pytest.mark.sandbox
@pytest.mark.slow
def test_it_stays_within_its_budget_and_kills_what_hangs(tmp_path: Path) -> None:
    source = directory(
        tmp_path,
        instruction__md="You may edit `solve.py`. Evaluate with `bash evaluate.sh`.",
        solve__py="SIZE = 8\n",
        evaluate__sh="grep -q 'SIZE = 8$' solve.py || sleep 1000\necho score: 1\n",
    )
    report, looks = search(
        tmp_path, source, "cat solve.py", "pgrep -xa sleep | grep -c 1000 || true", budget_sec=8, limit_sec=20, seed=1
    )
    assert report["stopped"] == "the time is used up"
    assert looks == ["SIZE = 8\n", "0\n"]
    statuses = [s.status for s in annotations(transcript(tmp_path), StepKind.EVALUATE)]
    assert StepStatus.TIMEOUT in statuses


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("instruction", "files", "why"),
    [
        ("You may edit `solve.py`.", {"solve__py": "SIZE = 8\n"}, "no local evaluation command found"),
        ("You may edit `solve.py`. Evaluate with `./missing`.", {"solve__py": "SIZE = 8\n"}, "No such file"),
    ],
)
def test_a_broken_environment_is_reported_not_worked_around(
    tmp_path: Path, instruction: str, files: dict[str, str], why: str
) -> None:
    source = directory(tmp_path, instruction__md=instruction, **files)
    report, looks = search(tmp_path, source, "cat output/journal.md", "git log --oneline | wc -l", rounds=5, seed=1)
    assert report["rounds"] == 0
    assert report["stopped"].startswith("stop: the environment or the instruction")
    assert why in looks[0]
    assert int(looks[1]) == 1


@pytest.mark.sandbox
def test_failures_of_the_code_are_told_from_others(tmp_path: Path) -> None:
    source = directory(
        tmp_path,
        instruction__md="You may edit `solve.c`.\n\n## Build\n\n```\ngcc -o solve solve.c\n```\n\n## Local evaluation\n\n```\n./solve\n```\n",
        solve__c='#include <stdio.h>\nint main(void) { int broken = ; printf("score: 1\\n"); }\n',
    )
    report, _ = search(tmp_path, source, rounds=2, seed=1)
    builds = annotations(transcript(tmp_path), StepKind.BUILD)
    assert {b.status for b in builds} == {StepStatus.CODE_FAILURE}
    assert report["baseline"] is None
    assert report["best"] is None


def test_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rounds: Input should be greater"):
        SearchAgent(logs_dir=tmp_path, rounds=0)
    with pytest.raises(ValueError, match="budget_sec"):
        SearchAgent(logs_dir=tmp_path, budget_sec=-1)


def test_no_task_is_named_in_the_agents_room() -> None:
    suite = Path(loopscope.tasks.__file__).parent / "suite"
    names = [p.name for p in suite.iterdir() if (p / "task.toml").is_file()]
    assert names
    text = "\n".join(p.read_text() for p in Path(loopscope.agents.__file__).parent.rglob("*.py")).lower()
    starters = {p.stem for name in names for p in (suite / name / "environment").rglob("*.[cp]*") if p.is_file()}
    common = {"evaluate", "baseline", "driver", "bench", "main", "language", "words"}
    for word in {*names, *starters} - common:
        assert not re.search(rf"\b{re.escape(word)}\b", text), word


@pytest.mark.sandbox
def test_a_run_that_never_saw_a_score_says_so(tmp_path: Path) -> None:
    source = directory(
        tmp_path,
        instruction__md="You may edit `knob.py`.\n\n## Local evaluation\n\n```\npython3 no_such_file.py\n```\n",
        knob__py="KNOB = 4\n",
    )
    report, _ = search(tmp_path, source, rounds=2, seed=1)
    assert "the local evaluation never gave a score" in report["problem"]
    assert "no_such_file.py" in report["problem"]
