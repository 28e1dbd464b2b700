"""Cutting: holes in place, ids unique, the root 0, flat memory; and the documents that are refused."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from xstreamcast.cast import ORDERS, Order, fragment, fragmenter
from xstreamcast.cast.fragmenter import Fragmenter
from xstreamcast.cast.infer import infer_structure
from xstreamcast.cast.order import Record
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Eos, Fill
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.scan.encoding import plain_chunks
from xstreamcast.wire.fragment import read_stream

ITEMS = parse_structure(
    '<structure><tag id="1" name="list"><tag id="2" name="item" type="filler">'
    '<tag id="3" name="part" type="filler"/></tag></tag></structure>'
)


def records(document: bytes, structure: Structure = ITEMS) -> list[Record]:
    return list(Fragmenter(structure, "d.xml").records(plain_chunks([document], "d.xml")))


def fills(document: bytes, structure: Structure = ITEMS) -> dict[int, tuple[int | None, bytes]]:
    out = io.BytesIO()
    fragment(io.BytesIO(document), out, structure)
    changes = [arrival.item for arrival in read_stream(io.BytesIO(out.getvalue()))]
    assert isinstance(changes[0], Structure)
    assert changes[-1] == Eos()
    return {change.region: (change.tsid, change.content) for change in changes if isinstance(change, Fill)}


def test_every_fragment_element_leaves_a_hole_with_its_id_and_tsid() -> None:
    found = fills(b"<list>a<item>b<part/>c</item>d<item/></list>")
    assert found[0] == (1, b'<list>a<stream:hole id="1" tsid="2"/>d<stream:hole id="3" tsid="2"/></list>')
    assert found[1] == (2, b'<item>b<stream:hole id="2" tsid="3"/>c</item>')
    assert found[2] == (3, b"<part/>")


def test_the_root_is_region_0_and_ids_are_unique_in_document_order() -> None:
    found = fills(b"<list>" + b"<item><part/></item>" * 20 + b"</list>")
    assert list(found) == list(range(41))
    holes = [int(n) for _, content in found.values() for n in re.findall(rb'hole id="(\d+)"', content)]
    assert sorted(holes) == list(range(1, 41))


def test_elements_the_structure_does_not_know_stay_where_they_are() -> None:
    assert fills(b"<list><x><item/></x><item><x/></item></list>") == {
        0: (1, b'<list><x><item/></x><stream:hole id="1" tsid="2"/></list>'),
        1: (2, b"<item><x/></item>"),
    }


def test_a_fragment_declares_what_it_takes_from_the_namespaces_around_it() -> None:
    structure = infer_structure([io.BytesIO(b'<l xmlns="urn:d" xmlns:p="urn:p"><p:i/></l>')], "p:i")
    found = fills(b'<l xmlns="urn:d" xmlns:p="urn:p"><p:i><x/></p:i></l>', structure)
    assert sorted(re.findall(rb'xmlns[:\w]*="[^"]*"', found[1][1])) == [b'xmlns:p="urn:p"', b'xmlns="urn:d"']


def test_records_come_at_their_end_tags_and_the_root_last() -> None:
    assert [record.region for record in records(b"<list><item><part/></item><item/></list>")] == [2, 1, 3, 0]


def test_levels_and_children_are_counted_among_fragments() -> None:
    found = {r.region: (r.level, r.children) for r in records(b"<list><item><part/><part/></item><item/></list>")}
    assert found == {0: (0, 2), 1: (1, 2), 2: (2, 0), 3: (2, 0), 4: (1, 0)}


def test_content_beyond_the_spill_size_waits_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragmenter, "SPILL", 50)
    document = b"<list>" + b"<x>some text</x>" * 20 + b"<item>t</item></list>"
    found = list(Fragmenter(ITEMS).records(document[at : at + 7] for at in range(0, len(document), 7)))
    root = found[-1]
    assert not isinstance(root.content, bytes)
    assert root.content.read() == document.replace(b"<item>t</item>", b'<stream:hole id="1" tsid="2"/>')


HISTORY = parse_structure(
    '<structure><tag id="1" name="r"><tag id="2" name="a" type="filler"><tag ref="2"/>'
    '<tag id="3" name="v" type="temporal"><tag ref="2"/></tag></tag><tag ref="3"/><tag id="4" name="e" type="event"/>'
    "</tag></structure>"
)
NASTY = (
    b"<?p  q ?><!--before\r\n-->\n<r xmlns:p='urn:p'\t><a >x<a p:y='>'/><![CDATA[<a/>]]></a\n>"
    b'<v vtFrom="2003-01-01" x="1" vtTo="2003-01-02"/><v vtFrom="2003-01-02" vtTo="now"><a xmlns:p="urn:q"/></v>'
    b'<v vtFrom="2003-01-01" vtTo="2003-01-03">\xc3\xa9</v> <!-- <a> -->'
    b'<e vtFrom="2003-01-01" vtTo="2003-01-01"/><e vtFrom="2003-01-01" vtTo="2003-01-01"/><x><a/></x>'
    b"<a xmlns='urn:z'/><a xmlns:stream='urn:o'><a/></a></r><?after?>\n"
)


def test_the_fragments_are_the_same_for_every_chunk_size() -> None:
    whole = list(Fragmenter(HISTORY).records([NASTY]))
    assert [record.region for record in whole] == [2, 1, 3, 4, 3, 5, 5, 6, 6, 8, 7, 0]
    for size in range(1, 70):
        chunks = (NASTY[at : at + size] for at in range(0, len(NASTY), size))
        assert list(Fragmenter(HISTORY).records(chunks)) == whole


@pytest.mark.parametrize("how", ORDERS)
def test_a_file_and_a_pipe_give_the_same_stream(how: Order, tmp_path: Path) -> None:
    file = tmp_path / "d.xml"
    file.write_bytes(NASTY)
    from_file, from_pipe = io.BytesIO(), io.BytesIO()
    assert fragment(file, from_file, HISTORY, order=how) == fragment(io.BytesIO(NASTY), from_pipe, HISTORY, order=how)
    assert from_file.getvalue() == from_pipe.getvalue()


def test_white_space_at_the_end_of_a_start_tag_is_left_out() -> None:
    assert fills(b"<list ><item\n/><item a='1' ></item></list>") == {
        0: (1, b'<list><stream:hole id="1" tsid="2"/><stream:hole id="2" tsid="2"/></list>'),
        1: (2, b"<item/>"),
        2: (2, b"<item a='1'></item>"),
    }


def test_progress_is_told_in_bytes() -> None:
    heard: list[int] = []
    document = b"<list><item/></list>"
    list(Fragmenter(ITEMS).records([document[:9], document[9:]], heard.append))
    assert sum(heard) == len(document)


@pytest.mark.parametrize(
    ("document", "code", "says", "place"),
    [
        (b"<other/>", "XSC0040", "the root element is <other>, the structure says <list>", "d.xml:1:1"),
        (b"<list><item></list>", "XSC0001", "mismatched tag", "d.xml:1:13"),
        (b"<list>\n<item>", "XSC0001", "<item> is not closed", "d.xml:2:7"),
        (b"", "XSC0001", "no element found", "d.xml:1:1"),
        (b"<list/><list/>", "XSC0001", "junk outside the document element", "d.xml:1:8"),
        (b"<list><p:item/></list>", "XSC0001", "unbound prefix", "d.xml:1:14"),
        (b'<!DOCTYPE list SYSTEM "l.dtd"><list>&e;</list>', "XSC0001", "&e;", "d.xml:1:37"),
        (b'<list xmlns:s="urn:xstreamcast:stream"/>', "XSC0040", "the stream's own namespace", "d.xml:1:1"),
        (b'<list><item a="1" a="2"/></list>', "XSC0001", "duplicate attribute", "d.xml:1:19"),
    ],
)
def test_a_document_that_cannot_be_cut_is_refused_with_its_place(
    document: bytes, code: str, says: str, place: str
) -> None:
    with pytest.raises(XStreamError) as caught:
        records(document)
    assert caught.value.code == code
    assert says in caught.value.message
    assert str(caught.value.place) == place


@pytest.mark.parametrize(
    "document", [b'<list a="&e;"/>', b'<list><item a="&e;"/></list>', b'<list><x a="&e;"/></list>']
)
def test_an_entity_without_a_declaration_is_refused_in_attributes_too(document: bytes) -> None:
    """It would otherwise stand in a fragment, where nobody can read it."""
    with pytest.raises(XStreamError, match="&e;"):
        records(b'<!DOCTYPE list SYSTEM "l.dtd">' + document)


def test_a_structure_without_a_named_root_cuts_no_document() -> None:
    with pytest.raises(XStreamError, match="no root element"):
        Fragmenter(parse_structure('<structure><tag id="1" name="a"/><tag id="2" name="b"/></structure>'))


def test_a_lifespan_that_is_no_time_is_refused_with_its_place() -> None:
    structure = parse_structure(
        '<structure><tag id="1" name="r"><tag id="2" name="v" type="temporal"/></tag></structure>'
    )
    with pytest.raises(XStreamError, match="not a time") as caught:
        records(b'<r>\n<v vtFrom="soon"/></r>', structure)
    assert str(caught.value.place) == "d.xml:2:1"


def test_an_event_whose_lifespan_is_no_instant_is_not_silently_made_one() -> None:
    structure = parse_structure('<structure><tag id="1" name="r"><tag id="2" name="e" type="event"/></tag></structure>')
    with pytest.raises(XStreamError, match=r"XSC0040 d\.xml:1:4 an event that lasts"):
        records(b'<r><e vtFrom="2003-01-01" vtTo="2003-01-05"/></r>', structure)


PEAK = """
import resource, sys
from xstreamcast.cast import fragment
from xstreamcast.model.structure import parse_structure

