"""What is shown before everything has come: in mode certain only what stays, in mode optimistic all that may stay."""

from __future__ import annotations

import io

import pytest
from modal import engine, shown

from xstreamcast import continuous
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, Eos, Fill, Freeze, Hide, Remove, Replace
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import parse_structure
from xstreamcast.plan.modes.rewrite import EMISSIONS, Emission
from xstreamcast.wire.fragment import read_stream


def fill(region: int, content: str) -> Fill:
    return Fill(region=region, content=content.replace("[", '<stream:hole id="').replace("]", '"/>').encode())


def told(text: str, emission: Emission, *changes: Change) -> list[str]:
    """The answer after each change."""
    followed = engine(text, emission)
    assert followed is not None
    found = []
    for change in changes:
        followed.feed(change, "s")
        found.append(shown(followed.answer))
    return found


LIST = fill(0, "<list>[1][2]</list>")
CHEAP = 'for $b in stream("s")/list/book where $b/price < 30 return $b/title'


def test_certain_waits_for_the_predicate_and_optimistic_does_not() -> None:
    changes = LIST, fill(1, "<book><title>A</title>[3]</book>"), fill(3, "<price>90</price>")
    assert told(CHEAP, "eager", *changes) == ["", "", ""]
    assert told(CHEAP, "certain", *changes) == ["", "", ""]
    assert told(CHEAP, "optimistic", *changes) == ["", "<title>A</title>", ""]


def test_a_witness_is_enough_although_more_may_come() -> None:
    book = fill(1, "<book><title>A</title><price>9</price>[3]</book>")
    assert told(CHEAP, "certain", LIST, book)[-1] == "<title>A</title>"


def test_a_text_with_an_open_hole_in_it_is_no_witness() -> None:
    book = fill(1, "<book><title>A</title><price>9[3]</price></book>")
    assert told(CHEAP, "certain", LIST, book, fill(3, "0"))[1:] == ["", ""]
    assert told(CHEAP, "certain", LIST, book, fill(3, ".50"))[1:] == ["", "<title>A</title>"]


def test_an_item_is_shown_when_all_that_is_in_it_is_known() -> None:
    changes = LIST, fill(1, "<book><title>A[3]</title><price>9</price></book>"), fill(3, "!")
    assert told(CHEAP, "certain", *changes)[1:] == ["", "<title>A!</title>"]
    assert told(CHEAP, "optimistic", *changes)[1:] == ["<title>A</title>", "<title>A!</title>"]


@pytest.mark.parametrize(
    ("condition", "after"),
    [
        ("exists($b/x)", ["", "A", "A"]),
        ("empty($b/x)", ["", "", ""]),
        ("empty($b/y)", ["", "", "A"]),
        ("not($b/y)", ["", "", "A"]),
        ("count($b/x) >= 1", ["", "A", "A"]),
        ("count($b/x) >= 2", ["", "", "A"]),
        ("count($b/x) = 2", ["", "", "A"]),
        ("count($b/x) lt 3", ["", "", "A"]),
        ("some $x in $b/x satisfies $x = 1", ["", "A", "A"]),
        ("every $x in $b/x satisfies $x > 0", ["", "", "A"]),
        ("$b/x = 1 or $b/y = 1", ["", "A", "A"]),
        ("$b/x = 1 and not($b/y)", ["", "", "A"]),
        ("sum($b/x) = 3", ["", "", "A"]),
        ("if ($b/y) then true() else $b/x = 1", ["", "A", "A"]),
        ("if ($b/y) then $b/x else $b/x = 1", ["", "A", "A"]),
    ],
)
def test_conditions_are_decided_as_soon_as_they_can_be(condition: str, after: list[str]) -> None:
    text = f'for $b in stream("s")/list/book where {condition} return $b/title/text()'
    book = fill(1, "<book><title>A</title>[3][4]</book>")
    found = told(text, "certain", LIST, book, fill(3, "<x>1</x>"), fill(4, "<x>2</x>"))
    assert found[1:] == after
    assert told(text, "certain", LIST, fill(4, "<x>2</x>"), fill(3, "<x>1</x>"), book)[-1] == after[-1]


