"""The public face: what can be given to a query, and what can be done with its result."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from lxml import etree

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import compile, query
from xstreamcast.scan.parse import parse

XML = "<a><b n='1'>x</b><b n='2'>y</b></a>"


def test_a_document_may_be_given_in_many_ways(tmp_path: Path) -> None:
    plain, packed = tmp_path / "d.xml", tmp_path / "d.xml.gz"
    plain.write_text(XML)
    packed.write_bytes(gzip.compress(XML.encode()))
    element = etree.fromstring(XML)
    sources = [
        XML, XML.encode(), gzip.compress(XML.encode()), plain, str(plain), packed, parse(XML),
        io.BytesIO(XML.encode()), etree.ElementTree(element),
    ]  # fmt: skip
    for source in sources:
        assert query("/a/b[2]/string()", context=source).to_list() == ["y"], source
        if isinstance(source, io.BytesIO):
            source.seek(0)  # it stays open, and the caller's
        assert query("doc('x.xml')/a/b/@n/string()", docs={"x.xml": source}).to_list() == ["1", "2"]
    assert query("b/string()", context=element).to_list() == ["x", "y"]


def test_documents_are_read_relative_to_the_base_uri(tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_text(XML)
    assert query("count(doc('d.xml')//b)", base_uri=tmp_path.as_uri() + "/").to_list() == [2]


def test_python_values_become_items_and_come_back() -> None:
    now = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    values = [1, "a", 1.5, True, Decimal("2.50"), now, date(2024, 1, 2), timedelta(hours=1), b"\x01"]
    for value in values:
        assert query("$v", variables={"v": value}).to_list() == [value]
    assert query("$v", variables={"v": [1, 2]}).to_list() == [1, 2]
    assert query("$v?k?2", variables={"v": {"k": [[1, 2]]}}).to_list() == [2]
    assert query("[1, (), (2, 3)]").to_list() == [[1, None, [2, 3]]]


def test_external_variables_are_checked_against_their_types() -> None:
    text = "declare variable $n as xs:integer external := 5; $n + 1"
    assert query(text).to_list() == [6]
    assert query(text, variables={"n": 1}).to_list() == [2]
    with pytest.raises(XStreamError) as caught:
        query(text, variables={"n": "a"}).items()
    assert caught.value.code == "XPTY0004"


def test_variables_may_be_in_namespaces() -> None:
    text = "declare namespace p = 'urn:p'; declare variable $p:x external; $p:x"
    assert query(text, variables={"p:x": 1}).to_list() == [1]
    assert query(text, variables={"{urn:p}x": 1}).to_list() == [1]


def test_a_result_can_be_taken_several_times_and_in_parts() -> None:
    result = query("1 to 3")
    assert next(iter(result)) == 1
    assert list(result) == [1, 2, 3]
    assert result[-1] == 3
    assert len(result) == 3
    assert bool(query("()")) is False


def test_a_result_writes_itself() -> None:
    result = query("<a>{1 to 2}</a>, 'x'")
    assert result.xml() == "<a>1 2</a>x"
    assert result.text() == "1 2x"
    assert repr(result).startswith("<Result: 2 items>")
    text = "declare namespace o = 'http://www.w3.org/2010/xslt-xquery-serialization'; declare option o:method 'json';"
    assert query(text + "map { 'a': 1 }").serialise() == '{"a":1}'


def test_a_result_is_a_table() -> None:
    frame = query("//b", context=XML).to_pandas()
    assert list(frame["@n"]) == ["1", "2"]
    frame = query("for $b in //b return map { 'n': xs:integer($b/@n), 't': string($b) }", context=XML).to_pandas()
    assert frame.to_dict("list") == {"n": [1, 2], "t": ["x", "y"]}
    assert list(query("1 to 2").to_pandas()["value"]) == [1, 2]


def test_a_compiled_query_runs_on_any_document() -> None:
    titles = compile("count(//b)")
    assert [titles(context=f"<a>{'<b/>' * n}</a>").to_list() for n in (0, 3)] == [[0], [3]]


def test_now_is_fixed() -> None:
    assert query("current-dateTime() = current-dateTime()").to_list() == [True]
    assert query("year-from-date(current-date())", now="2003-11-01").to_list() == [2003]


def test_the_context_item_can_be_declared() -> None:
    assert query("declare context item := <a><b/></a>; count(b)").to_list() == [1]
    assert query("declare context item external := <a/>; name()", context="<z/>").to_list() == [""]
    with pytest.raises(XStreamError) as caught:
        query("declare context item as element() external; .", context="<z/>").items()
    assert caught.value.code == "XPTY0004"


def test_library_modules_come_from_files(tmp_path: Path) -> None:
    library = """module namespace m = "urn:m";
        declare variable $m:base := 10;
        declare %private function m:add($a) { $a + $m:base };
        declare function m:twice($a) { 2 * m:add($a) };"""
    (tmp_path / "m.xqm").write_text(library)
    text = "import module namespace m = 'urn:m' at 'm.xqm'; m:twice(1), $m:base"
    assert query(text, base_uri=tmp_path.as_uri() + "/").to_list() == [22, 10]


def test_nodes_go_to_lxml_and_come_from_it() -> None:
    node = query("//b[1]", context=XML)[0]
    element = node.to_lxml()
    assert etree.tostring(element) == b'<b n="1">x</b>'
    assert query("string(@n)", context=element).to_list() == ["1"]
    assert node.xml() == '<b n="1">x</b>'
    assert repr(node) == "<element b>"


def test_tail_calls_do_not_deepen() -> None:
    text = """declare function local:gcd($a as xs:integer, $b as xs:integer) as xs:integer {
        let $r := $a mod $b return if ($r = 0) then $b else local:gcd($b, $r) };
      declare function local:down($n) { if ($n = 0) then "done" else local:down($n - 1) };
      local:gcd(1071, 462), local:down(200000)"""
    assert query(text).to_list() == [21, "done"]


def test_an_error_is_met_however_the_result_is_asked_for() -> None:
    for ask in (list, len, lambda result: result.items(), lambda result: [*result], lambda result: result[5]):
        result = query("1, 2, 'a' + 1")
        for _ in range(2):
            with pytest.raises(XStreamError, match="XPTY0004"):
                ask(result)
