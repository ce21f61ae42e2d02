"""docs/tables.md says what the tables hold, all of it and nothing else."""

from __future__ import annotations

from column_tables import PAGE, filled, shown

from loopscope.analysis.parquet import schema
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS
from loopscope.models.tables import TABLES, RunRow
from loopscope.report.glossary import MEASURES


def test_the_page_shows_every_table_as_its_rows_are():
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page, "run: python tests/support/column_tables.py"
    assert sorted(shown(page)) == sorted(TABLES)
    for name, kind in TABLES.items():
        section = page.split(f"<!-- columns of {name} -->")[1].split("<!-- end -->")[0]
        listed = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        assert listed == list(schema(kind))


def test_a_measure_of_an_agent_is_a_column_of_its_runs():
    known = {*schema(RunRow), "rounds", "runs_with_dip"}
    assert {*PROCESS, *DIAGNOSTICS} <= known


def test_every_measure_is_described_in_the_report():
    assert set(MEASURES) == {*PROCESS, *DIAGNOSTICS}
