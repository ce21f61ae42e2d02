from __future__ import annotations

import pytest
from pydantic import ValidationError

from loopscope.report.glossary import DIAGNOSTICS, GROUPS, MEASURES, OUTCOME, PROCESS, WORDS, Term, term


def test_anchors_are_unique_and_every_diagnostic_has_a_column_group() -> None:
    keys = [t.key for t in (*OUTCOME, *PROCESS, *DIAGNOSTICS, *WORDS)]
    assert len(set(keys)) == len(keys)
    assert {t.group for t in DIAGNOSTICS} == set(GROUPS)
    assert set(MEASURES) == {t.key for t in (*PROCESS, *DIAGNOSTICS)}


def test_values_are_written_as_the_entry_says() -> None:
    assert (term("c1").show(0.5), term("early_capture").show(0.5)) == ("0.500", "50.0 %")
    assert (term("builds_per_round").show(1.5), term("rounds").show(9)) == ("1.50", "9")
    assert term("c1").show(None) == "—"


def test_a_measure_without_an_entry_is_shown_by_its_name() -> None:
    found = term("brand_new")
    assert (found.name, found.group, found.show(0.25)) == ("brand_new", "Other", "0.250")


def test_a_misspelt_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="not_show"):
        Term.model_validate({"key": "k", "name": "n", "shows": "s", "not_show": "typo"})
