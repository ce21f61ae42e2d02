"""Whole studies in the local sandbox: what agents and verifiers may do, and what the records say of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from decimal import Decimal

import pytest
from toy_study import START, VERIFIER, run, write_task

from loopscope.engine.events import Event, Phase, silent
from loopscope.engine.kinds import EndingKind
from loopscope.engine.policy import POLICY
from loopscope.engine.scoring import Scorer
from loopscope.engine.study import run_study
from loopscope.models import RunStatus, UnitFile, VerificationStatus
from loopscope.records import read_model
from loopscope.records.verify import verify_study
from loopscope.tasks.copying import tree_hash

pytestmark = pytest.mark.sandbox


def kinds(record):
    return {problem.kind for problem in record.problems}


def step_scores(found):
    scores = found.scores()
    return [scores[commit.state].value for commit in found.record.commits]


def test_every_commit_is_scored_and_the_final_state_by_itself(study):
    commands = [START, *(f"echo {v} > value.txt && git commit -qam 'round {v}'" for v in ("0.5", "0.3", "0.5"))]
    store = run(study({"a": {"commands": [*commands, "echo 0.7 > value.txt"]}}))
    found = store.run("toy__a__s1")
    assert found.record.status is RunStatus.COMPLETED
    assert step_scores(found) == [Decimal(v) for v in ("0.1", "0.5", "0.3", "0.5")]
    assert found.score("final").value == Decimal("0.7")
    assert len(found.scores()) == 4, "equal trees are verified once"
    assert found.record.clean_initial == found.record.commits[0].sha
    assert found.record.uncommitted is True
    assert "checked 0.5" in found.scores()[found.record.commits[1].state].verifications[0].output


def test_equal_states_of_different_runs_are_verified_once_but_finals_each(study):
    plan = study({"a": {"commands": [START]}, "b": {"commands": [START]}})
    store = run(plan)
    a, b = store.run("toy__a__s1"), store.run("toy__b__s1")
    (shared,) = {c.state for c in (*a.record.commits, *b.record.commits)}
    assert {a.score(shared).run_id, b.score(shared).run_id} == {"toy__a__s1"}
    assert {a.score("final").run_id, b.score("final").run_id} == {"toy__a__s1", "toy__b__s1"}


def test_timed_verifiers_are_repeated_alone_and_the_spread_is_kept(study, tmp_path):
    noisy = 'echo "{\\"reward\\": 0.$(date +%N)}" > /logs/verifier/reward.json\n'
    task = write_task(tmp_path / "toy", noisy, timed=True)
    store = run(study({"n": "nop"}, [task], scoring={"repeats_timed": 3}))
    score = store.run("toy__nop__s1").score("final")
    assert len(score.verifications) == 3
    assert all(v.alone for v in score.verifications)
    assert score.rewards[0] < score.value < score.rewards[2]
    assert score.spread == score.rewards[2] - score.rewards[0]


def test_files_the_agent_never_tracked_stay_and_deleted_ones_go(study, tmp_path):
    listing = 'cd /app && ls -A | sort | tr "\\n" " "; echo "{\\"reward\\": 0}" > /logs/verifier/reward.json\n'
    task = write_task(tmp_path / "toy", listing)
    commands = [
        "git init -q && echo data.bin > .gitignore && git add -A && git commit -qm init",
        "git rm -q value.txt && mkdir value.txt && echo 1 > value.txt/x && git add -A && git commit -qm 'a directory now'",
        "git rm -qr value.txt && echo 2 > value.txt && mkdir output && echo j > output/journal.md && git add -A && git commit -qm back",
    ]
    found = run(study({"a": {"commands": commands}}, [task])).run("toy__a__s1")
    outputs = [found.scores()[c.state].verifications[0].output for c in found.record.commits]
    assert outputs == ["data.bin value.txt "] * 3


def test_an_output_snapshot_is_laid_over_the_commit(study, tmp_path):
    read = 'echo "{\\"reward\\": $(cat /app/output/adapter 2>/dev/null || echo 0)}" > /logs/verifier/reward.json\nls /app\n'
    task = write_task(tmp_path / "toy", read)
    commands = [
        "git init -q && printf 'output/\\noutput_snapshot/\\n' > .gitignore && git add -A && git commit -qm init",
        "git commit -q --allow-empty -m 'round 1: trained' && d=output_snapshot/$(git rev-parse --short HEAD)_1200 && mkdir -p $d && echo 0.25 > $d/adapter",
        "git commit -q --allow-empty -m 'round 2: trained longer' && d=output_snapshot/$(git rev-parse HEAD)_1300 && mkdir -p $d && echo 0.75 > $d/adapter",
    ]
    found = run(study({"a": {"commands": commands}}, [task])).run("toy__a__s1")
    assert step_scores(found) == [0, Decimal("0.25"), Decimal("0.75")]
    assert "output_snapshot" not in found.scores()[found.record.commits[2].state].verifications[0].output


HOSTILE = {
    "no_commit": (["git init -q"], "no_commit"),
    "no_repository": (["echo 0.4 > value.txt"], "no_repository"),
    "deletes_git": ([START, "rm -rf .git", "echo 0.4 > value.txt"], "no_repository"),
    "rewrites": (
        [START, "echo 0.9 > value.txt && git commit -qam 'round 1'", "git reset -q --hard HEAD~1", "echo 0.2 > value.txt && git commit -qam 'round 2'"],
        "history_rewritten",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_odd_repositories_are_recorded_and_the_final_state_is_scored(study, name):
    commands, problem = HOSTILE[name]
    found = run(study({"a": {"commands": commands}})).run("toy__a__s1")
    assert problem in kinds(found.record)
    assert found.record.status is RunStatus.COMPLETED
    assert found.score("final").value is not None
    if name == "rewrites":
        assert step_scores(found) == [Decimal("0.1"), Decimal("0.9"), Decimal("0.2")]


def test_planted_git_programs_never_run(study, tmp_path):
    trap = tmp_path / "ran"
    commands = [
        START,
        f"git config core.fsmonitor 'touch {trap}'; git config filter.x.smudge 'touch {trap}'; git config filter.x.clean 'touch {trap}'",
        "echo '* filter=x' > .gitattributes; printf '#!/bin/sh\\ntouch /tmp/ran\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
        "echo 0.6 > value.txt; git add -A; git commit -qm 'round 1'; echo /etc > .git/objects/info/alternates",
    ]  # fmt: skip
    found = run(study({"a": {"commands": commands}})).run("toy__a__s1")
    assert not trap.exists()
    assert not (found.path / "repository/hooks").exists()
    assert step_scores(found) == [Decimal("0.1"), Decimal("0.6")]


def test_a_reward_written_by_the_agent_counts_for_nothing(study):
    commands = [
        "mkdir -p /logs/verifier; echo '{\"reward\": 1}' > /logs/verifier/reward.json; echo 1 > /logs/verifier/reward.txt",
        "echo 0.2 > value.txt; mkdir -p /app/logs/verifier; echo 1 > /app/logs/verifier/reward.txt",
        "nohup sh -c 'while :; do echo 1 > /logs/verifier/reward.txt; sleep 0.1; done' >/dev/null 2>&1 &",
    ]
    found = run(study({"a": {"commands": commands}})).run("toy__a__s1")
    assert found.score("final").value == Decimal("0.2")


VERIFIERS = {
    "writes_nothing": ("true\n", VerificationStatus.NO_REWARD),
    "garbage": ("echo '{{{' > /logs/verifier/reward.json\n", VerificationStatus.UNREADABLE),
    "nan": ("echo '{\"reward\": NaN}' > /logs/verifier/reward.json\n", VerificationStatus.UNREADABLE),
    "null": ("echo '{\"reward\": null}' > /logs/verifier/reward.json\n", VerificationStatus.NO_REWARD),
    "link": ("ln -s /etc/passwd /logs/verifier/reward.txt\n", VerificationStatus.NO_REWARD),
    "pipe": ("mkfifo /logs/verifier/reward.json\n", VerificationStatus.NO_REWARD),
    "removes_its_logs": ("rm -rf /logs/verifier\n", VerificationStatus.NO_REWARD),
    "crashes": ("kill -9 $$\n", VerificationStatus.NO_REWARD),
}


def test_bad_verifiers_leave_clear_records_and_cost_nobody_else(study, tmp_path):
    tasks = [write_task(tmp_path / "good")]
    tasks += [write_task(tmp_path / name, text) for name, (text, _) in VERIFIERS.items()]
    store = run(study({"n": "nop"}, tasks, concurrency=2))
    for name, (_, status) in VERIFIERS.items():
        score = store.run(f"{name}__nop__s1").score("final")
        assert score.value is None
        assert [v.status for v in score.verifications] == [status], (name, score)
        assert score.verifications[0].reason
    assert store.run("good__nop__s1").score("final").value == Decimal("0.1")


@pytest.mark.parametrize("draws", [1, 3])
def test_the_table_says_how_often_a_killed_verifier_is_run(study, tmp_path, monkeypatch, draws):
    row = replace(POLICY[EndingKind.VERIFIER_KILLED], draws=draws)
    monkeypatch.setitem(POLICY, EndingKind.VERIFIER_KILLED, row)
    plan = study({"n": "nop"}, [write_task(tmp_path / "toy", "kill -9 $$\n")])
    result = asyncio.run(run_study(plan, silent))
    assert result.tally.verifications == draws
    (found,) = plan.store.run("toy__nop__s1").score("final").verifications
    assert (found.status, f"each of {draws} tries" in found.reason) == (VerificationStatus.NO_REWARD, True)


def test_a_hanging_verifier_is_stopped_and_what_it_printed_is_kept(study, tmp_path):
    task = write_task(tmp_path / "toy", "echo begun\nsleep 1000\n", verifier_timeout=1.0, timed=True)
    score = run(study({"n": "nop"}, [task])).run("toy__nop__s1").score("final")
    assert [v.status for v in score.verifications] == [VerificationStatus.TIMEOUT], "not repeated"
    assert "begun" in score.verifications[0].output


def test_a_failing_agent_and_a_late_one_keep_what_they_made(study):
    slow = {"commands": [START, "echo 0.8 > value.txt && git commit -qam 'round 1'", "sleep 1000"]}
    agents = {"fails": {"commands": [START], "fail": "model not found"}, "late": slow}
    store = run(study(agents, budget={"agent_sec": 3}))
    failed, late = store.run("toy__fails__s1"), store.run("toy__late__s1")
    assert failed.record.status is RunStatus.AGENT_ERROR
    assert "model not found" in failed.record.problems[0].message
    assert len(failed.record.commits) == 1
    assert late.record.status is RunStatus.DEADLINE
    assert late.score("final").value == Decimal("0.8")


def test_a_task_that_cannot_be_built_here_names_what_is_missing_and_is_tried_again(study, tmp_path):
    broken = write_task(tmp_path / "broken")
    file = broken / "environment/Dockerfile"
    file.write_text(file.read_text() + "RUN apt-get update && apt-get install -y gfortran-nowhere ghc\n")
    plan = study({"n": "nop"}, [broken, write_task(tmp_path / "good")])
    store = run(plan)
    record = store.run("broken__nop__s1").record
    assert record.status is RunStatus.ENVIRONMENT_ERROR
    assert "ghc" in record.problems[0].message
    assert store.run("good__nop__s1").score("final").value == Decimal("0.1")
    assert [run.run_id for run in plan.unfinished()] == ["broken__nop__s1"]


def test_a_second_start_does_nothing_again(study):
    plan = study({"a": {"commands": [START]}})
    run(plan)
    record = plan.store.run("toy__a__s1").path / "record.json"
    before = record.stat().st_mtime_ns
    events: list[Event] = []
    result = asyncio.run(run_study(plan, events.append))
    assert (result.rollouts, result.tally.verifications) == (0, 0)
    assert record.stat().st_mtime_ns == before
    assert events[-1] == Event(Phase.SCORE, 2, 2, "2 states were scored before")


def test_a_stopped_study_goes_on_where_it_was(study):
    plan = study({label: {"commands": [START, f"echo 0.{n} > value.txt"]} for n, label in enumerate("abcd", 2)})

    async def stop_after(count: int) -> None:
        def notify(event: Event) -> None:
            if event.phase is Phase.ROLLOUT and event.done == count:
                main.cancel()

        main = asyncio.create_task(run_study(plan, notify))
        with pytest.raises(asyncio.CancelledError):
            await main

    asyncio.run(stop_after(2))
    done = sorted(found.run_id for found in plan.store.runs())
    assert len(done) == 2
    assert not list(plan.store.path.glob(".tmp-*")), "a cancelled rollout cleans up after itself"
    result = asyncio.run(run_study(plan, silent))
    assert result.rollouts == 2
    assert len(list(plan.store.runs())) == 4
    assert all(found.score("final").value is not None for found in plan.store.runs())


def test_a_broken_record_loses_nothing_else(study):
    plan = study({"a": {"commands": [START]}, "b": {"commands": [START]}})
    store = run(plan)
    (store.run("toy__a__s1").path / "record.json").write_text("{")
    (store.run("toy__b__s1").path / "scores/final.json").unlink()
    events: list[Event] = []
    tally = asyncio.run(Scorer(store, plan.spec, events.append).score_all())
    assert tally.verifications == 1
    assert any("record.json" in event.message and event.problem for event in events)
    assert plan.unfinished() == [], "doing it again would replace what lies beside the record"
    assert (store.run("toy__a__s1").path / "scores/final.json").is_file()
    run(replace(plan, again=frozenset({"toy__a__s1"})))
    assert store.run("toy__a__s1").record.tries == 2
    assert (store.run("toy__a__s1").path / "attempts/1-damaged/record.json").read_text() == "{"
    assert (store.run("toy__a__s1").path / "attempts/1-damaged/scores/final.json").is_file()
    check = verify_study(store, tree_hash)
    assert check.whole, check.findings
    assert [f.place for f in check.findings] == ["runs/toy__a__s1/attempts/1-damaged"]
    run(replace(plan, again=frozenset({"toy__a__s1"})))
    assert sorted(p.name for p in (store.run("toy__a__s1").path / "attempts").iterdir()) == ["1-damaged", "2"]
    store.run("toy__a__s1").path.rename(store.path / "aside")
    assert [r.run_id for r in plan.unfinished()] == ["toy__a__s1"]


def test_a_record_tells_its_unit_and_its_tries(study):
    plan = study({"a": {"commands": [START]}, "n": "nop", "o": "oracle"})
    store = run(plan)
    for planned in plan.runs:
        found = store.run(planned.run_id)
        assert (found.record.unit, found.record.tries) == (planned.unit.digest, 1)
        assert read_model(found.path / "unit.json", UnitFile).unit == planned.unit
        if planned.kind.harness:
            assert found.record.harness == planned.kind.harness


def test_a_longer_deadline_does_timeouts_again_and_nothing_else(study, tmp_path):
    slow = "sleep 2\n" + VERIFIER
    tasks = [write_task(tmp_path / "slow", slow, verifier_timeout=1.0), write_task(tmp_path / "quick")]
    store = run(study({"n": "nop"}, tasks))
    assert [v.status for v in store.run("slow__nop__s1").score("final").verifications] == [VerificationStatus.TIMEOUT]
    plan = study({"n": "nop"}, tasks, scoring={"timeout_multiplier": 20})
    result = asyncio.run(run_study(plan, silent))
    assert (result.rollouts, result.tally.verifications) == (0, 1)
    assert [v.status for v in store.run("slow__nop__s1").score("final").verifications] == [VerificationStatus.OK]
    more = study({"n": "nop"}, tasks, scoring={"timeout_multiplier": 20, "repeats": 2})
    assert asyncio.run(run_study(more, silent)).tally.verifications == 2
    fewer = study({"n": "nop"}, tasks)
    assert asyncio.run(run_study(fewer, silent)).tally.verifications == 0
    assert len(store.run("quick__nop__s1").score("final").verifications) == 2, "nothing is lost"


def test_an_agent_that_blames_its_provider_gets_few_draws(study):
    """Three tries in which it worked, and the last one is graded as it stands."""
    agent = {"commands": [START, "echo 0.4 > value.txt"], "provider_error": "ApiUsageLimitError"}
    plan = study({"a": agent})
    for tries, status in enumerate([RunStatus.ENVIRONMENT_ERROR] * 2 + [RunStatus.AGENT_ERROR], 1):
        asyncio.run(run_study(plan, silent))
        record = plan.store.run("toy__a__s1").record
        assert (record.tries, record.status) == (tries, status)
    assert plan.unfinished() == []
    assert plan.store.run("toy__a__s1").score("final").value == Decimal("0.4")
    assert len(list((plan.store.run("toy__a__s1").path / "attempts").iterdir())) == 2


def test_the_agent_gets_its_secret_and_no_file_does(study, tmp_path, monkeypatch):
    monkeypatch.setenv("MINE", "sk-not-for-any-file")
    agent = {
        "name": "scripted_agent:ScriptedAgent",
        "label": "a",
        "kwargs": {"commands": [START], "keep": "API_KEY"},
        "env": {"API_KEY": "${MINE}", "PLAIN": "x"},
    }
    store = run(study({"a": agent}))
    assert store.run("toy__a__s1").record.status is RunStatus.COMPLETED
    assert (store.run("toy__a__s1").path / "native/kept.txt").read_text() == str(len("sk-not-for-any-file"))
    files = [path for path in store.path.rglob("*") if path.is_file()]
    assert any(path.name == "config.json" for path in files)
    assert not [path for path in files if b"sk-not-for-any-file" in path.read_bytes()]


def test_official_scores_never_reach_the_agent(study):
    plan = study(
        {
            "a": {
                "commands": [
                    "find / -name 'reward*' -o -name '*.json' 2>/dev/null | grep -v ^/proc | grep -v ^/usr > seen.txt; ls /tests /solution >> seen.txt 2>&1; true"
                ]
            }
        }
    )
    found = run(plan).run("toy__a__s1")
    from loopscope.records.workspace import open_tar

    with open_tar(found.workspace) as tar:
        text = next(tar.extractfile(m).read().decode() for m in tar if m.name.endswith("seen.txt"))
    assert "reward" not in text
    assert "test.sh" not in text
    assert "solve.sh" not in text


def test_the_lock_names_versions_and_hashes(study):
    plan = study({"n": "nop"})
    lock = json.loads((plan.store.path / "study.lock.json").read_text())
    assert set(lock["versions"]) == {"loopscope", "harbor", "python"}
    assert lock["task_hashes"]["toy"] == plan.runs[0].task.content_hash
