"""Several documents in one input, one after the other: their root elements are those of one document node."""

from __future__ import annotations

import gzip
import io
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from local_frames import LocalSpark

from xstreamcast.errors import DocumentWarning, XStreamError
from xstreamcast.feeds import Feed
from xstreamcast.model.change import Fill
from xstreamcast.run import inputs
from xstreamcast.run.query import query, query_many
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.documents import document_batches
from xstreamcast.scan.parse import parse
from xstreamcast.scan.path import parse_path
from xstreamcast.spark.rest.at_rest import prepare

DECLARED = b'<?xml version="1.0" encoding="UTF-8"?>\n'
PATENTS = (
    DECLARED + b'<!DOCTYPE p SYSTEM "p-v45.dtd" [ ]>\n<p n="1"><c>one</c></p>\n'
    + DECLARED + b'<!DOCTYPE p SYSTEM "p-v45.dtd" [ ]>\n<!-- two --><p n="2"><c>two</c><c/></p>\n'
    + DECLARED + b'<!DOCTYPE s PUBLIC "-//x//y" "s.dtd"><s n="3"/>'
)  # fmt: skip
NETCONF = b'<?xml version="1.0"?><p n="1"><c>one</c></p>]]>]]>\n<p n="2"><c>two</c><c/></p>]]>]]><s n="3"/>]]>]]>\n'
LOG = b'<p n="1"><c>one</c></p>\n<p n="2"><c>two</c><c/></p>\n<s n="3"/>\n'
ENTITIES = (
    b'<!DOCTYPE p [<!ENTITY one "one"><!ATTLIST p n CDATA "1">]><p><c>&one;</c></p>\n'
    b'<!DOCTYPE p SYSTEM "p.dtd" [<!ENTITY two "t<!-- -->wo"><!-- ]]>]]> -->]><p n="2"><c>&two;</c><c/></p>'
    b'<?xml version="1.0"?><!DOCTYPE s [<!ATTLIST s n CDATA "3">]><s/>'
)
MARKED = b"\xef\xbb\xbf<p n='1'><c>one</c></p>\r\n\xef\xbb\xbf<p n='2'><c>two</c><c/></p>\xef\xbb\xbf<s n='3'/>"
INPUTS = {"patents": PATENTS, "netconf": NETCONF, "log": LOG, "entities": ENTITIES, "marked": MARKED}
WANTED = '<p n="1"><c>one</c></p><p n="2"><c>two</c><c/></p><s n="3"/>'

pytestmark = pytest.mark.filterwarnings("ignore::xstreamcast.errors.DocumentWarning")


