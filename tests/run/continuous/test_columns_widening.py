"""A tag structure that says more than before: columns go on where nothing is other by it than it was."""

from __future__ import annotations

import pytest
from test_columns_law import OPERATORS, OTHER, PART, QUERIES, RECORD, SECTION, Drawn, answer, structure, told

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.feeds import Feed
from xstreamcast.model.change import Change, Fill
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.run.continuous.query import ContinuousQuery, continuous, continuous_many


def narrow(timed: str) -> Structure:
    """Sections of records, as in the law of columns; nothing has parts, or others beside it, yet."""
    return parse_structure(
        f"""<structure grows="yes"><tag id="1" name="r" type="snapshot"><tag id="2" name="s" type="{timed}">
        <tag id="3" name="b" type="{timed}"><tag id="4" name="x" type="snapshot"/><tag id="5" name="k" type="snapshot"/>
        </tag></tag></tag></structure>"""
    )


SHAPES = {
    "fillers": (narrow("filler"), structure("filler", "filler", "filler")),
    "versions": (narrow("temporal"), structure("temporal", "temporal", "event")),
}


class Widening(Drawn):
    """Half of the changes come before there are parts and others."""

    wide = False

    def content(self, tsid: int, region: int) -> bytes:
        if self.wide:
            return super().content(tsid, region)
        if tsid == SECTION:
            holes = "".join(f'<stream:hole id="{hole}" tsid="3"/>' for hole in self.holes[region])
            return f'<s n="{region}">{holes}</s>'.encode()
        return f'<b id="{region}"><x>{self.draw.randrange(9)}</x><k>k{self.draw.randrange(3)}</k></b>'.encode()

    def change(self) -> Change:
        while True:
            made = super().change()
            if self.wide or (made.region < 200 and getattr(made, "tsid", 0) not in (PART, OTHER)):
                return made

    def halves(self, count: int) -> tuple[list[Change], list[Change]]:
        first = self.changes(count)
        self.wide = True
        return first, [self.change() for _ in range(count)]


def follow(text: str, shape: str, size: int, count: int, seed: int = 1) -> ContinuousQuery:
    """What is told is the answer after every batch, and nothing of it is told again because the structure is wider."""
    before, after = SHAPES[shape]
    first, second = Widening(after, len(text) + seed).halves(count)
    query, document, display = continuous(text, structures=before), Materialiser(before), Materialiser()
    for number, half in enumerate((first, second)):
        if number:
            document.apply(after)
            anew = query.feed(after, "s")
            assert not anew or query.state()["followed"] == "objects"  # by another plan
            for emitted in anew:
                display.apply(emitted)
        for begin in range(0, len(half), size):
            some = half[begin : begin + size]
            for change in some:
                document.apply(change)
            for emitted in query.feed_many(some):
                display.apply(emitted)
            expected = answer(text, document)
            assert told(query) == expected, (number, begin)
            if query.failure is None:
                assert display.text() == expected, (number, begin)
    return query


@pytest.mark.parametrize("text", [*QUERIES[::2], *OPERATORS[1::5]])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_law_holds_when_a_structure_grows(shape: str, text: str) -> None:
    size, count = ((3, 30), (1000, 200))[(len(text) + len(shape)) % 2]
    follow(text, shape, size, count)


@pytest.mark.parametrize(
    "text",
    [
        'sum(stream("s")//b/x)',
        'for $b in stream("s")//b where $b/x > 4 return $b/k',
        'for $s in stream("s")//s return sum($s/b/x)',
        'for $b in stream("s")//b group by $k := $b/k return <g k="{ $k }">{ count($b) }</g>',
        'for $b in stream("s")//b return <n k="{ $b/k }">{ count(stream("s")//b[x = $b/x]) }</n>',
    ],
)
def test_what_has_been_evaluated_is_not_evaluated_again(text: str) -> None:
    before, after = SHAPES["fillers"]
    first, second = Widening(after, 7).halves(100)
    query = continuous(text, structures=before)
    query.feed_many(first)
    done = query.state()["evaluated"]
    query.feed(after, "s")
    assert query.state()["evaluated"] == done
    query.feed_many(second)
    assert query.state()["followed"] == "columns"


def test_records_of_a_feed_stay_in_columns_whatever_they_turn_out_to_hold() -> None:
    feed = Feed("/shop/item", key="@id")
    query = continuous('sum(stream("s")/shop/item[price > 2]/price)', feed=feed)
    for n in range(30):
        rare = f"<rare{n}><deep{n % 3}/></rare{n}>" if n % 5 == 4 else ""
        query.feed_xml(f'<shop><item id="{n}"><price>{n}</price>{rare}</item></shop>'.encode())
    assert query.text() == str(sum(range(3, 30)))
    state = query.state()
    assert state["followed"] == "columns", state["by_objects"]
    assert state["evaluated"] <= 31


