"""The proposal gate on commits that only a transcript shows."""

from __future__ import annotations

import pytest
from made_calls import bash, edit, write
from made_transcript import FILE, bench, build, commit, evidence

INITIAL = commit("initial state", "aaaaaa1", root=True)
EDIT = edit(FILE, "a", "b")
JOURNAL = bash("cat >> output/journal.md <<'EOF'\nround 1\nEOF")


def kept(*made, **more):
    return [checkpoint.canonical for checkpoint in evidence(*made, **more).checkpoints]


def test_only_what_is_surely_bookkeeping_is_removed():
    found = evidence(
        INITIAL, EDIT, commit("round 1: change=x hypothesis=y", "aaaaaa2"), JOURNAL, commit("update journal", "aaaaaa3")
    )
    assert [item.canonical for item in found.checkpoints] == [True, True, False]
    assert [item.kind for item in found.checkpoints] == ["initial", "change+hypothesis", "administrative"]
    assert found.checkpoints[0].initial
    assert found.checkpoints[1].reason == f"the artifact differs from that of the commit before ({FILE})"
    assert "only output/journal.md was written" in found.checkpoints[2].reason
    assert found.transcript_matched


@pytest.mark.parametrize(
    ("between", "message", "reason"),
    [
        ((JOURNAL,), "final: verify and clean up", "does not read as bookkeeping"),
        ((bash("echo x > tune.py"),), "update journal", "files besides the records were written (tune.py)"),
        ((write("/w/app/extra.c", "x"),), "update journal", "files besides the records were written (extra.c)"),
        ((EDIT,), "update journal", "the artifact differs"),
        ((bash("python3 - <<'EOF'\nopen(name, 'w').write(x)\nEOF"),), "update journal", "does not name; uncertain"),
        ((bash("for i in 1 2; do sed -i s/a/$i/ solve.c; done"),), "update journal", "the artifact differs"),
        ((bash("patch -p1 < /tmp/x.patch solve.c"), bash("git checkout solve.c")), "update journal", "uncertain"),
        ((build(), bench("10")), "notes", "its reconstructed score differs"),
    ],
)
def test_every_doubt_keeps_a_commit(between, message, reason):
    before = (INITIAL, EDIT, commit("round 1: x", "aaaaaa2"))
    if "score" in reason:
        # The first state is worth 0, and is committed again after the artifact was changed and put back.
        before = (build(), bench("100"), INITIAL, EDIT)
    last = evidence(*before, *between, commit(message, "aaaaaa3")).checkpoints[-1]
    assert last.canonical
    assert reason in last.reason


@pytest.mark.parametrize(
    "between",
    [
        (),
        (JOURNAL,),
        (bash("echo target > .gitignore"),),
        (write("/w/app/output/journal.md", "x"),),
        (bash("python3 - <<'EOF'\nopen('output/journal.md', 'a').write('x')\nEOF"),),
        (write("/tmp/try.c", "x"), bash("gcc /tmp/try.c -o /tmp/try && /tmp/try > /tmp/out.txt")),
        (EDIT, edit(FILE, "b", "a")),
    ],
)
def test_records_files_elsewhere_and_what_was_put_back_keep_no_commit(between):
    start = write(FILE, "a\n")
    assert kept(start, INITIAL, *between, commit("update journal", "aaaaaa2")) == [True, False]


@pytest.mark.parametrize(
    ("staging", "kept"),
    [
        ("git add output/journal.md && git commit -m", False),
        ("git add -f output/journal.md .gitignore && git commit -qm", False),
        ("git add output/journal.md tune.py && git commit -m", True),
        ("git add output && git commit -m", True),
        ("git add -A && git commit -m", True),
        ("git add output/journal.md && git commit -am", True),
        ("git add output/*.md && git commit -m", True),
    ],
)
def test_what_was_not_staged_is_not_in_the_commit(staging, kept):
    """A file of the agent's own lies about while the journal is committed."""
    last = bash(f"{staging} 'update journal'", "[master aaaaaa2] update journal\n 1 file changed")
    found = evidence(INITIAL, bash("echo x > tune.py"), JOURNAL, last).checkpoints[-1]
    assert found.canonical is kept


def test_an_amended_commit_counts_once_the_last():
    amend = bash("git commit --amend -m 'round 1: better'", "[master aaaaaa3] round 1: better\n 1 file changed")
    found = evidence(INITIAL, EDIT, commit("round 1: x", "aaaaaa2"), edit(FILE, "b", "c"), amend)
    assert [item.canonical for item in found.checkpoints] == [True, False, True]
    assert "amended in message" in found.checkpoints[1].reason


