"""The table of `status` on a terminal of eighty columns."""

from __future__ import annotations

from finished_run import failure, finish
from toy_study import write_task

from loopscope.cli.console import out
from loopscope.engine.plan import plan_study
from loopscope.models import RunStatus


def test_a_long_reason_is_folded_and_takes_nothing_from_the_run_s_name(cli, tmp_path, monkeypatch):
    write_task(tmp_path / "toy")
    (tmp_path / "s.yaml").write_text("name: s\ntasks: [./toy]\nagents: [nop]\nseeds: 1\n")
    made = plan_study(tmp_path / "s.yaml", tmp_path / "s")
    why = "the sandbox could not be started: " + "word " * 60
    finish(made, made.runs[0], RunStatus.ENVIRONMENT_ERROR, problems=[failure("SandboxError", "environment", why)])
    monkeypatch.setattr(out, "_width", 80)
    lines = cli("status", "s", check=1).stdout.splitlines()
    (row,) = [line for line in lines if "toy__nop__s1" in line]
    assert row.split()[:4] == ["toy__nop__s1", "failed", "1", "sandbox"]
    assert all(len(line.rstrip()) <= 80 for line in lines[: lines.index("nobody works on it")])
    assert sum(line.count("word") for line in lines) >= 30, "nothing of it is lost"
