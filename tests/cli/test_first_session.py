"""What somebody meets in the first hour: at the command line, and in a Python session."""

from __future__ import annotations

import asyncio
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
from command import xcast

import xstreamcast
from xstreamcast.errors import XStreamError
from xstreamcast.wire.fragment import read_stream

STREAM = (
    b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">'
    b'<stream:filler id="0"><r><stream:hole id="1"/></r></stream:filler>'
    b'<stream:filler id="1"><a>1</a><a>2</a></stream:filler><stream:eos/></stream:fragments>'
)


def test_the_version_is_told() -> None:
    ran = xcast("--version")
    assert (ran.code, ran.out.decode(), ran.err) == (0, f"xcast {xstreamcast.__version__}\n", "")


@pytest.mark.parametrize("command", ["query", "watch", "feed"])
def test_help_breaks_lines_where_the_terminal_does(command: str) -> None:
    ran = xcast(command, "--help", columns=2000)
    described = ran.out.decode().partition("Examples:")[0].splitlines()
    paragraphs = [line for line in described if line.strip() and "Usage:" not in line]
    assert len(paragraphs) == 2, "a line each"


def test_json_of_several_items_says_how_to_have_them() -> None:
    ran = xcast("query", "--method", "json", "1 to 3")
    assert ran.code == 1
    assert "array { … }" in ran.err
    assert "--lines" in ran.err
    assert xcast("query", "--method", "json", "--lines", "1 to 3").out == b"1\n2\n3\n"


def test_a_document_on_the_network_is_to_be_fetched() -> None:
    ran = xcast("query", "count(//a)", "https://example.org/a.xml")
    assert ran.code == 1
    assert ran.err.startswith("xcast: XSC0006 https://example.org/a.xml ")
    assert "--allow-http" in ran.err


def test_text_that_is_no_xml_is_taken_for_a_name_and_the_error_says_so() -> None:
    with pytest.raises(FileNotFoundError, match="begins with <"):
        xstreamcast.query("count(//a)", context="hello").to_list()


def test_names_are_completed() -> None:
    assert set(xstreamcast.__all__) <= set(dir(xstreamcast))


def test_an_explanation_is_shown_as_text() -> None:
    shown = xstreamcast.explain("count(//a)")
    assert repr(shown) == str(shown)
    assert repr(shown).splitlines()[:2] == [
        "The context document is read once, and the answer is known at its end.",
        "Kept at any moment: a count.",
    ]


@pytest.mark.parametrize("text", [b"1", Path("q.xq"), None], ids=["bytes", "path", "none"])
def test_what_is_no_text_is_no_query(text: Any) -> None:
    for ask in (xstreamcast.query, xstreamcast.compile, xstreamcast.continuous):
        with pytest.raises(TypeError, match="a query is a str"):
            ask(text)


@pytest.mark.parametrize("item", [STREAM, "text", {}], ids=["bytes", "text", "dict"])
def test_what_is_no_change_is_not_fed(item: Any) -> None:
    query = xstreamcast.continuous('count(stream("s")//a)')
    for feed in (query.feed, lambda one: query.feed_many([one])):
        with pytest.raises(TypeError, match="XPTY0004 a stream brings changes"):
            feed(item)
    assert query.text() == "0"


def test_what_a_reader_yields_is_handed_on_as_it_is() -> None:
    query = xstreamcast.continuous('count(stream("s")//a)')
    query.feed_many(read_stream(BytesIO(STREAM)))
    assert query.text() == "2"


def test_what_a_reader_puts_aside_keeps_its_place() -> None:
    heard: list[Any] = []
    query = xstreamcast.continuous('count(stream("s")//a)', report=heard.append)
    torn = STREAM.replace(b"<stream:filler", b'<stream:filler id="x"/>\n<stream:filler', 1)
    for arrival in read_stream(BytesIO(torn)):
        query.feed(arrival)
    assert query.text() == "2"
    assert [diagnostic.severity for diagnostic in heard] == ["quarantine"]


def test_streams_are_followed_with_and_without_asyncio(tmp_path: Path) -> None:
    file = tmp_path / "s.xml"
    file.write_bytes(STREAM)

    async def run() -> list[object]:
        query = xstreamcast.continuous('stream("s")//a', streams={"s": file})
        return [change async for change in query.run()]

    query = xstreamcast.continuous('stream("s")//a', streams={"s": file})
    followed = list(query.follow())
    assert query.text() == "<a>1</a><a>2</a>"
    assert followed == cast(list[Any], asyncio.run(run()))
    assert len(followed) > 2


def test_a_missing_stream_is_told_before_anything_is_read(tmp_path: Path) -> None:
    query = xstreamcast.continuous('stream("s")//a', streams={"s": tmp_path / "missing.xml"})
    with pytest.raises(FileNotFoundError) as caught:
        list(query.follow())
    assert isinstance(caught.value, XStreamError)


@pytest.mark.parametrize("text", ["", " \n", "x" * 5000], ids=["nothing", "blank", "long"])
def test_a_text_that_is_no_path_is_no_folder_either(text: str) -> None:
    with pytest.raises(XStreamError, match="XSC0001"):
        xstreamcast.query("count(//a)", context=text).to_list()


def test_a_file_that_was_opened_for_text_is_read_though_nobody_else_holds_it(tmp_path: Path) -> None:
    file = tmp_path / "d.xml"
    for count in (1, 1_000_000):  # parsed, and scanned
        file.write_text(f"<l>{'<a>é</a>' * count}</l>", encoding="utf-8")
        assert xstreamcast.query("count(//a)", context=open(file)).to_list() == [count]  # noqa: SIM115 - as it is typed


def test_a_uri_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="give a path, not a URI"):
        xstreamcast.query("count(//a)", context=(tmp_path / "d.xml").as_uri()).to_list()
