"""``xcast watch --emit``: what is shown before everything has come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import xcast

STREAM = """<stream:fragments xmlns:stream="urn:xstreamcast:stream">
<stream:structure><tag id="1" name="list"><tag id="2" name="book" type="filler">
  <tag id="3" name="title" type="snapshot"/>
  <tag id="4" name="price" type="filler"/></tag></tag></stream:structure>
<stream:filler id="0" tsid="1"><list><stream:hole id="1" tsid="2"/><stream:hole id="2" tsid="2"/></list></stream:filler>
<stream:filler id="1" tsid="2"><book><title>A</title><stream:hole id="3" tsid="4"/></book></stream:filler>
<stream:filler id="2" tsid="2"><book><title>B</title><stream:hole id="4" tsid="4"/></book></stream:filler>
<stream:filler id="4" tsid="4"><price>40</price></stream:filler>
<stream:filler id="3" tsid="4"><price>4</price></stream:filler>
</stream:fragments>"""
CHEAP = 'for $b in stream("s")//book where $b/price < 30 return string($b/title)'


@pytest.fixture
def stream(tmp_path: Path) -> str:
    path = tmp_path / "s.xml"
    path.write_text(STREAM)
    return f"s={path}"


@pytest.mark.parametrize(
    ("mode", "after"),
    [("eager", [(5, "A")]), ("certain", [(5, "A")]), ("optimistic", [(2, "A"), (3, "A B"), (4, "A")])],
)
def test_the_trace_follows_the_mode(stream: str, mode: str, after: list[tuple[int, str]]) -> None:
    ran = xcast("watch", CHEAP, "--stream", stream, "--trace", "--emit", mode)
    assert ran.code == 0, ran.err
    assert [(line["n"], line["answer"]) for line in map(json.loads, ran.out.decode().splitlines())] == after


def test_a_file_that_ends_without_saying_so_is_at_its_end(stream: str) -> None:
    ran = xcast("watch", 'count(stream("s")//book)', "--stream", stream, "--format", "xml", "--emit", "certain")
    assert (ran.code, ran.out.decode().strip()) == (0, "2")


def test_what_is_not_looked_into_is_named(stream: str) -> None:
    text = 'let $f := function($x) { $x/title } return stream("s")//book/$f(.)'
    ran = xcast("watch", text, "--stream", stream, "--trace", "--emit", "certain")
    assert [json.loads(line)["answer"] for line in ran.out.decode().splitlines()] == [
        "<title>A</title><title>B</title>"
    ]
    assert "not looked into" in ran.err
    assert "function" in ran.err


def test_another_mode_is_refused(stream: str) -> None:
    ran = xcast("watch", CHEAP, "--stream", stream, "--emit", "hasty")
    assert ran.code != 0
    assert "optimistic" in ran.err
