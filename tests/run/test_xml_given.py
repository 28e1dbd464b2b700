"""XML in every form that Python has for it, wherever XML is taken; tables as values of variables."""

from __future__ import annotations

import asyncio
import gzip
import io
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pandas
import polars
import pyarrow
import pytest
from lxml import etree

import xstreamcast as x
from xstreamcast.errors import XStreamError
from xstreamcast.scan.parse import parse

DOCUMENT = "<r><a id='1'>x</a><a id='2'>ü</a></r>".encode()
STREAM = (
    '<s:fragments xmlns:s="urn:xstreamcast:stream"><s:filler id="0"><r><a id="1">x</a><s:hole id="1"/></r></s:filler>'
    '<s:filler id="1"><a id="2">ü</a></s:filler><s:eos/></s:fragments>'
).encode()
MESSAGES = [
    b'<stream:filler id="0"><r><a id="1">x</a><stream:hole id="1"/></r></stream:filler>',
    '<stream:filler id="1"><a id="2">ü</a></stream:filler>'.encode(),
]
TAGS = b'<structure><tag id="1" name="r"><tag id="2" name="a" type="filler"/></tag></structure>'
ASKED = 'stream("s")//a/string()'


def form_of(kind: str, data: bytes, folder: Path) -> Any:
    """XML in a form of Python's."""
    file, packed = folder / "given.xml", folder / "given.xml.gz"
    file.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    forms: dict[str, Callable[[], Any]] = {
        "bytes": lambda: data,
        "bytearray": lambda: bytearray(data),
        "memoryview": lambda: memoryview(data),
        "text": data.decode,
        "text of a path": lambda: str(file),
        "path": lambda: file,
        "packed": lambda: packed,
        "file": lambda: file.open("rb"),
        "text file": lambda: file.open(encoding="utf-8"),
        "packed file": lambda: packed.open("rb"),
        "bytes file": lambda: io.BytesIO(data),
        "string file": lambda: io.StringIO(data.decode()),
        "lxml element": lambda: etree.fromstring(data),
        "lxml tree": lambda: etree.ElementTree(etree.fromstring(data)),
        "ElementTree element": lambda: ElementTree.fromstring(data),
        "ElementTree tree": lambda: ElementTree.ElementTree(ElementTree.fromstring(data)),
        "node": lambda: parse(data),
    }
    return forms[kind]()


KINDS = (
    "bytes", "bytearray", "memoryview", "text", "text of a path", "path", "packed", "file", "text file", "packed file",
    "bytes file", "string file", "lxml element", "lxml tree", "ElementTree element", "ElementTree tree", "node",
)  # fmt: skip


def followed(given: Any) -> str:
    asked = x.continuous(ASKED, feed=x.Feed("/r/a", key="@id"), source=given)
    list(asked.follow())
    return asked.text()


def fed(given: Any) -> str:
    asked = x.continuous(ASKED, feed=x.Feed("/r/a", key="@id"))
    asked.feed_xml(given)
    return asked.text()


def changed(given: Any) -> str:
    asked = x.continuous(ASKED)
    asked.feed_many(x.Feed("/r/a", key="@id").changes(given))
    return asked.text()


def fragmented(given: Any) -> str:
    out = io.BytesIO()
    x.fragment(given, out)
    return x.query("//a/string()", context=x.materialise(out.getvalue())).text()


def inferred(given: Any) -> str:
    out = io.BytesIO()
    x.fragment(DOCUMENT, out, x.infer_structure(given))
    return x.query("//a/string()", context=x.materialise(out.getvalue())).text()


def run(brought: Any, **options: Any) -> str:
    """What a query says of all that is brought to it, asynchronously."""

    async def all_of() -> str:
        asked = x.continuous(ASKED, **options)
        async for _ in asked.run(brought):
            pass
        return asked.text()

    return asyncio.run(all_of())


