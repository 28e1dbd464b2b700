"""Plain documents that arrive slowly: T of what is told is what has come, with all open elements closed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from random import Random

import pytest
from lxml import etree

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.run.continuous.arrive.growing import read_growing
from xstreamcast.run.continuous.query import ContinuousQuery

TAG = re.compile(
    rb"""<!--.*?-->|<[?].*?[?]>|<!\[CDATA\[.*?\]\]>|<[!?].*|<(/?)([A-Za-z:]+)(?:[^<>"']|"[^"]*"|'[^']*')*?(/?)>""",
    re.DOTALL,
)


def closed(text: bytes) -> bytes | None:
    """A prefix of a document up to its last whole tag, with its open elements closed; None: nothing has come."""
    names: list[bytes] = []
    end = 0
    for tag in TAG.finditer(text):
        if tag[2] is None:
            continue
        end = tag.end()
        if tag[1]:
            names.pop()
        elif not tag[3]:
            names.append(tag[2])
    begin = re.search(rb"<[A-Za-z]", text)
    if not end or begin is None:
        return None
    return text[begin.start() : end] + b"".join([b"</%b>" % name for name in reversed(names)])


def canonical(text: bytes) -> bytes:
    return etree.tostring(etree.fromstring(text), method="c14n", exclusive=True)


def drawn(draw: Random, depth: int = 0) -> str:
    name = draw.choice(["a", "b", "p:c"])
    inner = ""
    for _ in range(draw.randrange(5 if depth < 4 else 1)):
        inner += draw.choice(["t", " &amp; ", "<!-- <a> -->", "<?pi x?>", "<![CDATA[<b>]]>", "", ""])
        inner += drawn(draw, depth + 1)
    space = draw.choice(["", "", ' xmlns:p="urn:other"', ' xmlns="urn:d"', " x='1 > 0'"])
    return f"<{name}{space}>{inner}</{name}>" if inner or draw.random() < 0.5 else f"<{name}{space}/>"


@pytest.mark.parametrize("seed", range(40))
def test_after_every_chunk_t_is_what_has_come(seed: int) -> None:
    draw = Random(seed)
    text = f'<?xml version="1.0"?><!-- x --><r xmlns:p="urn:p">{"".join(drawn(draw) for _ in range(4))}</r>\n'.encode()
    cuts = sorted(draw.sample(range(1, len(text)), min(12, len(text) - 1)))
    seen = b""
    document = Materialiser()

    def chunks() -> Iterator[bytes]:
        nonlocal seen
        for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            expected = closed(seen)
            if expected is not None and b"<r " in seen and seen.index(b"<r ") < len(seen) - 3:
                assert canonical(document.text().encode()) == canonical(expected)
            seen += text[begin:end]
            yield text[begin:end]

    for arrival in read_growing(chunks(), "s"):
        assert isinstance(arrival.item, Change), arrival.item
        document.apply(arrival.item)
    assert canonical(document.text().encode()) == canonical(text)


QUERIES = (
    'count(stream("s")//item)',
    'for $i in stream("s")//item order by number($i/n) descending, $i/@id return <i>{ $i/@id, $i/n/text() }</i>',
    'stream("s")//item[n > 5]/@id/string()',
    'for $i in stream("s")//item group by $k := $i/k return <k n="{ $k }">{ count($i), sum($i/n) }</k>',
)


def from_scratch(text: str, document: bytes) -> str:
    """The answer, or the code of the error that it is: a number that has not come yet is none."""
    try:
        return xstreamcast.query(text.replace('stream("s")', ""), context=document.decode()).xml()
    except XStreamError as failure:
        return failure.code


def told(query: ContinuousQuery) -> str:
    found = query.told()
    return found.code if isinstance(found, XStreamError) else found


@pytest.mark.parametrize("text", QUERIES)
def test_the_answer_is_that_of_what_has_come(text: str) -> None:
    draw = Random(text)
    items = [f'<item id="{n}"><n>{draw.randrange(10)}</n><k>{draw.choice("xyz")}</k></item>' for n in range(40)]
    groups = [f"<g>{''.join(items[at : at + 10])}</g>" for at in range(0, 40, 10)]
    whole = f"<r>{''.join(groups)}</r>".encode()
    query = xstreamcast.continuous(text)
    compared, seen = 0, b""

    def chunks() -> Iterator[bytes]:
        nonlocal seen, compared
        at = 0
        while at < len(whole):
            size = draw.randrange(5, 120)
            expected = closed(seen)
            if expected is not None:
                compared += 1
                assert told(query) == from_scratch(text, expected)
            seen += whole[at : at + size]
            yield whole[at : at + size]
            at += size

    for arrival in read_growing(chunks(), "s"):
        assert isinstance(arrival.item, Change)
        query.feed(arrival.item, "s")
    assert compared > 20
    assert told(query) == from_scratch(text, whole)


def test_what_is_written_as_a_stream_or_comes_at_once_is_read_as_ever() -> None:
    stream = b'<filler id="0"><r><hole id="1"/></r></filler><filler id="1"><a/></filler>'
    for chunks in ([stream], [stream[:5], stream[5:40], stream[40:]]):
        kinds = [arrival.item.kind for arrival in read_growing(chunks, "s") if isinstance(arrival.item, Change)]
        assert kinds == ["fill", "fill"]
    (only,) = read_growing([b"<r><a/></r>"], "s")
    assert isinstance(only.item, Change)
    assert only.item.kind == "fill"


def test_the_fragments_behind_a_root_that_came_slowly_fill_its_holes() -> None:
    document = Materialiser()
    chunks = [b'<r><stream:hole id="1"/>', b"<b>", b'</b></r><stream:filler id="1"><a/></stream:filler>']
    for arrival in read_growing(chunks, "s"):
        document.apply(arrival.item)
    assert canonical(document.text().encode()) == b"<r><a></a><b></b></r>"


@pytest.mark.parametrize(
    ("chunks", "code"),
    [([b"<r><a>", b"</b>"], "XSC0001"), ([b"<r><a>", b"</a>"], "XSC0034")],
    ids=["malformed", "cut-short"],
)
def test_what_is_wrong_is_told_with_its_place_and_what_came_stays(chunks: list[bytes], code: str) -> None:
    *changes, last = [arrival.item for arrival in read_growing(chunks, "s")]
    assert isinstance(last, Diagnostic)
    assert last.code == code
    assert last.place.offset is not None
    document = Materialiser()
    for change in changes:
        document.apply(change)
    assert canonical(document.text().encode()) == b"<r><a></a></r>"


def test_a_prefix_of_the_document_that_anchors_have_is_left_alone() -> None:
    chunks = [b'<r xmlns:stream="urn:mine"><stream:a>', b"1</stream:a>", b"</r>"]
    document = Materialiser()
    for arrival in read_growing(chunks, "s"):
        document.apply(arrival.item)
    assert canonical(document.text().encode()) == canonical(b"".join(chunks))


def test_watch_shows_a_document_while_it_comes_through_a_pipe() -> None:
    command = [sys.executable, "-m", "xstreamcast", "watch", 'count(stream("s")//a)', "--stream", "s=-", "--trace"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found = []
        for piece in (b"<r><a>1</a>", b"<a>2", b"</a><b><a/>"):
            process.stdin.write(piece)
            process.stdin.flush()
            found.append(json.loads(process.stdout.readline())["answer"])
        process.stdin.write(b"</b></r>")
        process.stdin.close()
        assert process.wait() == 0
    assert found == ["1", "2", "3"]