def test_for_shows_tuple_by_tuple_and_let_waits_for_all_of_its_siblings() -> None:
    changes = LIST, fill(1, "<book><t>A</t></book>"), fill(2, "<book><t>B</t></book>")
    each = 'for $t in stream("s")/list/book/t return string($t)'
    assert told(each, "certain", *changes) == ["", "A", "A B"]
    bound = 'let $t := stream("s")/list/book/t return ("all", $t/string())'
    assert told(bound, "certain", *changes) == ["", "", "all A B"]


def test_an_aggregate_is_shown_when_nothing_more_can_come() -> None:
    changes = LIST, fill(1, "<book/>"), fill(2, "")
    assert told('count(stream("s")/list/book)', "certain", *changes) == ["", "", "1"]
    assert told('count(stream("s")/list/book)', "optimistic", *changes) == ["0", "1", "1"]
    assert told('count(stream("s")/list/book) >= 1', "certain", *changes) == ["", "true", "true"]


def test_positions_among_what_is_not_all_there_are_not_known() -> None:
    changes = fill(0, "<r><x>1</x>[1]<x>3</x></r>"), fill(1, "<x>2</x>")
    assert told('stream("s")/r/x[1]', "certain", *changes) == ["", "<x>1</x>"]
    assert told('(stream("s")/r/x)[last()]', "certain", *changes) == ["", "<x>3</x>"]
    assert told('for $x at $p in stream("s")//x return $p', "certain", *changes) == ["", "1 2 3"]


def test_branches_that_agree_need_no_decision() -> None:
    same = 'for $b in stream("s")/list/book return if ($b/x) then string($b/@n) else data($b/@n)'
    assert told(same, "certain", LIST, fill(1, "<book n='7'>[3]</book>"))[-1] == "7"


def test_new_elements_around_the_answer_are_there_from_the_beginning() -> None:
    text = f"<cheap>{{ {CHEAP} }}</cheap>"
    changes = LIST, fill(1, "<book><title>A</title><price>9</price></book>"), fill(2, "<book>[3]</book>")
    assert told(text, "certain", *changes) == ["<cheap/>", *["<cheap><title>A</title></cheap>"] * 2]
    counted = f"<cheap of='{{ count(stream(\"s\")/list/book) }}'>{{ {CHEAP} }}</cheap>"
    assert told(counted, "certain", *changes) == ["", "", '<cheap of="2"><title>A</title></cheap>']


def test_a_hole_is_closed_by_its_filler_by_a_freeze_and_by_the_end_of_the_stream() -> None:
    text = 'count(stream("s")/r/x)'
    root = fill(0, "<r><x/>[1]</r>")
    assert told(text, "certain", root, fill(1, "<x/>")) == ["", "2"]
    assert told(text, "certain", root, Freeze(region=1, version=1)) == ["", "1"]
    assert told(text, "certain", root, Remove(region=1, version=1)) == ["", "1"]
    assert told(text, "certain", root, Eos()) == ["", "1"]


def test_what_is_in_a_hidden_region_is_not_waited_for() -> None:
    text = 'count(stream("s")/r/x)'
    root = fill(0, "<r><x/>[1]</r>")
    assert told(text, "certain", root, fill(1, "<x/>[2]"), Hide(region=1)) == ["", "", "1"]


def test_replacements_and_removals_may_still_retract() -> None:
    book = fill(1, "<book><title>A</title><price>9</price></book>")
    dear = Replace(region=1, content=b"<book><title>A</title><price>90</price></book>")
    assert told(CHEAP, "certain", LIST, book, dear) == ["", "<title>A</title>", ""]


def test_a_parent_that_is_sent_again_brings_its_holes_back() -> None:
    text = 'count(stream("s")/r/x)'
    changes = fill(0, "<r>[1]</r>"), fill(1, "<x/>"), fill(0, "<r>[1][2]</r>"), fill(2, "<x/>")
    assert told(text, "certain", *changes) == ["", "1", "", "2"]


