"""Which state each change makes, and which one was built, measured and committed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_calls import bash, calls, edit, read, write

from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.artifact.states import Findings, track
from loopscope.evidence.artifact.timeline import StateOf, Timeline, commit_changes
from loopscope.evidence.shell.builds import find_builds
from loopscope.evidence.shell.calls import shell_calls
from loopscope.evidence.shell.commits import find_commits
from loopscope.evidence.shell.evaluations import find_evaluations
from loopscope.evidence.shell.rules import task_rules

Made = tuple[str, dict[str, Any], str | None]
FILE = "/w/app/solve.cu"
SCOPE = ArtifactScope(frozenset([FILE]), "/w/app")
MAKE = bash("make", "nvcc -O3 main.cu solve.cu -o icp_corr")
BENCH = bash("./icp_corr --benchmark", "time_ms=0.3")


def timeline(*made: Made, scope: ArtifactScope = SCOPE, task: str = "icp_correspondence_step_cuda") -> Timeline:
    thread = calls(made)
    shells = shell_calls(thread, "/w/app")
    rules = task_rules()[task]
    builds = find_builds(shells, scope)
    findings = Findings(find_commits(shells), builds, find_evaluations(shells, rules, builds), rules)
    return track(thread, shells, scope, findings)


def states(*made: Made, scope: ArtifactScope = SCOPE) -> list[int]:
    return [change.state for change in timeline(*made, scope=scope).changes]


def measured(*made: Made, task: str = "icp_correspondence_step_cuda", scope: ArtifactScope = SCOPE) -> list[StateOf]:
    return list(timeline(*made, task=task, scope=scope).evaluations.values())


def test_edits_make_states_and_failed_ones_none() -> None:
    made = timeline(
        write(FILE, "a = 1\n"),
        edit(FILE, "a = 1", "a = 2"),
        edit(FILE, "b", "c", "<tool_use_error>String to replace not found in file.\nString: b"),
        edit(FILE, "a = 2", "a = 3", "File has not been read yet. Read it first before writing to it."),
        edit("/w/app/notes.md", "x", "y"),
    )
    assert [(item.index, item.state, item.files) for item in made.changes] == [(1, 1, (FILE,)), (3, 2, (FILE,))]
    assert all(item.exact for item in made.changes)
    assert made.states == 3
    assert "Edit" in made.changes[1].reason


def test_equal_content_is_the_same_state_whichever_way_it_came() -> None:
    assert states(
        write(FILE, "a = 1\n"),
        edit(FILE, "1", "2"),
        edit(FILE, "2", "1"),
        bash("sed -i 's/a = 1/a = 2/' solve.cu"),
        bash("cat > solve.cu <<'EOF'\na = 1\nEOF"),
        bash("echo 'a = 2' > solve.cu"),
        bash("cp solve.cu /tmp/best.cu; printf x > solve.cu"),
        bash("cp /tmp/best.cu solve.cu"),
    ) == [1, 2, 1, 2, 1, 2, 3, 2]


def test_the_start_is_known_once_it_was_read() -> None:
    assert states(read(FILE, "a = 1\nb = 2\n"), edit(FILE, "a = 1", "a = 2"), write(FILE, "a = 1\nb = 2\n")) == [1, 0]
    assert states(bash("cat solve.cu", "a = 1\n"), write(FILE, "x"), write(FILE, "a = 1\n")) == [1, 0]


def test_unknown_content_is_a_state_of_its_own_and_the_same_change_makes_the_same() -> None:
    made = timeline(
        edit(FILE, "x", "y"),
        bash("git checkout solve.cu"),
        edit(FILE, "x", "y"),
        bash("python3 - <<'EOF'\np='solve.cu'\ns=open(p).read()\nopen(p,'w').write(s.upper())\nEOF"),
    )
    assert [item.state for item in made.changes] == [1, 0, 1, 2]
    assert not made.changes[-1].exact


def test_git_restores_states() -> None:
    commit = bash("git add -A && git commit -m one", "[master aaaaaaa] one")
    second = bash("git commit -am two", "[master bbbbbbb] two")
    base: tuple[Made, ...] = (write(FILE, "1"), commit, write(FILE, "2"))
    assert states(*base, bash("git checkout -- solve.cu")) == [1, 2, 1]
    assert states(*base, bash("git restore solve.cu")) == [1, 2, 1]
    assert states(*base, bash("git checkout .")) == [1, 2, 1]
    assert states(*base, bash("git stash"), bash("git stash pop")) == [1, 2, 1, 2]
    assert states(*base, bash("git reset --hard")) == [1, 2, 1]
    assert states(*base, second, bash("git checkout HEAD~1 -- solve.cu")) == [1, 2, 1]
    assert states(*base, second, bash("git checkout aaaaaaa"), bash("git checkout master")) == [1, 2, 1, 2]
    assert states(*base, second, bash("git reset --hard aaaaaaa"), bash("git reset --hard bbbbbbb")) == [1, 2, 1, 2]
    assert states(*base, bash("git add -A"), bash("git checkout solve.cu")) == [1, 2]
    assert states(*base, bash("git checkout notes.md"), bash("git checkout icp_corr")) == [1, 2]
    assert states(*base, bash("git checkout solve.cu", "Exit code 1\nerror: pathspec 'solve.cu' did not match")) == [
        1,
        2,
    ]
    assert states(*base, bash("git show aaaaaaa:solve.cu > /tmp/x")) == [1, 2]


def test_a_stale_binary_measures_the_state_that_it_was_built_from() -> None:
    commit = bash("git add -A && git commit -m one", "[master aaaaaaa] one")
    first, stale, rebuilt = measured(
        write(FILE, "1"), commit, write(FILE, "2"), MAKE, BENCH, bash("git checkout solve.cu"), BENCH, MAKE, BENCH
    )
    assert (first.state, first.stale) == (2, False)
    assert (stale.state, stale.stale) == (2, True)
    assert (rebuilt.state, rebuilt.stale) == (1, False)
    assert "message 7" in stale.reason


def test_a_failed_build_leaves_the_binary_before() -> None:
    error = 'solve.cu(4): error: expected a ";"'
    (old,) = measured(
        write(FILE, "1"),
        MAKE,
        write(FILE, "2"),
        bash("make 2>&1 | tail -1; ./icp_corr --benchmark", f"{error}\ntime_ms=1.5"),
    )
    assert (old.state, old.stale) == (1, True)
    (unrun,) = measured(write(FILE, "1"), bash("make && ./icp_corr --benchmark", f"Exit code 2\n{error}"))
    assert unrun.state is None


def test_binaries_by_name_are_told_apart() -> None:
    build = bash("nvcc solve.cu -o old")
    one, two = measured(
        write(FILE, "1"), build, bash("cp old icp_best"), write(FILE, "2"), bash("nvcc solve.cu -o icp_corr"),
        bash("./icp_best --benchmark", "time_ms=1.0"), BENCH,
    )  # fmt: skip
    assert [one.state, two.state] == [1, 2]


def test_nothing_to_be_done_builds_nothing() -> None:
    (one,) = measured(MAKE, write(FILE, "1"), bash("make", "make: Nothing to be done for 'all'."), BENCH)
    assert (one.state, one.stale) == (0, True)
    (shipped,) = measured(BENCH)
    assert (shipped.state, shipped.certain) == (0, False)


def test_other_flags_make_another_candidate_of_the_same_files() -> None:
    source = "#ifndef BLOCK\n#define BLOCK 128\n#endif\n"
    loop = "for b in 64 128 256; do make clean; make BLOCK=$b && ./icp_corr --benchmark; done"
    made = timeline(
        write(FILE, source), MAKE, BENCH,
        bash(loop, "time_ms=1\ntime_ms=2\ntime_ms=3"), BENCH,
        bash("nvcc -DBLOCK=64 solve.cu -o icp_corr && ./icp_corr", "time_ms=1"),
        bash("nvcc -DBLOCK=128 solve.cu -o icp_corr && ./icp_corr", "time_ms=1"),
        bash("git commit -am x", "[m abc1234] x"),
    )  # fmt: skip
    own, *variants = (item.state for item in made.evaluations.values())
    by_make, last, by_macro = variants[:3], variants[3], variants[4:]
    assert own == 1
    # What make hands on is not known to be the macro of the source, so each value is a candidate.
    assert len({own, *by_make}) == 4
    assert last == by_make[-1]
    assert by_macro[0] not in (own, *by_make)
    assert by_macro[1] == own
    assert [item.state for item in made.commits.values()] == [own]
    assert not any(item.stale for item in made.evaluations.values())
    assert all(item.certain for item in made.evaluations.values())
    assert [item.state for item in made.changes] == [1]
    assert "with BLOCK=256" in list(made.evaluations.values())[3].reason
    assert made.states == 6


def test_a_candidate_by_flags_is_one_of_its_files() -> None:
    variant = bash("make clean; make BLOCK=64", "nvcc -DBLOCK=64 main.cu solve.cu -o icp_corr")
    first, second, stale, back = measured(
        write(FILE, "1"), variant, BENCH, write(FILE, "2"), variant, BENCH, write(FILE, "3"), BENCH,
        write(FILE, "1"), variant, BENCH,
    )  # fmt: skip
    assert len({first.state, second.state}) == 2
    assert (stale.state, stale.stale) == (second.state, True)
    assert (back.state, back.stale) == (first.state, False)


def test_makefiles_that_were_read_tell_the_default() -> None:
    makefile = "NVFLAGS = -O3 -arch=sm_90\n"
    build = bash("make NVFLAGS='-arch=sm_90 -O3'", "nvcc -O3 -arch=sm_90 main.cu -o icp_corr")
    for shown in (read("/w/app/Makefile", makefile), bash("cat Makefile", makefile)):
        assert measured(shown, build, BENCH)[0].state == 0
    assert measured(build, BENCH)[0].state == 1


def test_flags_in_a_loop_that_is_not_known_are_not_certain() -> None:
    (one,) = measured(bash("for b in $(cat l); do make BLOCK=$b; ./icp_corr; done", "time_ms=1\ntime_ms=2"))
    assert not one.certain


def test_programs_that_build_and_run_are_told_by_their_flags() -> None:
    scope = ArtifactScope(frozenset(["/w/app/src/main.rs"]), "/w/app")
    line = "patterns=23 haystacks=100000 time=1.98 matches=1"
    plain, native = (
        bash("cargo run --release", line),
        bash("RUSTFLAGS='-C target-cpu=native' cargo run --release", line),
    )
    found = measured(plain, native, plain, task="regex_engine", scope=scope)
    assert [item.state for item in found] == [0, 1, 0]


def test_scratch_programs_make_no_candidates() -> None:
    made = timeline(bash("gcc -DX=1 /tmp/try.c -o /tmp/try"), bash("gcc -DX=2 /tmp/try.c -o /tmp/try"))
    assert made.states == 1


def test_interpreted_programs_measure_the_sources_as_they_are() -> None:
    scope = ArtifactScope(frozenset(["/w/app/predictor.py"]), "/w/app")
    run = bash("python3 main.py", "=== Overall: 4.07 bpb ===")
    both = bash("cat > predictor.py <<'EOF'\nx\nEOF\npython3 main.py", "=== Overall: 4.07 bpb ===")
    found = measured(run, both, task="adaptive_compression", scope=scope)
    assert [item.state for item in found] == [0, 1]


def test_a_trained_model_belongs_to_the_state_that_trained_it() -> None:
    scope = ArtifactScope(frozenset(["/w/app/model.py", "/w/app/train.py"]), "/w/app")
    evaluate = bash("python3 evaluate_local.py", "Val PSNR: 17.25 dB")
    one = measured(
        write("/w/app/model.py", "1"), bash("bash train.sh > log 2>&1 &"), write("/w/app/model.py", "2"), evaluate,
        task="moving_mnist_world_model", scope=scope,
    )[-1]  # fmt: skip
    assert (one.state, one.stale) == (1, True)


def test_a_model_that_was_put_in_place_from_elsewhere_is_of_no_known_state() -> None:
    scope = ArtifactScope(frozenset(["/w/app/model.py"]), "/w/app")
    evaluate = bash("python3 evaluate_local.py", "Val PSNR: 17.25 dB")
    train = bash("bash train.sh")
    found = timeline(
        write("/w/app/model.py", "1"), train, bash("cp output/checkpoint.pt /tmp/best.pt"), evaluate,
        bash("cp /snapshots/other.pt output/checkpoint.pt"), evaluate,
        bash("cp /tmp/best.pt output/checkpoint.pt"), evaluate,
        write("/w/app/model.py", "2"), train, evaluate,
        task="moving_mnist_world_model", scope=scope,
    )  # fmt: skip
    own, foreign, kept, again = (found.evaluations[position, 0] for position in (3, 5, 7, 10))
    assert [own.state, foreign.state, kept.state, again.state] == [1, None, 1, 2]
    assert "from elsewhere" in foreign.reason


def test_commits_hold_what_was_staged() -> None:
    other = "/w/app/extra.cu"
    scope = ArtifactScope(frozenset([FILE, other]), "/w/app")
    made = timeline(
        write(FILE, "1"), write(other, "1"),
        bash("git add solve.cu && git commit -m one", "[master (root-commit) aaaaaaa] one"),
        bash("git commit -am two", "[master bbbbbbb] two"),
        bash("git add -A; git commit -m three", "[master ccccccc] three"),
        bash("git add output/journal.md && git commit -m journal", "[master ddddddd] journal"),
        scope=scope,
    )  # fmt: skip
    moments = list(made.commits.values())
    assert moments[0].stale
    assert [item.stale for item in moments[1:]] == [False] * 3
    changed = commit_changes(made, [(item.position, item.order) for item in moments])
    assert [value[0] for value in changed.values()] == [True, True, False, False]


@pytest.mark.parametrize(
    ("command", "holds_it"),
    [
        ("git commit -m fast", False),
        ('git commit -m"fast"', False),
        ("git commit -m 'all of src' -m .", False),
        ("git commit -m src", False),
        ("git commit -am fast", True),
        ('git commit -qam"fast"', True),
        ("git commit --all -m fast", True),
        ("git commit -m fast -- solve.cu", True),
        ("git commit -m fast solve.cu", True),
        ("git commit -m fast .", True),
        ("git commit -m fast -- main.cu", False),
    ],
)
def test_a_commit_holds_an_edit_that_was_not_staged_only_where_its_options_say_so(command: str, holds_it: bool) -> None:
    made = timeline(
        write(FILE, "1"), bash("git add -A && git commit -m one", "[master (root-commit) aaaaaaa] one"),
        edit(FILE, "1", "2"), bash(command, "[master bbbbbbb] fast"),
    )  # fmt: skip
    first, second = made.commits.values()
    assert (second.state != first.state) is holds_it


def test_a_commit_that_did_not_happen_holds_nothing() -> None:
    nothing = "Exit code 1\nnothing to commit, working tree clean"
    assert not timeline(write(FILE, "1"), bash("git commit -am one", nothing)).commits


def test_a_repository_that_was_made_at_the_root_and_deleted_is_forgotten() -> None:
    first = bash(
        "cd /w && git init && git add -A && git commit -m 'initial state'",
        "[master (root-commit) aaaaaaa] initial state",
    )
    again = bash(
        "cd /w/app && git init && git add -A && git commit -m 'initial state'",
        "[master (root-commit) bbbbbbb] initial state",
    )
    made = timeline(
        first, write(FILE, "1"), bash("rm -rf /w/.git"), again, write(FILE, "2"), bash("git checkout HEAD~1 -- solve.cu", "Exit code 128\nfatal: invalid reference: HEAD~1"), bash("git checkout solve.cu"),
    )  # fmt: skip
    assert [item.state for item in made.changes] == [1, 2, 1]
    assert [item.state for item in made.commits.values()] == [0, 1]


def test_what_was_not_run_changes_nothing() -> None:
    error = 'Exit code 2\nsolve.cu(4): error: expected a ";"'
    assert states(write(FILE, "1"), bash("make && cp /tmp/x.cu solve.cu", error)) == [1]
    assert states(write(FILE, "1"), bash("make || cp /tmp/x.cu solve.cu")) == [1]
    assert states(write(FILE, "1"), bash("f() { rm solve.cu; }; ls")) == [1]
    assert states(write(FILE, "1"), bash("pkill -f train.py; rm solve.cu; ./train.py", "Exit code 144")) == [1]
    assert states(
        write(FILE, "1"), bash("rm solve.cu; if", "Exit code 2\nbash: -c: line 2: syntax error: unexpected end")
    ) == [1]
    assert (
        states(
            bash("python3 -c \"open('solve.cu','w').write('x')\"", "Exit code 1\nTraceback (most recent call last):\nE")
        )
        == []
    )


def test_scripts_that_only_read_the_artifact_change_nothing() -> None:
    assert states(bash("python3 -c \"print(open('solve.cu').read())\"")) == []
    assert states(bash("python3 -c \"s=open('solve.cu').read(); open('/tmp/x','w').write(s)\"")) == []
    assert states(bash("sed -n 1,5p solve.cu; sed 's/a/b/' solve.cu > /tmp/y")) == []
    assert states(bash("make > solve.log; cat solve.cu | tee /tmp/z")) == []


def test_other_ways_of_changing_files() -> None:
    patch = "*** Begin Patch\n*** Update File: /w/app/solve.cu\n@@\n-a\n+b\n*** End Patch"
    assert states(("apply_patch", {"input": patch}, "Success. Updated the following files:")) == [1]
    assert states(bash("patch -p1 <<'EOF'\n--- a/solve.cu\n+++ b/solve.cu\n@@ -1 +1 @@\n-a\n+b\nEOF")) == [1]
    assert states(bash("perl -pi -e 's/a/b/' solve.cu")) == [1]
    assert states(bash("clang-format -i solve.cu")) == [1]
    assert states(bash("mv /tmp/new.cu solve.cu")) == [1]
    assert states(write("/w/app/rewrite.py", "open('solve.cu', 'w').write('x')"), bash("python3 rewrite.py")) == [1]
    looped = bash(
        'for b in 1 2; do sed -i "s/B = .*/B = $b/" solve.cu; make; ./icp_corr --benchmark; done',
        "time_ms=0.1\ntime_ms=0.2",
    )
    assert states(write(FILE, "B = 0\n"), looped) == [1, 2, 3]
    assert [item.state for item in measured(write(FILE, "B = 0\n"), looped)] == [2, 3]
    opaque = bash(
        'cat list | while read b; do sed -i "s/B = .*/B = $b/" solve.cu; make; ./icp_corr --benchmark; done',
        "time_ms=0.1\ntime_ms=0.2",
    )
    assert states(write(FILE, "B = 0\n"), opaque) == [1, 2]
    assert not measured(write(FILE, "B = 0\n"), opaque)[0].certain


def test_programs_that_rewrite_the_artifact_are_replayed() -> None:
    edit_it = "s = open('solve.cu').read()\ns = s.replace({!r}, {!r})\nopen('solve.cu', 'w').write(s)\n"

    def program(old: str, new: str) -> Made:
        return bash(f"python3 - <<'EOF'\n{edit_it.format(old, new)}EOF")

    # Nothing found is nothing changed, and the same text is the same state.
    made = [write(FILE, "a = 1\n"), program("x", "y"), program("1", "2"), program("2", "1")]
    assert states(*made) == [1, 2, 1]
    assert states(write(FILE, "a = 1\n"), write("/w/app/e.py", edit_it.format("1", "2")), bash("python3 e.py")) == [
        1,
        2,
    ]
    failed = bash(
        "python3 - <<'EOF'\n" + edit_it.format("1", "2") + "EOF", "Exit code 1\nTraceback (most recent call last):"
    )
    assert states(write(FILE, "a = 1\n"), failed) == [1]


def test_patches_that_are_refused_change_nothing() -> None:
    assert states(bash("patch solve.cu < x.patch && make", "Exit code 2\npatch: **** malformed patch at line 3:")) == []


def test_uncommitted_changes_stay_when_the_revision_has_the_same_file() -> None:
    commit = bash("git add -A && git commit -m one", "[master aaaaaa1] one")
    other = bash("git commit --allow-empty -m two", "[master aaaaaa2] two")
    begin = [write(FILE, "a = 1\n"), commit, other, write(FILE, "a = 2\n")]
    assert states(*begin, bash("git checkout aaaaaa1", "HEAD is now at aaaaaa1\nM\tsolve.cu")) == [1, 2]
    assert states(*begin, bash("git checkout -f aaaaaa1")) == [1, 2, 1]
    assert states(*begin, bash("git reset --hard aaaaaa1")) == [1, 2, 1]


def test_cargo_that_compiles_nothing_runs_what_was_built_before() -> None:
    scope = ArtifactScope(frozenset(["/w/app/src/solve.rs"]), "/w/app")
    file, task = "/w/app/src/solve.rs", "regex_engine"
    built = bash(
        "cargo run --release", "   Compiling solve v0.1.0\n    Finished `release` profile\nhaystacks=9 time=0.5"
    )
    fresh = bash("cargo run --release", "    Finished `release` profile\nhaystacks=9 time=0.5")
    first, same, stale = measured(write(file, "1"), built, fresh, write(file, "2"), fresh, scope=scope, task=task)
    assert [(item.state, item.stale, item.certain) for item in (first, same, stale)] == [
        (1, False, True), (1, False, True), (1, True, False),
    ]  # fmt: skip


def test_a_script_file_is_followed() -> None:
    (one,) = measured(
        bash("cat > tune.sh <<'EOF'\necho 1 > solve.cu\nmake\n./icp_corr --benchmark\nEOF"),
        bash("bash tune.sh", "time_ms=0.3"),
    )
    assert (one.index, one.state, one.stale) == (3, 1, False)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
def test_states_are_contents(texts: list[str]) -> None:
    found = timeline(*(write(FILE, text) for text in texts))
    assert found.states == 1 + len(set(texts))
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts), 1)}
    expected = [numbers[text] for at, text in enumerate(texts) if at == 0 or texts[at - 1] != text]
    assert [item.state for item in found.changes] == expected


@given(
    st.lists(
        st.sampled_from(["write 1", "write 2", "checkout", "commit", "stash", "pop", "build", "bench"]), max_size=10
    )
)
def test_an_evaluation_measures_the_state_of_the_latest_build(steps: list[str]) -> None:
    made: dict[str, Made] = {
        "write 1": write(FILE, "1"), "write 2": write(FILE, "2"), "checkout": bash("git checkout solve.cu"),
        "commit": bash("git add -A && git commit -m x", "[master abcdef1] x"), "stash": bash("git stash"),
        "pop": bash("git stash pop"), "build": MAKE, "bench": BENCH,
    }  # fmt: skip
    found = timeline(*(made[step] for step in steps))
    at_build: int | None = None
    for position, step in enumerate(steps):
        present = next((item.state for item in reversed(found.changes) if item.position <= position), 0)
        if step == "build":
            at_build = present
        if step == "bench":
            moment = found.evaluations[position, 0]
            assert moment.state == (at_build or 0)
            assert moment.stale == (moment.state != present)
            assert moment.certain == (at_build is not None)


@given(st.lists(st.sampled_from(["write 1", "write 2", "make", "make B=1", "make B=2", "bench"]), max_size=12))
def test_a_candidate_is_the_files_and_what_the_build_was_told(steps: list[str]) -> None:
    made: dict[str, Made] = {"write 1": write(FILE, "1"), "write 2": write(FILE, "2"), "bench": BENCH}
    echoed = "nvcc main.cu solve.cu -o icp_corr"
    found = timeline(*(made.get(step) or bash(step, echoed) for step in steps))
    states: dict[tuple[str, str], set[int]] = {}
    text, built = "", None
    for position, step in enumerate(steps):
        moment = found.evaluations.get((position, 0))
        if step.startswith("write"):
            text = step
        elif step == "bench" and built is not None:
            assert moment is not None
            assert moment.state is not None
            states.setdefault(built, set()).add(moment.state)
            assert moment.stale == (built[0] != text)
        elif step != "bench":
            built = text, step.removeprefix("make")
            states.setdefault((text, ""), set()).update({0} if not text else ())
    assert all(len(numbers) <= 1 for numbers in states.values())
    known = [number for numbers in states.values() for number in numbers]
    assert len(known) == len(set(known))
    assert all(number < found.states for number in known)
