"""The browser, which is started once, and a server for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looking import Browser, Server
from selenium import webdriver
from selenium.webdriver.chrome.service import Service


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = os.environ["XCAST_BROWSER"]
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(os.environ["XCAST_BROWSER_DRIVER"]))
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver: Any) -> Iterator[Browser]:
    made = Browser(driver)
    made.size(1360, 940)
    made.colours("light")
    made.complaints()
    yield made
    driver.get("about:blank")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "log")
    made.open_shop()
    yield made
    made.stop()
