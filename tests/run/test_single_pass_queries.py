"""Queries by the streaming route, whatever the step, give what the evaluator gives on the document as a tree."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from budget import MORE
from random_queries import Random
from streamed import STEPS, evaluated, streamed
from streaming_queries import Streaming

from xstreamcast.generate import find
from xstreamcast.generate.xmark import document
from xstreamcast.run.query import compile

FIXTURES = Path(__file__).parents[1] / "fixtures"

STORED = {"satellite": 0.002, "microscope": 0.001, "items": 0.0001, "dblp": 0.0006, "auction": 0.0005}
"""Documents of the papers' queries, by stream, and the factors of their generators."""
GENERATORS = {"auction": "xmark"}


def same(text: str, xml: bytes, steps: tuple[int, ...] = STEPS) -> str:
    """Check one query on one document; the strategy of its plan."""
    query = compile(text)
    code = query.plan()
    if code is None:
        return "none"
    expected = evaluated(query, xml)
    for step in steps:
        assert streamed(query, xml, step) == expected, f"step {step}: {text}"
    return str(code.plan.strategy.value)


# ----------------------------------------------------------------------------------------------------------- XMark


@cache
def site() -> bytes:
    return b"".join(document(0.0008, 7))


@pytest.mark.parametrize("path", sorted((FIXTURES / "xmark").glob("q*.xq")), ids=lambda path: str(path.stem))
def test_xmark(path: Path) -> None:
    expected = "project" if path.stem in ("q08", "q09", "q10", "q11", "q12", "q19") else "stream"
    assert same(path.read_text(), site(), (97, 4000, 1 << 20)) == expected


# ------------------------------------------------------------------------------------------------------- the papers


@cache
def stored(stream: str) -> bytes:
    generator = find(GENERATORS.get(stream, stream))
    assert generator.document is not None
    return b"".join(generator.document(STORED[stream], 1))


PIXELS = b"<stream>" + b"".join(b"<pixel><x>%d</x><y>%d</y></pixel>" % (i % 4, i % 3) for i in range(9)) + b"</stream>"


def over_documents() -> list[tuple[Path, str]]:
    """The papers' queries over what is stored somewhere, each with the stream it reads; the others are over changes."""
    return [
        (path, stream)
        for path in sorted((FIXTURES / "papers").glob("*.xq"))
        for stream in (*STORED, "pixels")
        if f'stream("{stream}")' in path.read_text()
    ]


@pytest.mark.parametrize(("path", "stream"), over_documents(), ids=lambda part: getattr(part, "stem", part))
def test_the_queries_of_the_papers_on_documents(path: Path, stream: str) -> None:
    xml = PIXELS if stream == "pixels" else stored(stream)
    steps = STEPS if len(xml) < 1000 else (1000, 1 << 20)
    assert same(path.read_text().replace(f'stream("{stream}")', 'doc("d")'), xml, steps) != "none"


# ---------------------------------------------------------------------------------------------------- random queries


def agrees(text: str, xml: bytes, seen: Counter[str]) -> None:
    """As :func:`same`, but for errors: whether one is met depends on the order of evaluation, which is free."""
    query = compile(text)
    code = query.plan()
    if code is None:
        return
    seen[code.plan.strategy.value] += 1
    expected = evaluated(query, xml)
    for step in (1, 20, 1 << 20):
        found = streamed(query, xml, step)
        assert found is not None
        if not (is_error(found) or is_error(expected)):
            assert found == expected, f"step {step}: {text}\non {xml.decode()}"


def is_error(answer: str) -> bool:
    return len(answer) == 8 and answer[:4].isupper() and answer[4:].isdigit()


@pytest.mark.parametrize("seed", range(3 * MORE))
def test_random_queries_that_stream(seed: int) -> None:
    drawn = Streaming(seed)
    seen: Counter[str] = Counter()
    for _ in range(6):
        xml = drawn.document().encode()
        for _ in range(6):
            agrees(drawn.query(), xml, seen)
    assert seen["stream"] > seen["project"]


@pytest.mark.parametrize("seed", range(3 * MORE))
def test_random_queries_on_all_axes(seed: int) -> None:
    drawn = Random(seed)
    seen: Counter[str] = Counter()
    for _ in range(3):
        xml = drawn.document().encode()
        for _ in range(8):
            agrees(drawn.query(), xml, seen)
    assert seen


