"""A check with real trials: a task that can be beaten is found out, one that cannot start is named."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from loopscope.audit.check import Options, check_tasks
from loopscope.audit.finding import Severity
from loopscope.models import EnvironmentSpec

sys.path.append(str(Path(__file__).parents[1] / "tasks"))
from make_task import make_task

pytestmark = pytest.mark.sandbox
HERE = EnvironmentSpec(kwargs={"python_packages": []})


@pytest.mark.slow
def test_trials_tell_what_files_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("loopscope.audit.check.PROBES", ())
    toml = '[metadata]\ndomain = "puzzle"\n[metadata.loopscope]\ntimed = false\neditable = ["start.py"]\n'
    task = make_task(tmp_path / "kind", toml, "FROM debian:bookworm\nWORKDIR /app\nCOPY start.py /app/\n")
    # stale: what fails leaves the reward of before
    (task / "tests/test.sh").write_text(
        "python3 /app/start.py > out.txt && echo 0.02 > /logs/verifier/reward.txt\n"
        "grep -q solved /app/start.py && echo 0.9 > /logs/verifier/reward.txt\n"
        "[ -s /logs/verifier/reward.txt ] || echo 0.7 > /logs/verifier/reward.txt\n"
    )
    (task / "solution/solve.sh").write_text("echo 'print(\"solved\")' > /app/start.py\n")
    odd = make_task(tmp_path / "odd", toml, "FROM debian\nFETCH x\n")
    options = Options(repeats=2, environment=HERE)
    report = asyncio.run(check_tasks([str(task), str(odd)], tmp_path, options))
    kind, other = report.tasks
    tried = {(f.rule, f.where): f for f in kind.findings if f.where.startswith("trial")}
    assert {("reward-files", "trial failing"), ("reward-files", "trial crashing")} <= set(tried)
    assert tried["reward-files", "trial failing"].severity is Severity.HIGH
    assert not [f for f in kind.findings if f.rule in ("starter", "reference", "repeatable")]
    assert [str(t.reward) for t in kind.trials if t.act == "reference"] == ["0.9", "0.9"]
    (finding,) = [f for f in other.findings if f.rule == "starter"]
    assert "not an instruction that the local sandbox follows" in finding.evidence
    assert len(other.trials) == 1