class Document:
    '''So many items, made as they are read.'''
    name = "made"
    def __init__(self, count):
        self.parts = iter([b"<list>", *(None for _ in range(count // 100)), b"</list>"])
        self.rest = b""
    def readable(self): return True
    closed = False
    def readinto(self, buffer):
        if not self.rest:
            part = next(self.parts, b"")
            self.rest = ITEMS if part is None else part
        size = min(len(buffer), len(self.rest))
        buffer[:size] = self.rest[:size]
        self.rest = self.rest[size:]
        return size
    def flush(self): pass
    def close(self): pass

ITEMS = b"<item><part>some text of a part</part>and some more text of the item</item>" * 100
structure = parse_structure('<structure><tag id="1" name="list">'
'<tag id="2" name="item" type="filler"/></tag></structure>')
with open("/dev/null", "wb") as out:
    fragment(Document(int(sys.argv[1])), out, structure, order=sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("order", ["document", "breadth"])
def test_memory_does_not_grow_with_the_document(order: str) -> None:
    """1.9 MB and 11 MB of document: the peak of the process stays within a few megabytes."""

    def peak(count: int) -> int:
        root = Path(__file__).parents[2]
        run = subprocess.run(
            [sys.executable, "-c", PEAK, str(count), order], capture_output=True, text=True, check=True, cwd=root
        )
        return int(run.stdout)

    small, large = peak(25_000), peak(150_000)
    assert large - small < 8_000, "kilobytes"
