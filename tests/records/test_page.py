"""docs/records.md says what is so: its tables are the models', its snippets run, its directory is a study's."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import current, versioned_types
from field_tables import PAGE, filled, shown
from whole_study import whole_study

from loopscope.models.seal import unseal
from loopscope.records.contents import TOPS


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "STUDY"
    whole_study(path)
    return path


def block(page: str, language: str) -> str:
    return page.split(f"```{language}\n")[1].split("```")[0]


def test_the_tables_of_fields_are_the_models_own(page):
    assert filled(page) == page, "run: python tests/support/field_tables.py"
    assert set(versioned_types()) <= shown(page)


def test_every_field_says_what_it_means(page):
    tables = re.findall(r"<!-- fields of (\w+) -->\n.*?\n.*?\n(.*?)<!-- end -->", page, re.DOTALL)
    rows = [(kind, row) for kind, table in tables for row in table.splitlines()]
    assert len(rows) > 100
    assert [(kind, row) for kind, row in rows if not row.rsplit("|", 2)[1].strip()] == []


def test_the_table_of_versions_is_right(page):
    rows = dict(re.findall(r"^\| `(\w+)` \| .+? \| (\d+) \|", page, re.MULTILINE))
    assert rows == {name: str(current(kind)) for name, kind in versioned_types().items()}


def test_the_python_snippet_reads_a_study_and_checks_its_seals(page, study):
    done = subprocess.run(
        [sys.executable, "-c", block(page, "python")], cwd=study.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "t__a__s1 completed 2 ['0.5']",
        "t__b__s1 completed 2 ['0.5']",
    ]


def test_the_shell_snippet_computes_the_seal(page, study):
    run = study / "runs/t__a__s1"
    done = subprocess.run(["sh", "-c", block(page, "sh")], cwd=run, capture_output=True, text=True, check=True)
    body, whole = unseal((run / "record.json").read_bytes())
    assert whole
    seal = hashlib.sha256(body).hexdigest()
    assert done.stdout.split()[0] == seal
    assert f"sha256:{seal}" in done.stdout


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_the_jq_line_reads_a_study(page, study):
    (line,) = re.findall(r"`(jq -r .+?)`", page)
    done = subprocess.run(["sh", "-c", line], cwd=study.parent, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["t__a__s1\tcompleted\t2", "t__b__s1\tcompleted\t2"]


def test_the_directory_is_drawn_with_all_that_a_study_has(page):
    drawing = page.split("STUDY/\n")[1].split("\n\n")[0]
    assert all(name in drawing for name in TOPS)
