from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.report.budget import fair_cuts
from loopscope.report.text import breakable, cut, file_name, one_line, script_json, url, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "⟨ESC⟩[31mred"),
        ("a\x00b", "a⟨NUL⟩b"),
        ("\u202eevil\u202c", "⟨U+202E⟩evil⟨U+202C⟩"),
        ("a\r\nb\rc", "a\nb⟨CR⟩c"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("\x85\x9b31m", "⟨U+0085⟩⟨U+009B⟩31m"),
        ("\ud800", "⟨U+D800⟩"),
        ("Grüße, 世界 😀", "Grüße, 世界 😀"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_what_could_act_on_a_screen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_visible_text_is_stable_and_encodable(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    shown.encode("utf-8")


def test_a_cut_says_how_much_is_gone() -> None:
    assert cut("abcdef", 4) == "abcd\n[… 2 more characters cut here …]"
    assert cut("abcdef", 4, keep="tail") == "[… 2 characters cut here …]\ncdef"
    assert cut("abcd", 4) == "abcd"


@given(st.text(), st.integers(min_value=2, max_value=50))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs"])),
        lambda x: st.lists(x),
    )
)
def test_script_json_cannot_leave_its_block(value: object) -> None:
    text = script_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == json.loads(json.dumps(value))


def test_harmless_run_ids_are_their_own_file_names() -> None:
    assert file_name("csv_groupby__gpt-5.5@high+x__s1") == "csv_groupby__gpt-5.5@high+x__s1"
    assert url("runs/a@b+c__s1.html") == "runs/a@b+c__s1.html"


@given(st.text(min_size=1), st.text(min_size=1))
def test_file_names_are_safe_and_do_not_collide(first: str, second: str) -> None:
    names = [file_name(first), file_name(second)]
    assert all(n[0] != "." and len(n) < 200 and not set(n) & set("/\\:\x00 ") for n in names)
    assert (names[0] == names[1]) == (first == second)


@given(st.lists(st.integers(min_value=0, max_value=10_000), max_size=30), st.integers(min_value=0, max_value=50_000))
def test_room_is_shared_fairly(sizes: list[int], total: int) -> None:
    cuts = fair_cuts(sizes, total)
    assert sum(cuts) <= total
    assert all(0 <= kept <= size for kept, size in zip(cuts, sizes, strict=True))
    if sum(sizes) <= total:
        assert list(cuts) == sizes
    cut_ones = [kept for kept, size in zip(cuts, sizes, strict=True) if kept < size]
    if cut_ones:  # nobody who was cut got less than anybody else, but for rounding
        assert min(cut_ones) >= max(cuts) - 1


def test_a_name_breaks_at_its_joints_and_stays_text() -> None:
    assert breakable("adaptive_compression-2.0") == "adaptive_<wbr>compression-<wbr>2.0"
    assert breakable("<b>_x") == "&lt;b&gt;_<wbr>x"
    assert breakable("") == ""
