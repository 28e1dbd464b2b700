"""The wire form: both spellings, files and messages, everything that may be wrong with them, and every chunk size."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import lzma
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import (
    After,
    Before,
    Change,
    Eos,
    Fill,
    Freeze,
    Hide,
    Remove,
    Repeat,
    Replace,
    Show,
)
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.model.time import parse_instant
from xstreamcast.wire.fragment import Arrival, FragmentReader, FragmentWriter, ReaderState, read_stream

checked = settings(max_examples=100, derandomize=True, deadline=None)

NAMESPACE = 'xmlns:stream="urn:xstreamcast:stream"'


def read(data: str | bytes, size: int | None = None, state: ReaderState | None = None) -> list[Arrival]:
    raw = data.encode() if isinstance(data, str) else data
    step = size or len(raw) or 1
    return list(FragmentReader((raw[at : at + step] for at in range(0, len(raw), step)), source="s", state=state))


def items(data: str | bytes) -> list[Change | Structure | Diagnostic]:
    return [arrival.item for arrival in read(data)]


def faults(data: str | bytes) -> list[Diagnostic]:
    return [item for item in items(data) if isinstance(item, Diagnostic)]


# -- spellings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "change"),
    [
        ('<{0}filler id="9" tsid="3"><v/></{0}filler>', Fill(region=9, tsid=3, content=b"<v/>")),
        ('<{0}repeat id="9">x</{0}repeat>', Repeat(region=9, content=b"x")),
        ('<{0}replace id="9">x</{0}replace>', Replace(region=9, content=b"x")),
        ('<{0}replace target="1" id="9">x</{0}replace>', Replace(region=9, target=1, content=b"x")),
        ('<{0}replace target="1">x</{0}replace>', Replace(region=1, content=b"x")),
        ('<{0}remove id="9"/>', Remove(region=9)),
        ('<{0}remove id="9"></{0}remove>', Remove(region=9)),
        ('<{0}before target="1" id="9">x</{0}before>', Before(region=9, target=1, content=b"x")),
        ('<{0}after target="1" id="9">x</{0}after>', After(region=9, target=1, content=b"x")),
        ('<{0}hide id="9"/>', Hide(region=9)),
        ('<{0}show id="9"/>', Show(region=9)),
        ('<{0}freeze id="9"/>', Freeze(region=9)),
        ("<{0}eos/>", Eos()),
        ('<{0}filler id="0" doc="d&amp;e" version="7"/>', Fill(region=0, doc="d&e", version=7, content=b"")),
        (
            '<{0}filler id="4" validTime="2003-10-23T12:23:34">x</{0}filler>',
            Fill(region=4, valid_time=parse_instant("2003-10-23T12:23:34"), content=b"x"),
        ),
    ],
)
@pytest.mark.parametrize("prefix", ["stream:", ""])
def test_a_change_is_read_in_both_spellings(wire: str, change: Change, prefix: str) -> None:
    text = wire.format(prefix)
    assert items(text) == [change]
    wrapped = f"<{prefix}fragments{' ' + NAMESPACE if prefix else ''}>\n{text}\n</{prefix}fragments>"
    assert items(wrapped) == [change]


def test_any_prefix_bound_to_the_streams_namespace_will_do() -> None:
    text = (
        '<s:fragments xmlns:s="urn:xstreamcast:stream"><s:filler id="0">'
        '<a><s:hole id="1"/></a></s:filler></s:fragments>'
    )
    assert items(text) == [Fill(region=0, content=b'<a><stream:hole id="1"/></a>')]


def test_a_bare_hole_is_read_as_the_prefixed_one() -> None:
    assert items('<filler id="0"><a><hole id="1" tsid="2"/></a></filler>') == [
        Fill(region=0, content=b'<a><stream:hole id="1" tsid="2"/></a>')
    ]


def test_the_first_fragment_fixes_the_form_and_the_other_form_is_data() -> None:
    prefixed, bare = '<stream:filler id="0"><a/></stream:filler>', '<filler id="1" tsid="2">x</filler>'
    (first, other) = items(prefixed + bare)
    assert first == Fill(region=0, content=b"<a/>")
    assert isinstance(other, Diagnostic)
    inside = f'<stream:filler id="0"><a>{bare}<hole id="3"/></a></stream:filler>'
    assert items(inside) == [Fill(region=0, content=f'<a>{bare}<hole id="3"/></a>'.encode())]


@pytest.mark.parametrize(
    "structure",
    ["<{}structure><tag id='1' name='a'/></{}structure>", "<{}tagStructure><tag id='1' name='a'/></{}tagStructure>"],
)
@pytest.mark.parametrize("prefix", ["", "stream:"])
@pytest.mark.parametrize("form", ["", "stream:"])
def test_a_structure_is_known_in_either_form_and_fixes_none(structure: str, prefix: str, form: str) -> None:
    text = structure.format(prefix, prefix)
    found = items(f'{text}<{form}filler id="0"><a/></{form}filler>{text}')
    assert [type(item) for item in found] == [Structure, Fill, Structure]


def test_names_bound_to_another_namespace_are_not_the_streams() -> None:
    found = items('<x:filler xmlns:x="urn:other" id="5">t</x:filler>')
    assert [(change.region, change.content) for change in found if isinstance(change, Fill)] == [
        (0, b'<x:filler xmlns:x="urn:other" id="5">t</x:filler>')
    ]


def test_only_the_first_element_may_come_unwrapped() -> None:
    first, second = items("<a>1</a><b>2</b>")
    assert first == Fill(region=0, content=b"<a>1</a>")
    assert isinstance(second, Diagnostic)
    assert second.place.offset == 8


def test_namespaces_declared_around_a_fragment_are_written_on_it() -> None:
    text = (
        f'<stream:fragments {NAMESPACE} xmlns:p="urn:p" xmlns:q="urn:q">'
        f'<stream:filler id="0"><p:a/></stream:filler></stream:fragments>'
    )
    assert items(text) == [Fill(region=0, content=b'<p:a xmlns:p="urn:p"/>')]
    text = f'<stream:filler {NAMESPACE} xmlns:p="urn:p" id="0"><p:a/></stream:filler>'
    assert items(text) == [Fill(region=0, content=b'<p:a xmlns:p="urn:p"/>')]


def test_interleaved_updates_follow_the_change_they_stood_in() -> None:
    text = (
        '<stream:filler id="0"><a><stream:mutable id="1">x</stream:mutable><stream:replace target="1" id="2">y'
        '<stream:after target="1" id="3">z</stream:after></stream:replace><stream:hide id="1"/></a></stream:filler>'
    )
    assert items(text) == [
        Fill(region=0, content=b'<a><stream:mutable id="1">x</stream:mutable></a>'),
        Replace(target=1, region=2, content=b"y"),
        After(target=1, region=3, content=b"z"),
        Hide(region=1),
    ]


# -- what may be wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "code", "says"),
    [
        ("<filler>x</filler>", "XSC0003", "without an id"),
        ("<remove/>", "XSC0003", "without an id"),
        ("<hide/>", "XSC0003", "without an id"),
        ('<filler id="">x</filler>', "XSC0003", "id=''"),
        ('<filler id="x">x</filler>', "XSC0003", "id='x'"),
        ('<filler id="1.0">x</filler>', "XSC0003", "id='1.0'"),
        ('<filler id="²">x</filler>', "XSC0003", "id='²'"),
        ('<filler id="99999999999999999999">x</filler>', "XSC0003", "id="),
        ('<filler id="1" tsid="x">x</filler>', "XSC0003", "tsid='x'"),
        ('<filler id="1" version="-1">x</filler>', "XSC0003", "version='-1'"),
        ('<filler id="1" validTime="then">x</filler>', "XSC0010", '"then"'),
        ('<filler id="1" validTime="2003-02-30T00:00:00">x</filler>', "XSC0010", "no such time"),
        ('<before id="1">x</before>', "XSC0003", "without a target"),
        ('<after id="1" target="x">x</after>', "XSC0003", "target='x'"),
        ('<structure><tag id="1" name="a"><tag id="2"/></tag></structure>', "XSC0004", "without a name"),
        ('<structure><tag id="1" name="a"></structure>', "XSC0001", "mismatched tag"),
        ("stray text", "XSC0001", "text between fragments"),
        ("</filler>", "XSC0001", "nothing opened"),
        ('<filler id="1" tsid="1">never closed', "XSC0001", "not closed"),
        ('<filler id="1"', "XSC0001", "not a tag"),
        ('<filler id="1"><hole id="y"/></filler>', "XSC0003", "id='y'"),
        ('<filler id="1"><hole id="2">full</hole></filler>', "XSC0003", "a hole with content"),
    ],
)
def test_a_fault_is_put_aside_with_code_place_and_text_and_nothing_else_is_lost(bad: str, code: str, says: str) -> None:
    before, following = '<filler id="0" tsid="1"><a/></filler>\n', '<filler id="5" tsid="1">kept</filler>'
    found = items(before + bad + "\n" + following)
    assert [item for item in found if isinstance(item, Fill)] == [
        Fill(region=0, tsid=1, content=b"<a/>"),
        Fill(region=5, tsid=1, content=b"kept"),
    ]
    (fault,) = [item for item in found if isinstance(item, Diagnostic)]
    assert (fault.code, fault.severity) == (code, "quarantine")
    assert says in fault.message
    assert fault.excerpt.startswith(bad[:5])
    if code != "XSC0004" and "structure" not in bad:
        assert fault.place.source == "s"
        assert fault.place.offset is not None
        assert len(before) <= fault.place.offset < len(before) + len(bad)


def test_a_removal_with_content_does_not_lose_it_silently() -> None:
    assert faults('<filler id="0"><a/></filler><remove id="1">what is this?</remove>')


def test_a_stream_that_stops_anywhere_gives_all_whole_fragments_and_tells_of_the_torn_one() -> None:
    whole = '<stream:filler id="0"><a><!--c--></a></stream:filler>'
    torn = '<stream:filler id="1"><b x="1">t<![CDATA[c]]></b></stream:filler>'
    for cut in range(1, len(torn)):
        found = items(whole + torn[:cut])
        assert found[0] == Fill(region=0, content=b"<a><!--c--></a>")
        assert [type(item) for item in found[1:]] == [Diagnostic], torn[:cut]
        (_, told) = found
        assert isinstance(told, Diagnostic)
        assert told.place.offset == len(whole)


def test_a_large_fragment_is_put_aside_and_the_stream_goes_on() -> None:
    data = b'<stream:filler id="1">' + b"x" * 5000 + b'</stream:filler><stream:filler id="2">y</stream:filler>'
    chunks = (data[at : at + 100] for at in range(0, len(data), 100))
    found = [arrival.item for arrival in FragmentReader(chunks, limit=1000)]
    assert found[-1] == Fill(region=2, content=b"y")
    assert isinstance(found[0], Diagnostic)
    assert "larger than 1000 bytes" in found[0].message
    assert sum(isinstance(item, Diagnostic) for item in found) <= 3  # it, its rest, its end tag


def test_bytes_that_are_not_utf8_are_put_aside() -> None:
    found = items(b'<filler \xff="1" id="1">x</filler><filler id="2">y</filler>')
    assert found[-1] == Fill(region=2, content=b"y")
    assert isinstance(found[0], Diagnostic)


# -- files ------------------------------------------------------------------------------------------------------------

STRUCTURE = parse_structure('<structure><tag id="1" name="a"><tag id="2" name="b" type="event"/></tag></structure>')
CHANGES = [
    Fill(region=0, tsid=1, content='<a>é<stream:hole id="1" tsid="2"/></a>'.encode()),
    Fill(region=1, tsid=2, valid_time=parse_instant("2003-01-01"), content=b"<b/>"),
    Remove(region=1, version=3),
    Eos(),
]


def written() -> bytes:
    out = io.BytesIO()
    writer = FragmentWriter(out, STRUCTURE)
    for change in CHANGES:
        writer.write(change)
    writer.close()
    return out.getvalue()


@pytest.mark.parametrize(
    "pack",
    [
        lambda data: data,
        gzip.compress,
        bz2.compress,
        lzma.compress,
        lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:]),
        lambda data: data.decode().encode("utf-16"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: b'<?xml version="1.0" encoding="ISO-8859-1"?>' + data.decode().encode("latin-1"),
    ],
    ids=["plain", "gz", "bz2", "xz", "gz in two members", "utf-16", "bom", "latin-1"],
)
def test_what_is_written_is_read_from_any_file(pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    file = tmp_path / "stream"
    file.write_bytes(pack(written()))
    structure, *changes = (arrival.item for arrival in read_stream(file))
    assert isinstance(structure, Structure)
    assert structure.tags == STRUCTURE.tags
    assert changes == CHANGES


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_a_truncated_compressed_stream_is_an_error_with_a_place_and_a_hint(pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    file = tmp_path / "stream"
    file.write_bytes(pack(written() + b"\n" * 1000)[:-12])
    with pytest.raises(XStreamError) as caught:
        list(read_stream(file))
    assert caught.value.code == "XSC0006"
    assert str(caught.value.place) == str(file)
    assert caught.value.hint


# -- chunks and going on ----------------------------------------------------------------------------------------------

ELEMENTS = [
    '<filler id="0" tsid="1"><a><hole id="1"/></a></filler>',
    '<filler id="1">x</filler>',
    '<stream:filler id="0"><a/></stream:filler>',
    '<stream:filler id="1"><!--</stream:filler>--><p:b xmlns:p="u"/></stream:filler>',
    "<eos/>",
    "<stream:eos/>",
    '<remove id="1"/>',
    '<stream:remove id="1" version="3"/>',
    "<root><stream:hole id='4'/></root>",
    "stray",
    "<!-- c -->",
    '<structure><tag id="1" name="a"/></structure>',
    '<stream:structure><tag id="1" name="a"/></stream:structure>',
    '<filler id="x">bad</filler>',
    '<filler id="7" tsid="2">unclosed',
    '<filler id="8" torn',
    "</a>",
    "é",
    '<stream:filler id="2">a<stream:replace target="1" id="3">b</stream:replace></stream:filler>',
    '<stream:filler id="3"><p:c/></stream:filler>',
]
wrappers = st.sampled_from(
    ["", "<fragments>", '<stream:fragments xmlns:stream="urn:xstreamcast:stream" xmlns:p="urn:p">']
)
streams = st.builds(str.__add__, wrappers, st.lists(st.sampled_from(ELEMENTS), max_size=8).map("".join))


@checked
@given(streams, st.integers(1, 60))
def test_the_arrivals_are_the_same_for_every_chunk_size(text: str, size: int) -> None:
    assert read(text, size) == read(text)


@checked
@given(streams)
def test_reading_can_go_on_from_any_arrival(text: str) -> None:
    """The state of a reader that stopped is enough to go on where it stopped."""
    data = text.encode()
    everything = read(data)
    reader = FragmentReader([data], source="s")
    for count, arrival in enumerate(reader, 1):
        if count < len(everything) and everything[count].place.offset == arrival.place.offset:
            continue  # one element, several changes: it is taken whole
        state = copy.deepcopy(reader.state)
        assert state.offset == arrival.end
        assert read(data[state.offset :], state=state) == everything[count:]
