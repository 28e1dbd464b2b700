"""Elements as rows: paths, types, lists, what is around an element; and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rest_samples import document_of

from xstreamcast.errors import XStreamError
from xstreamcast.model.lexical import to_string
from xstreamcast.plan.projection.project import describe
from xstreamcast.run.query import query
from xstreamcast.spark.rest.document_reader import ColumnReader

SHOP = """<shop xmlns:m="urn:m" name="Übershop"><day date="2003-11-15"><sale no="1" m:cur="EUR"><what>tea</what>\
<price>2.50</price><price> 3 </price><at>2003-11-15T10:00:00</at><ok>true</ok></sale></day><day>\
<sale no="2"><what>c<b>of</b>fee</what><price>1e1</price><at>2003-11-16T10:00:00.25+02:00</at><ok>0</ok></sale>\
<sale no="3"/></day></shop>"""


def rows(tmp_path: Path, columns: dict[str, str], content: str = SHOP, **options: str) -> list[dict[str, Any]]:
    document = document_of(tmp_path, content)
    given = {
        "path": document.path,
        "record": "//sale",
        "columns": json.dumps(columns),
        "partitionBytes": "60",
        **options,
    }
    made = ColumnReader(given, None, None)
    batches = [batch for partition in made.partitions() for batch in made.read(partition)]
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches).to_pylist()
    return rows


def column(tmp_path: Path, path: str, **options: str) -> list[Any]:
    return [row["c"] for row in rows(tmp_path, {"c": path}, **options)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("@no as xs:integer", [1, 2, 3]),
        ("what", ["tea", "coffee", None]),
        ("what/text() as xs:string*", [["tea"], ["c", "fee"], []]),
        ("price as xs:double*", [[2.5, 3.0], [10.0], []]),
        (".//b", [None, "of", None]),
        ("* as xs:string*", [["tea", "2.50", " 3 ", "2003-11-15T10:00:00", "true"],
                             ["coffee", "1e1", "2003-11-16T10:00:00.25+02:00", "0"], []]),
        ("../@date as xs:date", [date(2003, 11, 15), None, None]),
        ("../../@name", ["Übershop"] * 3),
        ("ancestor::shop/@name", ["Übershop"] * 3),
        ("ancestor::*/@date", ["2003-11-15", None, None]),
        ("ok as xs:boolean", [True, False, None]),
        ("at as xs:dateTime", [datetime(2003, 11, 15, 10, tzinfo=UTC),
                               datetime(2003, 11, 16, 8, 0, 0, 250000, UTC), None]),
        ("@m:cur", ["EUR", None, None]),
    ],
)  # fmt: skip
def test_a_column_gives_what_its_path_leads_to(tmp_path: Path, path: str, expected: list[Any]) -> None:
    assert column(tmp_path, path, namespaces='{"m": "urn:m"}') == expected


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("price[1]", "double"),
        ("price[. > 2]", "array<double>"),
        ("what[b]/text()", "array<string>"),
        ("*[self::what or self::ok]", "array<string>"),
        ("count(price)", "long"),
        ("sum(price)", "double"),
        ("exists(what/b)", "boolean"),
        ("not(price > 2.9)", "boolean"),
        ("string-join(price ! normalize-space(.), '; ')", "string"),
        ("string(@no)", "string"),
        ("upper-case(what)", "string"),
        ("for $p at $n in price return concat($n, ':', $p)", "array<string>"),
        ("if (price) then 'priced' else ()", "string"),
        ("xs:decimal(price[1][. castable as xs:decimal])", "decimal(38,18)"),
        ("../@date ! xs:date(.)", "date"),
        ("at ! xs:dateTime(.)", "timestamp"),
        ("@no cast as xs:integer", "long"),
        ("(@no, 'x')[1] castable as xs:integer", "boolean"),
        ("concat(../@date, '/', @no)", "string"),
        ("concat(ancestor::*[@name][1]/@name, ' ', ../name())", "string"),
        ("ancestor::day[1]/@date", "string"),
        ("@m:cur = 'EUR'", "boolean"),
        (".//b | price", "array<string>"),
        ("array { price }", "array<double>"),
        ("./what", "string"),
        ("position()", "long"),
        ("1.5", "decimal(38,18)"),
        ("()", "string"),
    ],
)
def test_any_expression_about_an_element_is_a_column_of_the_type_of_its_values(
    tmp_path: Path, path: str, kind: str
) -> None:
    prolog = "declare namespace m = 'urn:m'; "
    found = query(f"{prolog} for $s in //sale return array {{ data($s ! ({path})) }}", context=SHOP.encode())
    expected = [[to_string(item) for member in row.members() for item in member] for row in found]
    document = document_of(tmp_path, SHOP)
    given = {"path": document.path, "record": "//sale", "columns": json.dumps({"c": path})}
    made = ColumnReader({**given, "namespaces": '{"m": "urn:m"}'}, None, None)
    assert made.schema == f"`c` {kind}"
    texts = {"namespaces": '{"m": "urn:m"}', "record": "//sale"}
    for step in ("7", "4096"):
        written = rows(tmp_path, {"c": f"data({path}) ! string(.) as xs:string*"}, partitionBytes=step, **texts)
        assert [row["c"] for row in written] == expected
        values = rows(tmp_path, {"c": path}, partitionBytes=step, **texts)
        counts = [(len(row["c"]) if "array" in kind else int(row["c"] is not None)) for row in values]
        assert counts == [len(own) for own in expected]


def test_computed_values_are_those_of_the_query(tmp_path: Path) -> None:
    assert column(tmp_path, "count(price)") == [2, 1, 0]
    assert column(tmp_path, "sum(price) * 2") == [11.0, 20.0, 0.0]
    assert column(tmp_path, "price[2] as xs:integer") == [3, None, None]
    assert column(tmp_path, "../@date ! xs:date(.)") == [date(2003, 11, 15), None, None]
    assert column(tmp_path, "exists(what/b)") == [False, True, False]
    assert column(tmp_path, "string-join(*/name(), ' ')") == ["what price price at ok", "what price at ok", ""]


def test_a_computed_column_keeps_no_more_of_a_document_than_it_looks_at(tmp_path: Path) -> None:
    path = document_of(tmp_path, SHOP).path
    made = ColumnReader({"path": path, "record": "/shop/day/sale", "columns": '{"c": "count(price[2])"}'}, None, None)
    assert describe(made.asked.targets) == ["/shop/day/sale", "/shop/day/sale/price"]


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("../what/text()", "XSC0065", "child::what leads out of the element"),
        ("/shop", "XSC0065", "/ leads out of the element"),
        ("count(//sale)", "XSC0065", "/ leads out"),
        ("following-sibling::sale/@no", "XSC0065", "following-sibling::sale leads out"),
        ("string(..)", "XSC0065", "parent::node() leads out"),
        ("../string()", "XSC0065", "string() leads out"),
        ("ancestor::*[sale[2]]/@date", "XSC0065", "child::sale leads out"),
        ("let $d := .. return $d/sale", "XSC0065", "parent::node() leads out"),
        ("root()", "XSC0065", "root() leads out"),
        ("doc('other.xml')//x", "XSC0065", "doc() leads out"),
        ("price as xs:colour", "XPST0051", "no type xs:colour"),
        ("price[", "XPST0003", "column c:1"),
        ("price + $tax", "XPST0008", "$tax"),
        ("cost(price)", "XPST0017", "cost"),
        ("@x:no", "XPST0081", "x"),
    ],
)
def test_what_is_no_column_is_refused_with_the_reason(tmp_path: Path, path: str, code: str, words: str) -> None:
    with pytest.raises(XStreamError) as caught:
        column(tmp_path, path)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_decimals_are_exact(tmp_path: Path) -> None:
    found = rows(tmp_path, {"c": "v as xs:decimal"}, "<a><sale><v>0.100000000000000005</v></sale></a>")
    assert found == [{"c": Decimal("0.100000000000000005")}]


def test_types_and_lists_are_found_in_the_first_records_where_none_are_given(tmp_path: Path) -> None:
    document = document_of(tmp_path, SHOP)
    columns = {"no": "@no", "what": "what", "price": "price", "none": "nothing"}
    made = ColumnReader({"path": document.path, "record": "//sale", "columns": json.dumps(columns)}, None, None)
    assert made.schema == "`no` long, `what` string, `price` array<double>, `none` string"


def test_a_path_to_records_of_fixed_names_finds_those_only(tmp_path: Path) -> None:
    nested = "<a><b><r>1</r></b><r>2</r><c><r>3<r>4</r></r></c></a>"
    assert [row["c"] for row in rows(tmp_path, {"c": "text()"}, nested, record="/a/*/r")] == [1, 3]
    assert [row["c"] for row in rows(tmp_path, {"c": "text()"}, nested, record="/a//r")] == [1, 2, 3, 4]


def test_the_place_of_an_element_and_its_text_come_on_request(tmp_path: Path) -> None:
    found = rows(tmp_path, {"no": "@no"}, offset="true", xml="true", file="true")
    assert [row["xml"] for row in found][2] == '<sale no="3"/>'
    assert SHOP.encode()[found[1]["offset"] :].startswith(b'<sale no="2">')
    assert {Path(row["file"]).name for row in found} == {"document.xml"}


@pytest.mark.parametrize(
    ("columns", "code", "words"),
    [
        ({"c": "price as xs:double"}, "XPTY0004", "as xs:double*"),
        ({"c": "what as xs:integer"}, "FORG0001", "'tea' is no xs:integer"),
        ({"c": "ok as xs:date"}, "FORG0001", "'true' is no xs:date"),
        ({"c": "price[. > 1] as xs:double"}, "XPTY0004", "as xs:double*"),
        ({"c": "concat(what, '!') as xs:integer"}, "FORG0001", "'tea!' is no xs:integer"),
        ({"c": "xs:integer(what) as xs:integer"}, "FORG0001", "column c: "),
        ({"c": "price + 1 as xs:double"}, "XPTY0004", "column c: "),
        ({"c": "map { 'a': what } as xs:string"}, "FOTY0013", "column c: "),
    ],
)
def test_what_does_not_fit_a_column_is_an_error_with_its_place(
    tmp_path: Path, columns: dict[str, str], code: str, words: str
) -> None:
    with pytest.raises(XStreamError) as caught:
        rows(tmp_path, columns)
    assert caught.value.code == code
    assert words in str(caught.value)
    assert caught.value.place is not None
    assert caught.value.place.offset == SHOP.encode().index(b"<sale")


@pytest.mark.parametrize(
    "options",
    [
        {"record": "//a"},
        {"columns": "{}"},
        {"record": "//a", "columns": "[1]"},
        {"record": "//a", "columns": "{"},
        {"record": "//a", "columns": '{"a": "@a"}', "rowTag": "a"},
        {"record": "//a", "columns": '{"a": "@a"}', "xml": "perhaps"},
        {"record": "//a", "columns": '{"xml": "@a"}', "xml": "true"},
        {"record": "//a", "columns": '{"a": "@a"}', "partitionBytes": "0"},
    ],
)
def test_options_that_would_be_ignored_or_are_not_understood_are_refused(
    tmp_path: Path, options: dict[str, str]
) -> None:
    document = document_of(tmp_path, SHOP)
    with pytest.raises(XStreamError) as caught:
        ColumnReader({"path": document.path, **options}, None, None)
    assert caught.value.code == "XSC0065"


WHERE = {
    "@no >= 2": ["2", "3"],
    "price > 2.9": ["1", "2"],
    "what = 'tea' and ../@date": ["1"],
    "not(ok)": ["3"],
    "@m:cur": ["1"],
    "count(price) = 1": ["2"],
    "1": ["1", "2", "3"],
    "@no = 'none'": [],
}


@pytest.mark.parametrize(("where", "expected"), WHERE.items(), ids=WHERE)
def test_elements_that_fail_a_condition_are_no_rows(tmp_path: Path, where: str, expected: list[str]) -> None:
    document = document_of(tmp_path, SHOP)
    given = {"path": document.path, "record": "//sale", "columns": '{"c": "@no as xs:string"}', "where": where,
             "namespaces": '{"m": "urn:m"}', "partitionBytes": "60", "xml": "true", "offset": "true"}  # fmt: skip
    made = ColumnReader(given, None, None)
    batches = [batch for partition in made.partitions() for batch in made.read(partition)]
    assert sum(batch.num_rows for batch in batches) == len(expected), "no more rows are made"
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [row["c"] for row in found] == expected
    for row in found:
        assert row["xml"].startswith(f'<sale no="{row["c"]}"')
        assert SHOP.encode()[row["offset"] :].startswith(row["xml"].encode())


def test_of_elements_that_fail_a_condition_columns_are_not_looked_at(tmp_path: Path) -> None:
    with pytest.raises(XStreamError, match="FORG0001"):
        column(tmp_path, "what as xs:integer")
    assert column(tmp_path, "what as xs:integer", where="not(what)") == [None]


@pytest.mark.parametrize(("where", "code"), [("//sale", "XSC0065"), ("following::a", "XSC0065"), ("1 +", "XPST0003")])
def test_a_condition_is_about_the_element(tmp_path: Path, where: str, code: str) -> None:
    with pytest.raises(XStreamError, match=code):
        column(tmp_path, "@no", where=where)