def test_an_amended_commit_without_a_message_of_its_own_keeps_that_of_the_one_before():
    amend = bash("git commit -q --amend --no-edit -a", "")
    found = evidence(INITIAL, EDIT, commit("round 1: x", "aaaaaa2"), edit(FILE, "b", "c"), amend).checkpoints
    assert [item.canonical for item in found] == [True, False, True]
    assert (found[2].subject, found[2].sha) == ("round 1: x", f"m{found[2].at.message}.0")


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (
            (bash("echo x > tune.py"), bash("git add tune.py && git commit -m 'round 2: tuner'", "[master aaaaaa3] round 2: tuner")),
            "files besides the records were written (tune.py)",
        ),
        (
            (bash("python3 - <<'EOF'\nopen(name, 'w').write(x)\nEOF"), commit("round 2: tuner", "aaaaaa3")),
            "writes files that it does not name; uncertain",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("amends", [1, 2])
def test_a_commit_that_is_amended_with_records_keeps_what_it_held(before, reason, amends):
    last = [
        part
        for number in range(4, 4 + amends)
        for part in (
            JOURNAL,
            bash(
                "git add output/journal.md && git commit --amend -m 'update journal'",
                f"[master aaaaaa{number}] update journal\n 2 files changed",
            ),
        )
    ]
    found = evidence(INITIAL, EDIT, commit("round 1: x", "aaaaaa2"), *before, *last).checkpoints
    assert [item.canonical for item in found] == [True, True, *([False] * amends), True]
    assert reason in found[-1].reason


@pytest.mark.parametrize("first", ["solve.c", "output/journal.md"])
def test_an_amended_commit_is_bookkeeping_only_where_both_staged_nothing_but_records(first):
    one = bash(f"git add {first} && git commit -m 'round 1: faster'", "[master aaaaaa2] round 1: faster")
    two = bash("git add output/journal.md && git commit --amend -m 'update journal'", "[master aaaaaa3] update journal")
    made = (INITIAL, bash(f"echo 1 > {first}"), one, JOURNAL, two)
    assert kept(*made, text="Do it.") == [True, False, first == "solve.c"]


def test_what_came_before_a_first_commit_that_was_replaced_came_before_the_one_that_counts():
    again = bash("git commit --amend -m 'initial state'", "[master aaaaaa2] initial state\n 1 file changed")
    found = evidence(EDIT, INITIAL, again).checkpoints
    assert [item.canonical for item in found] == [False, True]
    assert found[1].reason == f"first commit; the artifact had been changed before ({FILE})"
    script = bash("python3 - <<'EOF'\nopen(name, 'w').write(x)\nEOF")
    found = evidence(script, INITIAL, again).checkpoints
    assert (found[1].initial, found[1].ambiguous_initial) == (False, True)
    assert "does not name" in found[1].reason


def test_where_no_state_is_followed_only_what_was_staged_by_name_can_show_bookkeeping():
    one, two = commit("round 1: x", "aaaaaa2"), commit("update journal", "aaaaaa3")
    staged = bash("git add output/journal.md && git commit -m 'update journal'", "[master aaaaaa3] update journal")
    assert kept(INITIAL, one, JOURNAL, two, text="Do it.") == [True, True, True]
    assert kept(INITIAL, one, JOURNAL, staged, text="Do it.") == [True, True, False]


def test_a_repository_that_was_made_anew_has_one_initial_commit():
    again = bash("rm -rf .git && git init", ""), commit("initial state", "bbbbbb1", root=True)
    found = evidence(INITIAL, *again, EDIT, commit("round 1: x", "bbbbbb2"))
    assert [item.canonical for item in found.checkpoints] == [False, True, True]
    assert [item.initial for item in found.checkpoints] == [False, True, False]
    assert "made anew" in found.checkpoints[0].reason


def test_a_first_commit_with_changes_is_an_ordinary_checkpoint_and_one_of_an_unknown_artifact_ambiguous():
    changed = evidence(EDIT, commit("initial state", "aaaaaa1", root=True)).checkpoints[0]
    assert (changed.initial, changed.ambiguous_initial) == (False, False)
    assert "had been changed before" in changed.reason
    unknown = evidence(INITIAL, text="Do it.").checkpoints[0]
    assert (unknown.initial, unknown.ambiguous_initial) == (False, True)


def test_commits_elsewhere_and_commits_that_did_not_happen_are_none():
    failed = bash("git commit -m 'round 1: x'", "Exit code 1\nnothing to commit, working tree clean")
    other = bash("cd /tmp/scratch && git commit -m try", "[master cccccc1] try\n 1 file changed")
    assert [item.sha for item in evidence(INITIAL, failed, other).checkpoints] == ["aaaaaa1"]
