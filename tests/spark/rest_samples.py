"""A file with everything that makes cutting hard, and queries run as Spark would run them, without Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from local_frames import LocalSpark

from xstreamcast.errors import XStreamError
from xstreamcast.generate.xmark import document as xmark
from xstreamcast.model.atomic import Item
from xstreamcast.model.serialise import serialise
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.files import Document, documents

NOW = "2003-11-15T00:00:00Z"
XMARK = {
    path.stem: path.read_text() for path in sorted((Path(__file__).parents[1] / "fixtures" / "xmark").glob("q*.xq"))
}
"""The twenty queries, by name."""


@cache
def site() -> bytes:
    """What they are about."""
    return b"".join(xmark(0.002, 7))


def said(answer: Iterable[Item]) -> str:
    """An answer, by a method that tells types apart, or the code of its error."""
    try:
        return serialise(list(answer), method="adaptive")
    except XStreamError as failure:
        return f"error {failure.code}"


NASTY = """<?xml version="1.0"?>
<!-- <not><r> --><!DOCTYPE s SYSTEM "x.dtd"><?pi <r> ?>
<s xmlns="urn:d" xmlns:p="urn:p" k='a>b'><r id="1" t="&lt;r> é"><r id="2">x<!-- <r id="99"> --></r>t1<![CDATA[<r \
id="98">]]]]>t2</r
 >tail<![CDATA[more]]>é漢字<p:q a='"'><r id="3"/><r id="4" u='>'>z<?p <r>?></r></p:q><q><q><r id="5">"'</r></q></q>
<!-- <![CDATA[ <r id="97"> <?x --><![CDATA[ <!-- <r id="96"/> <?y ]]><?z <!-- <![CDATA[ <r id="95"> ?>
<r id="6" a="-->" b=']]>?>' c="/>">line\r\n > /> -- ?> ]] 𝄞<!----><?e?></r><é漢 ü="𝄞/>"><r id="7"\n/></é漢>
<q><q><q><q><q><q><q><q><q><r id="8"><r><r id="9"/></r></r></q></q></q></q></q></q></q></q></q>
<r id="10">{long}</r><!-- </r> --><r id="11"><x><![CDATA[]]></x></r></s>
<!-- after <s> -->
""".replace("{long}", "<w>long&amp;</w>" * 9)
"""Nested records of one name; comments, CDATA sections, PIs and attributes with tags in them, and with what begins or
ends one another; names and text of many bytes; empty tags; elements in elements in elements; a long record."""
IDS = [1, 2, 3, 4, 5, 6, 7, 8, None, 9, 10, 11]
"""Of its records."""

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


def spread_here(
    text: str, document: Document, step: int, log: list[str] | None = None, broadcast: int = -1
) -> Iterator[Item]:
    """A query's items as Spark would make them of ranges of a document; ``log`` gets the operators.

    ``broadcast``: bytes of rows that are few enough to go to all tasks.
    """
    spark = LocalSpark(broadcast)
    made: Any = spark
    yield from prepare(made, text, context=document.path, now=NOW, base_uri="file:///", partition_bytes=step).items()
    if log is not None:
        log += spark.log
