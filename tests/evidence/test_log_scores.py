"""Scores, delivery, windows and remarks of a run that only its transcript shows."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_calls import bash, calls, edit, write
from made_transcript import EVALUATOR, FILE, bench, build, commit, evidence, seen, transcript

from loopscope.evidence.scores import StateScores
from loopscope.evidence.seeds import diff_only_seeds, only_seeds
from loopscope.evidence.shellseen import seen_in_transcript
from loopscope.models import BuildStatus, Grade
from loopscope.transcripts.canonical import Call, Mark, MarkKind, Note, NoteKind, Result, ToolKind

INITIAL = commit("initial state", "aaaaaa1", root=True)
EDIT = edit(FILE, "a", "b")
ONE = commit("round 1: x", "aaaaaa2")


def last(*made, **more):
    return evidence(*made, **more).checkpoints[-1]


def test_evaluations_before_and_after_the_commit_count_for_its_state_and_the_median_is_the_score():
    found = evidence(
        INITIAL, EDIT, build(), bench("10", "20"), ONE, bench("40"), edit(FILE, "b", "c"), build(), bench("1")
    )
    initial, one = found.checkpoints
    assert initial.grade is Grade.MISSING
    assert initial.reconstructed is None
    assert one.grade is Grade.CONFIRMED
    # 40, 20, 10 ms: 0.5 * ln(100 / t) / ln(10) = 0.1990, 0.3495, 0.5000.
    assert one.reconstructed is not None
    values = one.reconstructed
    assert (values.low, values.value, values.high) == (Decimal("0.1990"), Decimal("0.3495"), Decimal("0.5000"))
    assert values.evaluations == (0, 1)
    assert "median of 3 rewards" in values.reason
    assert (one.builds, one.build_failures, one.candidates, one.evaluated_before_commit) == (1, 0, 1, True)
    assert (one.builds_by_state, one.candidates_by_state) == (1, 1)
    assert [item.checkpoint for item in found.evaluations] == [1, None, None]
    assert [item.checkpoint for item in found.builds] == [1, None]
    assert found.noise_band == Decimal("0.3010")
    # The last state was never committed; the run's final score is its own.
    assert found.final is not None
    assert (found.final.value, found.final_grade, found.states) == (Decimal("1.0000"), Grade.CONFIRMED, 3)


def test_a_binary_that_is_older_than_the_files_says_nothing_of_them():
    found = last(INITIAL, EDIT, build(), edit(FILE, "b", "c"), bench("10"), ONE)
    assert found.reconstructed is None
    assert found.delivered is None


def test_a_state_that_only_ran_with_other_flags_has_what_that_gave_with_a_doubt():
    flagged = bash("make MODE=fast", "gcc -DMODE=fast -o bench app.c")
    alone = last(INITIAL, EDIT, flagged, bench("10"), ONE)
    assert alone.grade is Grade.INFERRED
    assert alone.reconstructed is not None
    assert (alone.reconstructed.value, alone.delivered) == (Decimal("0.5000"), True)
    assert "other flags" in alone.reconstructed.reason
    assert (alone.evaluated_before_commit, alone.builds_by_state, alone.candidates_by_state) == (True, 1, 1)
    both = last(INITIAL, EDIT, flagged, bench("10"), build(), bench("40"), ONE)
    assert both.grade is Grade.CONFIRMED
    assert both.reconstructed is not None
    assert both.reconstructed.value == Decimal("0.1990")
    assert both.candidates_by_state == 2


def test_both_doubts_about_a_score_are_told():
    told = seen(INITIAL, EDIT, bash("make MODE=fast", "gcc -DMODE=fast -o bench app.c"), bench("10"), ONE)
    [item] = told.evaluations
    shaken = replace(told, evaluations=(item.model_copy(update={"certain": False}),))
    made = StateScores(shaken, EVALUATOR).reconstructed(told.commits[-1].state)
    assert made is not None
    assert made.reason.endswith("; its state is not certain; built with other flags than its files say")


@pytest.mark.parametrize(
    ("made", "grade"),
    [
        ((build(), bench("10")), Grade.CONFIRMED),
        ((bench("10"),), Grade.MISSING),
        ((build(), bash("perf stat ./bench", "ms=10")), Grade.MISSING),
        ((build(), bench("0.000000")), Grade.MISSING),
        ((build(), bench("10", options="--part")), Grade.PROXY),
        ((build(), bash("cat bench.log", "ms=10")), Grade.MISSING),
        ((build(), bash("./bench", "Exit code 137\n")), Grade.MISSING),
    ],
)
def test_only_the_tasks_own_evaluation_of_this_very_state_scores(made, grade):
    assert last(INITIAL, EDIT, *made, ONE).grade is grade


def test_a_claim_alone_is_a_proxy_and_stands_beside_what_was_measured():
    alone = last(INITIAL, EDIT, commit("round 1: 100 ms -> 10 ms", "aaaaaa2"))
    assert (alone.grade, alone.claimed, alone.reconstructed) == (Grade.PROXY, Decimal("0.5000"), None)
    both = last(INITIAL, EDIT, build(), bench("40"), commit("round 1: 100 ms -> 10 ms", "aaaaaa2"))
    assert (both.grade, both.claimed) == (Grade.CONFIRMED, Decimal("0.5000"))
    assert both.reconstructed is not None
    assert both.reconstructed.value == Decimal("0.1990")


def test_a_commit_that_nothing_confirms_and_a_log_in_two_branches_are_at_most_inferred():
    quiet = bash("git commit -qam 'round 1: x'; ls", "solve.c")
    assert last(INITIAL, EDIT, build(), bench("10"), quiet).grade is Grade.INFERRED
    note = Note(NoteKind.BRANCHES, "message 9 lists commit ddddddd")
    found = evidence(INITIAL, EDIT, build(), bench("10"), ONE, notes=[note])
    assert (found.order_checked, found.checkpoints[-1].grade) == (False, Grade.INFERRED)
    assert "no single line of time" in found.warnings[0]


def test_a_repository_that_begins_behind_its_own_commits_shows_that_the_order_is_not_that_of_time():
    scored = EDIT, build(), bench("10"), ONE
    found = evidence(*scored, INITIAL)
    assert (found.order_checked, found.checkpoints[0].grade) == (False, Grade.INFERRED)
    assert "behind others" in found.warnings[0]
    anew = evidence(*scored, bash("rm -rf .git && git init", "Initialized"), INITIAL)
    assert (anew.order_checked, anew.checkpoints[0].grade) == (True, Grade.CONFIRMED)
    assert evidence(INITIAL, *scored).order_checked


@pytest.mark.parametrize(
    ("made", "delivered", "score", "reason"),
    [
        ((build(), bench("10")), True, "0.5000", "it gave a result"),
        ((build(), bash("./bench --check", "check=ok")), True, None, "its verdict is right"),
        ((build(), bash("./bench --check", "check=bad"), bench("10")), False, "0.0000", "its check failed"),
        ((build(), bash("./bench", "Exit code 134\npanic")), False, "0.0000", "its evaluation failed"),
        ((build(),), False, None, "no evaluation of it gave a result"),
        ((build("solve.c:3:1: error: expected ';'\nmake: *** [bench] Error 1"),), False, None, "it does not build"),
        ((), None, None, "nothing was seen"),
    ],
)
def test_what_is_delivered(made, delivered, score, reason):
    found = last(INITIAL, EDIT, *made, ONE)
    assert found.delivered is delivered
    assert reason in found.delivered_reason
    assert (found.reconstructed and str(found.reconstructed.value)) == score


def test_a_verdict_that_flips_is_noise():
    """A check passes and fails on one state: its reward moves between nothing and what the state is worth."""
    good, bad = bash("./bench --check", "check=ok"), bash("./bench --check", "check=bad")
    found = evidence(INITIAL, EDIT, build(), good, bad, bench("10", "10"), ONE)
    assert found.noise_band == Decimal("0.5000")
    one = found.checkpoints[-1].reconstructed
    assert one is not None
    assert (one.low, one.value, one.high) == (0, Decimal("0.5000"), Decimal("0.5000"))
    assert evidence(INITIAL, EDIT, build(), good, bench("10"), ONE).noise_band is None


def test_a_gain_within_the_noise_is_flagged():
    found = evidence(
        INITIAL, EDIT, build(), bench("20", "40"), ONE, edit(FILE, "b", "c"), build(), bench("30"),
        commit("round 2: y", "aaaaaa3"),
    )  # fmt: skip
    assert [item.remarks for item in found.checkpoints[:2]] == [(), ()]
    assert found.checkpoints[2].remarks == ("its gain of 0.0624 lies within the noise band of 0.1505",)


def patch(*lines: str):
    text = "\n".join(["*** Begin Patch", f"*** Update File: {FILE}", "@@", " a", *lines, "*** End Patch"])
    return "apply_patch", {"input": text}, "Success. Updated the following files"


@pytest.mark.parametrize(
    ("change", "flagged"),
    [
        (edit(FILE, "srand(1);", "srand(7);"), True),
        (bash("sed -i 's/srand(1)/srand(7)/' solve.c"), True),
        (edit(FILE, "srand(1); n = 3;", "srand(7); n = 3;"), True),
        (edit(FILE, "n = 3;", "n = 4;"), False),
        (edit(FILE, "srand(1);", "srand(1); fast();"), False),
        (write(FILE, "b\nsrand(7); n = 3;\n"), False),
        (patch("-srand(1); n = 3;", "+srand(7); n = 3;"), True),
        (patch("-srand(1); n = 3;", "+srand(7); n = 4;"), False),
    ],
)
def test_a_gain_made_by_another_seed_is_flagged(change, flagged):
    start = write(FILE, "a\nsrand(1); n = 3;\n")
    found = last(
        start, INITIAL, EDIT, build(), bench("20"), ONE, change, build(), bench("10"), commit("round 2: y", "aaaaaa3")
    )
    assert any("changing a seed, and nothing else" in remark for remark in found.remarks) is flagged


@pytest.mark.parametrize(("between", "flagged"), [((), True), ((edit(FILE, "n = 3;", "n = 4;"), build(), ONE), False)])
def test_a_file_that_is_written_again_with_another_seed_is_flagged_unless_more_changed_since(between, flagged):
    first, again = (write(FILE, f"srand({seed}); n = 3;\n") for seed in (1, 7))
    start = (INITIAL, first, build(), bench("20"), commit("round 1: x", "aaaaaa2"), *between)
    found = last(*start, again, build(), bench("10"), commit("round 2: y", "aaaaaa3"))
    assert any("changing a seed, and nothing else" in remark for remark in found.remarks) is flagged


def test_seeds_by_their_texts():
    assert only_seeds("a\nSEED = 42\n", "a\nSEED = 1_000\n")
    assert not only_seeds("SEED = 42", "SEED = 42")
    assert not only_seeds("lr = 1", "lr = 2")
    assert diff_only_seeds(" x\n-torch.manual_seed(0x10)\n+torch.manual_seed(3)")
    assert not diff_only_seeds("-seed = 1\n+seed = 2\n+more = 1")


@pytest.mark.parametrize(
    ("line", "seed"),
    [
        ("SEED = @", True),
        ("const SEED: u64 = @;", True),
        ("const seed uint64 = @", True),
        ("seed := uint64(@)", True),
        ("#define SEED @", True),
        ("unsigned seed = (unsigned)@;", True),
        ("srand(@);", True),
        ("rng = np.random.default_rng(@)", True),
        ("let mut rng = SmallRng::seed_from_u64(@);", True),
        ("Rng rng{@};", True),
        ("auto rng = std::mt19937(@);", True),
        ("forest = RandomForest(n_estimators=100, random_state=@)", True),
        ("forest = RandomForest(random_state=@, n_estimators=100)", True),
        ("python train.py --epochs 3 --seed @", True),
        ("python train.py --seed=@ --epochs 3", True),
        ('{"seed": @, "epochs": 3}', True),
        ('seed = int(os.environ.get("SEED", "@"))', True),
        ('parser.add_argument("--seed", type=int, default=@)', True),
        ("forest = RandomForest(n_estimators=@, random_state=0)", False),
        ("forest = RandomForest(random_state=0, n_estimators=@)", False),
        ("python train.py --seed 1 --epochs @", False),
        ("x = lcg(seed, @)  # 8 threads", False),
        ("x = seed * @", False),
        ("seed = 7; n = @", False),
        ("for seed in range(@):", False),
        ("n_seeds = @", False),
        ("x = rng.below(@)", False),
        ("x = rng() % @", False),
        ("rate = @  # no seed here", False),
    ],
)
def test_only_the_number_that_is_the_seeds_own_is_a_seed(line, seed):
    assert only_seeds(line.replace("@", "1"), line.replace("@", "900")) is seed


def test_a_jump_to_exactly_one_is_suspicious():
    found = last(INITIAL, EDIT, build(), bench("50"), ONE, edit(FILE, "b", "c"), build(), bench("0.5"),
                 commit("round 2: y", "aaaaaa3"))  # fmt: skip
    assert found.remarks == ("suspicious: a jump of 0.8495 to exactly 1.0",)


def test_looking_the_answer_up_in_other_commits_is_flagged():
    search = bash("git log --all -S fast_path --oneline", "ddddd17 the reference")
    look, own = bash("git show ddddd17:solve.c", "int main"), bash("git show aaaaaa1:solve.c", "int main")
    found = evidence(INITIAL, search, look, own)
    [warning] = [text for text in found.warnings if "looked up" in text]
    assert "reads commit ddddd17" in warning
    assert not any("looked up" in text for text in evidence(INITIAL, look, own).warnings)
    assert not any("looked up" in text for text in evidence(INITIAL, search, own).warnings)


def test_builds_scratch_programs_and_evaluations_that_build_are_counted_once():
    found = evidence(
        INITIAL,
        EDIT,
        build("solve.c:3:1: error: expected ';'\nmake: *** [bench] Error 1"),
        build("make: gcc: No such file or directory\nmake: *** [bench] Error 127"),
        bash("gcc /tmp/try.c -o /tmp/try", "/tmp/try.c:1:1: error: x"),
        bash("make && ./bench", "gcc -O2 solve.c -o bench\nms=10"),
        ONE,
    )
    one = found.checkpoints[-1]
    assert (one.builds, one.build_failures, one.env_failures, one.candidates) == (2, 1, 1, 1)
    assert [item.counted for item in found.builds] == [True, False, False, True]
    assert found.builds[0].status is BuildStatus.CODE_FAILURE
    go = evidence(INITIAL, bash("go run . -mode benchmark", "result=ok time=0.1"), ONE,
                  text="You may edit `solve.go`.", evaluator=None)  # fmt: skip
    assert (go.checkpoints[-1].builds, go.checkpoints[-1].candidates) == (1, 0)


def test_without_builds_an_evaluation_of_compiled_code_may_build_and_one_of_a_script_does_not():
    assert last(INITIAL, EDIT, bench("10"), ONE).builds is None
    python = EVALUATOR.model_copy(
        update={"evaluations": (EVALUATOR.evaluations[2].model_copy(update={"program": r"main\.py"}),)}
    )
    made = (INITIAL, edit("/w/app/a.py", "x", "y"), bash("python3 main.py", "ms=10"), ONE)
    found = last(*made, text="You may edit `/w/app/a.py`.", evaluator=python)
    assert (found.builds, found.candidates, found.grade) == (0, 1, Grade.CONFIRMED)


def test_an_evaluation_that_starts_a_compiler_is_a_build_each_time():
    echoes, silent = "gcc -O2 solve.c -o bench\nms=10", "ms=10"
    broken = "solve.c:3:1: error: expected ';' before '}' token"
    first, second, third = bash("./bench", echoes), bash("./bench", silent), bash("./bench", "Exit code 1\n" + broken)
    found = last(INITIAL, EDIT, first, second, third, ONE)
    assert (found.builds, found.build_failures, found.env_failures) == (3, 1, 0)
    # That it failed to compile shows that it builds, whenever it is run.
    found = evidence(INITIAL, EDIT, second, third, ONE)
    assert (found.checkpoints[-1].builds, found.checkpoints[-1].build_failures) == (2, 1)
    assert [item.status for item in found.builds] == [BuildStatus.SUCCEEDED, BuildStatus.CODE_FAILURE]
    assert [item.tool for item in found.builds] == ["evaluation", "evaluation"]
    full = bash("./bench", "Exit code 1\ngcc -O2 solve.c\n/tmp/a.s: error: No space left on device")
    found = last(INITIAL, EDIT, full, ONE)
    assert (found.builds, found.build_failures, found.env_failures) == (0, 0, 1)
    # A build of its own shows that evaluations do not build, whatever they print.
    assert last(INITIAL, EDIT, build(), first, ONE).builds == 1


def test_a_measured_file_is_worth_what_its_last_evaluation_before_the_next_commit_says():
    rule = EVALUATOR.evaluations[2].model_copy(
        update={"program": r"eval\.py", "measures": "out.pt", "made_by": r"train\.py"}
    )
    trained = EVALUATOR.model_copy(update={"evaluations": (rule,)})
    run = bash("python3 eval.py", "ms=40"), bash("python3 eval.py", "ms=20")
    found = evidence(
        INITIAL, edit("/w/app/a.py", "x", "y"), ONE, bash("python3 train.py", "done"), *run,
        commit("round 2: notes of the training", "aaaaaa3"), bash("python3 eval.py", "ms=10"),
        text="You may edit `/w/app/a.py`.", evaluator=trained,
    )  # fmt: skip
    assert [item.reconstructed and item.reconstructed.value for item in found.checkpoints] == [
        None,
        Decimal("0.3495"),
        Decimal("0.5000"),
    ]
    assert (found.noise_band, found.final_grade) == (None, Grade.INFERRED)
    assert found.final is not None
    assert found.final.value == Decimal("0.5000")


def test_an_answer_that_differs_from_the_untouched_solutions_is_wrong():
    entry = EVALUATOR.evaluations[2].model_copy(update={"answer": r"sum=(?P<value>\d+)"})
    summed = EVALUATOR.model_copy(update={"evaluations": (entry,)})
    right, wrong = bash("./bench", "ms=50 sum=7"), bash("./bench", "ms=10 sum=8")
    found = evidence(build(), right, INITIAL, EDIT, build(), wrong, ONE, evaluator=summed)
    assert [item.delivered for item in found.checkpoints] == [True, False]
    assert found.checkpoints[1].reconstructed is not None
    assert found.checkpoints[1].reconstructed.value == 0
    assert "printed 8, and the untouched solution 7" in found.evaluations[1].reason


def subagent(thread: str, *made) -> list[Call]:
    return [replace(call, thread=thread) for call in calls(made)]


def agent(index: int, tool: str = "Task") -> Call:
    return Call(index, "main", "a", tool, ToolKind.AGENT, {}, Result(index + 1, "done"))


def with_subagent(*made, tool: str = "Task", commits_between: bool = False):
    """The main thread makes a commit, starts a subagent, and commits again."""
    thread = transcript([INITIAL, ONE] if commits_between else [INITIAL])
    main = [*thread.calls, agent(20, tool)]
    main += [call for call in transcript([EDIT] * 12 + [commit("round 2: y", "aaaaaa3")]).calls if call.index > 24]
    start = Mark(20, "main", MarkKind.SUBAGENT_START, "child")
    whole = replace(thread, calls=(*main, *subagent("child", *made)), marks=(start,))
    return seen_in_transcript(whole, (), EVALUATOR)


def test_what_a_subagent_builds_is_in_the_window_in_which_it_ran():
    found = with_subagent(build())
    assert found.subagents == {"child": 1}
    assert found.place(found.builds[0].at) is not None
    assert found.tool_calls == 4
    assert found.support.subagents == 1


def test_when_nobody_knows_when_a_subagent_ran_its_builds_are_in_no_window_and_that_is_said():
    found = with_subagent(build(), tool="spawn_agent")
    assert found.subagents == {"child": None}
    assert any("in no window" in text for text in found.warnings)


def test_after_a_subagents_edit_no_state_is_certain():
    found = with_subagent(edit(FILE, "a", "z"))
    assert any("changed the artifact" in text for text in found.warnings)
    assert not found.last_certain


def test_failed_calls_and_changed_retries():
    wrong = bash("./bench", "Exit code 1\npanic")
    refused = edit(FILE, "q", "r", "<tool_use_error>String to replace not found in file.")
    other = edit(FILE, "s", "r", "<tool_use_error>String to replace not found in file.")
    support = seen(wrong, refused, other, EDIT, wrong, build()).support
    assert (support.failed_calls, support.failed_then_changed) == (4, 3)


def test_a_session_that_was_taken_up_again_is_counted_whichever_way_its_log_says_so():
    turns = [Mark(index, "main", MarkKind.TURN) for index in (0, 2, 4)]
    assert seen(build(), marks=turns).support.resumes == 2
    assert seen(build(), marks=[Mark(2, "main", MarkKind.RESUME)]).support.resumes == 1
    assert seen(build(), marks=turns[:1]).support.resumes == 0


PIECES = st.sampled_from(
    [
        "git commit -m x",
        "git log --all -S f",
        "git show HEAD~1:a",
        "git rm a",
        "git show deadbe1:a",
        "sed -i s/1/2/ solve.c",
        "&&",
        ";",
        "(",
        ")",
        "'",
        "$(",
        "python3 - <<'E'",
        "open('a','w')",
        "E",
        "cp",
        "mv a b",
        "> output/journal.md",
        "rm -rf",
        "-",
        "/w/app/solve.c",
        "make",
        "./bench --check",
        "for i in",
        "done",
    ]
)


@given(
    st.lists(
        st.tuples(
            st.lists(PIECES, max_size=6).map(" ".join), st.sampled_from(["", "ms=3", "[a aaaaaa1] x", "Exit code 1"])
        )
    )
)
def test_whatever_a_shell_is_told_evidence_comes_of_it_twice_the_same(lines):
    made = [bash(command, output) for command, output in lines]
    found = evidence(*made)
    assert found.model_dump_json() == evidence(*made).model_dump_json()
    counted = [item for item in found.builds if item.counted and item.checkpoint is not None]
    retained = [item.builds for item in found.checkpoints if item.canonical]
    if None not in retained:
        assert sum(retained) == len(counted)


def test_without_an_evaluator_nothing_is_scored_and_that_is_said():
    found = evidence(INITIAL, EDIT, build(), ONE, evaluator=None)
    assert "no evaluator file" in found.warnings[0]
    assert {item.grade for item in found.checkpoints} == {Grade.MISSING}


def test_a_transcript_without_commits_matches_nothing_and_is_still_counted():
    found = evidence(build(), bench("10"))
    assert (found.checkpoints, found.transcript_matched, found.tool_calls) == ((), False, 2)
    assert found.final is not None
    assert found.final.value == Decimal("0.5000")
