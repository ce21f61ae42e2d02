"""What may go wrong around a run: hostile repositories, kills at any moment, failed attempts, secrets in logs."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from deaf_agent import DeafAgent
from toy_study import START, run, write_task

from loopscope.engine import collecting, harvest, rollout
from loopscope.engine.events import silent
from loopscope.engine.jobs import to_its_end
from loopscope.engine.kinds import EndingKind, kind_of
from loopscope.engine.recording import publish_failure, publish_run
from loopscope.engine.scoring import Scorer, Tally
from loopscope.engine.status import study_status
from loopscope.engine.study import run_study
from loopscope.engine.verification import Verifications
from loopscope.models import Problem, RunStatus, Verification, VerificationStatus
from loopscope.records import repository
from loopscope.records.completeness import MAX_ERRORS

pytestmark = pytest.mark.sandbox

GARBAGE_OBJECT = (
    "python3 - <<'E'\nimport hashlib,zlib,os\nc=b'garbage 1\\0x'; s=hashlib.sha1(c).hexdigest()\n"
    "os.makedirs('.git/objects/'+s[:2],exist_ok=True); open('.git/objects/'+s[:2]+'/'+s[2:],'wb').write(zlib.compress(c))\nE"
)
TREE_BOMB = """
b=$(echo x | git hash-object -w --stdin); t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '100644 blob %s\\t%s\\n' $b $i; done | git mktree)
for d in 1 2 3 4 5 6 7 8; do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\t%s\\n' $t $i; done | git mktree); done
c=$(git commit-tree $t -p HEAD -m 'round 9: change=everything hypothesis=none'); git update-ref refs/heads/bomb $c
"""


def kinds(record):
    return {problem.kind for problem in record.problems}


def test_hostile_repositories_cost_only_themselves(study, monkeypatch):
    monkeypatch.setattr(repository, "MAX_ENTRIES", 3000)  # the bomb has 10^9, and walking 200,000 takes seconds
    better = "echo 0.5 > value.txt && git commit -qam 'round 1: change=x'"
    plan = study(
        {
            "good": {"commands": [START, better]},
            "object": {"commands": [START, better, GARBAGE_OBJECT]},
            "bomb": {"commands": [START, better, TREE_BOMB]},
            "name": {"commands": [START, better, "mkdir -p output_snapshot/$(git rev-parse HEAD)_$(printf '\\377') && echo 1 > output_snapshot/*/x"]},
            "sha256": {"commands": ["git init -q --object-format=sha256 && git add -A && git commit -qm initial"]},
            "loop": {"commands": [START, better, "echo 'ref: refs/heads/main' > .git/refs/heads/main; echo x > '.git/refs/heads/a~b'"]},
            "empties": {"commands": [START, better, "rm -rf /app/* /app/.git"]},
        }
    )  # fmt: skip
    store = run(plan)
    for label in ("good", "object", "bomb", "name", "sha256", "loop", "empties"):
        found = store.run(f"toy__{label}__s1")
        assert found.record.status is RunStatus.COMPLETED, label
        assert found.score("final") is not None, label
    for label in ("good", "object", "bomb", "name"):
        found = store.run(f"toy__{label}__s1")
        values = [score.value for c in found.record.commits if (score := found.score(c.state))]
        assert [str(v) for v in values[:2]] == ["0.1", "0.5"], label
    bomb = store.run("toy__bomb__s1")
    last = bomb.score(bomb.record.commits[-1].state)
    assert last.verifications[0].status is VerificationStatus.UNREPLAYABLE
    assert "more than" in last.verifications[0].reason
    assert plan.unfinished() == []


def test_our_own_bug_in_one_run_is_recorded_there_and_the_others_go_on(study, monkeypatch):
    def broken(ended):
        if ended.run.agent.label == "a":
            raise KeyError("surprise")
        return publish_run(ended)

    monkeypatch.setattr(rollout, "publish_run", broken)
    store = run(study({"a": {"commands": [START]}, "b": {"commands": [START]}}))
    assert store.run("toy__b__s1").score("final").value is not None
    record = store.run("toy__a__s1").record
    assert record.status is RunStatus.ENVIRONMENT_ERROR
    assert "surprise" in record.problems[0].message


def test_a_full_disk_stops_the_study_instead_of_spending_on(study, monkeypatch):
    started = []

    def full(ended):
        started.append(ended.run.run_id)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rollout, "publish_run", full)
    with pytest.raises(ExceptionGroup) as caught:
        run(study({"a": {"commands": [START]}, "b": {"commands": [START]}}))
    assert caught.group_contains(OSError, match="No space left")
    assert started == ["toy__a__s1"]


def test_earlier_attempts_are_kept(study):
    plan = study({"a": {"commands": [START]}})
    planned = plan.runs[0]
    for number in range(2):
        publish_failure(plan, planned, Problem(kind="Boom", stage="environment", message=f"try {number}"))
    assert [r.run_id for r in plan.unfinished()] == ["toy__a__s1"]
    found = run(plan).run("toy__a__s1")
    assert found.record.status is RunStatus.COMPLETED
    messages = [
        json.loads((found.path / "attempts" / n / "record.json").read_text())["problems"][0]["message"]
        for n in ("1", "2")
    ]
    assert messages == ["try 0", "try 1"]


def test_values_of_the_agents_environment_reach_no_file(study, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-verysecret-123")
    plan = study({"a": {"commands": [START, "echo $SOME_KEY > /logs/agent/leak.txt"]}})
    agent = plan.runs[0].agent.model_copy(update={"env": {"SOME_KEY": "${MY_API_KEY}"}})
    plan = replace(plan, runs=(replace(plan.runs[0], agent=agent),))
    found = run(plan).run("toy__a__s1")
    assert (found.path / "native/leak.txt").read_text() == "[REDACTED]\n"
    for path in plan.store.path.rglob("*"):
        if path.is_file():
            assert b"sk-verysecret-123" not in path.read_bytes(), path


def test_a_secret_in_an_error_message_is_blotted_too(study, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-verysecret-123")
    plan = study({"a": {"commands": [START], "fail": "401 for $MY_API_KEY at the provider"}})
    agent = plan.runs[0].agent.model_copy(update={"env": {"SOME_KEY": "${MY_API_KEY}"}})
    plan = replace(plan, runs=(replace(plan.runs[0], agent=agent),))
    found = run(plan).run("toy__a__s1")
    assert "401 for [REDACTED] at the provider" in found.record.problems[0].message
    for path in plan.store.path.rglob("*"):
        if path.is_file():
            assert b"sk-verysecret-123" not in path.read_bytes(), path


def test_scratch_is_no_run_and_no_score(study):
    plan = study({"a": {"commands": [START]}})
    store = run(plan)
    found = store.run("toy__a__s1")
    torn = found.path.parent / ".tmp-abc-toy__a__s1"
    torn.mkdir()
    (torn / "record.json").write_text((found.path / "record.json").read_text())
    (found.path / "scores/.tmp-abc-final.json").write_text("{")
    assert [r.run_id for r in store.runs()] == ["toy__a__s1"]
    assert len(found.scores()) == 2
    (torn / "locked").mkdir(mode=0)
    assert store.sweep() == []
    assert not torn.exists()


def test_cancellation_waits_for_a_thread_that_cannot_be_stopped(tmp_path):
    gate, done = tmp_path / "gate", tmp_path / "done"

    def work() -> None:
        while not gate.exists():
            time.sleep(0.005)
        done.write_text("whole")

    async def scenario() -> None:
        task = asyncio.create_task(to_its_end(work))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.sleep(0.05)
        assert not task.done()
        gate.touch()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done.read_text() == "whole"

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_killed_study_loses_nothing_finished_and_repeats_nothing(tmp_path):
    write_task(tmp_path / "toy")
    agent = {"name": "scripted_agent:ScriptedAgent", "label": "a"}
    agent["kwargs"] = {"commands": [START, *(f"echo 0.{n} > value.txt && git commit -qam 'round {n}'" for n in (3, 5))]}
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump({"name": "k", "tasks": ["./toy"], "agents": [agent], "seeds": 3, "concurrency": 2}))
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "support"), "LOOPSCOPE_LOCK_DIR": str(tmp_path)}
    command = [sys.executable, "-c", "from loopscope.cli import main; main()", "run", "s.yaml"]
    finished: dict[Path, int] = {}
    for kill_after in ("rollout 2/3", "score 2/", None):  # tests/durability kills at hundreds of other moments
        process = subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if kill_after and line.startswith(kill_after):
                process.send_signal(signal.SIGKILL)
                break
        process.stderr.read()
        process.wait()
        for path, stamp in finished.items():
            assert path.stat().st_mtime_ns == stamp, f"{path} was done again"
        found = [*(tmp_path / "s/runs").glob("[!.]*/record.json"), *(tmp_path / "s/runs").glob("*/scores/[!.]*.json")]
        finished = {path: path.stat().st_mtime_ns for path in found}
    assert len([p for p in finished if p.name == "record.json"]) == 3
    assert len([p for p in finished if p.name != "record.json"]) == 3 * 4
    assert not list((tmp_path / "s").rglob(".tmp-*"))
    assert not [line for line in _processes() if str(tmp_path) in line]


def _processes() -> list[str]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return lines


def test_an_agent_that_breaks_harbor_after_its_end_is_harvested_all_the_same(study):
    bad = "printf '\\377' > /logs/agent/trajectory.json"
    plan = study({"a": {"commands": [START, "echo 0.3 > value.txt && git commit -qam 'round 1: change=x'", bad]}})
    found = run(plan).run("toy__a__s1")
    assert found.record.status is RunStatus.AGENT_ERROR
    assert str(found.score("final").value) == "0.3"
    assert len(found.record.commits) == 2
    assert plan.unfinished() == []


def test_a_workspace_that_is_lost_twice_is_not_drawn_for_a_third_time(study, monkeypatch):
    plan = study({"a": {"commands": [START]}})
    monkeypatch.setattr(collecting, "compress", lambda source, target: None)
    for expected in (RunStatus.ENVIRONMENT_ERROR, RunStatus.AGENT_ERROR):
        asyncio.run(run_study(plan, silent))
        assert plan.store.run("toy__a__s1").record.status is expected
    assert plan.unfinished() == []


def test_what_the_environment_never_verifies_is_given_up_and_has_a_way_back(study, monkeypatch):
    plan = study({"n": "nop"})
    asyncio.run(run_study(plan, silent, score=False))
    failing = Verification(
        status=VerificationStatus.ERROR, started_at=datetime.now(UTC), duration_sec=0, verifier_timeout_sec=20
    )

    def passes(times: int, *, again: bool = False) -> Tally:
        for _ in range(times):
            tally = asyncio.run(Scorer(plan.store, plan.spec, silent).score_all(again=again))
        return tally

    with monkeypatch.context() as broken:
        broken.setattr(Verifications, "_once", lambda *_: asyncio.sleep(0, failing))
        assert passes(MAX_ERRORS - 1).unscored == {"error": 1}
        assert study_status(plan.store.path).units[0].unverified == 1
        assert passes(1).unscored == {"given_up": 1}
    found = study_status(plan.store.path)
    assert (found.unscored, found.next.states) == ({"given_up": 1}, 0)
    assert "score --again" in found.units[0].next and found.has_failed
    assert passes(2).verifications == 0
    assert len(plan.store.run("toy__nop__s1").score("final").verifications) == MAX_ERRORS
    assert passes(1, again=True).unscored == {}
    (found,) = plan.store.run("toy__nop__s1").score("final").verifications
    assert found.status is VerificationStatus.OK


@pytest.mark.parametrize("asks", [True, False])
def test_an_agent_that_hides_that_its_sandbox_died_is_run_again_once(study, monkeypatch, asks):
    better = "echo 0.5 > value.txt && git commit -qam 'round 1: change=x'"
    kwargs = {"commands": [START, better], "times": 9, "asks": asks}
    plan = study({"a": {"name": "deaf_agent:DeafAgent", "label": "a", "kwargs": kwargs}})
    monkeypatch.setattr(DeafAgent, "killed", 0)
    for expected in (RunStatus.ENVIRONMENT_ERROR, RunStatus.AGENT_ERROR):
        asyncio.run(run_study(plan, silent))
        record = plan.store.run("toy__a__s1").record
        assert (record.status, kind_of(record)) == (expected, EndingKind.SANDBOX_DIED)
        assert len(record.commits) == 2, "what it had made came out of the dead sandbox"
    assert plan.unfinished() == []
    assert str(plan.store.run("toy__a__s1").score("final").value) == "0.5"


def test_a_sandbox_that_died_once_costs_one_try(study, monkeypatch):
    plan = study({"a": {"name": "deaf_agent:DeafAgent", "label": "a", "kwargs": {"commands": [START]}}})
    monkeypatch.setattr(DeafAgent, "killed", 0)
    for expected in (RunStatus.ENVIRONMENT_ERROR, RunStatus.COMPLETED):
        asyncio.run(run_study(plan, silent))
        assert plan.store.run("toy__a__s1").record.status is expected


def test_what_the_limits_saw_is_worth_less_than_the_workspace(study, monkeypatch):
    def full(path, model):
        path.write_bytes(b'{"limits": {')
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(harvest, "draft_model", full)
    record = run(study({"a": {"commands": [START]}})).run("toy__a__s1").record
    assert (record.status, record.limits, len(record.commits)) == (RunStatus.COMPLETED, {}, 1)
    assert "limits_lost" in kinds(record)


def test_a_damaged_copy_of_a_state_says_nothing_of_another_runs(study):
    better = "echo 0.5 > value.txt && git commit -qam 'round 1: change=x'"
    lose = "b=$(git rev-parse HEAD:value.txt); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)"
    plan = study({"a_evil": {"commands": [START, better, lose]}, "good": {"commands": [START, better]}})
    for _ in range(2):
        store = run(plan)
        evil, good = store.run("toy__a_evil__s1"), store.run("toy__good__s1")
        state = good.record.commits[1].state
        assert evil.record.commits[1].state == state
        assert evil.score(state).verifications[0].status is VerificationStatus.UNREPLAYABLE
        assert str(good.score(state).value) == "0.5"


def test_ignore_rules_made_to_hang_do_not(study):
    name = "a" * 200
    rule = "echo '" + "*a" * 30 + "b' > .gitignore"
    found = run(study({"a": {"commands": [f"touch {name}", rule, START]}})).run("toy__a__s1")
    assert found.record.status is RunStatus.COMPLETED


def test_paths_too_long_to_open_do_not_cost_the_final_score(study):
    part = "d" * 250
    dig = f"python3 -c \"import os\nfor _ in range(40): os.mkdir('{part}'); os.chdir('{part}')\nopen('x','w')\""
    found = run(study({"a": {"commands": [START, dig, "echo 0.9 > value.txt"]}})).run("toy__a__s1")
    assert str(found.score("final").value) == "0.9"


def test_a_torn_baseline_is_made_again(study):
    plan = study({"a": {"commands": [START]}, "b": {"commands": [START]}})
    first = replace(plan, runs=plan.runs[:1])
    run(first)
    baseline = plan.store.path / "tasks/toy.baseline.tar.zst"
    baseline.write_bytes(baseline.read_bytes()[:-7])
    store = run(plan)
    for label in "ab":
        found = store.run(f"toy__{label}__s1").record
        assert found.clean_initial == found.commits[0].sha


def test_what_fails_after_a_cancellation_is_not_printed_as_our_own_bug() -> None:
    begun, go_on = threading.Event(), threading.Event()
    printed: list[object] = []

    def work() -> None:
        begun.set()
        go_on.wait(10)
        raise OSError(30, "Read-only file system")

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: printed.append(context))
        task = asyncio.create_task(to_its_end(work))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        gc.collect()

    asyncio.run(main())
    assert printed == []
