"""Every form of `git commit`, and by what it is known to have happened."""

from __future__ import annotations

import pytest
from made_calls import bash, calls, fetch

from loopscope.evidence.shell.calls import shell_calls
from loopscope.evidence.shell.commit_kinds import CommitKind, classify
from loopscope.evidence.shell.commit_types import CommitFailure, CommitFinding, Confirmation
from loopscope.evidence.shell.commits import find_commits

MADE = "[master abc1234] faster loop\n 1 file changed"


def found(*made: tuple[str, dict[str, object], str | None]) -> list[CommitFinding]:
    return find_commits(shell_calls(calls(made)))


@pytest.mark.parametrize(
    "command",
    [
        'git commit -m "faster loop"',
        "git commit -am 'faster loop'",
        'git commit -m"faster loop"',
        'git commit --message="faster loop" --no-verify',
        'git add -A && git commit -m "faster loop" 2>&1 | tail -3',
        'git -C /w/app commit -m "faster loop"',
        'GIT_AUTHOR_NAME=x git -c user.name=y commit -m "faster loop"',
        "git commit -F - <<'EOF'\nfaster loop\n\nwhy\nEOF",
        "git commit -m \"$(cat <<'EOF'\nfaster loop\n\nwhy\nEOF\n)\"",
        'git commit -m "faster loop" -m "why"',
        "bash -lc 'cd app && git add . && git commit -m \"faster loop\"'",
        'cd /w/app && git add x && git commit -m "faster loop" && make && ./a',
        'timeout 60 git commit -m "faster loop"',
    ],
)
def test_forms(command: str) -> None:
    (commit,) = found(bash(command, MADE))
    assert commit.happened
    assert commit.confirmation is Confirmation.OUTPUT
    assert (commit.hash, commit.branch, commit.subject, commit.root) == ("abc1234", "master", "faster loop", False)
    assert (commit.message or "").split("\n")[0] == "faster loop"
    assert commit.index == 1


def test_the_subject_is_as_the_shell_expanded_it() -> None:
    (commit,) = found(bash('git commit -q -m "from $38 to 1"'))
    assert commit.subject == "from 8 to 1"


def test_the_first_of_a_repository_and_an_amended_one() -> None:
    first, second = found(
        bash("git commit -m 'initial state'", "[master (root-commit) aaaaaaa] initial state"),
        bash("git commit --amend --no-edit", "[master bbbbbbb] initial state"),
    )
    assert first.root
    assert second.amend
    assert second.subject == "initial state"


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        ("Exit code 1\nOn branch master\nnothing to commit, working tree clean", CommitFailure.NOTHING),
        ("On branch master\nUntracked files:\n  a\nnothing added to commit but untracked files present", CommitFailure.NOTHING),
        ("Exit code 128\nfatal: not a git repository (or any parent up to mount point /)", CommitFailure.DIRECTORY),
        ("Exit code 128\n*** Please tell me who you are.\nfatal: unable to auto-detect email", CommitFailure.IDENTITY),
        ("Exit code 1\npre-commit hook failed (add --no-verify to bypass)", CommitFailure.HOOK),
        ("Exit code 128\nfatal: Unable to create '/w/.git/index.lock': File exists.", CommitFailure.LOCKED),
        ("Exit code 127\n/bin/bash: line 1: add: command not found", CommitFailure.SYNTAX),
        ("Exit code 2\n/bin/bash: -c: line 3: syntax error: unexpected end of file", CommitFailure.SYNTAX),
    ],
)  # fmt: skip
def test_failures(output: str, failure: CommitFailure) -> None:
    (commit,) = found(bash('git add -A && git commit -m "faster loop"', output))
    assert commit.happened is False
    assert commit.failure is failure


@pytest.mark.parametrize(
    ("then", "output"),
    [
        ("&& go build ./...", "Exit code 1\n# x\n./a.go:3:3: syntax error: unexpected {"),
        ("; bash run.sh", "Exit code 2\nrun.sh: line 3: syntax error near unexpected token `fi'"),
        ("; nvcc solve.cu", "Exit code 127\n/bin/bash: line 1: nvcc: command not found"),
    ],
)
def test_what_fails_behind_a_quiet_commit_says_nothing_against_it(then: str, output: str) -> None:
    (commit,) = found(bash(f"git add -A && git commit -q -m 'faster loop' {then}", output))
    assert (commit.happened, commit.failure) == (None, None)


def test_a_shell_that_kills_itself_comes_to_no_commit_behind_it() -> None:
    before, after = found(
        bash("git commit -m one; pkill -f train.py; git commit -m two; python3 train.py &", "Exit code 144")
    )
    assert before.happened is None
    assert after.happened is False
    assert after.failure is CommitFailure.KILLED


