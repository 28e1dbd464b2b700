"""What Python hands to a query, and what it gets back."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, time
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

import numpy
import pandas
import pyarrow
import pytest
from lxml import etree

import xstreamcast
from xstreamcast import XStreamError, compile, query
from xstreamcast.model.tree import Node

BOOKS = "<list><book id='1'><title>Té</title><by>A</by><by>B</by></book><book id='2'><title>U</title></book>\n</list>"


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "items"),
    [
        pytest.param(None, [], id="none"),
        pytest.param([1, None, "a"], [1, "a"], id="list"),
        pytest.param(range(3), [0, 1, 2], id="range"),
        pytest.param((n * n for n in range(3)), [0, 1, 4], id="generator"),
        pytest.param({7}, [7], id="set"),
        pytest.param([[1, 2], []], [[1, 2], []], id="lists are arrays"),
        pytest.param(numpy.int64(4), [4], id="numpy number"),
        pytest.param(numpy.array([1.5, 2.5]), [1.5, 2.5], id="numpy array"),
        pytest.param(Colour.RED, ["red"], id="enum"),
        pytest.param([date(2024, 1, 2), time(1, 2)], [date(2024, 1, 2), time(1, 2)], id="dates"),
        pytest.param({"k": [1, 2]}, [{"k": [1, 2]}], id="dict"),
    ],
)
def test_a_variable_takes_python_values(value: object, items: list[object]) -> None:
    assert query("$v", variables={"v": value}).to_list() == items


def test_what_is_no_value_is_refused_by_its_type() -> None:
    with pytest.raises(XStreamError, match=r"XPTY0004.*uuid\.UUID"):
        query("$v", variables={"v": UUID(int=1)})


def _contexts() -> Iterator[Any]:
    for name, made in {
        "lxml element": etree.fromstring(BOOKS),
        "lxml tree": etree.ElementTree(etree.fromstring(BOOKS)),
        "ElementTree element": ElementTree.fromstring(BOOKS),
        "ElementTree tree": ElementTree.ElementTree(ElementTree.fromstring(BOOKS)),
        "text file": io.StringIO(BOOKS),
        "binary file": io.BytesIO(BOOKS.encode()),
        "file opened as text": io.TextIOWrapper(io.BytesIO(BOOKS.encode()), encoding="ascii"),
    }.items():
        yield pytest.param(made, id=name)


@pytest.mark.parametrize("context", list(_contexts()))
def test_a_context_may_be_a_tree_of_others_or_an_open_file(context: object) -> None:
    assert query("//book/title/string()", context=context).to_list() == ["Té", "U"]


def test_an_element_of_others_is_a_document_of_its_own() -> None:
    second = etree.fromstring(BOOKS)[1]
    assert query("string(title), count(//book), name(/*)", context=second).to_list() == ["U", 1, "book"]
    tailed = ElementTree.fromstring(BOOKS)[1]
    assert tailed.tail
    assert query("title/string()", context=tailed).to_list() == ["U"]


def test_a_namespaced_element_of_others_keeps_its_names() -> None:
    text = '<p:a xmlns:p="u" xmlns="v"><b p:c="1"/></p:a>'
    for context in (etree.fromstring(text), ElementTree.fromstring(text)):
        assert query("/Q{u}a/Q{v}b/@Q{u}c/string()", context=context).to_list() == ["1"]


def test_results_become_lxml_arrow_and_pandas() -> None:
    found = query("//book, //@id, 3", context=BOOKS).to_lxml()
    assert [found[0].tag, found[1][0].text, *found[2:]] == ["book", "U", "1", "2", 3]
    table = query("//book", context=BOOKS).to_arrow()
    assert table.to_pydict() == {"@id": ["1", "2"], "title": ["Té", "U"], "by": [["A", "B"], None]}
    frame = query("for $b in //book return map { 'id': $b/@id, 'by': $b/by }", context=BOOKS).to_pandas()
    assert frame.to_dict("records") == [{"id": "1", "by": ["A", "B"]}, {"id": "2", "by": None}]


NESTED = """<l><n id='1'><tag k='amenity' v='cafe'/><name>A</name></n>
<n id='2'>own <tag k='a' v='b'/><tag k='c'>text</tag><at><city zip='1'>C</city></at></n><n id='3'>x</n><n/></l>"""


def test_nothing_of_an_element_is_left_out_of_its_row() -> None:
    frame = query("//n", context=NESTED).to_pandas()
    rows = [{name: value for name, value in row.items() if value == value} for row in frame.to_dict("records")]
    assert rows == [
        {"@id": "1", "tag/@k": "amenity", "tag/@v": "cafe", "name": "A"},
        {"@id": "2", "tag/@k": ["a", "c"], "tag/@v": ["b", None], "tag": [None, "text"], "at/city/@zip": "1",
         "at/city": "C", "value": "own textC"},
        {"@id": "3", "value": "x"},
        {"value": ""},
    ]  # fmt: skip
    table = query("//n", context=NESTED).to_arrow().to_pydict()
    assert table["tag/@v"] == [["cafe"], ["b", None], None, None]
    assert table["at/city/@zip"] == [None, "1", None, None]


class Exchanged:
    """A table of some other library, which gives it in Arrow's format."""

    def __init__(self, table: pyarrow.Table) -> None:
        self.table, self.columns = table, table.column_names

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self.table.__arrow_c_stream__(schema)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


