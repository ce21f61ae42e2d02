"""A real browser, and what the tests ask of a page in it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any


class Browser:
    """A headless Chromium with what the tests ask of a page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(
        self, path: Path, *, width: int = 1400, scheme: str = "light", fragment: str = "", scripts: bool = True
    ) -> None:
        """Open a page from its file and wait until its charts are drawn (or there are none to draw)."""
        cdp = self.driver.execute_cdp_cmd
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        cdp("Emulation.setDeviceMetricsOverride", size)
        cdp("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        cdp("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri() + fragment)
        if scripts:
            self.wait("return document.documentElement.dataset.charts !== undefined")

    def wait(self, script: str) -> None:
        """Wait until a script gives true."""
        deadline = time.monotonic() + 30
        while not self.driver.execute_script(script):
            assert time.monotonic() < deadline, f"never true: {script}"

    def js(self, script: str, *arguments: object) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def console(self) -> list[str]:
        """Messages since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses asked for since the page was opened."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
