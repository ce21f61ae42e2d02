"""docs/explain.md shows what the product prints now, and every field of its JSON with a meaning."""

from __future__ import annotations

import re

import explain_page


def test_output_and_fields_are_those_of_today():
    page = explain_page.PAGE.read_text(encoding="utf-8")
    assert page == explain_page.filled(page), "run: PYTHONPATH=tests/support python tests/support/explain_page.py"


def test_every_type_is_on_the_page_and_no_field_lacks_a_meaning():
    page = explain_page.PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- fields of (\w+) -->", page)) == set(explain_page.models())
    assert not re.search(r"\|  \|$", page, re.MULTILINE)
