"""Answers as tables: typed columns, lists and records, in files and in Arrow's hands."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from command import xcast

from xstreamcast import XStreamError, query
from xstreamcast.run.query import Result, compile
from xstreamcast.tables.batches import Columns, item_rows
from xstreamcast.tables.cells import NESTED, Nested
from xstreamcast.tables.fields import RecordRows

BOOKS = (
    "<list><book id='1' added='2026-01-31' at='2026-01-31T10:00:00+01:00'><title>Rivers</title><by>A</by><by>B</by>"
    "<price in='EUR'>12.50</price><sold>true</sold></book>"
    "<book id='2' added='2026-02-01' at='2026-02-01T10:00:00'><title>Bats &amp; b</title><price>40</price></book>"
    "</list>"
)
CITY = "<city c='x'/>"
ALL = (
    "@id as xs:integer, title, by as xs:string*, price as xs:decimal, dear=price > 20, added=@added as xs:date,"
    " at=@at as xs:dateTime, sold as xs:boolean, half=number(price) div 2, markup=price as xml"
)
ROWS = [
    {
        "id": 1, "title": "Rivers", "by": ["A", "B"], "price": Decimal("12.50"), "dear": False,
        "added": date(2026, 1, 31), "at": datetime(2026, 1, 31, 9, tzinfo=UTC), "sold": True, "half": 6.25,
        "markup": '<price in="EUR">12.50</price>',
    },
    {
        "id": 2, "title": "Bats & b", "by": [], "price": Decimal("40"), "dear": True, "added": date(2026, 2, 1),
        "at": datetime(2026, 2, 1, 10, tzinfo=UTC), "sold": None, "half": 20.0, "markup": "<price>40</price>",
    },
]  # fmt: skip


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is scanned in several batches."""
    file = tmp_path_factory.mktemp("tables") / "large.xml"
    pad = "x" * 400
    books = "".join(
        f"<book id='{n}' year='{2000 + n % 7}'><title>T{n} &lt;é</title>{'<by>A</by>' * (n % 3)}"
        f"<price>{n % 50}.5</price><note>{pad}</note><pub><name>P{n % 5}</name>{CITY * (n % 2)}</pub></book>"
        for n in range(12_000)
    )
    file.write_text(f"<list>{books}</list>", encoding="utf-8")
    assert file.stat().st_size > 5 << 20
    return file


def test_columns_have_the_types_that_were_declared() -> None:
    table = query("//book", columns=ALL, context=BOOKS).to_arrow()
    assert table.to_pylist() == ROWS
    assert table.schema.field("price").type == pa.decimal128(38, 18)
    assert table.schema.field("by").type == pa.list_(pa.string())
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")


VECTORS = (
    ("for $b in //book return map { 'id': $b/@id, 'year': xs:integer($b/@year), 't': string($b/title) }", None),
    ("//book[price > 30]", "@id as xs:integer, title, by as xs:string*, price as xs:decimal"),
    ("for $b in //book where $b/@year = 2003 return $b", "@id, by, year=@year as xs:double, none=nothing"),
    ("/list/book", "@id, pub, name=pub/name, all=.//name/text()"),
    ("//book/pub/name", "name=., n=@none"),
    ("for $l in /list, $b in $l/book return map { 'by': data($b/by), 'id': xs:long($b/@id) }", None),
)


@pytest.mark.parametrize(("text", "columns"), VECTORS)
@pytest.mark.parametrize("nested", NESTED)
def test_whole_columns_of_a_scan_are_what_the_items_are(
    text: str, columns: str | None, nested: Nested, large: Path
) -> None:
    compiled = compile(text, columns=columns)
    parts = list(compiled(context=large).rows(nested))
    assert sum(isinstance(part, RecordRows) for part in parts) > 1
    items = compiled(context=large).items()
    one_by_one = Columns(item_rows(items, nested), compiled.kinds, None)
    at_once = Columns(iter(parts), compiled.kinds, None)
    assert at_once.kinds == one_by_one.kinds
    made, expected = list(at_once.batches()), list(one_by_one.batches())
    assert pa.Table.from_batches(made).to_pylist() == pa.Table.from_batches(expected).to_pylist()
    records = [record for part in compiled(context=large).rows(nested) for record in part.records()]
    assert records == [record for part in item_rows(items, nested) for record in part.records()]


def test_what_is_not_a_column_of_paths_is_computed_item_by_item(large: Path) -> None:
    made = query("//book", columns="n=count(by), low=min(price) as xs:decimal", context=large)
    assert pa.Table.from_batches(made.to_batches()).slice(2, 1).to_pylist() == [{"n": 2, "low": Decimal("2.5")}]