NASTY = (
    b"<?xml version='1.0'?><!--c--><?p q?><r xmlns='urn:d' xmlns:p='urn:p' p:i='1'>t<a>1</a>&lt;<![CDATA[<x>]]>"
    b"<p:a xml:lang='en'><b xmlns='' i='&quot;'>2<!--in-->3</b></p:a><a/><?p in?>&#x20AC;</r><!--end-->"
)


@pytest.mark.parametrize(
    "text",
    [
        "/",
        "/node()",
        "//comment() | //processing-instruction()",
        "//*:a",
        "//*[@*]",
        "//@*/name()",
        "//text()",
        "//*:b/ancestor::*/name()",
        "for $a in //*:a return in-scope-prefixes($a)",
        "for $a in //*:a return <c>{$a}</c>",
        "//*:a/base-uri()",
        "count(//node())",
        "string(/)",
        "/*/node()[2]",
        "declare namespace p = 'urn:p'; //p:a/*[. = '23'], count(//p:*)",
        "declare default element namespace 'urn:d'; /r/a ! position(), //a[last()]",
        "(//text())[3]",
        "//*[local-name() = 'b']/lang('en', .)",
    ],
)
def test_nasty_documents(text: str) -> None:
    assert same(text, NASTY) in ("stream", "project")


NUMBERS = b"<s>" + b"".join(b"<p><n>%d</n></p>" % n for n in range(4)) + b"</s>"


@pytest.mark.parametrize(
    "text",
    [
        "if (//n = 3) then count(//n) else sum(//n ! (1 idiv xs:integer(.)))",
        "if (//n = 9) then count(//n) else sum(//n ! (1 idiv xs:integer(.)))",
        "try { sum(//n ! (1 idiv xs:integer(.))) } catch err:FOAR0001 { 'zero' }",
        "try { count(//n) } catch * { 0 }, for $n in //n return try { 1 idiv xs:integer($n) } catch * { 'zero' }",
        "count(//n), //p[n = 0]/n, sum(//n ! (6 idiv xs:integer(.)))",
        "some $n in //n satisfies 1 idiv xs:integer($n) = 1",
    ],
)
def test_errors_are_met_where_values_are_read(text: str) -> None:
    same("declare namespace err = 'http://www.w3.org/2005/xqt-errors'; " + text, NUMBERS)


# ---------------------------------------------------------------------------------------------------- nests, nested

CONTAINERS = (
    b"<r><g i='1'><p>1</p><g i='2'><p>2</p><h><p>3</p></h></g><p>4</p><g i='3'/></g>"
    b"<g i='4'><p>5</p><x><g i='5'><p>6</p></g></x></g></r>"
)


@pytest.mark.parametrize(
    "text",
    [
        "for $g in //g return count($g//p)",
        "for $g in //g return <g i='{$g/@i}'>{count($g//p), $g//p}</g>",
        "for $g in //g return data($g//p)",
        "(for $g in //g return count($g//p))[3]",
        "sum(for $g in //g return count($g//p))",
        "count(for $g in //g where count($g//p) > 1 return $g/@i)",
        "for $g in //g where $g/p = '2' return count($g//p)",
        "(for $g in //g return <g>{sum($g//p)}</g>)/text()",
        "(for $g in //g return $g//p)/..",
    ],
)
def test_containers_within_containers_come_in_the_order_they_begin(text: str) -> None:
    assert same(text, CONTAINERS) == "stream"


def test_what_one_loop_keeps_of_a_container_is_not_met_again_by_another() -> None:
    text = "for $r in /r/* return <r i='{$r/@i}'>{count($r//p)}</r>, for $g in /r/g/g return <g>{count($g//p)}</g>"
    assert same(text, CONTAINERS) == "stream"


@pytest.mark.parametrize("condition", ["p = 2", "p = 7", "h"])
def test_what_is_below_the_ancestors_of_records(condition: str) -> None:
    assert same(f"count(//g[{condition}]/ancestor::*//p)", CONTAINERS) == "stream"
    assert same(f"//g[{condition}]/ancestor::*//p", CONTAINERS) == "stream"