STRUCTURE = """<stream:structure xmlns:stream="urn:xstreamcast:stream"><tag id="1" name="list" type="snapshot">
  <tag id="2" name="book" type="filler"><tag id="3" name="title" type="filler"/><tag id="4" name="price" type="filler"/>
    <tag id="5" name="info" type="filler"><tag id="6" name="isbn" type="filler"/></tag></tag>
  <tag id="7" name="sale" type="event"><tag id="8" name="copies" type="snapshot"/></tag>
  <tag id="9" name="rate" type="temporal"/></tag></stream:structure>"""


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ('count(stream("s")//title)', True),  # the hole is one for a price
        ('count(stream("s")//price)', False),
        ('count(stream("s")//isbn)', True),
        ('count(stream("s")//book/*)', False),
        ('string(stream("s")//book)', False),
        ('for $b in stream("s")//book return empty($b/info/isbn)', True),
    ],
)
def test_only_holes_that_the_structure_lets_matter_are_waited_for(text: str, known: bool) -> None:
    followed = engine(text, "certain", {"s": parse_structure(STRUCTURE)})
    assert followed is not None
    followed.feed(Fill(region=0, tsid=1, content=b'<list><stream:hole id="1" tsid="2"/></list>'), "s")
    book = b'<book><title>A</title><stream:hole id="3" tsid="4"/></book>'
    followed.feed(Fill(region=1, tsid=2, content=book), "s")
    assert bool(shown(followed.answer)) == known


def test_holes_for_events_and_versions_stay_open_until_frozen_or_the_end() -> None:
    root = b'<list><stream:hole id="1" tsid="7"/><stream:hole id="2" tsid="9"/></list>'
    sale = Fill(region=1, tsid=7, valid_time=10**15, content=b"<sale><copies>3</copies></sale>")
    rate = Fill(region=2, tsid=9, valid_time=10**15, content=b"<rate>5</rate>")
    sold, rates = 'sum(stream("s")//sale/copies)', 'stream("s")/list/rate'
    for text, closing, final in (
        (sold, Freeze(region=1, version=1), "3"),
        (sold, Eos(), "3"),
        (rates, Freeze(region=2, version=1), '<rate vtFrom="2001-09-09T01:46:40" vtTo="now">5</rate>'),
        (f"{rates}/string()", None, "5"),  # a further version ends its life, and changes nothing of its text
        (f"{rates}/@vtFrom/string()", None, "2001-09-09T01:46:40"),
        (f"{rates}/@vtTo/string()", Eos(), "now"),
    ):
        followed = engine(text, "certain", {"s": parse_structure(STRUCTURE)})
        assert followed is not None
        followed.feed_many([Fill(region=0, tsid=1, content=root), sale, rate], "s")
        if closing is not None:
            assert shown(followed.answer) == "", text
            followed.feed(closing, "s")
        assert shown(followed.answer) == final, text


def test_what_is_not_looked_into_waits_for_the_end_and_says_so() -> None:
    text = 'let $f := function($x) { $x/t } return stream("s")/list/book/$f(.)'
    query = continuous(text, emit="certain")
    for change in (LIST, fill(1, "<book><t>A</t></book>"), fill(2, "")):
        query.feed(change)
    assert query.text() == ""
    assert any("function" in reason for reason in query.held)
    query.feed(Eos())
    assert query.text() == "<t>A</t>"


@pytest.mark.parametrize(
    ("text", "emission", "after"),
    [
        ('count(stream("s")/stock)', "certain", ["", "", "", "1"]),
        ('count(stream("s")/stock)', "optimistic", ["1", "1", "1", "1"]),
        ('for $s in stream("s")/stock where $s/rating = "hold" return $s/value', "certain", ["", "", "V", "V"]),
        ('for $s in stream("s")/stock where $s/rating = "hold" return $s/value', "optimistic", ["", "V", "V", "V"]),
        ('for $s in stream("s")/stock where not($s/rating = "hold") return $s/value', "optimistic", ["", "V", "", ""]),
    ],
)
def test_a_stream_without_a_root_of_its_own(text: str, emission: Emission, after: list[str]) -> None:
    """WebDB'05 §4.4, as it is printed: computed anew on T, and three-valued all the same."""
    tags = '<tag id="2" name="rating" type="filler"/><tag id="3" name="value" type="filler"/>'
    structure = parse_structure(f'<tag><tag id="1" name="stock" type="filler">{tags}</tag></tag>')
    query = continuous(text, structures=structure, emit=emission)
    stock = b'<stock><stream:hole id="8" tsid="2"/><stream:hole id="9" tsid="3"/></stock>'
    found = []
    for change in (
        Fill(region=7, tsid=1, content=stock),
        Fill(region=9, tsid=3, content=b"<value>12</value>"),
        Fill(region=8, tsid=2, content=b"<rating>hold</rating>"),
        Eos(),
    ):
        query.feed(change)
        found.append(query.text().replace("<value>12</value>", "V"))
    assert found == after


