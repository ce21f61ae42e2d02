"""Studies of several shapes, made once, and a real browser where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chromium import Browser
from study_maker import Study, make

from loopscope.report import build_report

SHAPES = {
    "plain": Study(
        tasks=(("csv_groupby", "System optimization"), ("addition_chains", "Puzzle")),
        seeds=(1, 2),
        failed=("addition_chains__oracle__s2",),
    ),
    "wide": Study(
        agents=(
            "search",
            *(f"agent-{i}-with-a-very-long-label-that-never-seems-to-end@2026-01-{i:02d}" for i in range(11)),
        ),
        tasks=(("csv_groupby", "System optimization"),),
        seeds=(1,),
        commits=60,
    ),
    "hostile": Study(
        agents=("search", "oracle"),
        tasks=(("csv_groupby", "System optimization"),),
        seeds=(1,),
        hostile=True,
        failed=("csv_groupby__oracle__s1",),
    ),
    "calm": Study(agents=("search",), tasks=(("csv_groupby", "System optimization"),), seeds=(1,), dips=False),
    "apart": Study(
        tasks=(("csv_groupby", "System optimization"), ("addition_chains", "Puzzle")),
        seeds=(1, 2),
        finding="higher",
        sure=True,
    ),
    "empty": Study(agents=(), tasks=()),
}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Study directory of a shape, its report built."""
    made: dict[str, Path] = {}

    def get(shape: str) -> Path:
        if shape not in made:
            made[shape] = make(tmp_path_factory.mktemp(shape) / "study", SHAPES[shape])
            build_report(made[shape])
        return made[shape]

    return get


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Debian's Chromium; without it these tests are skipped."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("chromium and chromedriver are not installed (apt-get install chromium chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driven = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(driven)
    finally:
        driven.quit()
