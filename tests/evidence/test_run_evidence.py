"""Evidence of whole runs on disk: whose commits count, where the two witnesses differ, and what is looked at twice."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import orjson
import pytest
import yaml
from git_work import Work
from made_calls import edit
from made_logs import PUBLIC
from made_study import MadeStudy, verification
from made_transcript import EVALUATOR, FILE, bench, build, commit, transcript

from loopscope.evidence import build as building
from loopscope.evidence.build import run_evidence
from loopscope.models import EvidenceSource, Grade, RunStatus, StateScore, VerificationStatus
from loopscope.models.evaluator import Evaluator
from loopscope.models.run import Imported
from loopscope.models.seal import document
from loopscope.records import write_model
from loopscope.records.history import read_history
from loopscope.records.repository import Repository
from loopscope.records.salvage import salvage
from loopscope.transcripts import formats, serial

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
MESSAGES = ["initial state", "round 1: change=x hypothesis=y", "Round 2:  change=z hypothesis=w"]


@pytest.fixture
def made(tmp_path):
    return MadeStudy(tmp_path / "study", ["a"], {"t": "toy"}, 1)


def evidence(made, run_id, **more):
    run = made.store.run(run_id)
    found = run_evidence(run, made.store.task("t").facts, **more)
    run.write_evidence(found)
    return found


def tell(made, run_id, *commands):
    """Give a run a transcript of shell commands, as (command, output), in ATIF."""
    steps = [{"step_id": 1, "source": "user", "message": "You may edit `a.py`."}]
    for number, (command, output) in enumerate(commands, 2):
        call = {"tool_call_id": f"c{number}", "function_name": "Bash", "arguments": {"command": command}}
        seen = {"results": [{"source_call_id": f"c{number}", "content": output}]}
        steps.append({"step_id": number, "source": "agent", "message": "", "tool_calls": [call], "observation": seen})
    document = {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {"name": "x", "version": "1"},
        "steps": steps,
    }
    made.store.run(run_id).transcript.write_bytes(orjson.dumps(document))


def commits_of(made, run_id):
    return [commit.sha for commit in made.store.run(run_id).record.commits]


def say(sha, message):
    return f"git commit -qam '{message}'; git log -1 --oneline", f"{sha[:7]} {message}"


def test_commits_come_from_the_repository_and_the_shell_adds_what_led_to_them(made):
    run_id = made.add("t", "a", 1, ["0.1", "0.2", "0.3"], "0.3", messages=MESSAGES)
    first, _, third = commits_of(made, run_id)
    tell(
        made, run_id,
        say(first, "initial state"),
        ("make", "make: *** [a] Error 1"),
        ("make", "gcc -c a.c"),
        ("git commit -qam 'round 1: change=x hypothesis=y'", ""),
        ("make", "gcc -c a.c"),
        say(third, "round 2: change=z hypothesis=w"),
        ("make", "gcc -c a.c"),
    )  # fmt: skip
    found = evidence(made, run_id)
    assert [item.sha for item in found.checkpoints] == commits_of(made, run_id)
    assert {item.source for item in found.checkpoints} == {EvidenceSource.BOTH}
    assert {item.grade for item in found.checkpoints} == {Grade.OFFICIAL}
    assert [(item.builds, item.build_failures) for item in found.checkpoints] == [(0, 0), (2, 1), (1, 0)]
    assert [item.checkpoint for item in found.builds] == [1, 1, 2, None]
    assert [item.at and item.at.message for item in found.checkpoints] == [1, 4, 6]
    assert (found.transcript_matched, found.order_checked, found.disagreements) == (True, True, ())
    assert found.final_grade is Grade.OFFICIAL


def test_the_harnesss_own_log_comes_before_what_was_made_of_it_and_one_that_cannot_be_read_is_passed_over(made):
    run_id = made.add("t", "a", 1, ["0.1"], "0.1", messages=["round 1: change=x1 hypothesis=y1"])
    run = made.store.run(run_id)
    tell(made, run_id, ("make", "gcc -c a.c"))
    (run.path / "native").mkdir()
    (run.path / "native" / "notes.txt").write_text("no log")
    assert evidence(made, run_id).tool_calls == 1
    assert not any("not read" in text for text in evidence(made, run_id).warnings)
    shutil.rmtree(run.path / "native")
    shutil.copytree(LOGS / "claude", run.path / "native")
    found = evidence(made, run_id)
    assert found.tool_calls is not None
    assert found.tool_calls > 5
    assert found.support is not None
    assert (found.support.subagents, found.support.compactions) == (1, 1)


def test_where_repository_and_transcript_differ_is_told(made):
    run_id = made.add("t", "a", 1, ["0.1", "0.2", "0.3"], "0.3", messages=MESSAGES)
    first, second, third = commits_of(made, run_id)
    tell(
        made, run_id,
        say(first, "initial state"),
        say(third, MESSAGES[2]),
        say(second, MESSAGES[1]),
        say("abcdef1", "round 9: gone"),
    )  # fmt: skip
    found = evidence(made, run_id)
    assert [item.source is EvidenceSource.BOTH for item in found.checkpoints] == [True, True, False]
    assert found.checkpoints[2].builds is None
    assert found.disagreements == (
        f"message 2 makes commit {third[:7]}, which the repository has at another place in the order",
        "message 4 makes commit abcdef1, which the repository does not hold",
        f"the repository holds commit {third[:8]}, which the transcript does not show",
    )


def test_an_exception_and_no_reward_file_is_missing_and_not_nothing(made):
    run_id = made.add("t", "a", 1, ["0.1", None, "unverified"], None, messages=MESSAGES)
    found = evidence(made, run_id)
    assert [item.grade for item in found.checkpoints] == [Grade.OFFICIAL, Grade.MISSING, Grade.MISSING]
    assert [item.delivered for item in found.checkpoints] == [True, False, None]
    assert found.checkpoints[1].delivered_reason == "the verifier ended without a result (no_reward)"
    assert found.checkpoints[2].delivered_reason == "it was not verified"
    assert (found.final, found.final_grade) == (None, Grade.MISSING)
    assert found.checkpoints[1].reconstructed is None


def test_verdicts_that_flip_between_identical_verifications_are_noise(made):
    run_id = made.add("t", "a", 1, ["0.1", "0.4"], "0.4")
    run = made.store.run(run_id)
    state = run.record.commits[1].state
    flips = (verification("0.4"), verification("0", metrics={"correctness": Decimal(0)}), verification("0.4"))
    run.write_score(StateScore(state=state, run_id=run_id, verifier_hash="v", verifications=flips))
    found = evidence(made, run_id)
    assert found.noise_band == Decimal("0.4")
    assert found.checkpoints[1].remarks == ("its gain of 0.3000 lies within the noise band of 0.4000",)


def test_a_gain_made_by_a_seed_in_the_repository_is_flagged(tmp_path, made):
    run_id = made.add("t", "a", 1, [], "0.5")
    run = made.store.run(run_id)
    work = Work(tmp_path / "app")
    work.git("init", "-q", "-b", "main")
    for text, message in (
        ("seed = 1\nn = 2\n", "initial"),
        ("seed = 99\nn = 2\n", "round 1"),
        ("seed = 3\nn = 4\n", "round 2"),
    ):
        work.write("a.py", text)
        work.commit(message)
    salvage(work.tar(tmp_path / "w.tar"), run.path / "repository")
    commits = read_history(Repository(run.path / "repository")).commits
    write_model(run.path / "record.json", run.record.model_copy(update={"commits": commits}))
    del run.__dict__["record"]
    for commit_, score in zip(commits, ("0.1", "0.2", "0.6"), strict=True):
        run.write_score(
            StateScore(state=commit_.state, run_id=run_id, verifier_hash="v", verifications=(verification(score),))
        )
    found = evidence(made, run_id)
    assert [item.remarks for item in found.checkpoints] == [
        (),
        ("its gain of 0.1000 was made by changing a seed, and nothing else",),
        (),
    ]


def imported(made, log, seed=1, **about):
    """A run of the study as `loopscope import` makes it."""
    packed = serial.pack(log)
    run_id = made.add("t", "a", seed, [], None, initial="")
    run = made.store.run(run_id)
    origin = Imported(format="page", log="x.json", digest=packed.digest)
    record = run.record.model_copy(
        update={"imported": origin, "task_hash": None, "status": RunStatus.UNKNOWN, "task": "fast", **about}
    )
    (run.path / "scores" / "final.json").unlink()
    write_model(run.path / "record.json", record)
    run.canonical.write_bytes(packed.data)
    return made.store.run(run_id)


def own_file(folder: Path, evaluator: Evaluator = EVALUATOR) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "fast.yaml").write_text(yaml.safe_dump(orjson.loads(evaluator.model_dump_json())))
    return folder


LOG = (
    commit("initial state", "aaaaaa1", root=True),
    edit(FILE, "a", "b"),
    build(),
    bench("10"),
    commit("round 1: x", "aaaaaa2"),
)


def test_an_imported_run_is_read_from_its_canonical_transcript_and_only_once(made, tmp_path, monkeypatch):
    run = imported(made, transcript(LOG))
    files, facts = own_file(tmp_path / "evaluators"), EVALUATOR.facts
    found = run_evidence(run, facts, evaluators=files)
    assert [item.sha for item in found.checkpoints] == ["aaaaaa1", "aaaaaa2"]
    assert {item.source for item in found.checkpoints} == {EvidenceSource.TRANSCRIPT}
    assert found.checkpoints[1].grade is Grade.CONFIRMED
    assert document(found) == document(run_evidence(run, facts, evaluators=files))
    run.write_evidence(found)
    looked = []
    real = building.run_log
    monkeypatch.setattr(building, "run_log", lambda *given: looked.append(1) or real(*given))
    assert run_evidence(run, facts, evaluators=files) == found
    assert looked == []
    # Another formula, another record, other facts: each is looked at anew.
    assert EVALUATOR.reward is not None
    dearer = EVALUATOR.model_copy(update={"reward": EVALUATOR.reward.model_copy(update={"factor": Decimal("0.4")})})
    changed = run_evidence(run, facts, evaluators=own_file(tmp_path / "evaluators", dearer))
    assert changed.checkpoints[1].reconstructed is not None
    assert (changed.checkpoints[1].reconstructed.value, len(looked)) == (Decimal("0.4000"), 1)
    own_file(tmp_path / "evaluators")
    run_evidence(run, facts.model_copy(update={"editable": ("b.c",)}), evaluators=files)
    run.canonical.write_bytes(serial.pack(transcript(LOG[:3])).data)
    run_evidence(run, facts, evaluators=files)
    assert len(looked) == 3
    (run.path / "evidence.json").write_bytes(b"torn")
    run_evidence(run, facts, evaluators=files)
    assert len(looked) == 4


def test_an_evaluator_names_the_files_of_a_solution_where_the_instruction_does_not(made, tmp_path):
    run = imported(made, transcript(LOG, text="Make it fast."))
    facts = EVALUATOR.facts
    blind = run_evidence(run, facts, evaluators=own_file(tmp_path / "evaluators"))
    assert any("`editable:`" in text for text in blind.warnings)
    assert blind.final is None
    named = own_file(tmp_path / "evaluators", EVALUATOR.model_copy(update={"editable": ("solve.c",)}))
    assert run_evidence(run, facts, evaluators=named).checkpoints[1].grade is Grade.CONFIRMED


def test_a_torn_transcript_is_said_so_and_nothing_is_guessed(made):
    run = imported(made, transcript(LOG))
    run.canonical.write_bytes(run.canonical.read_bytes()[:50])
    found = run_evidence(run, EVALUATOR.facts)
    assert (found.checkpoints, found.tool_calls, found.final_grade) == ((), None, Grade.MISSING)
    assert found.final_reason == "no transcript tells what became of its last state"
    assert "transcript not read" in found.warnings[0]


def test_a_verifier_that_gave_nothing_is_not_overruled_by_what_the_agent_measured(made, tmp_path):
    made.add("t", "a", 1, ["0.1", None], None, messages=MESSAGES[:2])
    run = made.store.run("t__a__s1")
    first, second = commits_of(made, "t__a__s1")
    tell(
        made,
        "t__a__s1",
        say(first, MESSAGES[0]),
        ("sed -i s/1/2/ a.py", ""),
        ("./bench", "ms=10"),
        say(second, MESSAGES[1]),
    )
    facts = made.store.task("t").facts.model_copy(update={"name": "fast"})
    script = EVALUATOR.model_copy(update={"evaluations": (EVALUATOR.evaluations[2],)})
    found = run_evidence(run, facts, evaluators=own_file(tmp_path / "e", script))
    assert found.checkpoints[1].grade is Grade.MISSING
    assert found.checkpoints[1].delivered is False
    verdict = run.scores()[run.record.commits[1].state].verifications[0]
    assert verdict.status is VerificationStatus.NO_REWARD


def measuring(made, tmp_path, final, *commands):
    """A run of our own of three commits that no verifier scored, whose task measures the file that a training makes."""
    run_id = made.add("t", "a", 1, ["unverified"] * 3, final, messages=MESSAGES)
    first, second, third = commits_of(made, run_id)
    tell(
        made, run_id,
        say(first, MESSAGES[0]),
        ("sed -i s/1/2/ a.py", ""),
        say(second, MESSAGES[1]),
        *commands,
        say(third, MESSAGES[2]),
        ("python3 eval.py", "ms=10"),
    )  # fmt: skip
    rule = EVALUATOR.evaluations[2].model_copy(
        update={"program": r"eval\.py", "measures": "out.pt", "made_by": r"train\.py"}
    )
    own = own_file(tmp_path / "e", EVALUATOR.model_copy(update={"evaluations": (rule,)}))
    facts = made.store.task("t").facts.model_copy(update={"name": "fast"})
    return run_evidence(made.store.run(run_id), facts, evaluators=own)


def test_beside_a_commit_stands_what_its_measured_file_was_worth_by_the_next_one(made, tmp_path):
    run = ("python3 train.py", "done"), ("python3 eval.py", "ms=40"), ("python3 eval.py", "ms=20")
    found = measuring(made, tmp_path, None, *run)
    assert [item.reconstructed and item.reconstructed.value for item in found.checkpoints] == [
        None, Decimal("0.3495"), Decimal("0.5000"),
    ]  # fmt: skip
    assert found.final is not None
    assert found.final_reason == ""


def test_of_a_run_of_our_own_too_it_is_told_why_there_is_no_final_score(made, tmp_path):
    run_id = made.add("t", "a", 1, ["0.1", "unverified"], None, messages=MESSAGES[:2])
    first, second = commits_of(made, run_id)
    facts = made.store.task("t").facts.model_copy(update={"name": "fast"})
    files = own_file(tmp_path / "e", EVALUATOR.model_copy(update={"evaluations": (EVALUATOR.evaluations[2],)}))

    def reason():
        return run_evidence(made.store.run(run_id), facts, evaluators=files).final_reason

    assert reason() == "no transcript tells what became of its last state"
    tell(made, run_id, say(first, MESSAGES[0]), ("sed -i s/1/2/ a.py", ""), say(second, MESSAGES[1]))
    assert reason() == (
        f"its artifact was last changed in message 2, was committed ({second[:7]}), and was not evaluated; the "
        "transcript gives no commit a score"
    )
    tell(made, run_id, say(first, MESSAGES[0]), ("./bench", "ms=10"), ("sed -i s/1/2/ a.py", ""))
    assert f"the last commit with a score, {first[:7]} (message 1), is worth 0.5000" in reason()
    # A verifier scored this one.
    verified = made.add("t", "a", 2, ["0.1"], "0.1", messages=MESSAGES[:1])
    assert run_evidence(made.store.run(verified), facts, evaluators=files).final_reason == ""


@pytest.mark.slow
@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public transcripts are not at hand")
def test_the_public_transcripts_twice_to_the_same_bytes(made):
    """Facts that the protocol of these runs fixes: a clean start where it was committed, scores that are rewards."""
    scored = total = 0
    for seed, path in enumerate(sorted(PUBLIC.glob("*.json")), 1):
        [log] = formats.read(path)
        run = imported(made, log, seed, task=log.source.task)
        facts = made.store.task("t").facts.model_copy(update={"name": log.source.task, "editable": ()})
        found = run_evidence(run, facts)
        if seed % 5 == 0:
            assert document(found) == document(run_evidence(run, facts))
        kept = [item for item in found.checkpoints if item.canonical]
        assert kept
        assert sum(item.initial for item in found.checkpoints) <= 1
        values = [item.reconstructed.value for item in kept if item.reconstructed]
        assert all(0 <= value <= 1 for value in values)
        assert found.builds or "bm25" not in path.name
        scored, total = scored + len(values), total + len(kept)
    assert total > 250
    assert scored / total > 0.85
