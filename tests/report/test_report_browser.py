"""The site as a reader meets it: opened from files in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from chromium import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Built = Callable[[str], Path]
PAGES = ("index.html", "runs.html", "definitions.html", "runs/csv_groupby__search__s1.html")


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("shape", ["plain", "wide", "hostile"])
def test_pages_open_quietly_and_fit(built: Built, browser: Browser, shape: str, page: str, width: int) -> None:
    site = built(shape) / "report"
    browser.open(site / page, width=width)
    assert browser.console() == []
    root = site.as_uri()
    assert [r for r in browser.requests() if not r.startswith((root, "data:", "about:"))] == []
    assert browser.js("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert browser.js("return document.querySelectorAll('[data-chart]:not(.is-live)').length") == 0


def test_the_strict_policy_is_what_holds(built: Built, browser: Browser) -> None:
    browser.open(built("plain") / "report" / "index.html")
    browser.js("setTimeout('window.evaluated = 1', 0)")
    browser.js("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    browser.js("const b = document.createElement('b'); b.setAttribute('onclick', 'window.ran = 1'); b.click()")
    assert browser.js("return [window.evaluated, window.ran]") == [None, None]
    refused = " ".join(browser.console())
    assert "eval" in refused
    assert "inline" in refused


def test_live_charts_replace_the_static_ones(built: Built, browser: Browser) -> None:
    browser.open(built("plain") / "report" / "index.html")
    charts = browser.js("return document.querySelectorAll('[data-chart]').length")
    assert charts == 1 + 1 + 2 + 3, "outcome, differences, two categories, C1 to C3"
    assert browser.js("return document.querySelectorAll('.is-live .live svg').length") == charts
    shown = "[...document.querySelectorAll('.still')].filter((s) => s.getBoundingClientRect().height)"
    assert browser.js(f"return {shown}.length") == 0


def test_without_scripts_the_pictures_stand(built: Built, browser: Browser) -> None:
    site = built("plain") / "report"
    try:
        browser.open(site / "runs" / "csv_groupby__search__s1.html", width=400, scripts=False)
        find = browser.driver.find_elements
        pictures = find("css selector", ".still svg")
        assert [p.size["height"] > 100 for p in pictures] == [True]
        find("css selector", "#commit-2 > summary")[0].click()
        assert "Keep the cache" in find("css selector", "#commit-2 pre.message")[0].text
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_hostile_text_is_inert(built: Built, browser: Browser) -> None:
    site = built("hostile") / "report"
    for page in ("index.html", "runs.html", *(f"runs/{p.name}" for p in sorted((site / "runs").glob("*.html")))):
        browser.open(site / page)
        browser.js("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        assert browser.js("return document.title") != "owned"
        assert browser.js("return document.querySelectorAll('img, iframe, main script:not([type])').length") == 0
        assert browser.console() == []
    assert "<script>document.title='owned'</script>" in browser.js("return document.body.textContent")


def test_a_run_page_opens_a_commit_and_colours_its_diff(built: Built, browser: Browser) -> None:
    browser.open(built("plain") / "report" / "runs" / "csv_groupby__search__s1.html")
    assert browser.js("return document.querySelectorAll('details.commit').length") == 12
    browser.driver.find_element("css selector", "#commit-3 > summary").click()
    files = browser.driver.find_elements("css selector", "#commit-3 details.file > summary")
    for file in files:
        file.click()
    browser.wait("return document.querySelectorAll('#commit-3 .diff .add').length > 0")
    added = browser.js("return [...document.querySelectorAll('#commit-3 .diff .add')].map((s) => s.textContent)")
    assert any(line.startswith("+value_") and line.rstrip().endswith("step 2") for line in added)


def test_links_into_a_run_open_the_commit(built: Built, browser: Browser) -> None:
    page = built("plain") / "report" / "runs" / "csv_groupby__search__s1.html"
    browser.open(page, fragment="#commit-5")
    assert browser.js("return document.querySelector('#commit-5').open")
    browser.js("document.querySelector('main a[href^=\"#commit-\"]').click()")
    browser.wait("return document.querySelectorAll('details.commit[open]').length === 2")


def test_a_click_on_a_point_opens_its_commit(built: Built, browser: Browser) -> None:
    browser.open(built("plain") / "report" / "runs" / "csv_groupby__search__s1.html")
    from selenium.webdriver.common.action_chains import ActionChains

    points = browser.driver.find_elements("css selector", ".live .mark-symbol path[aria-roledescription='point']")
    assert len(points) == 12 + 1
    place = browser.js(
        "const p = [...document.querySelectorAll('.live .mark-symbol path')].find((e) => e.getAttribute('fill') === '#c2501a');"
        "p.scrollIntoView({block: 'center'}); return p"
    )
    ActionChains(browser.driver).move_to_element(place).perform()
    browser.wait("return !document.getElementById('tip').hidden")
    assert "dip" in browser.js("return document.getElementById('tip').textContent")
    ActionChains(browser.driver).click(place).perform()
    browser.wait("return document.querySelectorAll('details.commit[open]').length === 1")
    assert browser.js("return document.querySelector('details.commit[open]').classList.contains('k-dip')")


def test_everything_opens_and_closes_at_once(built: Built, browser: Browser) -> None:
    browser.open(built("plain") / "report" / "runs" / "csv_groupby__search__s1.html")
    button = browser.driver.find_element("id", "expand")
    button.click()
    assert browser.js("return document.querySelectorAll('details.commit:not([open])').length") == 0
    button.click()
    assert browser.js("return document.querySelectorAll('details.commit[open]').length") == 0


COLOUR = "return getComputedStyle(document.querySelector('.live path[fill=\"#1d5fa6\"]')).fill"


def test_pages_and_charts_follow_the_scheme(built: Built, browser: Browser) -> None:
    page = built("plain") / "report" / "index.html"
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.open(page, scheme="light")
    light = (browser.js(ground), browser.js(COLOUR))
    browser.open(page, scheme="dark")
    dark = (browser.js(ground), browser.js(COLOUR))
    assert light == ("rgb(247, 248, 250)", "rgb(29, 95, 166)")
    assert dark == ("rgb(16, 19, 24)", "rgb(103, 167, 238)")


CONTRAST = """
const parse = (c) => c.match(/[\\d.]+/g).map(Number);
const over = (top, under) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a)); };
const ground = (e) => {
  const stack = [];
  for (let n = e; n; n = n.parentElement) stack.push(parse(getComputedStyle(n).backgroundColor));
  return stack.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
};
const light = (c) => { const f = c.slice(0, 3).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
const poor = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || e.closest('svg, script, .sr, .skip, [hidden]') || !e.getClientRects().length) continue;
  const under = ground(e), text = over(parse(getComputedStyle(e).color), under);
  const [a, b] = [light(text), light(under)].sort((x, y) => y - x);
  if ((a + .05) / (b + .05) < 4.5) poor.push(e.className + ': ' + e.textContent.slice(0, 40));
}
return poor;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_text_stands_out_from_its_ground(built: Built, browser: Browser, page: str, scheme: str) -> None:
    browser.open(built("plain") / "report" / page, scheme=scheme)
    browser.js("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert browser.js(CONTRAST) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_differences_that_were_found_stand_out_and_are_readable(built: Built, browser: Browser, scheme: str) -> None:
    browser.open(built("apart") / "report" / "index.html", scheme=scheme)
    browser.js("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert browser.js(CONTRAST) == []
    ground = "getComputedStyle(document.querySelector('.matrix .m-{}')).backgroundColor"
    found = browser.js(f"return {ground.format('apart')}")
    browser.open(built("plain") / "report" / "index.html", scheme=scheme)
    assert found != browser.js(f"return {ground.format('open')}")


OVERLAPS = """
const boxes = [...document.querySelectorAll('.live text')].filter((t) => t.textContent.trim())
  .map((t) => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width);
const hit = [];
for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
  const [a, b] = [boxes[i][1], boxes[j][1]];
  if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
    hit.push(boxes[i][0] + ' / ' + boxes[j][0]);
}
return hit;
"""


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("page", ["index.html", "runs/csv_groupby__search__s1.html"])
def test_chart_labels_do_not_collide(built: Built, browser: Browser, page: str, width: int) -> None:
    browser.open(built("wide") / "report" / page, width=width)
    assert browser.js(OVERLAPS) == []
    if page.startswith("runs/"):
        labels = browser.js("return [...document.querySelectorAll('.live text')].map((t) => t.textContent)")
        assert "final" in labels


def test_the_list_of_runs_filters_by_address_and_sorts(built: Built, browser: Browser) -> None:
    page = built("plain") / "report" / "runs.html"
    browser.open(page, fragment="#task=csv_groupby&agent=search")
    visible = "[...document.querySelectorAll('#runs tbody tr')].filter((r) => !r.hidden)"
    assert (
        browser.js(f"return {visible}.map((r) => r.dataset.task + ' ' + r.dataset.agent)") == ["csv_groupby search"] * 2
    )
    assert browser.js("return document.getElementById('shown').textContent") == "2 of 12 runs"
    browser.open(page)
    browser.js("[...document.querySelectorAll('#runs th button')].find((b) => b.textContent === 'Final').click()")
    finals = browser.js(f"return {visible}.map((r) => r.querySelector('.c-final').dataset.value)")
    numbers = [float(v) for v in finals if v]
    assert numbers == sorted(numbers, reverse=True)
    assert finals[-1] == ""  # the missing one stands last


def test_everything_is_reached_by_keyboard(built: Built, browser: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(built("plain") / "report" / "runs" / "csv_groupby__search__s1.html")
    body = browser.driver.switch_to.active_element
    body.send_keys(Keys.TAB)
    assert browser.js("return document.activeElement.className") == "skip"
    seen: list[str] = []
    for _ in range(60):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(
            browser.js("const e = document.activeElement; return e.tagName + '#' + (e.parentElement.id || e.id)")
        )
    assert "SUMMARY#commit-1" in seen
    browser.js("document.querySelector('#commit-1 > summary').focus()")
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    browser.wait("return document.querySelector('#commit-1').open")


def test_a_study_without_runs_says_so(built: Built, browser: Browser) -> None:
    browser.open(built("empty") / "report" / "index.html")
    assert "no finished run yet" in browser.js("return document.body.textContent")
    assert browser.console() == []
