"""A server with a console, a shop that publishes to it, and a browser that looks at the page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from xstreamcast.model.change import Change, Fill
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.serve.client import Publisher, parse_address

DEADLINE = 60.0
SHOTS = Path(os.environ.get("XCAST_SCREENSHOTS", "build/console"))
STRUCTURE = parse_structure(
    '<stream:structure><tag id="1" name="shop"><tag id="2" name="item" type="filler"><tag id="3" name="name"/>'
    '<tag id="4" name="price"/></tag></tag></stream:structure>'
)
HOLES = "".join(f'<stream:hole id="{number}"/>' for number in range(1, 40))


def item(number: int, name: str, price: int) -> bytes:
    return f"<item><name>{name}</name><price>{price}</price></item>".encode()


class Server:
    """``xcast serve --console``, and a shop that publishes to it."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "xstreamcast", "serve", "--console", "--token", "secret"]
        command += ["--log", str(folder), "--port", str(port), "--cycle", "60"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        ready = self.process.stderr.readline()
        assert "serving on" in ready, ready
        assert "console on" in self.process.stderr.readline()
        self.port = int(ready.split(":")[3].split("/")[0])
        self.url = f"http://127.0.0.1:{self.port}/console"
        self._publisher: Publisher | None = None

    def publish(self, *items: Change | Structure, stream: str = "shop") -> None:
        if self._publisher is None or self._publisher.address.stream != stream:
            self._publisher = Publisher(parse_address(f"xcast://127.0.0.1:{self.port}/{stream}"), "secret")
        told = self._publisher.publish(items)
        assert not told.get("refused"), told

    def open_shop(self) -> None:
        """A root with holes, and three items."""
        self.publish(STRUCTURE, Fill(region=0, tsid=1, content=f"<shop>{HOLES}</shop>".encode()))
        for number, (name, price) in enumerate([("pen", 3), ("desk", 200), ("lamp", 40)], 1):
            self.publish(Fill(region=number, tsid=2, content=item(number, name, price)))

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


class Browser:
    """A page in a browser; ``shot`` keeps what it shows."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(url)

    def __getitem__(self, id: str) -> Any:
        return self.driver.find_element(By.ID, id)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent)"
        found: list[str] = self.driver.execute_script(script, selector)
        return found

    def answers(self) -> list[str]:
        """The items that are shown, without those that are just vanishing."""
        return self.texts("#answers .item:not(.gone) code:last-child")

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, condition: Callable[[], object]) -> None:
        WebDriverWait(self.driver, DEADLINE, 0.05).until(lambda _: condition())

    def slide(self, id: str, value: int) -> None:
        """Drag a slider."""
        script = "const one = document.getElementById(arguments[0]); one.value = arguments[1];"
        self.js(script + "one.dispatchEvent(new Event('input'))", id, value)

    def size(self, width: int, height: int) -> None:
        told = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", told)

    def colours(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def shot(self, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SHOTS / f"{name}.png"))

    def complaints(self) -> list[str]:
        """What the browser complains of: errors of scripts, what the policy of the page has stopped."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


DEAR = """for $i in stream("shop")//item where $i/price > 30
order by number($i/price) return <dear>{$i/name/text()}</dear>"""
LAMP, DESK = "<dear>lamp</dear>", "<dear>desk</dear>"


def run(browser: Browser, server: Server, query: str = DEAR) -> None:
    """Write a query and run it, with the keyboard."""
    browser.open(f"{server.url}#token=secret")
    browser.until(lambda: browser["access"].text == "Can change")
    browser["text"].clear()
    browser["text"].send_keys(query, Keys.ESCAPE)
    browser.until(lambda: browser["run"].is_enabled())
    browser["text"].send_keys(Keys.CONTROL, Keys.ENTER)
    browser.until(lambda: browser["editor-title"].text.startswith("Query q"))
    browser.until(lambda: browser["answers"].get_attribute("aria-busy") == "false")
