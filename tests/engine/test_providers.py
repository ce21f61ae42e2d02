"""Providers that ask for less: how long, and a whole study whose provider turns the first tries away."""

from __future__ import annotations

import asyncio

import pytest
import yaml
from toy_study import START

from loopscope.engine import providers
from loopscope.engine.events import Event
from loopscope.engine.plan import plan_study
from loopscope.engine.providers import MAX_RETRY_AFTER_SEC, retry_after
from loopscope.engine.study import run_study
from loopscope.models import RunRecord, RunStatus
from loopscope.records import StudyError, read_model


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("HTTP 429: rate limited; retry-after: 20", 20),
        ("{'Retry-After': '7'}", 7),
        ("headers: retry-after-ms: 1500, retry-after: 2", 1.5),
        ("Rate limit reached ... Please try again in 6m0s.", 360),
        ("Please try again in 1.242s. Visit", 1.242),
        ("Please retry after 90 seconds", 90),
        ("please try again in 20ms", 0.02),
        ("Retrying in 3 minutes", 180),
        ("retry_after=99999999", MAX_RETRY_AFTER_SEC),
        ("try again in 99999999999999 s", None),
        ("overloaded", None),
        ("error 429 after 20 s", None),
    ],
)
def test_how_long_a_message_asks_to_wait(text, seconds):
    assert retry_after(text) == seconds


def agent(file, label: str = "a") -> dict:
    kwargs = {"commands": [START, "echo 0.5 > value.txt"], "refusals": str(file)}
    return {"name": "scripted_agent:ScriptedAgent", "label": label, "model": "acme/one", "kwargs": kwargs}


@pytest.mark.sandbox
def test_a_study_waits_for_its_provider_and_keeps_what_was_turned_away(study, tmp_path, monkeypatch):
    monkeypatch.setattr(providers, "FIRST_PAUSE_SEC", 0.01)
    file = tmp_path / "refusals"
    file.write_text("429 slow down, retry-after: 0.01\n429 slow down\n")
    plan = study({"a": agent(file)}, seeds=2, concurrency=2, schedule={"per_provider": {"acme": 2}})
    events: list[Event] = []
    result = asyncio.run(run_study(plan, events.append))
    assert result.tally.unscored == {}
    runs = [plan.store.run(f"toy__a__s{seed}") for seed in (1, 2)]
    assert [found.record.status for found in runs] == [RunStatus.COMPLETED] * 2
    assert sorted(len(list((found.path / "attempts").glob("*"))) for found in runs) in ([0, 2], [1, 1])
    earlier = [read_model(path, RunRecord) for found in runs for path in found.path.glob("attempts/*/record.json")]
    assert [record.problems[0].kind for record in earlier] == ["ApiRateLimitError"] * 2
    assert sum(found.record.tries for found in runs) == 4
    told = [event.message for event in events if event.message.startswith("acme: ")]
    assert told[0].startswith("acme: rate limited or overloaded; 2 -> 1 at once, next start in 0 s")
    done = [event.done for event in events if "completed" in event.message]
    assert done == [1, 2], "a try that is done again is not counted"
    assert plan.unfinished() == []


def test_a_limit_on_a_provider_that_no_agent_uses_is_refused(study, tmp_path):
    with pytest.raises(StudyError, match=r"schedule\.per_provider\.acne: no agent's `model` .*; the study uses acme"):
        study({"a": agent(tmp_path / "none")}, schedule={"per_provider": {"acne": 2}})


def test_the_schedule_may_change_at_any_time(study, tmp_path):
    plan = study({"n": "nop"}, schedule={"cpus": 1})
    file = tmp_path / "s.yaml"
    spec = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump(spec | {"schedule": {"cpus": 7.5, "disk_reserve_gb": 0}, "concurrency": 4}))
    again = plan_study(file, plan.store.path)
    assert [run.run_id for run in again.runs] == [run.run_id for run in plan.runs]
