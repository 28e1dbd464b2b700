"""Paths find in a scan what XPath finds in the tree: lxml is the judge."""

from __future__ import annotations

import re
from typing import Any

import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from scan_documents import documents
from scan_oracle import expat_events, pieces

from xstreamcast.errors import XStreamError
from xstreamcast.scan import reader, spans
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.path import parse_path
from xstreamcast.scan.reader import scan_bytes, scan_chunks
from xstreamcast.scan.scanner import Batch, Scanner

NAMESPACES = {"p": "urn:p", "q": "urn:q", "u": "u"}
ELEMENTS = "/root /root/a //a /root//b //a//b //a/b /root/* //* //p:a //u:* //*/* //item/name /root/*/*"
ATTRIBUTES = "//@* //@a /root/@a //p:a/@q:b //a/@* //@p:item //*/@b //a//@b"
OTHERS = "//text() /root/text() //a/text() //comment() /comment() //a/comment() //node() /root/node()"
INSTRUCTIONS = "//processing-instruction() //processing-instruction(go) //processing-instruction(no)"
PATHS = f"{ELEMENTS} {ATTRIBUTES} {OTHERS} {INSTRUCTIONS}".split()
STEPS = st.sampled_from(["/root", "/a", "//a", "/b", "//b", "/*", "//*", "/p:a", "//q:b", "//item", "//u:name"])
ENDS = st.sampled_from(["", "", "", "/@a", "//@*", "/text()", "//text()", "/@p:a", "//comment()"])


def judged(document: bytes, path: str) -> list[str]:
    """The string values XPath finds."""
    tree = etree.fromstring(document).getroottree()
    spelled = path.replace("(go)", "('go')").replace("(no)", "('no')")
    found: Any = tree.xpath(spelled, namespaces=NAMESPACES)
    return [str(node) if isinstance(node, str) else _value(node) for node in found]


def _value(node: etree._Element) -> str:
    return str(node.xpath("string()"))


def values(batch: Batch) -> list[str]:
    """The string values a scan captured, in document order."""
    rows = batch.rows[batch.start.argsort(kind="stable")]
    modes = []
    for start, begin, flags in rows[:, [2, 3, 6]].tolist():
        flags %= 256  # above are contexts
        opened = bytes(batch.buffer[start : start + 2])
        if not flags:
            modes.append(spans.RAW)
        elif begin > start and opened[:1] != b"<":
            modes.append(spans.ATTRIBUTE)
        else:
            modes.append(spans.LINES if opened in (b"<!", b"<?") and begin > start else spans.TEXT)
    return spans.strings(batch.buffer, rows[:, 3], rows[:, 4], modes)


@settings(max_examples=16 * MORE, deadline=None, derandomize=True)
@given(documents())
def test_all_paths_at_once_find_what_xpath_finds(document: bytes) -> None:
    if expat_events(document) is None:
        return
    automaton = Automaton([Target(parse_path(path, NAMESPACES)) for path in PATHS])
    list(scan_bytes(document, Scanner(automaton)))
    counted = {path: automaton.count(k) for k, path in enumerate(PATHS)}
    assert counted == {path: len(judged(document, path)) for path in PATHS}


@settings(max_examples=32 * MORE, deadline=None, derandomize=True)
@given(documents(), st.lists(STEPS, min_size=1, max_size=4), ENDS, st.integers(0, 30))
def test_a_path_captures_the_values_xpath_finds(document: bytes, steps: list[str], end: str, size: int) -> None:
    if expat_events(document) is None:
        return
    path = "".join(steps) + end
    automaton = Automaton([Target(parse_path(path, NAMESPACES), Action.CAPTURE)])
    if size:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reader, "PIECE", 2 * size)  # so that the buffer is moved on and enlarged
            found = [
                (batch.offset + int(start), value)
                for batch in scan_chunks(pieces(document, size), Scanner(automaton, rows=4))
                for start, value in zip(sorted(batch.start.tolist()), values(batch), strict=True)
            ]
    else:
        found = [
            (int(start), value)
            for batch in scan_bytes(document, Scanner(automaton))
            for start, value in zip(sorted(batch.start.tolist()), values(batch), strict=True)
        ]
    assert [value for _, value in sorted(found, key=lambda pair: pair[0])] == judged(document, path)


def test_a_buffer_is_kept_no_longer_than_open_records_need_it() -> None:
    automaton = Automaton([Target(parse_path("/a/i"), Action.RECORD), Target(parse_path("/a/i/n"), Action.CAPTURE)])
    record = b"<i>" + b"<n>" + b"x" * 5000 + b"</n></i>"
    chunks = (piece for _ in range(2000) for piece in pieces(record, 1024))
    seen = largest = 0
    for batch in scan_chunks([b"<a>", *chunks, b"</a>"], Scanner(automaton)):
        seen += int((batch.state == automaton.accepting(0)[0]).sum())
        largest = max(largest, len(batch.buffer))
    assert seen == 2000
    assert largest <= 2 << 20


def test_the_empty_path_leads_to_the_document() -> None:
    assert parse_path("").steps == ()


@pytest.mark.parametrize("path", ["a", "/a/", "/@a/b", "/text()/b", "/a[1]/", "//", "/a()"])
def test_what_is_no_path_is_refused_in_its_words(path: str) -> None:
    with pytest.raises(XStreamError, match=re.escape(f"XPST0003 not a path a scan follows: '{path}'")):
        parse_path(path)


def test_a_prefix_of_a_path_must_be_declared() -> None:
    with pytest.raises(XStreamError, match="XPST0081 prefix 'p'"):
        parse_path("/p:a")
