"""The page of the console, as somebody uses it."""

from __future__ import annotations

from looking import DEAR, DESK, LAMP, STRUCTURE, Browser, Server, item, run
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from xstreamcast.model.change import Fill, Remove, Replace


def test_streams_with_rates_and_a_structure_and_t_at_any_number(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.until(lambda: browser.texts("#streams b") == ["shop"])
    assert browser["connection"].text == "live"
    browser.all("#streams button")[0].click()
    browser.until(lambda: browser.texts("#tree .x-tag") == ["shop", "item", "name", "price"])
    browser.until(lambda: "lamp" in browser["stream-document"].text)
    assert "N 5" in browser["stream-summary"].text
    browser.slide("at", 3)
    browser.until(lambda: "N 3" in browser["stream-summary"].text)
    assert "pen" in browser["stream-document"].text
    assert "desk" not in browser["stream-document"].text
    browser["comparing"].click()
    browser.slide("from", 5)
    browser.until(lambda: any("lamp" in line for line in browser.texts("#stream-document .plus")))
    assert browser.texts("#stream-document td:nth-child(1)") == ["4", "5"]
    browser.shot("stream")
    assert browser.complaints() == []


def test_answers_appear_change_and_vanish_in_place(browser: Browser, server: Server) -> None:
    run(browser, server)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    kept = browser.all("#answers .item")[0]
    server.publish(Fill(region=4, tsid=2, content=item(4, "chair", 90)))
    browser.until(lambda: browser.answers() == [LAMP, "<dear>chair</dear>", DESK])
    assert browser.js("return arguments[0].isConnected && arguments[0].textContent", kept) == LAMP, "it is the same"
    browser.until(lambda: browser.texts("#heard") == ["1 appeared; 3 items"])
    server.publish(Replace(region=4, tsid=2, content=item(4, "stool", 90)))
    browser.until(lambda: "<dear>stool</dear>" in browser.answers())
    server.publish(Remove(region=3, tsid=2))
    browser.until(lambda: browser.texts("#answers .item.gone") == [LAMP])
    browser.shot("answers")
    browser.until(lambda: browser.answers() == ["<dear>stool</dear>", DESK] and not browser.all("#answers .gone"))
    assert "2 items after 8 records" in browser["summary"].text
    assert browser.complaints() == []


def test_a_time_line_begins_shortly_before_the_first_change_of_the_answer(browser: Browser, server: Server) -> None:
    server.publish(*[Fill(region=number, tsid=2, content=item(number, "pen", 3)) for number in range(100, 1300)])
    run(browser, server, 'stream("shop")//item[price > 1000]/<dear>{name/text()}</dear>')
    browser.until(lambda: browser["last"].text == "1,205")
    assert browser["first"].text == "0", "nothing has changed yet"
    server.publish(Fill(region=4, tsid=2, content=item(4, "car", 9000)))
    browser.until(lambda: browser["first"].text == "1,205" and browser["last"].text == "1,206")
    browser["earlier"].click()
    browser.until(lambda: browser.answers() == ["<dear>car</dear>"])
    browser.slide("at", 1205)
    browser.until(lambda: browser.answers() == [])
    browser["whole"].click()
    assert browser["first"].text == "0"
    browser.slide("at", 3)
    browser.until(lambda: "after 3 records" in browser["moment"].text)
    browser["whole"].click()
    assert browser["first"].text == "3", "the moment that is shown stays on the line"
    assert browser.complaints() == []


def test_a_long_item_is_shown_in_lines_and_stays_as_it_is(browser: Browser, server: Server) -> None:
    long = "in stock since the day that the shop was opened"
    run(
        browser, server, f'for $s in stream("shop") return <all>{{ $s//item/<dear x="{long}">{{ name }}</dear> }}</all>'
    )
    names = "".join(f'<dear x="{long}"><name>{name}</name></dear>' for name in ("pen", "desk", "lamp"))
    browser.until(lambda: browser.answers() == [f"<all>{names}</all>"])
    turns = [turn.get_attribute("data-turn") for turn in browser.all("#answers .turn")]
    assert turns == [*["\n  ", "\n    ", "\n  "] * 3, "\n"]
    assert browser.complaints() == []


def test_colours_an_error_under_its_place_and_completion(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#token=secret")
    browser.until(lambda: browser["access"].text == "Can change")
    text = browser["text"]
    text.clear()
    text.send_keys('for $i in stream("')
    browser.until(lambda: browser.texts("#choices .word") == ["shop"])
    text.send_keys(Keys.ENTER)
    text.send_keys('")//item where $i/')
    browser.until(lambda: browser.texts("#choices .word") == ["name", "price"])
    browser.shot("completion")
    text.send_keys(Keys.ARROW_DOWN)
    assert text.get_attribute("aria-activedescendant") == "choice-1"
    text.send_keys(Keys.TAB)
    browser.until(lambda: text.get_property("value").endswith("$i/price"))
    text.send_keys(" > 30\nretrun $i/name", Keys.ESCAPE)
    browser.until(lambda: browser["bubble"].is_displayed())
    assert "XPST0003" in browser["bubble"].text
    place = "const box = document.getElementById(arguments[0]).getBoundingClientRect(); return [box.left, box.top]"
    (paint_left, paint_top), (left, top) = browser.js(place, "paint"), browser.js(place, "bubble")
    line, left = (top - paint_top) / 21.6, left - paint_left
    assert 2 < line < 3.2, "below the second line"
    assert left < 20
    assert not browser["run"].is_enabled()
    browser.shot("error")
    text.clear()
    text.send_keys(DEAR, Keys.ESCAPE)
    browser.until(lambda: not browser["bubble"].is_displayed() and browser.texts("#paint .t-keyword"))
    browser.until(lambda: browser.texts("#paint .t-variable") == ["$i", "$i", "$i", "$i"])
    assert browser.texts("#paint .t-keyword") == ["for", "in", "where", "order", "by", "return", "text"]
    assert browser.texts("#paint .t-tag") == ["dear", "dear"]
    text.clear()
    text.send_keys('stream("shop")//itm', Keys.ESCAPE)
    browser.until(lambda: "nothing matches itm" in browser["problem"].text)


def test_the_plan_is_a_picture_with_live_counts_on_its_arrows(browser: Browser, server: Server) -> None:
    run(browser, server)
    browser["tab-plan"].click()
    edges = "[...document.querySelectorAll('[data-edge]')]"
    counts = f"return Object.fromEntries({edges}.map(edge => [edge.dataset.edge, edge.textContent]))"
    # The sources' arrow counts changes; that of the items' path, items; the others what passes.
    browser.until(lambda: browser.js(counts).get('stream("shop")>s4') == "4")
    assert browser.js(counts) == {"s1": "2", "s2": "2", "s3": "2", "s4": "3", 'stream("shop")>s4': "4"}
    server.publish(Fill(region=4, tsid=2, content=item(4, "chair", 90)))
    browser.until(lambda: browser.js(counts) == {"s1": "3", "s2": "3", "s3": "3", "s4": "4", 'stream("shop")>s4': "5"})
    assert browser.texts("svg.plan .title")[-1] == "shop"
    browser.shot("plan")
    browser["tab-state"].click()
    browser.until(lambda: "memory of its process" in browser["state"].text)
    assert browser.texts("#state tbody tr:first-child th")[:1] == ["shop"]
    browser.shot("state")
    assert browser.complaints() == []


def test_the_time_line_goes_to_any_moment_and_compares_two(browser: Browser, server: Server) -> None:
    run(browser, server)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    server.publish(Remove(region=3, tsid=2))
    server.publish(Replace(region=2, tsid=2, content=item(2, "table", 250)))
    table = "<dear>table</dear>"
    browser.until(lambda: browser.answers() == [table])

    def then(moment: int, answer: list[str]) -> None:
        browser.slide("at", moment)
        browser.until(lambda: moment == 7 or f"after {moment} records" in browser["moment"].text)
        browser.until(lambda: browser.answers() == answer)

    for moment, answer in ((3, []), (4, [DESK]), (5, [LAMP, DESK]), (6, [DESK]), (7, [table])):
        then(moment, answer)
    browser.slide("at", 6)
    browser.until(lambda: browser.answers() == [DESK])
    # The present goes on meanwhile, and the past stays.
    server.publish(Fill(region=5, tsid=2, content=item(5, "sofa", 900)))
    browser.until(lambda: browser["last"].text == "8")
    assert browser.answers() == [DESK]
    browser["tab-document"].click()
    browser.until(lambda: "desk" in browser["document"].text and "table" not in browser["document"].text)
    browser["tab-answers"].click()
    browser["comparing"].click()  # with the change before
    assert browser["from"].get_attribute("value") == "5"
    browser.until(lambda: browser.texts("#answers .part.gone code") == [LAMP])
    browser.slide("at", 8)
    browser.until(lambda: browser.texts("#answers .part.new code") == ["<dear>sofa</dear>"])
    browser.shot("compare")
    browser["live"].click()
    browser.until(lambda: browser.answers() == [table, "<dear>sofa</dear>"])
    # By keyboard, change by change.
    ActionChains(browser.driver).move_to_element(browser["editor-title"]).click().send_keys("[").perform()
    browser.until(lambda: browser["line"].get_attribute("class") == "card line past")
    browser.shot("time-line")
    ActionChains(browser.driver).send_keys("l").perform()
    browser.until(lambda: browser["live"].get_attribute("aria-pressed") == "true")
    assert browser.complaints() == []


def test_queries_are_stopped_started_and_removed(browser: Browser, server: Server) -> None:
    run(browser, server)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    browser["stop"].click()
    browser.until(lambda: browser.texts("#queries .pill") == ["stopped"])
    browser["start"].click()
    browser.until(lambda: browser.texts("#queries .pill") == ["running"] and browser.answers() == [LAMP, DESK])
    browser["remove"].click()
    browser.until(lambda: browser.texts("#queries b") == [])
    assert browser["editor-title"].text == "New query"


def test_without_a_token_it_is_read_only(browser: Browser, server: Server) -> None:
    run(browser, server)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    browser.js("sessionStorage.clear()")
    browser.open(server.url)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    assert browser["access"].text == "Read-only"
    assert not any(browser[id].is_enabled() for id in ("run", "stop", "remove"))
    browser["access"].click()
    browser["token"].send_keys("wrong", Keys.ENTER)
    browser.until(lambda: browser["ask-problem"].text == "the token is wrong")
    browser["token"].clear()
    browser["token"].send_keys("secret", Keys.ENTER)
    browser.until(lambda: browser["access"].text == "Can change" and browser["stop"].is_enabled())
    assert "secret" not in browser.driver.current_url


def test_what_streams_say_is_text_and_never_runs(browser: Browser, server: Server) -> None:
    evil = "&lt;img src=x onerror='window.pwned=1'&gt;&lt;script&gt;window.pwned=1&lt;/script&gt;"
    server.publish(Fill(region=6, tsid=2, content=item(6, evil, 77)))
    query = 'for $i in stream("shop")//item return ($i/name/string(), <b onclick="window.pwned=1">{$i/name/text()}</b>)'
    run(browser, server, query)
    browser.until(lambda: any("onerror" in text for text in browser.answers()))
    for tab in ("tab-plan", "tab-document", "tab-state", "tab-answers"):
        browser[tab].click()
    browser.until(lambda: any("onerror" in text for text in browser.answers()))
    assert browser.js("return window.pwned === undefined")
    assert browser.all("#answers img, #answers script, #answers b") == []
    assert browser.complaints() == []


def test_a_server_that_comes_back_is_live_again(browser: Browser, server: Server) -> None:
    run(browser, server)
    browser.until(lambda: browser.answers() == [LAMP, DESK])
    server.stop()
    browser.until(lambda: browser["connection"].text == "no connection")
    again = Server(server.folder, server.port)
    try:
        browser.until(lambda: browser["connection"].text == "live")
        browser.until(lambda: browser.answers() == [LAMP, DESK])
        again.publish(STRUCTURE, Fill(region=4, tsid=2, content=item(4, "chair", 90)))
        browser.until(lambda: browser.answers() == [LAMP, "<dear>chair</dear>", DESK])
    finally:
        again.stop()
