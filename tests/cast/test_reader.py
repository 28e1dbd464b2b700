"""Streams read by the kernel: what comes of them is what the exact reader makes of them, whatever is in them."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.cast.batch_reader import BatchReader
from xstreamcast.cast.batches import FragmentBatch
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.cast.reader import read_batches
from xstreamcast.model.change import Eos, Fill
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import parse_instant
from xstreamcast.wire.fragment import Arrival, FragmentReader, cut_short

checked = settings(max_examples=150, derandomize=True, deadline=None)

TAGS = (
    '<stream:structure><tag id="1" name="a"><tag id="2" name="b" type="filler">'
    '<tag id="3" name="c" type="event"/></tag>'
    '<tag id="4" name="d" type="temporal"/></tag></stream:structure>'
)
STRUCTURE = parse_structure(TAGS)
FIRST = '<stream:filler id="0" tsid="1"><a><stream:hole id="1" tsid="2"/></a></stream:filler>'


def exact(data: bytes, limit: int = 1 << 28) -> list[Arrival]:
    reader = FragmentReader([data], source="s", limit=limit)
    found = list(reader)
    if reader.framer.wrapper is not None and not any(isinstance(arrival.item, Eos) for arrival in found):
        found.append(cut_short("s", reader.state.offset))
    return found


def flat(stretches: Iterable[FragmentBatch | Arrival]) -> Iterator[Arrival]:
    for stretch in stretches:
        if isinstance(stretch, Arrival):
            yield stretch
        else:
            for change, place, inside, extent, _ in stretch.arrivals():
                assert place.offset is not None
                yield Arrival(change, place, place.offset + extent, inside)


def in_chunks(data: bytes, size: int, limit: int = 1 << 28) -> list[Arrival]:
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    return list(flat(BatchReader("s", chunks=pieces, limit=limit)))


def at_once(data: bytes, limit: int = 1 << 28) -> list[Arrival]:
    return list(flat(BatchReader("s", buffer=np.frombuffer(bytearray(data), np.uint8), limit=limit)))


def batches(data: str) -> list[FragmentBatch]:
    found = BatchReader("s", buffer=np.frombuffer(bytearray(data.encode()), np.uint8))
    return [stretch for stretch in found if isinstance(stretch, FragmentBatch)]


# -- the same arrivals ------------------------------------------------------------------------------------------------

ELEMENTS = [
    FIRST,
    '<stream:filler id="1" tsid="2"><b>x<stream:hole id="2" tsid="3"/></b></stream:filler>',
    '<stream:filler id="1" tsid="2"  version = "3" other="x"><b/>\n</stream:filler >',
    "<stream:filler id='7'>text &amp; <b>c</b><d/>tail</stream:filler>",
    '<stream:filler id="2" tsid="3" validTime="2003-10-23T12:23:34.5Z"><c/></stream:filler>',
    '<stream:filler id="2" tsid="3" validTime="2003-02-28"><c/></stream:filler>',
    '<stream:filler id="2" tsid="3" validTime="2003-02-30T00:00:00"><c/></stream:filler>',
    '<stream:filler id="2" doc="d&amp;e">x</stream:filler>',
    '<stream:filler id="2" doc="é">x</stream:filler>',
    '<stream:repeat id="2">y</stream:repeat>',
    '<stream:replace id="2" version="9">z</stream:replace>',
    '<stream:replace target="2">z</stream:replace>',
    '<stream:replace target="2" id="8">z</stream:replace>',
    '<stream:before target="2" id="5">z</stream:before>',
    '<stream:after id="5">z</stream:after>',
    '<stream:remove id="2"/>',
    '<stream:remove id="2"> </stream:remove>',
    '<stream:remove id="2">full</stream:remove>',
    '<stream:hide id="2"/>',
    "<stream:eos/>",
    '<stream:eos id="3"/>',
    "<stream:filler>no id</stream:filler>",
    '<stream:filler id="x">no number</stream:filler>',
    '<stream:filler id="123456789012345678901">too large</stream:filler>',
    '<stream:filler id="3"><b>malformed</stream:filler>',
    '<stream:filler id="3">&undeclared;</stream:filler>',
    '<stream:filler id="3">a]]>b</stream:filler>',
    '<stream:filler id="3">\x01</stream:filler>',
    '<stream:filler id="3"><p:b/></stream:filler>',
    '<stream:filler id="3"><p:b xmlns:p="urn:p"><stream:hole id="4"/></p:b></stream:filler>',
    '<stream:filler id="3" xmlns:p="urn:p"><p:b/></stream:filler>',
    '<stream:filler id="3" xmlns:stream="urn:xstreamcast:stream"><b/></stream:filler>',
    '<stream:filler id="3"><b xmlns:stream="urn:other"><stream:filler id="4"/></b></stream:filler>',
    '<stream:filler id="3"><s:hole xmlns:s="urn:xstreamcast:stream" id="4"/></stream:filler>',
    '<s:filler xmlns:s="urn:xstreamcast:stream" id="3">x</s:filler>',
    '<stream:filler id="3"><!--</stream:filler>--><![CDATA[<stream:filler id="9">]]></stream:filler>',
    '<stream:filler id="3"><?p </stream:filler>?></stream:filler>',
    '<stream:filler id="3">a<stream:replace target="1" id="6">b</stream:replace>c</stream:filler>',
    '<stream:filler id="3">a<stream:mutable id="6">b</stream:mutable>c</stream:filler>',
    '<stream:filler id="3">time:show it</stream:filler>',
    '<stream:filler id="3" id="4">twice</stream:filler>',
    '<stream:filler id="3"><stream:hole>full</stream:hole><stream:hole id="y"/></stream:filler>',
    '<stream:filler id="3">not closed',
    '<stream:filler id="3">a<stream:filler id="4">within</stream:filler></stream:filler>',
    '<stream:filler id="3" torn',
    '<filler id="3" tsid="2">bare</filler>',
    "<b>not the streams</b>",
    "text between",
    "&amp;",
    "<!-- between -->",
    "<?pi between?>",
    "<!--",
    "<![CDATA[between]]>",
    "<!DOCTYPE x>",
    "</stream:filler>",
    "</stream:fragments>",
    '<stream:fragments xmlns:stream="urn:xstreamcast:stream">',
    "<stream:unknown/>",
    TAGS,
    "\ufeff",
    " \r\n\t",
    "<",
    "]]>",
]
wrappers = st.sampled_from(
    [
        "",
        FIRST,
        '<stream:fragments xmlns:stream="urn:xstreamcast:stream">\n' + FIRST,
        '<stream:fragments xmlns:stream="urn:xstreamcast:stream" xmlns:p="urn:p">' + FIRST,
        "<fragments>" + FIRST,
    ]
)
streams = st.builds(str.__add__, wrappers, st.lists(st.sampled_from(ELEMENTS), max_size=9).map("".join)).map(str.encode)


@checked
@given(streams)
def test_the_arrivals_are_those_of_the_exact_reader(data: bytes) -> None:
    assert at_once(data) == exact(data)


@checked
@given(streams, st.integers(1, 60))
def test_the_arrivals_are_the_same_for_every_chunk_size(data: bytes, size: int) -> None:
    assert in_chunks(data, size) == exact(data)


@pytest.mark.parametrize("element", ELEMENTS)
def test_no_element_of_a_stream_takes_anything_else_with_it(element: str) -> None:
    data = (FIRST + "\n" + ELEMENTS[1] + element + ELEMENTS[4] * 3 + element + ELEMENTS[9]).encode()
    assert at_once(data) == exact(data)
    for size in (1, 2, 7, 19, 64):
        assert in_chunks(data, size) == exact(data)


def test_a_stream_with_bytes_changed_at_random_is_put_aside_in_the_same_pieces() -> None:
    rng = random.Random(7)
    good = [element.encode() for element in ELEMENTS[:21]]
    for _ in range(150):
        data = bytearray(FIRST.encode() + b"\n".join(rng.choices(good, k=12)))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            how = rng.randrange(3)
            if how == 0:
                data[at] = rng.choice(b"<>/\"'&;= a\x00\xff]!-?")
            elif how == 1:
                del data[at : at + rng.randrange(1, 12)]
            else:
                data[at:at] = rng.choice([b"<", b">", b"&", b"<!--", b"]]>", b"</a>", b"<stream:", b"\xc3", b'"'])
        assert at_once(bytes(data)) == exact(bytes(data)), bytes(data)
        assert in_chunks(bytes(data), rng.randrange(1, 80)) == exact(bytes(data)), bytes(data)


def test_a_fragment_over_the_limit_is_put_aside_and_the_others_are_read() -> None:
    large = b'<stream:filler id="1">' + b"x" * 500 + b"</stream:filler>"
    data = FIRST.encode() + large + b'<stream:filler id="2">b</stream:filler>'
    assert at_once(data, 200) == exact(data, 200)
    for found in (at_once(data, 200), in_chunks(data, 64, 200)):
        assert found[-1].item == Fill(region=2, content=b"b")
        faults = [arrival.item.message for arrival in found if isinstance(arrival.item, Diagnostic)]
        assert "larger than 200" in faults[0]


def test_a_stream_of_thousands_of_fragments_comes_in_few_batches() -> None:
    many = "".join(f'<stream:filler id="{n}" tsid="2"><b>{n}</b></stream:filler>\n' for n in range(1, 20_000))
    found = batches(FIRST + many)
    assert len(found) < 10
    assert np.concatenate([batch.region for batch in found]).tolist() == list(range(1, 20_000))


# -- columns ----------------------------------------------------------------------------------------------------------


def test_a_batch_has_the_numbers_and_times_of_its_changes_in_columns() -> None:
    (batch,) = batches(
        FIRST + '<stream:filler id="7" tsid="3" version="2" validTime="2003-10-23T12:23:34"><c/></stream:filler>'
        '<stream:replace target="7" id="9">x</stream:replace><stream:remove id="9"/>'
    )
    assert batch.region.tolist() == [7, 9, 9]
    assert batch.tsid.tolist() == [3, -1, -1]
    assert batch.version.tolist() == [2, -1, -1]
    assert batch.target.tolist() == [-1, 7, -1]
    assert batch.valid_time[0] == parse_instant("2003-10-23T12:23:34")
    assert [batch.content(k) for k in range(2)] == [b"<c/>", b"x"]


def test_a_batch_lists_the_holes_of_every_content_in_document_order() -> None:
    (batch,) = batches(
        FIRST + '<stream:filler id="1"><b><stream:hole id="5"/><c><stream:hole id="4"/></c></b></stream:filler>'
        '<stream:filler id="2">none</stream:filler><stream:filler id="3"><stream:hole id="6"/><b/></stream:filler>'
    )
    assert batch.holes.tolist() == [5, 4, 6]


def test_the_changes_of_some_tags_are_found_without_opening_the_others() -> None:
    (batch,) = batches(
        FIRST + "".join(f'<stream:filler id="{n}" tsid="{2 + n % 3}">x</stream:filler>' for n in range(1, 10))
    )
    assert batch.region[batch.tsid == 3].tolist() == [1, 4, 7]
    assert batch.region[(batch.tsid == 2) | (batch.tsid == 4)].tolist() == [2, 3, 5, 6, 8, 9]


@pytest.mark.parametrize(
    "text",
    [
        "2003-10-23T12:23:34", "0001-01-01T00:00:00", "2000-02-29T23:59:59", "1999-12-31T00:00:00.000001",
        "2003-10-23T12:23:34.5Z", "1582-03-01T10:00:00", "2003-10-23", "2003-10-23T12:23:34+02:00", "start", "now",
        "-0044-03-15T00:00:00", "2003-10-23T24:00:00", " 2003-10-23 ", "2003-10-23T12:23:34.1234567",
    ],
)  # fmt: skip
def test_a_valid_time_is_the_same_instant_in_the_columns(text: str) -> None:
    (batch,) = batches(FIRST + f'<stream:filler id="1" validTime="{text}">x</stream:filler>')
    assert batch.valid_time.tolist() == [parse_instant(text)]


# -- T of what was read -----------------------------------------------------------------------------------------------


def told(stretches: Iterable[FragmentBatch | Arrival], structure: bool) -> tuple[str, list[Diagnostic]]:
    found: list[Diagnostic] = []
    regions = Materialiser(STRUCTURE if structure else None, found.append)
    for stretch in stretches:
        if isinstance(stretch, Arrival):
            regions.apply(stretch.item, stretch.place, stretch.inside)
        else:
            regions.apply_batch(stretch)
    regions.finish()
    documents = regions.documents()
    return "".join(b"".join(regions.document(doc, None, found.append)).decode() for doc in documents), found


@checked
@given(streams, st.booleans())
def test_the_document_and_the_diagnostics_are_those_of_the_exact_reader(data: bytes, structure: bool) -> None:
    buffer = np.frombuffer(bytearray(data), np.uint8)
    known = STRUCTURE if structure else None
    expected = told(exact(data), structure)
    assert told(BatchReader("s", buffer=buffer, structure=known), structure) == expected
    assert told(BatchReader("s", chunks=[data], structure=known), structure) == expected


INLINE = [
    '<stream:filler id="1" tsid="2"><b><c/><x><c/></x></b></stream:filler>',
    '<stream:filler id="0" tsid="1"><a><d/><b><c/></b><d/></a></stream:filler>',
    '<stream:filler id="0"><a><b/></a></stream:filler>',
    '<stream:filler id="1" tsid="2"><other><c/></other></stream:filler>',
    '<stream:filler id="3" tsid="4"><d><b/></d></stream:filler>',
]


@pytest.mark.parametrize("element", INLINE)
def test_fragments_that_came_inline_are_told_of(element: str) -> None:
    data = (TAGS + FIRST + element).encode()
    expected = told(exact(data), False)
    assert told(BatchReader("s", chunks=[data]), False) == expected


NAMESPACES = [
    '<stream:filler id="1"><b xmlns="urn:b"><stream:hole id="2"/></b></stream:filler>'
    '<stream:filler id="2"><c/></stream:filler>',
    '<stream:filler id="1"><p:b xmlns:p="urn:1"><stream:hole id="2"/></p:b></stream:filler>'
    '<stream:filler id="2">t<p:c xmlns:p="urn:1"/><p:c xmlns:p="urn:2&amp;3"/></stream:filler>',
    '<stream:filler id="1"><b xmlns="urn:b"/><stream:hole id="2"/></stream:filler>'
    '<stream:filler id="2"><c/></stream:filler>',
    '<stream:filler id="1">]]<stream:hole id="2"/></stream:filler><stream:filler id="2">></stream:filler>',
    '<stream:filler id="1">\r<stream:hole id="2"/></stream:filler><stream:filler id="2">\nx</stream:filler>',
    '<stream:filler id="1">x<stream:hole id="1"/></stream:filler>',
    '<stream:filler id="1">x</stream:filler>'
    '<stream:filler id="1">x</stream:filler>'
    '<stream:filler id="1">y</stream:filler>',
    '<stream:filler id="1" version="2">x</stream:filler><stream:filler id="1" version="1">y</stream:filler>',
    '<stream:filler id="1"><b/></stream:filler><stream:after target="1" id="5"><x/></stream:after>',
    '<stream:filler id="1"><b/></stream:filler><stream:replace target="1" id="5"><x/></stream:replace>',
    '<stream:filler id="9">nobody holds it</stream:filler>',
]


@pytest.mark.parametrize("elements", NAMESPACES)
def test_what_is_put_together_from_batches_is_what_is_put_together_from_changes(elements: str) -> None:
    data = (FIRST.replace(' tsid="1"', "") + elements).encode()
    expected = told(exact(data), False)
    assert told(BatchReader("s", buffer=np.frombuffer(bytearray(data), np.uint8)), False) == expected
    assert told(BatchReader("s", chunks=[data]), False) == expected


def test_versions_and_events_read_in_batches_make_the_same_temporal_view() -> None:
    data = (
        TAGS + '<stream:filler id="0" tsid="1"><a><stream:hole id="1" tsid="2"/><stream:hole id="5" tsid="4"/></a>'
        '</stream:filler><stream:filler id="1" tsid="2"><b x="1"><stream:hole id="2" tsid="3"/></b></stream:filler>'
        '<stream:filler id="2" tsid="3" validTime="2003-01-02"><c n="2"/></stream:filler>'
        '<stream:filler id="2" tsid="3" validTime="2003-01-01T10:00:00"><c n="1">t</c></stream:filler>'
        '<stream:filler id="2" tsid="3" validTime="2003-01-01T10:00:00"><c vtFrom="no"/></stream:filler>'
        '<stream:filler id="5" tsid="4" validTime="2003-01-01"><d/></stream:filler>'
        '<stream:filler id="5" tsid="4" validTime="2003-01-05"><d>x</d></stream:filler>'
        '<stream:remove id="5" tsid="4" validTime="2003-01-07"/>'
    ).encode()
    expected = told(exact(data), False)
    assert "vtTo" in expected[0]
    assert told(BatchReader("s", chunks=[data]), False) == expected


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b'<?xml version="1.0" encoding="utf-8"?>\n'])
def test_a_file_is_read_like_a_pipe(tmp_path: Path, mark: bytes) -> None:
    data = mark + (FIRST + "".join(ELEMENTS[:6])).encode()
    file = tmp_path / "stream.xml"
    file.write_bytes(data)
    piped = [(arrival.item, arrival.end) for arrival in flat(read_batches(io.BytesIO(data), kernel_from=0))]
    assert [(arrival.item, arrival.end) for arrival in flat(read_batches(file, kernel_from=1))] == piped


def test_a_stream_in_another_encoding_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "stream.xml"
    file.write_bytes((FIRST + '<stream:filler id="1">é</stream:filler>').encode("utf-16"))
    assert list(flat(read_batches(file, kernel_from=1)))[-1].item == Fill(region=1, content="é".encode())
