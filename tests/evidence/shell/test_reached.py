"""Which commands a failed call never came to."""

from __future__ import annotations

import pytest
from made_calls import bash, calls, fetch

from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.shell.builds import BuildFinding, Outcome, find_builds
from loopscope.evidence.shell.calls import ShellCall, shell_calls
from loopscope.evidence.shell.commit_types import CommitFailure
from loopscope.evidence.shell.commits import find_commits

STARTED = "Command running in background with ID: t1. Output is being written to: /t/tasks/t1.output"


def call(command: str, output: str) -> ShellCall:
    (shell,) = shell_calls(calls([bash(command, output)]), "/w/app")
    return shell


def builds(command: str, output: str) -> list[BuildFinding]:
    return find_builds([call(command, output)], ArtifactScope())


@pytest.mark.parametrize(
    ("command", "output", "order"),
    [
        ("patch a.c < a.patch && make", "Exit code 2\npatch: **** malformed patch at line 10:", 0),
        ("cd /w && git checkout round 2 && cargo run", "Exit code 1\nerror: pathspec 'round' did not match any file(s) known to git", 1),
        ("git add -A && git commit -qm x && ./run", "Exit code 1\nOn branch master\nnothing to commit, working tree clean", 1),
        ("cp a b && make", "Exit code 1\ncp: cannot stat 'a': No such file or directory", 0),
        ("x=1; python3 fix.py && make", 'Exit code 1\nTraceback (most recent call last):\n  File "/w/fix.py", line 3', 1),
        ("python3 a.py && python3 b.py && make", 'Exit code 1\nTraceback (most recent call last):\n  File "/w/b.py", line 3', 1),
        ("add -A && git commit -m x", "Exit code 127\n/bin/bash: line 1: add: command not found", 0),
        ("ls | grep x && sed -i s/a/b/ f | tail && make", "Exit code 2\nsed: can't read f: No such file or directory", None),
    ],
)  # fmt: skip
def test_the_command_that_failed(command: str, output: str, order: int | None) -> None:
    stop = call(command, output).stop
    assert (stop.order if stop else None) == order


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("make clean && make", "Exit code 2\nmake: nvcc: No such file or directory\nmake: *** [a] Error 127"),
        ("git checkout a.rs && cargo run", "Exit code 101\nUpdated 1 path from the index\nerror: could not compile `a`"),
        ("cp a b; make", "Exit code 2\ncp: cannot stat 'a': No such file or directory"),
        ("cp a b && make", "cp: cannot stat 'a': No such file or directory"),
        ("git add x && git commit -m y", "Exit code 128\nfatal: not a git repository"),
        ("python3 a.py && python3 b.py && make", "Exit code 1\nTraceback (most recent call last):\n  File \"<x>\", line 3"),
        ("make && python3 a.py", "Exit code 1\nTraceback (most recent call last):\n"),
    ],
)  # fmt: skip
def test_nothing_tells_which_failed_or_nothing_hangs_on_it(command: str, output: str) -> None:
    assert call(command, output).stop is None


def test_what_was_not_reached_was_neither_built_nor_committed() -> None:
    (build,) = builds("patch a.rs < x && cargo run", "Exit code 2\npatch: **** malformed patch at line 10:")
    assert build.outcome is Outcome.NOT_RUN and "malformed" in build.reason
    (build,) = builds(
        "git checkout a b && cargo run", "Exit code 1\nerror: pathspec 'b' did not match any file(s) known to git"
    )
    assert build.outcome is Outcome.NOT_RUN
    # Without `&&` the build ran all the same.
    (build,) = builds(
        "patch a.rs < x; cargo run", "Exit code 101\npatch: **** malformed patch\nerror: could not compile `a`"
    )
    assert build.outcome is Outcome.CODE_FAILURE
    (commit,) = find_commits([call("cp a b && git commit -am x", "Exit code 1\ncp: cannot stat 'a': No such file")])
    assert (commit.happened, commit.failure) == (False, CommitFailure.NOT_REACHED)


def test_a_background_call_says_later_that_there_was_nothing_to_commit() -> None:
    later = "<exit_code>1</exit_code>\n<output>\nOn branch master\nnothing to commit, working tree clean\n</output>"
    (commit,) = find_commits(shell_calls(calls([bash("git commit -qam x && ./run", STARTED), fetch("t1", later)])))
    assert (commit.happened, commit.failure) == (False, CommitFailure.NOTHING)
