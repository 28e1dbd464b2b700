"""Changes as values, as rows and as wire elements: three spellings of one thing."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import (
    CHANGES,
    ROW,
    After,
    Before,
    Change,
    ContentChange,
    Eos,
    Fill,
    Freeze,
    Hide,
    Remove,
    Repeat,
    Replace,
    Show,
    from_row,
    to_row,
)
from xstreamcast.model.time import START
from xstreamcast.wire.fragment import FragmentReader, encode_change

checked = settings(max_examples=120, derandomize=True, deadline=None)

ids = st.integers(0, 10**18 - 1)
xml_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")))
common: dict[str, st.SearchStrategy[Any]] = {
    "region": ids,
    "doc": xml_text,
    "tsid": st.none() | ids,
    "version": st.none() | ids,
    "valid_time": st.none() | st.just(START) | st.integers(-(2**61), 2**61),
}
contents = st.sampled_from(
    [
        b"",
        b"text",
        b"<a/>",
        b'<a x="1">t<stream:hole id="7" tsid="2"/></a>',
        b"a<!--c--><?p d?>b<![CDATA[<&]]>",
        b"<a/>" * 3,
    ]
)
changes: st.SearchStrategy[Change] = st.one_of(
    *(st.builds(cls, content=contents, **common) for cls in (Fill, Repeat, Replace)),
    *(st.builds(cls, content=contents, target=ids, **common) for cls in (Replace, Before, After)),
    *(st.builds(cls, **common) for cls in (Remove, Hide, Show, Freeze)),
)


@checked
@given(changes)
def test_a_change_survives_being_a_row(change: Change) -> None:
    assert from_row(dict(zip(ROW, to_row(change, "s", 3), strict=True))) == change


@checked
@given(changes)
@example(Fill(region=1, doc="a & b < c > d \" e ' f", content=b""))
def test_a_change_survives_the_wire(change: Change) -> None:
    (arrival,) = FragmentReader([encode_change(change)])
    assert arrival.item == change


def test_a_documents_name_may_have_tabs_and_line_breaks_in_it() -> None:
    change = Fill(region=1, doc="two\nlines\r\tand a tab", content=b"")
    (arrival,) = FragmentReader([encode_change(change)])
    assert arrival.item == change


@checked
@given(changes)
def test_a_change_survives_the_wire_as_a_message_of_its_own(change: Change) -> None:
    (arrival,) = FragmentReader([encode_change(change, declare=True)])
    assert arrival.item == change


@pytest.mark.parametrize("change", [Eos(), Eos(doc="d", version=2)])
def test_the_end_of_a_stream_survives_the_wire_and_the_row(change: Eos) -> None:
    (arrival,) = FragmentReader([encode_change(change)])
    assert arrival.item == change
    assert from_row(dict(zip(ROW, to_row(change, "s", 3), strict=True))) == change


@checked
@given(changes)
def test_a_change_can_cross_process_borders(change: Change) -> None:
    assert pickle.loads(pickle.dumps(change)) == change


def test_a_change_cannot_be_changed() -> None:
    change, name = Fill(region=1, content=b""), "region"
    with pytest.raises(FrozenInstanceError):
        setattr(change, name, 2)


def test_there_is_one_type_per_kind_of_the_table() -> None:
    kinds = "fill repeat replace before after remove hide show freeze eos"
    assert list(CHANGES) == kinds.split()
    bring_content = {kind for kind, cls in CHANGES.items() if issubclass(cls, ContentChange)}
    assert bring_content == {"fill", "repeat", "replace", "before", "after"}


def test_a_row_may_leave_out_what_is_optional() -> None:
    assert from_row({"change": "fill", "region": 4}) == Fill(region=4, content=b"")
    assert from_row({"change": "eos"}) == Eos()


def test_a_rows_content_may_be_text() -> None:
    assert from_row({"change": "fill", "region": 4, "content": "é"}) == Fill(region=4, content="é".encode())


def test_a_row_of_an_unknown_change_is_refused_with_those_there_are() -> None:
    with pytest.raises(XStreamError, match="unknown change 'delete'") as caught:
        from_row({"change": "delete", "region": 4})
    assert "remove" in caught.value.hint


@pytest.mark.parametrize("kind", ["before", "after"])
def test_a_row_that_stands_beside_nothing_is_refused(kind: str) -> None:
    with pytest.raises(XStreamError, match="target"):
        from_row({"change": kind, "region": 4, "content": b""})