TIMES = [datetime(2026, 1, 1), None]
TABLE = pyarrow.table({"n": [1, 2], "name": ["a", None], "at": TIMES, "many": [[1, 2], []]})


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.to_pandas(),
        TABLE.to_batches()[0],
        Exchanged(TABLE),
        pandas.DataFrame(TABLE.to_pylist(), [7, 8]),
    ],
    ids=["arrow", "pandas", "batch", "exchanged", "index"],
)
def test_a_table_is_a_sequence_of_rows(table: Any) -> None:
    text = "count($t), $t?n, $t[2]!empty(?name), $t?name, $t?at, $t ! count(?at), map:keys($t[1])"
    assert query(text, variables={"t": table}).to_list() == [
        2, 1, 2, True, "a", datetime(2026, 1, 1), 1, 0, "n", "name", "at", "many"
    ]  # fmt: skip
    joined = query("for $b in //book, $r in $t where $b/@id = $r?n return $r?n", context=BOOKS, variables={"t": table})
    assert joined.to_list() == [1, 2]


def test_what_pandas_calls_missing_is_nothing_and_columns_are_sequences() -> None:
    frame = pandas.DataFrame({"x": [1.5, float("nan")], "y": pandas.array([1, None], dtype="Int64")})
    assert query("$f ! count((?x, ?y)), $f?y", variables={"f": frame}).to_list() == [2, 0, 1]
    assert query("$c", variables={"c": frame["y"].dropna()}).to_list() == [1]
    assert query("$a", variables={"a": pyarrow.array([1, None, 3])}).to_list() == [1, 3]
    assert query("$m?t?x", variables={"m": {"t": frame}}).to_list() == [1.5]


def test_a_query_and_a_result_can_be_pickled() -> None:
    titles = pickle.loads(pickle.dumps(compile("//title/concat(., $suffix)", variables=["suffix"])))
    result = titles(context=BOOKS, variables={"suffix": "!"})
    assert result.to_list() == ["Té!", "U!"]
    assert pickle.loads(pickle.dumps(result)).to_list() == ["Té!", "U!"]


def test_one_query_serves_several_threads() -> None:
    count = compile("count(//b)")
    texts = [f"<a>{'<b/>' * n}</a>" for n in range(40)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda text: count(context=text).to_list()[0], texts)) == list(range(40))


def test_a_result_is_sliced_and_shown_without_computing_all_of_it() -> None:
    assert query("1 to 5")[1:3] == [2, 3]
    asked: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(1000):
            asked.append(number)
            yield number

    from xstreamcast.run.query import Result

    shown = repr(Result(compile("()"), numbers()))
    assert shown.startswith("<Result: 10 items and more>\n  0\n")
    assert len(asked) == 11
    assert repr(query("1 to 2")).startswith("<Result: 2 items>")


def test_errors_are_caught_by_one_name() -> None:
    with pytest.raises(xstreamcast.XStreamError) as caught:
        query("1 div 0").to_list()
    assert caught.value.code == "FOAR0001"


def test_a_document_nobody_looks_at_is_not_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text("<a>")
    assert query("1 + 1", context=broken).to_list() == [2]
    with pytest.raises(XStreamError, match="truncated"):
        query("declare variable $d := //a; count($d)", context=broken).to_list()


def test_nodes_are_still_nodes() -> None:
    (title,) = query("//title", context="<b><title>T</title></b>")
    assert isinstance(title, Node)
    assert query("$t/..//title/string()", variables={"t": title}).to_list() == ["T"]
