"""Nothing that an agent writes or prints breaks the reading of its shell, or holds it up."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from made_calls import bash, calls, edit, fetch, read, write

from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.contents import known
from loopscope.evidence.artifact.rewriting import sed
from loopscope.evidence.artifact.scope import ArtifactScope, scope_from_instruction
from loopscope.evidence.artifact.states import Findings, track
from loopscope.evidence.artifact.timeline import Timeline
from loopscope.evidence.shell.builds import find_builds
from loopscope.evidence.shell.calls import shell_calls
from loopscope.evidence.shell.commits import find_commits
from loopscope.evidence.shell.evaluations import find_evaluations
from loopscope.evidence.shell.rules import rules_from_instruction, task_rules

FILE = "/w/app/solve.cu"
COMMANDS = [
    "git", "git -C", "git commit", "git commit -m x", "git checkout", "git checkout -- solve.cu", "git stash pop", "git reset --hard HEAD~9",
    "git restore -s", "git add -A", "git commit --amend", "make", "make -C", "make clean", "cargo build", "go -C", "nvcc solve.cu -o", "cp",
    "cp a", "mv solve.cu .", "rm -rf .git", "sed -i", "sed -i s/a/b/ solve.cu", "sed -i -e", "patch -p1", "tee solve.cu", "cd", "cd -", "cd $X",
    "env", "timeout", "bash -c", "bash x.sh", "eval", "xargs", "python3 -c", "python3 -", "perl -i", "./icp_corr --benchmark", "> solve.cu", "pkill -f make",
]  # fmt: skip
JOINS = ["; ", " && ", " || ", " | ", " & ", "\n", " > out ", " <<EOF\nx\nEOF\n", " $(", ")", "'", '"', "{ ", "}"]
OUTPUTS = [
    "", "Exit code 1\n", "Exit code 144", "[master abc1234] x", "[master (root-commit) abc1234] x", "abc1234 x", "solve.cu(1): error: x",
    "make: nvcc: No such file or directory", "time_ms=0.1", "\x00\ud800", "Command running in background with ID: t1", "Shell cwd was reset to /w",
]  # fmt: skip
SCRIPT = st.lists(st.sampled_from(COMMANDS + JOINS), min_size=1, max_size=8).map("".join)
OUTPUT = st.lists(st.sampled_from(OUTPUTS), max_size=3).map("\n".join) | st.none()
MADE = st.one_of(
    st.tuples(SCRIPT, OUTPUT).map(lambda pair: bash(*pair)),
    st.text(max_size=5).map(lambda text: write(FILE, text)),
    st.text(max_size=5).map(lambda text: edit(FILE, text, "y")),
    st.text(max_size=5).map(lambda text: read(FILE, text)),
    st.just(fetch("t1", "time_ms=0.2")),
)


def whole(made: list[tuple[str, dict[str, Any], str | None]]) -> Timeline:
    thread, scope = calls(made), ArtifactScope(frozenset([FILE]), "/w/app")
    shells = shell_calls(thread, "/w/app")
    rules = task_rules()["icp_correspondence_step_cuda"]
    builds = find_builds(shells, scope)
    commits, evaluations = find_commits(shells), find_evaluations(shells, rules, builds)
    found = track(thread, shells, scope, Findings(commits, builds, evaluations, rules))
    assert set(found.builds) == {(item.position, item.order) for item in builds}
    assert set(found.evaluations) == {(item.position, item.order) for item in evaluations}
    assert all(0 <= change.state < found.states and change.state != change.before for change in found.changes)
    return found


@settings(max_examples=150, deadline=None)
@given(st.lists(MADE, max_size=6))
def test_any_thread_is_followed(made: list[tuple[str, dict[str, Any], str | None]]) -> None:
    assert whole(made) == whole(made)


@given(st.text(max_size=200))
def test_any_instruction_is_read(text: str) -> None:
    scope_from_instruction(text)
    rules_from_instruction(text)


def test_texts_made_to_hold_up_expressions_are_read_at_once() -> None:
    long = "a" * 60_000
    outputs = [
        "\n" * 30_000,
        "commit 0123456\n" + "\n" * 30_000 + "x",
        long,
        "open(" * 12_000,
        "[" + long + "] x",
        "cd: " * 15_000,
    ]
    for output in outputs:
        whole(
            [
                bash("make; git log; git commit -q -m x; ./icp_corr --benchmark", output),
                bash(f"python3 -c 'solve.cu {output}'"),
            ]
        )
    assert sed(known("ab " * 10_000), [r"s/\(a*\)*b.*a.*b.*c/x/"], Budget()).text is None
    assert sed(known("a" * 100_000), ["s/a*a*a*a*b/x/"], Budget()).text is None


def test_what_threads_compute_comes_from_one_budget_and_what_it_lacks_is_only_named() -> None:
    """A thread behind one that spent it all is followed: there is a new state, of a text that nobody knows."""
    made = calls([write(FILE, "a\n"), bash("sed -i s/a/b/ solve.cu"), bash("sed -i s/b/a/ solve.cu")])
    shells, scope = shell_calls(made, "/w/app"), ArtifactScope(frozenset([FILE]), "/w/app")
    budget, found = Budget(cost=10_000), Findings((), (), (), ())
    first, second = (track(made, shells, scope, found, budget) for _ in range(2))
    assert [change.state for change in first.changes] == [1, 2, 1], "the text came back"
    assert [change.state for change in second.changes] == [1, 2, 3]
