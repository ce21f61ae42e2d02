"""`loopscope tasks check`: output, JSON, page and exit codes; rules only, nothing is run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from loopscope.models.audit import AuditReport

sys.path.append(str(Path(__file__).parents[1] / "tasks"))
from make_task import make_task


def test_exit_codes_json_and_page(cli, tmp_path):
    good = cli("tasks", "check", "--static", "addition_chains")
    assert "addition_chains: no finding" in good.stdout
    bad = make_task(tmp_path / "bad")
    (bad / "tests/test.sh").write_text("cd /srv/work\nmake\n./solve --seed 42 > out.txt\n")
    found = cli("tasks", "check", "--static", "--json", "--page", str(tmp_path / "page.html"), str(bad), check=1)
    report = AuditReport.model_validate(json.loads(found.stdout))
    assert {finding.kind for finding in report.tasks[0].findings} >= {5, 7, 8}
    assert "--seed 42" in (tmp_path / "page.html").read_text()
    told = cli("tasks", "check", "--static", "--fail-on", "never", str(bad))
    assert "constant-seed (kind 7: the seed is fixed and public), tests/test.sh:3" in told.stdout


def test_what_does_not_exist_is_said_and_the_rest_is_checked(cli):
    done = cli("tasks", "check", "--static", "nosuch", "addition_chains", check=2)
    assert "addition_chains: no finding" in done.stdout
    assert "nosuch: no built-in task" in done.stderr
    cli("tasks", "check", "--fail-on", "sometimes", check=2)