def test_quiet_commits_are_confirmed_by_a_later_history() -> None:
    one, two = found(
        bash("git add -A && git commit -q -m 'round 1: tile'"),
        bash("git add -A && git commit -q -m 'round 2: unroll' && git log --oneline", "ffff002 round 2: unroll\nffff001 round 1: tile"),
    )  # fmt: skip
    assert [one.confirmation, one.hash] == [Confirmation.HISTORY, "ffff001"]
    assert [two.confirmation, two.hash] == [Confirmation.HISTORY, "ffff002"]
    (long,) = found(
        bash("git commit -q -m 'round 3: fuse'"),
        bash(
            "git log", "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: a <b>\nDate: x\n\n    round 3: fuse\n"
        ),
    )[:1]
    assert long.hash == "0123456789abcdef0123456789abcdef01234567"


def test_commits_of_equal_subject_get_different_entries_of_a_history() -> None:
    one, two = found(
        bash("git commit -q -m same"),
        bash("git commit -q -m same"),
        bash("git log --oneline", "bbb2222 same\naaa1111 same"),
    )
    assert [one.hash, two.hash] == ["aaa1111", "bbb2222"]


def test_without_a_listing_the_exit_code_tells_or_nothing_does() -> None:
    (by_exit,) = found(bash("git add -A && git commit -qm x"))
    assert (by_exit.happened, by_exit.confirmation) == (True, Confirmation.EXIT)
    (unknown,) = found(bash("git commit -qm x | cat; ls"))
    assert (unknown.happened, unknown.confirmation) == (None, Confirmation.NONE)
    (no_answer,) = found(bash("git commit -m x", None))
    assert no_answer.happened is None


def test_a_commit_in_the_background_is_confirmed_by_output_fetched_later() -> None:
    started = "Command running in background with ID: task-1. Output is being written to: /t/tasks/task-1.output"
    (commit,) = found(bash("git commit -m 'faster loop' && ./train", started), fetch("task-1", MADE))
    assert commit.confirmation is Confirmation.OUTPUT


def test_a_parent_confirms_the_only_commit_that_can_be_it() -> None:
    first, _ = found(
        bash("git commit -m one && ./train", "Command running in background with ID: t1"),
        bash("git commit -m two", "[master abc1234] two"),
    )
    assert first.happened
    assert first.confirmation is Confirmation.HISTORY


def test_what_is_no_commit() -> None:
    assert not found(bash("echo 'git commit -m x'"), bash("git log --grep commit"), bash("git commit --dry-run -m x"))
    assert not found(bash("grep -rn 'git commit' . # [master abc1234] x", "[master abc1234] x"))


def test_commits_in_a_loop_and_out_of_a_script_are_seen_by_their_output() -> None:
    loop = found(bash('for i in 1 2; do git commit -am "round $i"; done', "[m aaaaaa1] round 1\n[m aaaaaa2] round 2"))
    assert [commit.subject for commit in loop] == ["round 1", "round 2"]
    (script,) = found(bash("python3 tools/save.py", "saving\n[master abc1234] snapshot"))
    assert script.order == -1
    (file,) = found(bash("cat > s.sh <<'EOF'\ngit commit -m 'faster loop'\nEOF\nbash s.sh", MADE))
    assert file.order > 0


def test_files_decide_the_kind_before_messages_do() -> None:
    texts = ["initial state", "round 1: change=tile hypothesis=cache", "final: verify and clean up", "journal: update notes",
             "round 4: revert to round 1", "initial state", "add analysis scripts"]  # fmt: skip
    commits = found(*(bash("git commit -m x", f"[master aaaaaa{at}] {text}") for at, text in enumerate(texts)))
    changed = [False, True, True, False, True, False, False]
    kinds = classify(commits, lambda item: changed[(item.index - 1) // 2], lambda item: None)
    assert [item.kind for item in kinds] == [
        CommitKind.INITIAL, CommitKind.CHANGE, CommitKind.CHANGE, CommitKind.ADMINISTRATIVE, CommitKind.REVERT,
        CommitKind.INITIAL, CommitKind.OTHER,
    ]  # fmt: skip
    assert [item.repeated for item in kinds] == [False] * 5 + [True, False]


@pytest.mark.parametrize(
    ("commands", "named", "kind"),
    [
        (["git add output/journal.md", "git commit -m 'T'"], ("output/journal.md",), CommitKind.ADMINISTRATIVE),
        (["git add notes.md && git commit -m 'T'"], ("notes.md",), CommitKind.ADMINISTRATIVE),
        (["git add Makefile output/journal.md", "git commit -m 'T'"], (), None),
        (["git add bench.py output/journal.md", "git commit -m 'T'"], ("bench.py", "output/journal.md"), None),
        (["git add output/journal.md", "git commit -am 'T'"], (), None),
        (["git add output/journal.md", "git commit -m'T'"], ("output/journal.md",), CommitKind.ADMINISTRATIVE),
        (["git add output/journal.md", "git commit -m 'T' a.c"], (), None),
        (["git add output/journal.md", "git commit -m 'T' -p"], (), None),
        (["git add output", "git commit -m 'T'"], (), None),
        (["git add -A output/journal.md", "git commit -m 'T'"], (), None),
        (["git add *.md", "git commit -m 'T'"], (), None),
        (["git add output/journal.md", "git stash pop", "git commit -m 'T'"], (), None),
        (["git add a.md", "git restore --staged .", "git commit -m 'T'"], (), None),
        (["git add a.c", "git commit -m 'T'"], ("a.c",), None),
        (["git restore a.c && git add notes.md", "git commit -m 'T'"], ("notes.md",), CommitKind.ADMINISTRATIVE),
        (["git checkout -- a.c; git add notes.md", "git commit -m 'T'"], ("notes.md",), CommitKind.ADMINISTRATIVE),
        (["git checkout solve.cu; git add notes.md", "git commit -m 'T'"], ("notes.md",), CommitKind.ADMINISTRATIVE),
        (
            ["git checkout HEAD src/a.c; git add notes.md", "git commit -m 'T'"],
            ("notes.md",),
            CommitKind.ADMINISTRATIVE,
        ),
        (["git checkout other; git add notes.md", "git commit -m 'T'"], (), None),
        (["git checkout v1.2; git add notes.md", "git commit -m 'T'"], (), None),
        (["git commit -m 'T'"], (), None),
    ],
)
def test_a_commit_that_was_told_to_hold_only_records_is_no_change_whatever_it_says(
    commands: list[str], named: tuple[str, ...], kind: CommitKind | None
) -> None:
    title = "round 15: change=record final validation hypothesis=document best score"
    parts = [command.replace("T", title) for command in commands]
    before = bash("git add a.c && git commit -m 'round 1'", "[master abc1230] round 1")
    made = found(before, *(bash(part, f"[master abc1234] {title}" if "commit" in part else "") for part in parts))
    assert (made[0].named, made[1].named) == (("a.c",), named)
    kinds = [item.kind for item in classify(made, lambda item: item is made[0], lambda item: False)]
    assert kinds == [CommitKind.CHANGE, kind or CommitKind.CHANGE]


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("round 5: wider layers. Back to baseline architecture but much larger", CommitKind.CHANGE),
        ("round 6: faster loop (old one restored later)", CommitKind.CHANGE),
        ("round 8: revert to 3.5 layers. Bigger was worse", CommitKind.REVERT),
    ],
)
def test_what_a_title_tells_in_passing_makes_no_revert(title: str, kind: CommitKind) -> None:
    made = found(
        bash("git commit -m x", "[master abc1230] x"), bash(f"git commit -m '{title}'", f"[m abc1234] {title}")
    )
    assert classify(made, lambda item: True, lambda item: False)[1].kind is kind