def test_a_stored_document_beside_the_stream_is_known() -> None:
    text = 'for $b in stream("s")//b where not($b/@k = doc("d")//c/@k) return string($b/@k)'
    query = continuous(text, docs={"d": '<r><c k="2"/></r>'}, emit="certain")
    query.feed(Fill(region=0, content=b'<r><b k="1"/><b k="2"/><stream:hole id="1"/></r>'))
    assert query.text() == "1"
    counted = continuous('count(doc("d")//c), count(stream("s")//b)', docs={"d": '<r><c k="2"/></r>'}, emit="certain")
    counted.feed(Fill(region=0, content=b'<r><b k="1"/><b k="2"/><stream:hole id="1"/></r>'))
    assert counted.text() == "1"
    counted.feed(Fill(region=1, content=b"<b/>"))
    assert counted.text() == "1 3"


def test_a_stream_whose_name_is_computed_waits_for_the_end() -> None:
    query = continuous('count(stream(concat("", "s"))//b)', emit="certain")
    query.feed(Fill(region=0, content=b"<r><b/></r>"), "s")
    assert query.text() == ""
    assert query.held == ("the query as a whole",)


def test_two_streams_end_one_after_the_other() -> None:
    text = 'for $b in stream("s")//b where not($b/@k = stream("t")//c/@k) return string($b/@k)'
    query = continuous(text, emit="certain")
    query.feed(Fill(region=0, content=b'<r><b k="1"/><b k="2"/><stream:hole id="1"/></r>'), "s")
    query.feed(Fill(region=0, content=b'<r><c k="2"/><stream:hole id="1"/></r>'), "t")
    assert query.text() == ""
    query.feed(Eos(), "t")
    assert query.text() == "1"
    query.feed(Fill(region=1, content=b'<b k="3"/>'), "s")
    assert query.text() == "1 3"


def test_a_query_knows_how_many_open_holes_it_waits_for() -> None:
    query = continuous(CHEAP, emit="certain")
    seen = []
    for change in (LIST, fill(1, "<book>[3]</book>"), fill(3, "<price>1</price>"), Eos()):
        query.feed(change)
        seen.append(query.waiting)
    assert seen == [2, 2, 1, 0]
    eager = continuous(CHEAP)
    eager.feed(LIST)
    assert eager.waiting == 0


def test_a_query_cannot_spell_the_question_for_open_holes() -> None:
    with pytest.raises(XStreamError, match=r"XPST0017|XPST0003"):
        continuous("Q{urn:xstreamcast:modes}open('a')")


@pytest.mark.parametrize("emission", EMISSIONS)
def test_the_output_stream_describes_the_answer_in_every_mode(emission: Emission) -> None:
    query = continuous(f"<cheap>{{ {CHEAP} }}</cheap>", emit=emission)
    sink = Materialiser()
    for change in (
        LIST,
        fill(1, "<book><title>A</title>[3]</book>"),
        fill(2, "<book><title>B</title><price>7</price></book>"),
        fill(3, "<price>70</price>"),
        Replace(region=3, content=b"<price>17</price>"),
        Eos(),
    ):
        for out in query.feed(change):
            sink.apply(out)
        assert sink.text() == query.text() == serialise(query.answer().items())
    assert query.text() == "<cheap><title>A</title><title>B</title></cheap>"


@pytest.mark.parametrize("emission", EMISSIONS)
def test_a_stream_that_just_stops_is_at_its_end(emission: Emission) -> None:
    query = continuous('count(stream("s")//x)', emit=emission)
    text = b'<stream:filler id="0"><r><x/><stream:hole id="1"/></r></stream:filler>'
    wrapped = b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">' + text + b"</stream:fragments>"
    for arrival in read_stream(io.BytesIO(wrapped)):
        query.feed(arrival.item)
    query.inflow.finish("s")
    assert query.text() == "1"
