"""A document scanned as ranges gives what it gives whole, wherever they begin and however wrong the guesses are."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_batches import found
from scan_documents import damaged, documents

from xstreamcast.errors import XStreamError
from xstreamcast.scan import ahead, split
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.documents import document_batches
from xstreamcast.scan.path import parse_path

NASTY = b"""<?xml version="1.0"?><!-- <a> --><site xmlns:p="u" xmlns="d">
<regions><africa><item id="i1"><name>one</name><p:note>a<b>c</b></p:note></item><item id="i2"/></africa>
<asia><item id="i3" quote='>'><name>tw&#111;</name><!-- </item><item> --><?go <item>?></item>
<item id="i4"><![CDATA[<item id="x"></item>]]><name/></item></asia></regions><people><person id="p1">
<name>]] A &gt; B</name><item><item><name>nested</name></item></item></person>tail<![CDATA[ more]]>
<person id="p2" xmlns="e"><name>other</name></person></people><!-- </site> --><closed xmlns:p="v"><p:note/>
<person/></closed></site><!-- end --><?done?>
"""

QUERIES: list[list[str]] = [
    ["//d:item", "//@id", "//d:name/text()"],
    ["/d:site/d:people/d:person", "/d:site/d:people/d:person/@id"],
    ["/d:site/d:regions/*/d:item", "/d:site/d:regions/*/d:item/d:name"],
    ["//d:item", "//comment()"],
    ["/d:site/@*", "//p:note"],
    ["//d:person", "//d:person//text()", "/d:site/text()"],
    ["//processing-instruction(go)", "//e:name", "/*/*/*/@*"],
]
NAMESPACES = {"d": "d", "p": "u", "e": "e"}


@pytest.fixture
def missed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The places where a guess failed."""
    places: list[int] = []
    shut = ahead.Ranges.__exit__

    def watched(ranges: ahead.Ranges, *fault: object) -> None:
        places.extend(ranges.missed)
        shut(ranges, *fault)

    monkeypatch.setattr(ahead.Ranges, "__exit__", watched)
    return places


def answer(document: bytes, query: Sequence[str], step: int, threads: int) -> object:
    """What each path finds and how often; or the error, and where."""
    paths = [parse_path(path, NAMESPACES) for path in query]
    targets = [Target(path, Action.PROJECT) for path in paths]
    try:
        batches = list(document_batches(document, targets, paths, counts=paths, step=step, threads=threads))
    except XStreamError as fault:
        return str(fault), fault.place
    return found(batches, targets), batches[-1].counts


@pytest.mark.parametrize("windows", [(4, 40), (40, 200), (1 << 16, 1 << 20)], ids=["near", "far", "anywhere"])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query[0])
def test_ranges_that_begin_at_any_byte_change_nothing(
    query: list[str], windows: tuple[int, int], monkeypatch: pytest.MonkeyPatch, missed: list[int]
) -> None:
    monkeypatch.setattr(split, "WINDOWS", windows)
    expected = answer(NASTY, query, 1 << 20, 1)
    for step in range(20, len(NASTY) + 1, 11):
        assert answer(NASTY, query, step, 2) == expected


def test_wrong_guesses_do_happen(monkeypatch: pytest.MonkeyPatch, missed: list[int]) -> None:
    monkeypatch.setattr(split, "WINDOWS", (40, 200))
    for step in (50, 100, 150, 200):
        for query in QUERIES:
            answer(NASTY, query, step, 2)
    assert missed


@settings(max_examples=24 * MORE, deadline=None, derandomize=True)
@given(documents() | damaged(), st.integers(20, 200))
def test_ranges_change_neither_answers_nor_errors(document: bytes, step: int) -> None:
    query = ["//a", "//a/@b", "//item", "/root/*/b"]
    for windows in ((16, 60), (1 << 16, 1 << 20)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(split, "WINDOWS", windows)
            assert answer(document, query, step, 2) == answer(document, query, step, 1)


def large() -> bytes:
    chosen = random.Random(1)
    items = [
        f'<item id="{k}"><name>{"n" * chosen.randrange(90)}</name><price>{k * 1.5}</price><!-- <item> --></item>\n'
        for k in range(4000)
    ]
    people = [f'<person id="p{k}"><name>{k}</name></person>' for k in range(4000)]
    return f"<site><items>{''.join(items)}</items><people>{''.join(people)}</people></site>".encode()


def test_ranges_of_a_larger_document_are_guessed_rightly_and_change_nothing(missed: list[int]) -> None:
    document = large()
    for query in (["/site/items/item", "/site/items/item/name"], ["//person", "//name"], ["/site/people/person"]):
        expected = answer(document, query, 1 << 30, 1)
        missed.clear()
        for step in (100_001, 150_002, 200_003):
            assert answer(document, query, step, 3) == expected
        assert len(missed) <= 3
