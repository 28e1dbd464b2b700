"""A file with everything that makes cutting hard, and queries run as Spark would run them, without Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xstreamcast.model.atomic import Item
from xstreamcast.run.library import moment_of
from xstreamcast.spark.at_rest import PARTIALS, PROJECTED, WHOLE, way
from xstreamcast.spark.files import Document, documents
from xstreamcast.spark.indexing import planned
from xstreamcast.spark.program import Answer, Program, Scan
from xstreamcast.spark.ranges import Range
from xstreamcast.spark.transport import dumps, loads

NOW = "2003-11-15T00:00:00Z"

NASTY = """<?xml version="1.0"?>
<!-- <not><r> --><!DOCTYPE s SYSTEM "x.dtd"><?pi <r> ?>
<s xmlns="urn:d" xmlns:p="urn:p" k='a>b'><r id="1" t="&lt;r> é"><r id="2">x<!-- <r id="9"> --></r>t1<![CDATA[<r \
id="8">]]]]>t2</r
 >tail<![CDATA[more]]>é漢字<p:q a='"'><r id="3"/><r id="4" u='>'>z<?p <r>?></r></p:q><q><q><r id="5">"'</r></q></q>
<r id="6">{long}</r><!-- </r> --><r id="7"><x><![CDATA[]]></x></r></s>
<!-- after <s> -->
""".replace("{long}", "<w>long&amp;</w>" * 9)
"""Nested records of one name; comments, CDATA sections, PIs and attributes with tags in them; text of many bytes."""

_TOKEN = re.compile(
    r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!DOCTYPE[^>]*>|<(?P<end>/)?[^>"']*(?:"[^"]*"[^>"']*|'[^']*'[^>"']*)*>""",
    re.DOTALL,
)


def open_tags(text: str) -> dict[int, list[bytes]]:
    """By the byte where each tag begins: the start tags that are open before it. The slow way."""
    found: dict[int, list[bytes]] = {}
    stack: list[bytes] = []
    for match in _TOKEN.finditer(text):
        tag = match[0]
        if tag.startswith(("<!", "<?")):
            continue
        found[len(text[: match.start()].encode())] = list(stack)
        if match["end"]:
            stack.pop()
        elif not tag.endswith("/>"):
            stack.append(tag.encode())
    return found


def document_of(folder: Path, content: str | bytes, name: str = "document.xml") -> Document:
    """A file with a content, as it is listed."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return documents(str(path))[0]


def spread_here(text: str, document: Document, step: int) -> Iterator[Item]:
    """A query's items from ranges of a document that were worked on apart, as tasks would, and sent."""
    program = Program(text, "file:///", (), dumps({}), moment_of(NOW), ())
    chosen = way(None if (code := program.query.plan()) is None else code.plan)
    if chosen == WHOLE:
        yield from program.query(context=document.source(), now=NOW)
        return
    assert code is not None
    answer = Answer(program)
    tasks: list[list[Range]] = planned([document], step)
    if chosen != PROJECTED:
        yield from answer.rest()
    for number in range(len(code.plan.passes)):
        values = {} if chosen == PROJECTED else answer.values(number)
        scan: Scan = loads(dumps(Scan(program, number, document.uri, dumps(values), chosen == PARTIALS)))
        if chosen == PROJECTED:
            sent = [loads(dumps(scan.projected(parts))) for parts in tasks]
            answer.bind(scan.step.source, [part for parts in sent for part in parts], document.uri)
        elif chosen == PARTIALS:
            yield from answer.take(number, [loads(scan.sent(parts)) for parts in tasks])
        else:
            for parts in tasks:
                yield from loads(dumps(list(scan.items(parts))))
            return
    yield from answer.rest()
