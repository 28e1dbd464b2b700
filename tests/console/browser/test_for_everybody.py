"""The console for who has no mouse, no sight, a dark room, or a small screen."""

from __future__ import annotations

import pytest
from looking import DESK, LAMP, Browser, Server, run
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

NAMELESS = """
const text = id => document.getElementById(id)?.textContent || "";
return [...document.querySelectorAll("button, input, select, textarea, [role]")].filter(one => {
  const label = [...(one.labels || [])].map(each => each.textContent).join("");
  const by = (one.getAttribute("aria-labelledby") || "").split(" ").map(text).join("");
  const self = ["BUTTON", "LI", "SPAN", "DIV"].includes(one.tagName) ? one.textContent : "";
  const told = ["status", "alert"].includes(one.getAttribute("role"));
  return !(one.getAttribute("aria-label") || by || label || self.trim() || told) && one.checkVisibility();
}).map(one => one.outerHTML.slice(0, 120))
"""
"""What somebody who does not see it would hear nothing of."""
CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d");
const linear = part => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
function luminance(colour) {
  for (const layer of [getComputedStyle(document.body).backgroundColor, colour]) {  // one may let the other through
    canvas.fillStyle = layer;
    canvas.fillRect(0, 0, 1, 1);
  }
  const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map(part => linear(part / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function ground(one) {
  for (let at = one; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/, 0\\)|\\/ 0\\)|transparent/.test(colour)) return colour;
  }
  return "white";
}
const shown = one => one.checkVisibility() && !one.closest(":disabled");
return [...document.querySelectorAll(arguments[0])].filter(shown).map(one => {
  const both = [luminance(getComputedStyle(one).color), luminance(ground(one))].sort((a, b) => b - a);
  return [((both[0] + 0.05) / (both[1] + 0.05)).toFixed(2), one.className || one.tagName];
}).filter(([ratio]) => ratio < 4.5)
"""
"""Texts with less contrast than WCAG 2 asks for (AA)."""
TEXTS = ", ".join(
    ["h1", "h2", "h3", "button", ".hint", ".note", ".pill", ".excerpt", ".big", ".moment", ".x-tag", ".x-sign"]
    + [f".t-{kind}" for kind in ("keyword", "variable", "string", "function", "tag", "number")]
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_a_name_and_enough_contrast(browser: Browser, server: Server, scheme: str) -> None:
    browser.colours(scheme)
    run(browser, server)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    assert browser.js(NAMELESS) == []
    assert browser.js(CONTRAST, TEXTS) == []
    browser["tab-plan"].click()
    browser.until(lambda: browser.texts('[data-edge="s1"]') == ["2"])
    browser.shot(f"plan-{scheme}")
    headings = browser.js("return [...document.querySelectorAll('h1, h2')].map(one => one.tagName)")
    assert headings.count("H1") == 1
    assert browser.js("return document.querySelectorAll('main').length === 1 && document.documentElement.lang === 'en'")
    browser["tab-answers"].click()
    browser.shot(f"overview-{scheme}")


def test_colours_can_be_chosen_and_stay(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.until(lambda: browser["connection"].text == "live")
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = browser.js(ground)
    for name in ("Light", "Dark"):
        browser["theme"].click()
        assert browser["theme"].text == name
    assert browser.js(ground) != light
    browser.open(server.url)
    browser.until(lambda: browser["theme"].text == "Dark")
    assert browser.js(ground) != light
    browser["theme"].click()


def test_the_keyboard_reaches_everything(browser: Browser, server: Server) -> None:
    run(browser, server)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    browser.js("document.activeElement.blur()")
    reached = []
    for _ in range(40):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        reached.append(browser.js("const one = document.activeElement; return one.id || one.className || one.tagName"))
    elements = ("skip", "access", "theme", "card-button", "new", "text", "emit", "stop", "tab-answers", "at", "live")
    for wanted in elements:
        assert wanted in reached, (wanted, reached)
    assert "tab-plan" not in reached, "arrows go through tabs"
    browser["tab-answers"].send_keys(Keys.ARROW_RIGHT)
    assert browser["tab-plan"].get_attribute("aria-selected") == "true"
    browser["at"].send_keys(Keys.ARROW_LEFT)
    browser.until(lambda: browser["at"].get_attribute("aria-valuetext") == "4 of 5 records")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1100)])
def test_small_screens_show_all_of_it_without_scrolling_sideways(
    browser: Browser, server: Server, width: int, height: int
) -> None:
    browser.size(width, height)
    run(browser, server)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    for tab in ("plan", "document", "state", "answers"):
        browser.js("document.getElementById(arguments[0]).click()", f"tab-{tab}")
        assert browser.js("return document.documentElement.scrollWidth") <= width
    browser.js("window.scrollTo(0, 0)")
    browser.shot(f"phone-{width}")
    browser.js("document.getElementById('results').scrollIntoView()")
    browser.shot(f"phone-{width}-answers")
    size = browser.js("const box = document.getElementById('run').getBoundingClientRect(); return box.height")
    assert size >= 36, "a finger is larger than a mouse"