def test_pages_stay_pages_when_tags_are_added() -> None:
    """Regions without a tag are known by the number behind the last tag: it is another one afterwards."""
    before, after = SHAPES["fillers"]
    query = continuous('for $b in stream("s")//b return $b/k', structures=before)
    page = b'<stream:hole id="100" tsid="3"/><stream:hole id="101" tsid="3"/>'
    query.feed_many([
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/></r>'),
        Fill(region=10, tsid=SECTION, content=b'<s n="1"><stream:hole id="500"/></s>'),
        Fill(region=500, content=page),
        Fill(region=100, tsid=RECORD, content=b"<b><x>1</x><k>k0</k></b>"),
    ])  # fmt: skip
    query.feed(after, "s")
    query.feed(Fill(region=101, tsid=RECORD, content=b'<b><x>1</x><k>k1</k><stream:hole id="200" tsid="6"/></b>'))
    query.feed(Fill(region=500, content=page + b'<stream:hole id="102"/>'))
    query.feed(Fill(region=102, tsid=RECORD, content=b"<b><x>1</x><k>k2</k></b>"))
    assert query.text() == "<k>k0</k><k>k1</k><k>k2</k>"
    assert query.state()["followed"] == "columns"


def test_several_queries_of_one_table_go_on_together() -> None:
    before, after = SHAPES["fillers"]
    texts = [f'for $b in stream("s")//b where $b/x > {n} return $b/k' for n in range(4)]
    texts += ['count(stream("s")//b)', 'for $s in stream("s")//s return <s>{ count($s/b) }</s>']
    many, document = continuous_many(texts, structures=before), Materialiser(before)
    first, second = Widening(after, 11).halves(120)
    for change in first:
        document.apply(change)
    document.apply(after)
    for change in second:
        document.apply(change)
    many.feed_many(first, "s")
    many.feed(after, "s")
    many.feed_many(second, "s")
    for text, query in zip(texts, many.queries, strict=True):
        assert told(query) == answer(text, document)
        assert query.state()["followed"] == "columns"


def test_a_query_that_is_another_one_by_the_wider_structure_is_handed_over() -> None:
    query = follow('for $b in stream("s")//b return count($b/*)', "fillers", 7, 60)
    why = "the tag structure says more than before, and the query is another one by the new tag structure"
    assert query.state()["by_objects"] == why
    assert query.state()["followed"] == "objects"


def test_copies_that_may_have_holes_from_now_on_tell_them() -> None:
    query = follow('for $b in stream("s")//b return $b', "fillers", 7, 60)
    assert query.state()["followed"] == "columns", query.state()["by_objects"]


def test_a_structure_that_takes_something_back_is_put_aside_and_changes_nothing() -> None:
    before, after = SHAPES["fillers"]
    found: list[str] = []
    query = continuous('count(stream("s")//b)', structures=after, report=lambda one: found.append(one.code))
    query.feed_many(Drawn(after, 3).changes(50))
    told_before = query.text()
    query.feed(before, "s")
    assert "XSC0021" in found
    assert (query.text(), query.state()["followed"]) == (told_before, "columns")


FEED = (
    '<shop><item id="1"><p>1</p></item></shop>',
    '<shop><item id="2"><p>1</p></item></shop>',
    '<shop><item id="3"><p>1</p><rare>x</rare></item></shop>',
    '<shop><item id="1"><p>1</p><rare>y</rare></item></shop>',
)


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('count(stream("s")//rare)', "2"),
        ('stream("s")/shop/item[rare]/@id/string()', "1 3"),
        ('for $i in stream("s")//item where $i/rare = "y" return $i/rare', "<rare>y</rare>"),
        ('string-join(stream("s")/shop/item/rare, ",")', "y,x"),
    ],
)
def test_elements_that_turn_up_later_are_seen(text: str, expected: str, columns: bool) -> None:
    """When they are announced, the fragments around them have come already, and nothing needed these before."""
    query = continuous(text, feed=Feed("/shop/item", key="@id"))
    query.inflow.columns = columns
    for document in FEED:
        query.feed_xml(document.encode())
    assert query.text() == expected
    assert query.state()["followed"] == ("columns" if columns else "objects")


def test_a_structure_that_was_whole_cannot_be_added_to_where_fragments_were_passed_over() -> None:
    whole = '<tag id="1" name="r" type="snapshot"><tag id="2" name="b" type="filler">{}</tag></tag>'
    found: list[str] = []
    query = continuous(
        'count(stream("s")//c)', structures=whole.format(""), report=lambda one: found.append(one.code + one.severity)
    )
    query.feed(Fill(region=0, tsid=1, content=b'<r><stream:hole id="1" tsid="2"/></r>'))
    query.feed(parse_structure(whole.format('<tag id="3" name="d" type="filler"/>')), "s")
    assert found == []  # the query looks for no d
    query.feed(parse_structure(whole.format('<tag id="3" name="d" type="filler"/><tag id="4" name="c"/>')), "s")
    assert found == ["XSC0036quarantine"]


def test_what_a_structure_adds_is_needed_from_then_on() -> None:
    """By objects, too: the fragment that comes next is not passed over by what was needed before."""
    small = parse_structure('<tag id="1" name="r" type="snapshot"/>')
    large = parse_structure('<tag id="1" name="r" type="snapshot"><tag id="2" name="a"/></tag>')
    query = continuous('stream("s")')
    for item in (small, Fill(region=0, tsid=1, content=b'<r><stream:hole id="1" tsid="2"/></r>'), large):
        query.feed(item, "s")
    query.feed(Fill(region=1, tsid=2, content=b"<a/>"), "s")
    assert query.text() == "<r><a/></r>"
