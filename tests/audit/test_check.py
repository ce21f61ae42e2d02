"""A check of tasks: health, what is bad input, the report, the page and the exit codes. Trials are made up here."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from loopscope.audit.check import Options, check_task, check_tasks
from loopscope.audit.finding import Finding, Severity
from loopscope.audit.health import HEALTH
from loopscope.audit.page import page
from loopscope.audit.probes import PROBES
from loopscope.audit.rule import Rule
from loopscope.audit.rules import RULES
from loopscope.audit.sources import TaskSources
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Act, Trial
from loopscope.models import VerificationStatus
from loopscope.models.audit import AuditReport, TaskAudit
from loopscope.tasks import load_task

sys.path.append(str(Path(__file__).parents[1] / "tasks"))
from make_task import make_task

STATIC = Options(dynamic=False)
Answer = Callable[[Act, int], Trial]


def trial(act: Act, reward: str | None, status: VerificationStatus = VerificationStatus.OK, **logs: str) -> Trial:
    """A made-up verdict; `logs` by name with `_` for `.`."""
    files = {name.replace("_", "."): text.encode() for name, text in logs.items()}
    value = None if reward is None else Decimal(reward)
    return Trial(act.name, status, value, {}, None if reward else "none was written", "", 1.0, files)


def health(monkeypatch: pytest.MonkeyPatch, directory: Path, answer: Answer) -> dict[str, list[Finding]]:
    """What each health check finds where trials end as `answer(act, how many of its name before)` says."""
    made: list[str] = []

    async def tried(task_dir: Path, act: Act, **_: object) -> Trial:
        made.append(act.name)
        return answer(act, made.count(act.name) - 1)

    monkeypatch.setattr("loopscope.audit.subject.try_task", tried)
    info = load_task(directory)
    subject = Subject(directory, info, TaskSources(directory, info))

    async def all_of_them() -> dict[str, list[Finding]]:
        return {probe.name: await probe.run(subject) for probe in HEALTH}

    return asyncio.run(all_of_them())


@pytest.fixture
def task(tmp_path: Path) -> Path:
    directory = make_task(tmp_path / "mine", dockerfile="FROM debian\nWORKDIR /app\nCOPY start.py /app/\n")
    (directory / "solution/solve.sh").write_text("echo 'print(1)' > /app/start.py\n")
    return directory


GOOD = {"starter": "0", "reference": "0.8", "failing": "0", "crashing": "0", "endless": "0"}


def test_a_sound_task_has_no_finding(monkeypatch, task):
    found = health(monkeypatch, task, lambda act, n: trial(act, GOOD[act.name], reward_json='{"reward": 0}'))
    assert found == {"starter": [], "reference": [], "repeatable": [], "reward-files": []}


@pytest.mark.parametrize(
    ("changed", "rule", "severity"),
    [
        ({"starter": "0.3"}, "starter", Severity.HIGH),
        ({"starter": "0.1"}, "starter", Severity.MEDIUM),
        ({"starter": None}, "starter", Severity.HIGH),
        ({"reference": "0.05"}, "reference", Severity.HIGH),
        ({"reference": None}, "reference", Severity.HIGH),
        ({"crashing": "0.7"}, "reward-files", Severity.HIGH),
        ({"failing": None}, "reward-files", Severity.MEDIUM),
    ],
)
def test_what_is_wrong_is_found(monkeypatch, task, changed, rule, severity):
    def answer(act: Act, n: int) -> Trial:
        reward = (GOOD | changed)[act.name]
        return trial(act, reward, VerificationStatus.OK if reward else VerificationStatus.NO_REWARD)

    if changed.get("reference", "") is None:
        (task / "solution/solve.sh").write_text("true\n")  # no file is known to be editable: `repeatable` ends first
        with pytest.raises(Exception, match="no reward"):
            health(monkeypatch, task, answer)
        return
    found = [f for findings in health(monkeypatch, task, answer).values() for f in findings]
    assert [(f.rule, f.severity) for f in found] == [(rule, severity)]
    assert found[0].where == f"trial {next(iter(changed))}"


def test_a_spread_is_found_and_told(monkeypatch, task):
    rewards = ["0.8", "0.55", "0.81", "0.8", "0.55", "0.81"]  # a busy machine is given a second chance
    found = health(
        monkeypatch, task, lambda act, n: trial(act, rewards[n] if act.name == "reference" else GOOD[act.name])
    )
    (finding,) = found["repeatable"]
    assert finding.severity is Severity.MEDIUM
    assert "0.8000, 0.5500, 0.8100; spread 0.260" in finding.evidence


@pytest.mark.parametrize(
    ("logs", "said"),
    [
        ({"reward_json": "{"}, "reward.json is malformed"),
        ({"reward_json": '{"reward": 0, "why": "text", "ok": true}'}, "no numbers under ok, why"),
        ({"reward_json": '{"reward": 7}'}, "reward.json says 7.0"),
        ({"reward_json": '{"reward": 0.5}', "reward_txt": "0.1"}, "differ"),
        ({"reward_txt": "nan"}, "reward.txt says nan"),
    ],
)
def test_malformed_reward_files(monkeypatch, task, logs, said):
    found = health(
        monkeypatch, task, lambda act, n: trial(act, GOOD[act.name], **(logs if act.name == "starter" else {}))
    )
    assert any(said in finding.evidence for finding in found["reward-files"])


def test_a_solution_that_never_ends_has_a_deadline(monkeypatch, task):
    given: list[float | None] = []

    async def tried(task_dir: Path, act: Act, *, timeout_sec: float | None = None, **_: object) -> Trial:
        given.append(timeout_sec)
        status = VerificationStatus.TIMEOUT if act.name == "endless" else VerificationStatus.OK
        return trial(act, None if act.name == "endless" else GOOD[act.name], status)

    monkeypatch.setattr("loopscope.audit.subject.try_task", tried)
    info = load_task(task)
    found = asyncio.run(HEALTH[3].run(Subject(task, info, TaskSources(task, info))))
    assert [(f.severity, f.where) for f in found] == [(Severity.LOW, "trial endless")]
    assert given == [None, 40.0, 40.0, 40.0]  # 30 s and ten times the starter's 1 s; the task allows 300


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_what_is_broken_is_named_and_the_rest_goes_on(tmp_path):
    make_task(tmp_path / "torn")
    (tmp_path / "torn/task.toml").write_text("[agent\n")
    make_task(tmp_path / "mit Leerzeichen ☃" / "inside")
    make_task(tmp_path / "mit Leerzeichen ☃" / "un named")
    make_task(tmp_path / "bare")
    (tmp_path / "bare/environment/Dockerfile").unlink()
    make_task(tmp_path / "gone")
    (tmp_path / "gone/tests/test.sh").write_text('rm -f -- "$0"\necho 1 > /logs/verifier/reward.txt\n')
    names = [
        "torn",
        "mit Leerzeichen ☃/inside",
        "mit Leerzeichen ☃/un named",
        "bare",
        "gone",
        "nosuch",
        "addition_chains",
    ]
    report = asyncio.run(check_tasks(names, tmp_path, STATIC))
    audits = {audit.source: audit for audit in report.tasks}
    assert list(audits) == [*names[:-1], "builtin:addition_chains"]
    assert "is not valid TOML" in (audits["torn"].problem or "")
    assert audits["mit Leerzeichen ☃/inside"].problem is None
    assert "cannot name a task" in (audits["mit Leerzeichen ☃/un named"].problem or "")
    assert [f.severity for f in audits["torn"].findings] == [Severity.HIGH]
    assert "has no environment/Dockerfile" in audits["bare"].findings[0].evidence
    assert any("removes or changes the verifier itself" in f.evidence for f in audits["gone"].findings)
    assert audits["nosuch"].missing
    assert audits["builtin:addition_chains"].findings == ()
    assert not [r for audit in report.tasks for r in audit.rules if r.outcome == "failed"]


def test_two_of_one_name_are_both_told(tmp_path):
    for folder in ("one", "two"):
        make_task(tmp_path / folder / "twin")
    report = asyncio.run(check_tasks(["one/twin", "two/twin", "one/twin"], tmp_path, STATIC))
    assert len(report.tasks) == 2
    assert [a.findings[-1].evidence for a in report.tasks] == [
        "two/twin has the same name",
        "one/twin has the same name",
    ]


def test_a_rule_that_fails_costs_no_other(monkeypatch, task):
    def broken(sources: TaskSources):
        raise ValueError("our own fault")
        yield

    monkeypatch.setattr("loopscope.audit.check.RULES", (Rule("ours", 1, "fails", broken),))
    audit = asyncio.run(check_task(str(task), Path(), STATIC))
    assert [(r.outcome, r.reason) for r in audit.rules] == [("failed", "ValueError: our own fault")]


def test_nothing_is_tried_where_nothing_starts(monkeypatch, task):
    made = []

    async def tried(task_dir: Path, act: Act, **_: object) -> Trial:
        made.append(act.name)
        return trial(act, None, VerificationStatus.ERROR)

    monkeypatch.setattr("loopscope.audit.subject.try_task", tried)
    audit = asyncio.run(check_task(str(task), Path(), Options()))
    assert made == ["starter"]
    dynamic = [rule for rule in audit.rules if rule.half == "dynamic"]
    assert dynamic[0].outcome == "found"
    assert {rule.outcome for rule in dynamic[1:]} == {"not applicable"}


# -- page ---------------------------------------------------------------------------------------------------------------


def test_the_page_escapes_and_needs_nothing(tmp_path):
    finding = Finding(
        rule="r", kind=3, severity=Severity.HIGH, task="t", evidence="<script>\x1b[2J\u202e", where="a:1", remedy="<b>"
    )
    audit = TaskAudit(task="<i>t</i>", source="./t&u", findings=(finding,))
    text = page(AuditReport(loopscope="1", tasks=(audit,)))
    assert "<script" not in text
    assert "&lt;script&gt;\\x1b[2J\\x202e" in text
    assert "&lt;i&gt;t&lt;/i&gt;" in text
    assert "the solution&#39;s code runs in the process that scores" in text
    assert not [word for word in ("http:", "https:", "src=", "<link") if word in text]
    assert text == page(AuditReport.model_validate_json(AuditReport(loopscope="1", tasks=(audit,)).model_dump_json()))


# -- documentation ------------------------------------------------------------------------------------------------------


def test_every_rule_and_probe_is_explained():
    text = (Path(__file__).parents[2] / "docs/audit.md").read_text()
    missing = [known.name for known in (*RULES, *HEALTH, *PROBES) if f"| `{known.name}` |" not in text]
    assert missing == []
