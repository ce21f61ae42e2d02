"""Where a study stands, as its directory tells it: states, reasons, scores, and what another run would do."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import study_v1
from finished_run import NOON, failure, finish, finish_all
from toy_study import write_task

from loopscope.engine.events import silent
from loopscope.engine.inflight import IN_FLIGHT, InFlight, read_in_flight
from loopscope.engine.kinds import EndingKind
from loopscope.engine.plan import Plan, plan_study
from loopscope.engine.scoring import Scorer
from loopscope.engine.status import StudyStatus, UnitState, UnitStatus, study_status
from loopscope.models import Commit, CommitOrigin, Part, RunStatus, StateScore, Verification, VerificationStatus
from loopscope.records import RecordError, StudyError, StudyStore, write_model
from loopscope.records.manifest import removal

GOOD = "name: s\ntasks: [./toy]\nagents: [nop, oracle]\nseeds: 2\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_task(tmp_path / "toy")
    return tmp_path


def plan(root: Path, text: str = GOOD, **more: object) -> Plan:
    (root / "s.yaml").write_text(text)
    return plan_study(root / "s.yaml", root / "s", **more)


def by_id(found: StudyStatus) -> dict[str, UnitStatus]:
    return {unit.run_id: unit for unit in found.units}


def counts(found: StudyStatus) -> dict[str, int]:
    return {state.value: count for state, count in found.counts.items() if count}


@pytest.mark.parametrize(
    "tear",
    [
        lambda run: (run / "record.json").unlink(),
        lambda run: (run / "record.json").write_bytes(b""),
        lambda run: os.truncate(run / "record.json", 100),
        lambda run: (run / "record.json").write_bytes(bytes(4096)),
        lambda run: ((run / "record.json").unlink(), (run / "record.json").mkdir()),
        lambda run: ((run / "record.json").unlink(), (run / "record.json").symlink_to("/dev/zero")),
        lambda run: ((run / "record.json").unlink(), os.mkfifo(run / "record.json")),
        lambda run: (shutil.rmtree(run), run.write_text("a file")),
        lambda run: (shutil.rmtree(run), run.symlink_to("/nonexistent")),
    ],
)
def test_a_torn_run_is_named_and_the_others_are_shown(root, tear):
    made = plan(root)
    finish_all(made)
    tear(root / "s/runs/toy__nop__s1")
    found = study_status(root / "s")
    others = {unit.state for run_id, unit in by_id(found).items() if run_id != "toy__nop__s1"}
    assert others == {UnitState.DONE} and len(found.units) == 4
    torn = by_id(found)["toy__nop__s1"]
    assert torn.state in (UnitState.INVALID, UnitState.WAITING)
    assert torn.state is UnitState.WAITING or (torn.reason and torn.next)


def test_every_state_has_its_reason_and_its_next_step(root):
    made = plan(root, GOOD.replace("seeds: 2", "seeds: 4"))
    runs = {run.run_id: run for run in made.runs}
    finish(made, runs["toy__nop__s1"])
    finish(made, runs["toy__nop__s2"], RunStatus.AGENT_ERROR, problems=[failure("ValueError", "agent", "it raised")])
    no_tool = [failure("MissingTools", "environment", "lacks ghc")]
    finish(made, runs["toy__nop__s3"], RunStatus.ENVIRONMENT_ERROR, problems=no_tool)
    broken = [failure("SandboxError", "environment", "no start")]
    finish(made, runs["toy__nop__s4"], RunStatus.ENVIRONMENT_ERROR, problems=broken, tries=5)
    record = finish(made, runs["toy__oracle__s1"]).path / "record.json"
    record.write_text(record.read_text().replace('"agent_sec": 5.0', '"agent_sec": 1.0'))
    newer = finish(made, runs["toy__oracle__s2"]).path / "record.json"
    newer.write_text(re.sub('"schema_version": .', '"schema_version": 99', newer.read_text()))
    found = study_status(root / "s")
    units = by_id(found)
    assert counts(found) == {"done": 1, "failed": 2, "invalid": 3, "waiting": 2}
    assert units["toy__nop__s1"].ending is EndingKind.COMPLETED
    assert (units["toy__nop__s2"].reason, units["toy__nop__s2"].next) == ("it raised", "a result: not tried again")
    assert (units["toy__nop__s3"].ending, units["toy__nop__s3"].next) == (EndingKind.TOOL_MISSING, "run tries it again")
    assert units["toy__nop__s4"].state is UnitState.INVALID
    assert units["toy__nop__s4"].next == "`run --again toy__nop__s4`"
    assert "changed after loopscope wrote it" in units["toy__oracle__s1"].reason
    assert "written by a newer loopscope" in units["toy__oracle__s2"].reason
    assert units["toy__oracle__s2"].ending is EndingKind.RECORD_BROKEN
    assert (found.next.rollouts, found.next.again) == (3, 1)
    assert found.next.rollouts == len(made.unfinished())
    assert found.has_failed


def test_a_changed_task_is_what_the_next_run_refuses(root):
    plan(root)
    assert study_status(root / "s").next.refused == ()
    text = (root / "s/tasks/toy/instruction.md").read_text()
    (root / "s/tasks/toy/instruction.md").write_text(text + "more\n")
    found = study_status(root / "s")
    assert found.has_failed
    assert found.next.refused[0].startswith("tasks/toy: was changed")
    with pytest.raises(StudyError):
        plan(root)
    (root / "s/tasks/toy/instruction.md").write_text(text)
    record = root / "s/tasks/toy.json"
    record.write_text(record.read_text().replace("toy", "tay", 1))
    assert study_status(root / "s").next.refused[0].startswith("tasks/toy.json: ")
    with pytest.raises(StudyError):
        plan(root)


def test_a_study_without_failures_has_none_although_it_waits(root):
    plan(root)
    found = study_status(root / "s")
    assert counts(found) == {"waiting": 4}
    assert not found.has_failed
    with pytest.raises(RecordError, match="no study here"):
        study_status(root / "nowhere")


def test_a_deleted_run_directory_waits_and_retired_units_are_listed(root):
    finish_all(plan(root))
    plan(root, GOOD.replace("[nop, oracle]", "[nop]"), retire=True)
    assert counts(study_status(root / "s")) == {"done": 2, "retired": 2}
    (root / "s/runs/toy__nop__s1/record.json").unlink()
    assert by_id(study_status(root / "s"))["toy__nop__s1"].state is UnitState.WAITING


def test_a_directory_that_the_study_does_not_name_is_told_apart(root):
    plan(root)
    (root / "s/runs/left_over").mkdir()
    assert by_id(study_status(root / "s"))["left_over"].next == "restore or remove it"


HOLD = """
import sys, time, pathlib
from loopscope.engine.inflight import InFlight
from loopscope.records import StudyStore
store = StudyStore(pathlib.Path(sys.argv[1]))
with store.hold(), InFlight(store.path) as flight, flight.unit("toy__nop__s1"):
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_what_runs_is_told_while_its_engine_lives_and_no_longer(root):
    plan(root)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root / "s")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    found = study_status(root / "s")
    assert counts(found) == {"running": 1, "waiting": 3}
    assert found.holder is not None
    assert (found.holder.pid, found.holder.doing, found.held) == (process.pid, "rollouts", True)
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert (root / "s" / IN_FLIGHT).exists(), "a killed engine leaves its file"
    found = study_status(root / "s")
    assert counts(found) == {"waiting": 4}
    assert (found.holder, found.held) == (None, False)