class _Slow(io.RawIOBase):
    """An input that comes in pieces and cannot be read again."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.pieces.pop(0) if self.pieces else b""
        buffer[: len(piece)] = piece
        return len(piece)


def pipe(pieces: list[bytes]) -> BinaryIO:
    return cast(BinaryIO, _Slow(pieces))


def elements(nodes: Any) -> str:
    return "".join(child.xml() for child in nodes if child.kind == 1)


def scanned(source: Any, **options: Any) -> str:
    """All of an input, by the scanner, put together again."""
    target = Target(parse_path("/*"), Action.PROJECT)
    batches = document_batches(source, [target], [parse_path("/*")], many=True, **options)
    return "".join(elements(batch.tree.root.children()) for batch in batches).replace("<!-- -->", "")


@pytest.mark.parametrize("data", INPUTS.values(), ids=INPUTS.keys())
def test_both_readers_take_them_wherever_the_input_is_cut(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "many.xml"
    file.write_bytes(data)
    whole = elements(parse(io.BytesIO(data), many=True).children()).replace("<!-- -->", "")
    assert whole == WANTED
    assert scanned(file) == scanned(data) == scanned(file, threads=2) == scanned(file, step=1) == WANTED
    for cut in range(1, len(data)):
        pieces = [data[:cut], data[cut:]]
        assert elements(parse(pipe(list(pieces)), many=True).children()).replace("<!-- -->", "") == WANTED, cut
        assert scanned(pipe(list(pieces))) == WANTED, cut
    for size in (1, 2, 7):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert scanned(pipe(list(pieces)), step=1) == WANTED
        assert elements(parse(pipe(pieces), many=True).children()).replace("<!-- -->", "") == WANTED


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "windows-1252", "utf-16-be"])
def test_they_may_have_another_encoding_if_all_have_it(encoding: str, tmp_path: Path) -> None:
    one = f'<?xml version="1.0" encoding="{encoding}"?>\n<p>é%d</p>\n'
    file = tmp_path / "many.xml"
    file.write_bytes("".join(one % number for number in range(3)).encode(encoding))
    expected = "<p>é0</p><p>é1</p><p>é2</p>"
    assert elements(parse(io.BytesIO(file.read_bytes()), many=True).children()) == expected
    assert scanned(file) == expected
    other = b'<?xml version="1.0" encoding="utf-8"?><p/>\n<?xml version="1.0" encoding="%s"?><p/>' % encoding.encode()
    for read in (lambda: parse(other, many=True), lambda: scanned(other)):
        with pytest.raises(XStreamError, match=f"declared as {encoding} after one of utf-8") as caught:
            read()
        assert caught.value.place is not None
        assert (caught.value.place.line, caught.value.place.column) == (2, 1)


@pytest.mark.parametrize(
    ("data", "message", "line", "column"),
    [
        (b"<a/>\n<?xml version='1.0'?>", "no element found", 2, 22),
        (b"<a/>\n<?xml version='1.0'?>\n<b>\n<c></b>", "mismatched tag", 4, 4),
        (b"<?xml version='1.0'?>\n<a/> <?xml version='1.0'?><b>&no;</b>", "entity", 2, 29),
        (b"<a/>\n<!DOCTYPE b><!DOCTYPE b><b/>", "", 2, 13),
        (b"<a/>\n<?xml version='1.0'?><?xml version='1.0'?><b/>", "", 2, 22),
        (b"<a/>\ntext", "junk", 2, 1),
        (b"<a/>\n</b>", "", 2, 1),
        (b"<a/>\n]]>x", "junk", 2, 1),
        (b"<a/>\n<?xml vers='1.0'?><b/>", "malformed XML declaration", 2, 1),
    ],
)
def test_what_is_no_document_has_its_place(data: bytes, message: str, line: int, column: int) -> None:
    for read in (lambda: parse(data, many=True), lambda: scanned(data), lambda: scanned(pipe([data[:7], data[7:]]))):
        with pytest.raises(XStreamError, match=message) as caught:
            read()
        place = caught.value.place
        assert place is not None
        assert (place.line, abs((place.column or 0) - column) <= 2) == (line, True)


# ---------------------------------------------------------------------------------------------------------- queries


def weekly(count: int) -> bytes:
    one = b'%s<!DOCTYPE grant SYSTEM "grant.dtd" [ ]>\n<grant n="%d" status="%s">%s</grant>\n'
    claims = b"".join(b"<claim>%d</claim>" % number for number in range(20))
    return b"".join(one % (DECLARED, n, (b"A", b"B")[n % 3 == 0], claims) for n in range(count))


QUERIES = (
    "count(/grant)",
    "/grant[@status = 'B']/@n/number()",
    "for $g in /grant where $g/@n > 3 return count($g/claim)",
    "for $g in /grant[claim = 7] return $g/@n/string()",
    "count(//claim[. = 3])",
    "/grant[2]/@n/string()",
    "/grant[last()]/@n/string()",
    "(//claim)[25]/string()",
    "sum(for $g in /grant return xs:integer($g/@n))",
    "let $n := count(/grant) for $g in /grant return $g/@n div $n",
    "for $g in /grant group by $s := string($g/@status) order by $s return ($s, count($g))",
    "count(/), name(/*[1]), count(/node())",
    "exists(/grant/claim/following::grant)",
    "/grant/claim[. = 1]/ancestor::*/@n/string()",
    "count(/grant/claim/root())",
    "for $g at $k in /grant return $k - $g/@n",
    "count(/grant/..), count(//claim/../..)",
    "/grant[not(following-sibling::grant)]/@n/string()",
    "for tumbling window $w in /grant start at $s when true() end at $e when $e - $s = 2 return count($w)",
)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(inputs, "KERNEL_FROM", 1 << 12)
    monkeypatch.setattr("xstreamcast.scan.parse.KERNEL_FROM", 1 << 12)
    path = tmp_path / "weekly.xml"
    path.write_bytes(weekly(40))
    return path


@pytest.mark.parametrize("text", QUERIES)
def test_a_scan_answers_as_the_document_node_with_all_root_elements_does(large: Path, text: str) -> None:
    data = large.read_bytes()
    expected = [str(item) for item in query(text, context=parse(data, many=True))]
    assert expected
    packed = large.with_suffix(".xml.gz")
    packed.write_bytes(gzip.compress(data))
    for context in (large, packed, data):
        for threads in (1, 2):
            given = io.BytesIO(context) if isinstance(context, bytes) else context
            assert [str(item) for item in query(text, context=given, threads=threads)] == expected
    assert [str(item) for item in query(f"doc('{large}') ! ({text})")] == expected
    assert [str(item) for item in query_many([text, "1"], context=large)[0]] == expected
    spark: Any = LocalSpark()
    for step in (500, 1 << 20):
        assert [
            str(item) for item in prepare(spark, text, context=str(large), partition_bytes=step).items()
        ] == expected
        both = prepare(spark, text, context=[str(large), str(large)], partition_bytes=step)
        assert [[str(item) for item in answer] for answer in both.answers()] == [expected, expected]


def test_a_pipe_is_answered_as_it_comes(large: Path) -> None:
    ours, theirs = os.pipe()
    with open(ours, "rb", buffering=0) as out, open(theirs, "wb", buffering=0) as into:
        writer = threading.Thread(target=lambda: (into.write(large.read_bytes()), into.write(DECLARED)))
        writer.start()
        found = iter(query("/grant/@n/number()", context=out))
        assert [next(found) for _ in range(40)] == list(range(40))
        writer.join()
        into.write(b"<grant n='40'/>")
        into.close()
        assert list(found) == [40]


def test_a_second_document_after_a_long_one_must_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "KERNEL_FROM", 1 << 12)
    path = tmp_path / "long.xml"
    path.write_bytes(b"<r>" + b"<v>1</v>" * 9999 + b"</r>\n<?xml version='1.0'?><r><v>2</v></r>")
    with pytest.raises(XStreamError, match="junk outside the document element") as caught:
        query("sum(//v)", context=path).to_list()
    assert (caught.value.hint, caught.value.place and caught.value.place.line) == (
        "another document begins here; if that is meant, say so: --many, many=True", 2
    )  # fmt: skip
    assert query("sum(//v)", context=path, many=True).to_list() == [10001]
    assert query("/r[v = 2]/count(v)", context=path, many=True).to_list() == [1]


def test_roots_with_nothing_between_them_are_told(tmp_path: Path) -> None:
    for data, count in ((LOG, 1), (PATENTS, 0), (NETCONF, 0)):
        path = tmp_path / "in.xml"
        path.write_bytes(data)
        for read in (lambda path=path: query("count(/*)", context=path).to_list(), lambda path=path: scanned(path)):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                assert read() in ([3], WANTED)
            assert [warning.category for warning in told] == [DocumentWarning] * count
            assert all(f"{path}:2:1 a second root element" in str(warning.message) for warning in told)


def test_parse_xml_and_fragments_stay_strict() -> None:
    assert query("try { parse-xml('<a/><b/>') } catch * { 7 }").to_list() == [7]


# ------------------------------------------------------------------------------------------------------------ feeds


def contents(changes: Iterator[Any]) -> list[bytes]:
    return [change.content for change in changes if isinstance(change, Fill) and change.tsid == 2 and change.region]


@pytest.mark.parametrize("data", [PATENTS, NETCONF, ENTITIES, LOG], ids=["patents", "netconf", "entities", "log"])
def test_a_feed_takes_them_one_after_the_other(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "in.xml"
    path.write_bytes(data)
    feed = Feed("/p", key="@n")
    found = [content.replace(b"<!-- -->", b"") for content in contents(feed.changes(path))]
    assert found == [b'<p n="1"><c>one</c></p>', b'<p n="2"><c>two</c><c/></p>']
    for cut in range(1, len(data), 7):
        again = Feed("/p", key="@n")
        assert len(contents(again.changes(pipe([data[:cut], data[cut:]])))) == 2, cut
    inner = Feed("/p/c")
    assert contents(inner.changes(path))[0] == b"<c>one</c>"
    assert inner.counts["new"] == 3