def test_many_commits_of_one_call_are_each_told_by_their_own_line() -> None:
    number = 1900
    command = "\n".join(f'git commit -am "round {at}"' for at in range(number))
    lines = [f"[master {at:07x}] round {at}" for at in range(number)]
    made = found(bash(command, "\n".join(reversed(lines)) + "\n" + "x" * 100_000))
    assert [commit.hash for commit in made] == [f"{at:07x}" for at in range(number)]
    silent = found(bash(command, "Exit code 1\n" + "hook cd: " * 30_000))
    assert {commit.confirmation for commit in silent} == {Confirmation.NONE}
    assert not any(commit.happened for commit in silent)


@pytest.mark.parametrize(
    ("told", "named"),
    [
        (" 1 file changed, 28 insertions(+)\n create mode 100644 output/journal.md", ("output/journal.md",)),
        (" 2 files changed, 3 insertions(+), 9 deletions(-)\n create mode 100644 a b.md\n delete mode 100755 x", ("a b.md", "x")),
        (" Date: Tue Dec 1 2026\n 1 file changed, 2 insertions(+)\n create mode 100644 n.md", ("n.md",)),
        (" 3 files changed, 49 insertions(+)\n create mode 100644 bench_test.go\n create mode 100755 r30", ()),
        (" 1 file changed, 20 insertions(+)", ()),
        (" delete mode 100755 cut/by/tail", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_git_names_what_a_commit_holds_only_where_all_of_it_is_new_or_removed(
    told: str, named: tuple[str, ...]
) -> None:
    made = found(bash("git add -A && git commit -m 'round 0: baseline'", f"[master abc1234] round 0: baseline\n{told}"))
    assert [item.named for item in made] == [named]


@pytest.mark.parametrize(
    ("title", "changed", "kind"),
    [
        ("journal: round 8 findings (BLOCK=384)", False, CommitKind.ADMINISTRATIVE),
        ("update journal with round 31 details", False, CommitKind.ADMINISTRATIVE),
        ("add gitignore, untrack target", False, CommitKind.ADMINISTRATIVE),
        ("round 8: log the cache misses", False, CommitKind.CHANGE),
        ("journal: round 8 findings", True, CommitKind.CHANGE),
        ("round 13: change=revert touched pre-sizing (keep cap 256) hypothesis=it hurt", True, CommitKind.REVERT),
        ("round 14: change=drop the revert of round 13 hypothesis=x", True, CommitKind.CHANGE),
    ],
)
def test_what_a_title_says_of_records_and_of_going_back(title: str, changed: bool, kind: CommitKind) -> None:
    made = found(
        bash("git commit -am a", "[master aaaaaaa] round 1"), bash("git commit -am b", f"[master bbbbbbb] {title}")
    )
    kinds = classify(made, lambda item: changed if item is made[1] else True, lambda item: False)
    assert kinds[1].kind is kind
