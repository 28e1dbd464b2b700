"""Documents and streams are given as paths, as XML in text or bytes, or as open files, wherever Python gives them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xstreamcast
from xstreamcast.errors import XStreamError
from xstreamcast.feeds import Feed
from xstreamcast.model.change import ContentChange
from xstreamcast.model.structure import Structure

DOCUMENT = "<a>\n<b>ä</b></a>"
WAYS: dict[str, Callable[[str, Path], Any]] = {
    "path": lambda _, path: path,
    "name": lambda _, path: str(path),
    "text": lambda text, _: "\ufeff " + text,
    "bytes": lambda text, _: text.encode(),
    "bytearray": lambda text, _: bytearray(text.encode()),
    "memoryview": lambda text, _: memoryview(text.encode()),
    "open file": lambda _, path: path.open("rb"),
    "open text": lambda _, path: path.open(encoding="utf-8"),
    "BytesIO": lambda text, _: io.BytesIO(text.encode()),
    "StringIO": lambda text, _: io.StringIO(text),
}


def last_of(feed: Feed, document: Any) -> bytes:
    *_, last = feed.changes(document)
    assert isinstance(last, ContentChange)
    return last.content


def of_stream(source: Any) -> str:
    query = xstreamcast.continuous('stream("s")//b/string()')
    query.load(source)
    return query.text()


TAKEN: dict[str, tuple[bool, Callable[[Any], Any], Any]] = {
    "query": (False, lambda it: xstreamcast.query("//b/string()", context=it).to_list(), ["ä"]),
    "feed": (False, lambda it: last_of(Feed("/a/b"), it), "<b>ä</b>".encode()),
    "messages": (False, lambda it: last_of(Feed("/a"), it), DOCUMENT.encode()),
    "structure": (False, lambda it: [tag.name for tag in xstreamcast.infer_structure(it).tags.values()], ["a", "b"]),
    "structures": (False, lambda it: xstreamcast.infer_structure([it]).tags[1].name, "a"),
    "fragment": (False, lambda it: xstreamcast.fragment(it, io.BytesIO()), 1),
    "materialise": (True, xstreamcast.materialise, DOCUMENT.encode()),
    "stream": (True, lambda it: xstreamcast.query('stream("s")//b/string()', streams={"s": it}).to_list(), ["ä"]),
    "load": (True, of_stream, "ä"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("taken", TAKEN)
def test_what_is_given_in_any_way_is_read(taken: str, way: str, tmp_path: Path) -> None:
    is_stream, take, expected = TAKEN[taken]
    text = DOCUMENT
    if is_stream:
        out = io.BytesIO()
        xstreamcast.fragment(DOCUMENT, out)
        text = out.getvalue().decode()
    file = tmp_path / "given.xml"
    file.write_bytes(text.encode())
    assert take(WAYS[way](text, file)) == expected


@pytest.mark.parametrize("taken", [one for one in TAKEN if one != "query"])
def test_what_cannot_be_read_is_refused_with_a_hint(taken: str) -> None:
    with pytest.raises(XStreamError, match="XPTY0004 an int is nothing that XML is read from\n  hint: a path, XML"):
        TAKEN[taken][1](5)


def test_a_feed_of_bytes_has_the_name_of_no_file() -> None:
    first = next(Feed("/order").changes(b"<order/>"))
    assert isinstance(first, Structure)