def test_constructed_elements_and_values_are_rows_too(large: Path) -> None:
    built = query("for $b in //book return <x n='{$b/@id}'>{$b/title}</x>", columns="@n, title", context=large)
    assert pa.Table.from_batches(built.to_batches()).slice(1, 1).to_pylist() == [{"n": "1", "title": "T1 <é"}]
    assert query("1, 2.5, 3e0").to_arrow()["value"].to_pylist() == [1.0, 2.5, 3.0]
    assert query("1, 'a'").to_arrow()["value"].to_pylist() == ["1", "a"]
    assert query("map { 'a': [1, [2, 3]], 'b': map { 'c': () } }").to_arrow().to_pylist() == [
        {"a": [[1], [2, 3]], "b": {"c": None}}
    ]


def test_nested_elements_are_records_or_xml_or_text() -> None:
    element = "<n id='1'><tag k='amenity' v='cafe'/><tag k='name' v='X'/><at zone='Z'>10:00</at>mixed</n>"
    made = query("/n", context=element)
    record = {
        "@id": "1", "tag": [{"@k": "amenity", "@v": "cafe"}, {"@k": "name", "@v": "X"}],
        "at": {"@zone": "Z", "value": "10:00"}, "value": "10:00mixed",
    }  # fmt: skip
    assert made.to_arrow(nested="struct").to_pylist() == pa.table(made).to_pylist() == [record]
    assert made.to_pandas(nested="struct").to_dict("records") == [record]
    flat = {"@id": "1", "tag/@k": ["amenity", "name"], "tag/@v": ["cafe", "X"], "at/@zone": "Z", "at": "10:00"}
    assert made.to_pandas().to_dict("records") == [{**flat, "value": "10:00mixed"}]
    assert made.to_arrow(nested="columns").to_pylist() == [{**flat, "value": "10:00mixed"}]
    assert made.to_arrow(nested="xml")["at"].to_pylist() == ['<at zone="Z">10:00</at>']
    assert made.to_arrow(nested="text")["tag"].to_pylist() == [["", ""]]
    none: Any = "none"
    with pytest.raises(XStreamError, match="XSC0151"):
        made.to_pandas(nested=none)


def test_an_answer_is_read_by_whatever_reads_arrow(large: Path) -> None:
    def answer() -> Result:
        return query("//book[@year = 2003]", columns="@id as xs:integer, price as xs:decimal", context=large)

    expected = pa.table(answer()).to_pydict()
    assert len(expected["id"]) == 1714
    assert polars.DataFrame(answer())["id"].to_list() == expected["id"]
    assert answer().to_polars()["price"].to_list() == expected["price"]
    assert pandas.DataFrame(answer().to_pandas())["id"].tolist() == expected["id"]
    with duckdb.connect() as connection:
        assert answer().to_duckdb(connection, 'my "books"') == 1714
        found = connection.execute('SELECT sum(id), sum(price) FROM "my ""books"""').fetchall()
        assert found == [(sum(expected["id"]), sum(expected["price"]))]
        assert answer().to_duckdb(connection, 'my "books"') == 1714  # made anew


