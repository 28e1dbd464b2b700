"""Records as columns, and what can be asked of spans without making strings of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_oracle import pieces

from xstreamcast.scan import spans
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.path import parse_path
from xstreamcast.scan.reader import scan_bytes, scan_chunks
from xstreamcast.scan.records import Records, record_batches
from xstreamcast.scan.scanner import Scanner

SHOP = b"""<shop><item id="a&amp;b"><name>x</name><price>1.50</price><name>y &lt; <b>z</b></name></item>
<item id="c"/><name>outside</name><item id='d
e'><price> 2e3 </price><part><item id="inner"><price>7</price></item></part><price>INF</price></item></shop>"""
RECORD, CAPTURE = Action.RECORD, Action.CAPTURE
PATHS = [("//item", RECORD), ("//item/@id", CAPTURE), ("//name", CAPTURE), ("//price", CAPTURE)]


def shop() -> Automaton:
    return Automaton([Target(parse_path(path), action) for path, action in PATHS])


def read() -> Records:
    automaton = shop()
    (records,) = record_batches(scan_bytes(SHOP, automaton), automaton, 0, [1, 2, 3])
    return records


def test_captures_are_grouped_by_the_record_they_are_in() -> None:
    records = read()
    assert len(records) == 4
    assert records.nested.tolist() == [False, False, True, True]
    assert records.columns[1].offsets.tolist() == [0, 1, 2, 3, 4]
    assert records.columns[1].strings() == ["a&b", "c", "d e", "inner"]
    assert records.columns[2].counts.tolist() == [2, 0, 0, 0]
    assert records.columns[2].strings() == ["x", "y < z"]
    assert records.columns[3].counts.tolist() == [1, 0, 2, 1]


def test_values_are_compared_as_they_are_meant_not_as_they_are_written() -> None:
    records = read()
    names = records.columns[2]
    assert names.equal("y < z").tolist() == [False, True]
    assert names.contain("<").tolist() == [False, True]
    assert names.strings(names.contain("<")) == ["y < z"]
    assert names.any(names.contain("z")).tolist() == [True, False, False, False]
    values, good = records.columns[3].doubles()
    assert values.tolist() == [1.5, 2000.0, math.inf, 7.0]
    assert good.all()


def test_a_column_becomes_a_list_array_of_arrow() -> None:
    pytest.importorskip("pyarrow")
    assert read().columns[2].arrow().to_pylist() == [["x", "y < z"], [], [], []]


@pytest.mark.parametrize("size", [1, 5, 33, 1000])
def test_a_record_is_handed_over_whole_though_its_input_comes_in_pieces(size: int) -> None:
    automaton = shop()
    found = []
    for records in record_batches(scan_chunks(pieces(SHOP, size), Scanner(automaton)), automaton, 0, [1, 2, 3]):
        for k in range(len(records)):
            column = records.columns[3]
            found.append(column.strings()[column.offsets[k] : column.offsets[k + 1]])
    assert found == [["1.50"], [], [" 2e3 ", "INF"], ["7"]]


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


def table(values: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ends = np.cumsum([len(value) for value in values])
    starts = ends - np.array([len(value) for value in values])
    return np.frombuffer(bytearray(b"".join(values)), np.uint8), starts, ends


_NONE = [b"", b"inf", b"1_0", b"0x1", b".", b"-", b"1 2"]  # some of them numbers for Python, none for XSD
_NUMERALS = st.from_regex(rb"[+-]?[0-9]{0,22}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(_NUMERALS | st.sampled_from([b" 1 ", b"NaN", b"-INF", *_NONE]), min_size=1))
def test_doubles_are_pythons_to_the_last_bit(values: list[bytes]) -> None:
    found, good = spans.doubles(*table(values))
    for value, number, is_one in zip(values, found.tolist(), good.tolist(), strict=True):
        text = value.strip()
        wrong = text in _NONE or not any(c in b"0123456789NI" for c in text.split(b"e")[0])
        try:
            expected = float(text)
        except ValueError:
            wrong, expected = True, math.nan
        if wrong:
            assert not is_one
        else:
            assert is_one
            assert number == expected or (math.isnan(number) and math.isnan(expected))
            assert math.copysign(1, number) == math.copysign(1, expected) or math.isnan(number)


def test_integers_are_exact_or_refused() -> None:
    values = [b"0", b"-7", b"+12", b" 5\n", b"999999999999999999", b"9223372036854775807", b"-9223372036854775808"]
    found, good = spans.integers(*table(values))
    assert found.tolist() == [int(value) for value in values]
    assert good.all()
    found, good = spans.integers(*table([b"9223372036854775808", b"1.0", b"", b"x", b"1 2", b"-"]))
    assert not good.any()


def test_spans_are_searched_and_enclosed() -> None:
    b, starts, ends = table([b"abcabd", b"ab", b"", b"xabdx", b"z" * 50 + b"abd"])
    assert spans.contain(b, starts, ends, b"abd").tolist() == [True, False, False, True, True]
    assert spans.contain(b, starts, ends, b"").all()
    assert spans.equal(b, starts, ends, b"ab").tolist() == [False, True, False, False, False]
    joined = spans.enclosed(b, np.array([1, 1, 2, 2, 3]), starts, ends, b"<r>", b"</r>")
    assert bytes(joined) == b"<r>abcabdab</r><r>xabdx</r><r>" + b"z" * 50 + b"abd</r>"