async def waited_for(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


ONE: dict[str, Callable[[Any], str]] = {
    "context": lambda given: x.query("//a/string()", context=given).text(),
    "compiled": lambda given: x.compile("//a/string()")(context=given).text(),
    "query_many": lambda given: x.query_many(["//a/string()"], context=given)[0].text(),
    "docs": lambda given: x.query("doc('d')//a/string()", docs={"d": given}).text(),
    "docs of continuous": lambda given: x.continuous("doc('d')//a/string()", docs={"d": given}).text(),
    "in a collection": lambda given: x.query("collection()//a/string()", collections={"": [given]}).text(),
    "collection": lambda given: x.query("collection()//a/string()", collections={"": given}).text(),
    "fragment": fragmented,
    "infer_structure": inferred,
    "changes": changed,
    "feed_xml": fed,
    "source": followed,
    "run": lambda given: run([given], feed=x.Feed("/r/a", key="@id")),
    "run, waited for": lambda given: run(waited_for([given]), feed=x.Feed("/r/a", key="@id")),
    "source, waited for": lambda given: run(None, feed=x.Feed("/r/a", key="@id"), source=waited_for([given])),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", ONE)
def test_a_document_is_taken_in_every_form(entry: str, kind: str, tmp_path: Path) -> None:
    assert ONE[entry](form_of(kind, DOCUMENT, tmp_path)) == "x ü"


def loaded(given: Any) -> str:
    asked = x.continuous(ASKED)
    asked.load(given)
    return asked.text()


def streamed(given: Any) -> str:
    asked = x.continuous(ASKED, streams={"s": given})
    list(asked.follow())
    return asked.text()


STREAMS: dict[str, Callable[[Any], str]] = {
    "streams": lambda given: x.query(ASKED, streams={"s": given}).text(),
    "materialise": lambda given: x.query("//a/string()", context=x.materialise(given)).text(),
    "load": loaded,
    "followed": streamed,
    "run": lambda given: run([given]),
    "run, waited for": lambda given: run(waited_for([given])),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", STREAMS)
def test_a_stream_is_taken_in_every_form(entry: str, kind: str, tmp_path: Path) -> None:
    data = STREAM if kind != "node" or entry != "streams" else DOCUMENT  # a node is what the stream stands for
    assert STREAMS[entry](form_of(kind, data, tmp_path)) == "x ü"


@pytest.mark.parametrize("entry", ["streams", "materialise", "load", "followed"])
def test_a_stream_comes_in_pieces_too(entry: str) -> None:
    wire = b"".join(MESSAGES)
    for pieces in (MESSAGES, tuple(MESSAGES), iter(MESSAGES), (piece.decode() for piece in MESSAGES)):
        assert STREAMS[entry](pieces) == "x ü"
    assert STREAMS[entry](wire[at : at + 7] for at in range(0, len(wire), 7)) == "x ü"


def test_messages_are_answered_as_they_come() -> None:
    asked = x.continuous(ASKED)
    seen: list[str] = []

    async def look() -> None:
        async for _ in asked.run(waited_for([*MESSAGES, x.Remove(region=1, version=1)])):
            seen.append(asked.text())

    asyncio.run(look())
    assert list(dict.fromkeys(seen)) == ["x", "x ü"]
    assert seen[-1] == "x"


@pytest.mark.parametrize("kind", KINDS)
def test_several_documents_are_a_list_of_any_forms(kind: str, tmp_path: Path) -> None:
    other = b"<r><a id='3'>z</a></r>"

    def documents() -> Iterator[Any]:
        yield form_of(kind, DOCUMENT, tmp_path)
        yield other

    text = "//a/string()"
    for given in (list(documents()), tuple(documents()), documents()):
        assert x.query(text, context=given).text() == "x ü z"
    for result in x.query_many([text], context=documents()):
        assert result.text() == "x ü z"
    assert x.query("count(collection()//a)", context=list(documents())).one() == 3
    assert x.query("count(collection()//a)", collections={"": documents()}).one() == 3
    assert followed(documents()) == fed(documents()) == "x ü z"
    assert run(list(documents()), feed=x.Feed("/r/a", key="@id")) == "x ü z"
    assert len(x.infer_structure(documents()).tags) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_structure_is_taken_in_every_form(kind: str, tmp_path: Path) -> None:
    asked = x.continuous(ASKED, structures={"s": form_of(kind, TAGS, tmp_path)})
    assert sorted(tag.name for tag in asked.inflow.structures["s"].tags.values()) == ["a", "r"]


@pytest.mark.parametrize(
    ("entry", "given", "code"),
    [
        ("context", 7, "XPTY0020"),
        ("docs", [DOCUMENT], "FODC0002"),
        ("docs", 7, "FODC0002"),
        ("feed_xml", 7, "XPTY0004"),
        ("changes", [DOCUMENT], "XPTY0004"),
        ("fragment", {}, "XPTY0004"),
        ("source", 7, "XPTY0004"),
    ],
)
def test_what_is_no_document_is_told(entry: str, given: object, code: str) -> None:
    with pytest.raises(XStreamError) as failure:
        ONE[entry](given)
    assert failure.value.code == code


def test_what_must_be_waited_for_is_for_run() -> None:
    with pytest.raises(XStreamError, match="XPTY0004") as failure:
        x.continuous(ASKED, streams={"s": waited_for(MESSAGES)})
    assert "run" in failure.value.hint


WRITTEN = "<l><r id='1' name='x' n='2.5'/><r id='2' n='0'/></l>"
ROWS = [{"id": 1, "name": "x", "n": 2.5}, {"id": 2, "name": None, "n": 0.0}]


def tables() -> dict[str, Any]:
    arrow = pyarrow.Table.from_pylist(ROWS)
    connection = duckdb.connect()
    connection.register("t", arrow)
    return {
        "pandas": pandas.DataFrame(ROWS),
        "Arrow": arrow,
        "batch": arrow.to_batches()[0],
        "reader": arrow.to_reader(),
        "polars": polars.DataFrame(ROWS),
        "DuckDB": connection.sql("SELECT * FROM t"),
        "records": ROWS,
        "generator": (row for row in ROWS),
        "answer": x.query("//r", context=WRITTEN, columns="@id as xs:integer, @name, n=@n as xs:double"),
    }


@pytest.mark.parametrize("kind", tables())
def test_a_table_is_a_sequence_of_records(kind: str) -> None:
    table = tables()[kind]
    asked = 'string-join(for $r in $t return $r?id || ":" || $r?name || ":" || $r?n, " ")'
    assert x.query(asked, variables={"t": table}).one() == "1:x:2.5 2::0"


def test_a_table_of_a_continuous_query_is_a_sequence_of_records() -> None:
    asked = x.continuous('for $r in $t, $a in stream("s")//a where $a/@id = $r?id return $r?name || $a',
                         variables={"t": pyarrow.Table.from_pylist(ROWS)})  # fmt: skip
    asked.load(MESSAGES)
    assert asked.text() == "xx ü"


def test_columns_of_tables_and_answers_are_sequences() -> None:
    arrow = pyarrow.Table.from_pylist(ROWS)
    for values in (arrow["id"], pandas.DataFrame(ROWS)["id"], polars.DataFrame(ROWS)["id"], x.query("1, 2")):
        assert x.query("sum($v)", variables={"v": values}).one() == 3