def test_batches_are_made_as_they_are_found(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xstreamcast.tables.batches.SAMPLE", 100)
    compiled = compile("//book", columns="@id")
    cut = large.with_name("cut.xml")
    cut.write_bytes(large.read_bytes()[:-100])  # the end is missing: what comes before it has been read
    batches = compiled(context=cut).to_batches()
    taken = [batches.read_next_batch()]
    with pytest.raises(XStreamError, match="XSC0001"):
        taken += iter(batches)
    assert 5_000 < sum(map(len, taken)) < 12_000


def test_one_and_values() -> None:
    assert query("count(//by)", context=BOOKS).one() == 2
    assert query("//by, 1.5", context=BOOKS).values() == ["A", "B", Decimal("1.5")]
    for text in ("()", "1, 2"):
        with pytest.raises(TypeError, match="XPTY0004"):
            query(text).one()


@pytest.mark.parametrize(
    ("columns", "code", "told"),
    [
        ("price as xs:decima", "XPST0051", "column price"),
        ("@id, @id", "XSC0154", "two columns are called id"),
        ("count(by)", "XSC0154", "without a name"),
        ("@id,,b", "XSC0154", "empty"),
        ("x=by[", "XPST0003", "column x"),
        ("x=nope(by)", "XPST0017", "column x"),
        ("x=title as xs:integer", "FORG0001", ""),
        ("x=by as xs:string", "XSC0152", "2 values"),
    ],
)
def test_columns_that_are_wrong_are_told(columns: str, code: str, told: str) -> None:
    with pytest.raises(XStreamError) as failure:
        query("//book", columns=columns, context=BOOKS).to_arrow()
    assert failure.value.code == code
    assert told in str(failure.value)


def test_rows_that_differ_from_those_before_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xstreamcast.run.result.Result.rows", lambda self, nested: item_rows(self.consume(), nested, 1))
    monkeypatch.setattr("xstreamcast.tables.batches.SAMPLE", 1)
    for text, code in (
        ("map { 'a': 1 }, map { 'a': 'x' }", "XSC0152"),
        ("map { 'a': 1 }, map { 'a': (1, 2) }", "XSC0152"),
        ("map { 'a': 1 }, map { 'b': 1 }", "XSC0153"),
        ("map { 'a': 1 }, map { 'a': 1.5 }", "XSC0152"),
        ("map { 'a': map { 'k': 1 } }, map { 'a': map { 'l': 1 } }", "XSC0152"),
        ("map { 'a': 1.5 }, map { 'a': 123456789012345678901234567890.5 }", "XSC0152"),
    ):
        with pytest.raises(XStreamError) as failure:
            list(query(text).to_batches())
        assert failure.value.code == code
        assert failure.value.hint
    assert [len(b) for b in query("map { 'a': 1.5 }, map { 'a': 1 }, map {}").to_batches()] == [1, 1, 1]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(XStreamError, match=r"XSC0150 polars is not installed\n.*xstreamcast\[tables\]"):
        query("1").to_polars()


def test_the_prolog_of_a_query_holds_for_its_columns() -> None:
    text = (
        "declare namespace p = 'urn:p'; declare variable $vat external; "
        "declare function local:gross($n) { $n * $vat }; //p:b"
    )
    document = "<a xmlns='urn:p'><b><n>3</n></b></a>"
    made = query(text, columns="n=p:n, gross=local:gross(p:n)", context=document, variables={"vat": 2})
    assert made.to_arrow().to_pylist() == [{"n": "3", "gross": 6.0}]


# ------------------------------------------------------------------------------------------------------- files


def test_the_command_writes_files_of_every_format(tmp_path: Path) -> None:
    source = tmp_path / "books.xml"
    source.write_text(BOOKS)
    for format in ("parquet", "arrow", "csv", "tsv", "jsonl"):
        ran = xcast("query", "//book", source, "--columns", ALL, "-o", tmp_path / f"books.{format}")
        assert (ran.code, ran.out, ran.err) == (0, b"", "")
    assert pq.read_table(tmp_path / "books.parquet").to_pylist() == ROWS
    with pa.ipc.open_file(tmp_path / "books.arrow") as file:
        assert file.read_all().to_pylist() == pq.read_table(tmp_path / "books.parquet").to_pylist()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "books.csv").read_text())))
    assert rows[0] == {
        "id": "1", "title": "Rivers", "by": '["A", "B"]', "price": "12.5", "dear": "false", "added": "2026-01-31",
        "at": "2026-01-31T10:00:00+01:00", "sold": "true", "half": "6.25", "markup": '<price in="EUR">12.50</price>',
    }  # fmt: skip
    assert rows[1]["sold"] == ""
    assert rows == list(csv.DictReader(io.StringIO((tmp_path / "books.tsv").read_text()), delimiter="\t"))
    first, second = map(json.loads, (tmp_path / "books.jsonl").read_text().splitlines())
    assert (first["by"], first["price"], second["by"], second["sold"]) == (["A", "B"], 12.5, [], None)


def test_maps_of_a_large_file_go_to_a_pipe_and_to_a_file(tmp_path: Path, large: Path) -> None:
    maps = "for $b in //book return map { 'id': xs:integer($b/@id), 'by': $b/by }"
    piped = xcast("query", maps, large, "--format", "arrow")
    table = pa.ipc.open_stream(piped.out).read_all()
    assert table.schema.field("by").type == pa.list_(pa.string())
    assert table["id"].to_pylist() == list(range(12_000))
    lines = xcast("query", maps, large, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines[:3]] == [
        {"id": 0, "by": None}, {"id": 1, "by": "A"}, {"id": 2, "by": ["A", "A"]},
    ]  # fmt: skip
    xcast("query", maps, large, large, "--format", "parquet", "-o", tmp_path / "both.parquet")
    assert pq.read_metadata(tmp_path / "both.parquet").num_rows == 24_000


def test_an_answer_that_is_no_table_goes_to_a_file_too(tmp_path: Path) -> None:
    source = tmp_path / "books.xml"
    source.write_text(BOOKS)
    assert xcast("query", "//title", source, "--lines", "-o", tmp_path / "titles.xml").out == b""
    assert (tmp_path / "titles.xml").read_text() == "<title>Rivers</title>\n<title>Bats &amp; b</title>\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--format", "xlsx"], "--format is one of parquet"),
        (["--columns", "@id"], "--columns and --nested are of tables"),
        (["--format", "csv", "--lines"], "are of answers that are no table"),
        (["--format", "csv", "--nested", "no"], "--nested is one of struct"),
    ],
)
def test_options_that_do_not_go_together_are_told(options: list[str], told: str) -> None:
    ran = xcast("query", "1", *options)
    assert ran.code == 2
    assert told in " ".join(ran.err.replace("│", " ").split())


def test_a_file_that_cannot_be_written_to_its_end_is_not_there(tmp_path: Path) -> None:
    source = tmp_path / "books.xml"
    source.write_text(BOOKS)
    ran = xcast("query", "//book", source, "--columns", "x=title as xs:integer", "-o", tmp_path / "x.parquet")
    assert ran.code == 1
    assert "FORG0001" in ran.err
    assert list(tmp_path.iterdir()) == [source]