def test_a_holder_that_says_nothing_is_still_one(root):
    plan(root)
    store = StudyStore(root / "s")
    with store.hold():
        assert (read_in_flight(store), study_status(root / "s").held) == (None, True)
        (root / "s" / IN_FLIGHT).write_text("{")
        assert read_in_flight(store) is None
        with InFlight(store.path) as flight:
            flight.scores()
            assert read_in_flight(store).doing == "scores"
    assert not (root / "s" / IN_FLIGHT).exists()


def test_looking_never_keeps_an_engine_from_starting(root, monkeypatch):
    plan(root)
    store = StudyStore(root / "s")
    with store.hold():
        pass
    looking = os.open(root / "s/.lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        if not pauses:
            os.close(looking)
        pauses.append(seconds)

    monkeypatch.setattr("loopscope.records.store.time.sleep", pause)
    with store.hold():
        assert len(pauses) == 1
        with pytest.raises(StudyError, match="another loopscope is running this study"), StudyStore(root / "s").hold():
            pass


def commits(*states: str) -> tuple[Commit, ...]:
    return tuple(
        Commit(sha=s, tree=s, scored_tree=s, parents=(), message="m", origin=CommitOrigin.HEAD) for s in states
    )


def verified(status: VerificationStatus, limit: float = 20.0) -> Verification:
    reward = 1 if status is VerificationStatus.OK else None
    return Verification(status=status, reward=reward, started_at=NOON, duration_sec=1, verifier_timeout_sec=limit)


def test_scores_are_counted_as_the_engine_would_do_them(root):
    made = plan(root, GOOD + "scoring: {repeats: 2}\n")
    run = finish(made, made.runs[0], commits=commits("a", "b", "c", "d", "e", "a"))
    (run.path / "workspace.tar.zst").write_bytes(b"")
    verifier = made.runs[0].task.verifier_hash
    ok, timeout, error = VerificationStatus.OK, VerificationStatus.TIMEOUT, VerificationStatus.ERROR
    given = {
        "a": [verified(ok), verified(ok)],
        "b": [verified(ok)],
        "c": [verified(timeout)],
        "d": [verified(timeout, 1.0)],
        "final": [verified(error)],
    }
    for state, verifications in given.items():
        run.write_score(StateScore(state=state, run_id="r", verifier_hash=verifier, verifications=tuple(verifications)))
    found = study_status(root / "s")
    assert (found.states, found.scored) == (6, 2)
    assert found.unscored == {"error": 1, "missing": 1, "timeout": 2}
    assert found.next.states == 4, "b lacks one, d had a shorter deadline, e has none, final failed"
    path = run.path / "scores/a.json"
    path.write_bytes(path.read_bytes().replace(b'"duration_sec": 1.0', b'"duration_sec": 2.0', 1))
    assert study_status(root / "s").unscored["missing"] == 2, "a score whose seal does not fit is verified again"
    fewer = plan(root, GOOD + "scoring: {repeats: 2, max_checkpoints: 4}\n")
    assert fewer.changes == ()
    assert study_status(root / "s").states == 5


def test_a_changed_study_file_is_said_and_the_lock_counts(root):
    finish_all(plan(root))
    (root / "s/study.yaml").write_text(GOOD.replace("seeds: 2", "seeds: 9"))
    found = study_status(root / "s")
    assert counts(found) == {"done": 4}
    assert "changed since the last" in found.warnings[0]


def test_a_study_of_the_first_version_and_one_without_a_lock(tmp_path):
    first = study_v1.unpack(tmp_path)
    found = study_status(first)
    assert counts(found) == {"done": 6, "failed": 10}
    assert (found.states, found.scored, found.next.again) == (20, 20, 8)
    (first / "study.lock.json").unlink()
    assert counts(study_status(first)) == {"done": 6, "failed": 10}


def test_what_was_removed_to_make_room_is_not_missing(root):
    made = plan(root)
    run = finish(made, made.runs[0], commits=commits("a"))
    score = StateScore(
        state="final",
        run_id="r",
        verifier_hash=made.runs[0].task.verifier_hash,
        verifications=(verified(VerificationStatus.OK),),
    )
    run.write_score(score)
    found = study_status(root / "s")
    assert (found.states, found.scored, found.next.states) == (2, 1, 0), "without its workspace nothing can be verified"
    assert found.unscored == {"workspace_removed": 1}


def test_a_score_lost_after_its_workspace_was_removed_counts_the_same_everywhere(root):
    made = plan(root)
    runs = [finish(made, run, commits=commits("a")) for run in made.runs[:2]]
    for run in runs:
        write_model(run.path / "removed.json", removal(frozenset({Part.WORKSPACE})))
        for state in ("a", "final"):
            done = (verified(VerificationStatus.OK),)
            run.write_score(StateScore(state=state, run_id="r", verifier_hash=made.runs[0].task.verifier_hash, verifications=done))  # fmt: skip
    assert study_status(root / "s").scored == 4
    (runs[0].path / "scores/final.json").unlink()
    found = study_status(root / "s")
    assert (found.states, found.scored, found.unscored) == (4, 3, {"workspace_removed": 1})
    assert "its workspace was removed" in by_id(found)[runs[0].run_id].next
    tally = asyncio.run(Scorer(made.store, made.spec, silent).score_all())
    assert (tally.states, tally.unscored, tally.verifications) == (4, {"workspace_removed": 1}, 0)
    tally = asyncio.run(Scorer(made.store, made.spec, silent).score_all(frozenset({runs[1].run_id})))
    assert (tally.states, tally.unscored) == (2, {})


def test_it_needs_no_harbor(root):
    finish_all(plan(root))
    code = (
        "import sys; sys.modules['harbor'] = None\n"
        "from loopscope.cli import main; sys.argv = ['loopscope', 'status', 's']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "units: 4 done" in done.stdout
