"""A root's content, cut for buckets: every record is in one of them, what is around them in all."""

from __future__ import annotations

from motion_stores import rows_of

from xstreamcast.model.structure import parse_structure
from xstreamcast.spark.motion.association_spread import Routing, Spread
from xstreamcast.spark.motion.brought import TICK
from xstreamcast.spark.motion.root_cut import atoms, parts

LIST = """<stream:structure><tag id="1" name="list" type="snapshot"><tag id="2" name="part" type="snapshot">
<tag id="3" name="item"><tag id="4" name="name" type="temporal"/></tag></tag></tag></stream:structure>"""
STRUCTURE = parse_structure(LIST)


def cut(content: str, buckets: list[int]) -> list[str]:
    found = atoms(content.encode(), STRUCTURE)
    return [part.decode() for part in parts(content.encode(), found, buckets, max(buckets) + 1)]


def test_holes_and_records_that_stand_in_the_root_are_each_in_one_bucket() -> None:
    content = (
        '<list a="1"><part><stream:hole id="1"/> <item>x</item></part><part><item/><stream:hole id="2"/></part></list>'
    )
    assert cut(content, [0, 0, 1, 1]) == [
        '<list a="1"><part><stream:hole id="1"/><item>x</item></part><part></part></list>',
        '<list a="1"><part></part><part><item/><stream:hole id="2"/></part></list>',
    ]


def test_the_holes_of_a_record_in_the_root_are_its_own() -> None:
    content = b'<list><part><item><name/><stream:hole id="7"/>/></item><stream:hole id="8"></stream:hole></part></list>'
    record, hole = atoms(content, STRUCTURE)
    assert (record.holes, record.is_hole, hole.holes, hole.is_hole) == ((7,), False, (8,), True)
    assert content[record.begin : record.end] == b'<item><name/><stream:hole id="7"/>/></item>'
    assert content[hole.begin : hole.end] == b'<stream:hole id="8"></stream:hole>'


def test_a_removal_without_a_time_comes_with_the_present_of_its_stream() -> None:
    routing = Routing.of(Spread(("s",), (LIST,), "combine", timely=False, size=1))
    stream = (
        '<stream:filler id="0" tsid="1"><list><part><stream:hole id="1"/><stream:hole id="2"/></part></list>'
        "</stream:filler>"
        '<stream:filler id="1" tsid="3"><item><stream:hole id="3" tsid="4"/></item></stream:filler>'
        '<stream:filler id="3" tsid="4" validTime="2003-11-05T00:00:00"><name>n</name></stream:filler>'
        '<stream:remove id="2" tsid="3"/>'
    )
    first, second = routing.take(rows_of(stream), timely=False).values()
    assert [row["change"] for row in second] == ["fill", TICK, "remove", TICK]
    assert second[1]["valid_time"] == first[2]["valid_time"]


def test_the_time_is_that_of_all_streams_also_of_those_that_are_not_read() -> None:
    routing = Routing.of(Spread(("s",), (LIST,), "combine", timely=True, size=1))
    routing.take(rows_of('<stream:filler id="0" tsid="1"><list/></stream:filler>'), timely=True)
    other = rows_of('<stream:filler id="9" validTime="2003-11-05T00:00:00">x</stream:filler>', "t")
    (tick,) = routing.take(other, timely=True)[0]
    assert (tick["change"], tick["valid_time"], tick["seq"]) == (TICK, other[0]["valid_time"], 2)
