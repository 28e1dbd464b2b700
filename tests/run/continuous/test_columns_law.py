"""The law in columns, at the borders of batches of 1, 7 and 1,000 changes: what is told is q(T(γ)), in any order.

Streams are drawn: fragments within each other, untimed, as versions and as events, sent again, replaced and removed,
parents with other holes than before. What columns do not follow is drawn now and then: then the query goes on by
objects, and nothing is told twice.

Every query is asked of every shape; which batches the changes come in goes round. ``python tests/law --columns`` draws
longer streams, in batches of every size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from xstreamcast.cast.materialise import Materialiser, View
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import After, Change, Fill, Freeze, Hide, Remove, Repeat, Replace, Show
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.model.time import Instant, parse_instant
from xstreamcast.run.continuous.query import ContinuousQuery, continuous, continuous_many
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at

SECTION, RECORD, PART, OTHER = 2, 3, 6, 7


def structure(section: str, record: str, part: str, root: str = 'id="1" name="r" type="snapshot"') -> Structure:
    """Sections of records, which have a key, a number, and parts in fragments of their own."""
    return parse_structure(
        f'''<stream:structure xmlns:stream="urn:xstreamcast:stream"><tag {root}>
        <tag id="2" name="s" type="{section}"><tag id="3" name="b" type="{record}">
        <tag id="4" name="x" type="snapshot"/><tag id="5" name="k" type="snapshot"/>
        <tag id="6" name="c" type="{part}"/></tag>
        <tag id="7" name="o" type="filler"/></tag></tag></stream:structure>'''
    )


SHAPES = {
    "fillers": structure("filler", "filler", "filler"),
    "versions of parts": structure("filler", "filler", "temporal"),
    "events": structure("filler", "event", "temporal"),
    "versions of all": structure("temporal", "temporal", "filler"),
    "events in versions": structure("temporal", "event", "event"),
    "no root": structure("filler", "filler", "filler", ""),
    "versions without a root": structure("temporal", "event", "temporal", ""),
}
QUERIES = (
    'count(stream("s")//b)',
    'sum(stream("s")//b/x)',
    'avg(stream("s")//b[c = "1"]/x)',
    'exists(stream("s")//b[k = "k2"]/c)',
    'count(stream("s")//c)',
    'for $b in stream("s")//b where $b/x > 4 return $b/k',
    'for $b in stream("s")//b return <m id="{ $b/@id }">{ $b/c/text(), sum($b/x) }</m>',
    '<all n="{ count(stream("s")//b) }">{ for $b in stream("s")/r/s/b[k = "k1"] return $b/x/text() }</all>',
    'for $s in stream("s")//s return sum($s/b/x)',
    'for $s in stream("s")//s where count($s/b[c]) > 1 return <s n="{ $s/@n }">{ sum($s/b/x), count($s/b) }</s>',
    'for $s in stream("s")//s return string-join($s/b/k, "-")',
    'for $b in stream("s")//b return xs:integer($b/x) idiv 2',
    'stream("s")//b/x',
    'for $b in stream("s")//b order by $b/k, number($b/x) descending return <m>{ $b/@id, $b/x }</m>',
    'for $b in stream("s")//b order by $b/c[1] return $b/x',
    'for $b in stream("s")//b group by $k := $b/k return <g k="{ $k }">{ count($b) }</g>',
    'for $b in stream("s")//b group by $k := $b/k return <g>{ if (count($b) > 9) then sum($b/x) else string($k) }</g>',
    """<all>{ for $b in stream("s")//b group by $k := string($b/c[1]) let $n := sum($b/x) order by $n, $k
    return <g k="{ $k }">{ $n }</g> }</all>""",
    'for $c in stream("s")//c return <c>{ $c/@vtFrom, $c/@vtTo, $c/text() }</c>',
    '(max(stream("s")//b/@id), min(stream("s")//c))',
    'for $s in stream("s")//s return <m n="{ $s/@n }">{ max($s/b/c), min($s/b/k/string()), count($s/b) }</m>',
    'for $b in stream("s")//b group by $k := $b/k return <g k="{ $k }">{ max($b/@id), min($b/@id) }</g>',
    'for $b in stream("s")//b for $o in stream("s")//b[k = $b/k] return <p>{ $b/@id, $o/x/text() }</p>',
    'for $b in stream("s")//b return <n k="{ $b/k }">{ count(stream("s")//b[x = $b/x]), $b/c }</n>',
    'sum(for $c in stream("s")//c for $b in stream("s")//b where $b/c = $c return number($b/@id))',
)
COPIES = (
    'for $b in stream("s")//b where $b/x > 4 return $b',
    'stream("s")//s[@n > 10]',
    'for $b in stream("s")//b order by $b/k descending return ($b/x, $b)',
    '<all>{ for $s in stream("s")//s where count($s/b) > 3 return <m>{ $s/b[k = "k1"] }</m> }</all>',
)
"""Of elements that may have holes."""

OPERATORS = (
    '(for $b in stream("s")//b order by number($b/x), $b/k return $b/k)[1]',
    'subsequence(for $b in stream("s")//b order by $b/k descending, $b/@id return <m>{ $b/@id, $b/c }</m>, 1, 5)',
    '(for $b in stream("s")//b order by $b/k return $b/@id/string())[last()]',
    'for $b in stream("s")//b order by $b/x count $n where $n <= 3 return <p n="{ $n }">{ $b/k/text() }</p>',
    '(stream("s")//b)[7]/x',
    '(stream("s")//b)[last()]',
    '(stream("s")//b)[last() - 1]/@id/string()',
    '(stream("s")//b)[position() < 4]/x',
    'head(stream("s")//b[k = "k1"])/@id/string()',
    'tail(stream("s")//b/x)',
    'subsequence(stream("s")//b, 3, 4)/c',
    'reverse(stream("s")//b)/@id/string()',
    'for $b at $i in stream("s")//b return <p n="{ $i }">{ $b/x, count($b/c) }</p>',
    'for $b at $i in stream("s")//b where $i < 5 return concat($i, ":", $b/@id)',
    'for $b in stream("s")//b where $b/x > 2 count $n return <p n="{ $n }">{ $b/c }</p>',
    'count(stream("s")//b[position() > 3])',
    """for tumbling window $w in stream("s")//b start $f when true() end $l next $n when $l/k != $n/k
    return <w k="{ $f/k }">{ count($w), $w/@id/string() }</w>""",
    'for tumbling window $w in stream("s")//b start at $p when true() end at $q when $q - $p = 2 return sum($w/x)',
    """for sliding window $w in stream("s")//b start $f when $f/k = "k1" only end $l when $l/k = "k2"
    return <w from="{ $f/@id }">{ $w/x/text() }</w>""",
    'for $b at $i in stream("s")//b return concat($b/@id, "<", (stream("s")//b)[$i + 1]/@id)',
    'for $b in stream("s")//b group by $k := $b/k return <g k="{ $k }">{ $b/x, string-join($b/@id, " ") }</g>',
    'for $b in stream("s")//b group by $k := $b/k order by count($b) return <g>{ $k, $b[1]/@id, count($b/c) }</g>',
    'for $b in stream("s")//b where $b/x > avg(stream("s")//b/x) return $b/@id/string()',
    'for $s in stream("s")//s where count($s/b) = count(stream("s")//b) idiv 4 return $s/@n/string()',
    'for $b in stream("s")//b return <n>{ count(stream("s")//b[number(x) < number($b/x)]), $b/@id }</n>',
    'for $b in stream("s")//b for $o in stream("s")//b where $o/x != $b/x return concat($b/@id, "-", $o/@id)',
    'for $b in stream("s")//b where some $o in stream("s")//b satisfies xs:integer($o/@id) = $b/@id + 1 return $b/c',
    'for $b in stream("s")//b return count(stream("s")//b[xs:decimal(x) = $b/x])',
    'for $b in stream("s")//b for $o in stream("s")//b[x + 1 = $b/x * 2] return <p>{ $b/@id, $o/x/text() }</p>',
    'for $b in stream("s")//b return <n i="{ $b/@id }">{ (stream("s")//b[k = $b/k])[2]/@id/string() }</n>',
    'for $s in stream("s")//s order by count($s/b), $s/@n return <s n="{ $s/@n }">{ sum($s/b[c]/@id) }</s>',
    'for $s in stream("s")//s group by $n := count($s/b) return <g n="{ $n }">{ count($s) }</g>',
    'fold-left(stream("s")//b, "", function($a, $b) { substring(concat($b/k, $a), 1, 9) })',
    'fold-left(stream("s")//b/x, 0, function($a, $x) { if ($x > $a) then number($x) else $a * 0.5 })',
    'for $b in stream("s")//b[following::o] return $b/@id/string()',
    'string-join(stream("s")//b/k, ",")',
    'distinct-values(stream("s")//b/k)',
    'stream("s")//c#[last]',
    'for $c in stream("s")//c#[last-2, last] return <v>{ $c/text() }</v>',
)
"""What operators keep that are the same for every engine."""

BATCHES = ((1, 40), (7, 100), (1000, 220))
"""So many changes come at a time, of so many."""


def seed_of(shape: str, text: str) -> int:
    return sum(map(ord, shape + text))


def in_turn(shape: str, text: str, batches: Sequence[tuple[int, int]] = BATCHES) -> tuple[int, int]:
    """One of the batches: each has its turn with every query, and with every shape."""
    return batches[([*SHAPES].index(shape) + sum(map(ord, text))) % len(batches)]


class Drawn:
    """Changes of a stream, drawn; ``odd``: what columns do not follow is among them."""

    def __init__(self, shape: Structure, seed: int, odd: bool = False) -> None:
        self.draw = Random(seed)
        self.shape = shape
        self.odd = odd
        self.holes = {region: self.draw.sample(range(100, 140), 8) for region in range(10, 14)}
        self.parts = {region: self.draw.sample(range(200, 240), 2) for region in range(100, 140)}

    def time(self, tsid: int) -> int | None:
        if not self.shape.tags[tsid].timed:
            return None
        return parse_instant(f"2003-11-0{self.draw.randrange(1, 9)}T0{self.draw.randrange(10)}:00:00")

    def content(self, tsid: int, region: int) -> bytes:
        draw = self.draw
        if tsid == SECTION:
            if draw.random() < 0.3:
                draw.shuffle(self.holes[region])
            if draw.random() < 0.3:
                self.holes[region] = draw.sample(range(100, 140), draw.randrange(10))
            inner = "".join(f'<stream:hole id="{hole}" tsid="3"/>' for hole in self.holes[region])
            return f'<s n="{region}">{inner}<stream:hole id="{region + 300}" tsid="7"/></s>'.encode()
        if tsid == RECORD:
            parts = "".join(f'<stream:hole id="{part}" tsid="6"/>' for part in self.parts[region])
            x = draw.choice(["1", "5", "7.5", "12", "-3"] if draw.random() < 0.97 else ["no number"])
            return f'<b id="{region}"><x>{x}</x>{parts}<k>k{draw.randrange(3)}</k></b>'.encode()
        return b"<c>%d</c>" % draw.randrange(3) if tsid == PART else b"<o/>"

    def change(self) -> Change:
        draw = self.draw
        tsid = draw.choices([1, SECTION, RECORD, PART, OTHER], [0 if self.shape.unnamed else 1, 6, 20, 12, 2])[0]
        if tsid == 1:
            holes = draw.sample(range(10, 14), draw.randrange(2, 5))
            inner = "".join(f'<stream:hole id="{hole}" tsid="2"/>' for hole in holes)
            return Replace(region=0, content=f"<r>{inner}</r>".encode())
        first = {SECTION: 10, RECORD: 100, PART: 200, OTHER: 310}[tsid]
        region = draw.randrange(first, first + (4 if tsid in (SECTION, OTHER) else 40))
        version = draw.choice([None, None, 1, 2, 3])
        if self.odd and draw.random() < 0.03:
            kinds = Hide(region=region), Show(region=region), Freeze(region=region)
            more = After(region=draw.randrange(900, 990), target=region, tsid=tsid, content=b"<c>1</c>")
            return draw.choice([*kinds, more])
        if draw.random() < 0.08:
            return Remove(region=region, tsid=tsid, version=version, valid_time=self.time(tsid))
        timed = self.shape.tags[tsid].type == "event"
        kind = draw.choice([Fill, Fill, Fill, Repeat, Repeat, Replace] if timed else [Fill, Repeat, Replace])
        content = self.content(tsid, region)
        return kind(region=region, tsid=tsid, version=version, valid_time=self.time(tsid), content=content)

    def changes(self, count: int) -> list[Change]:
        roots: list[Change] = [
            Fill(
                region=0, content=b"<r>%b</r>" % b"".join(b'<stream:hole id="%d" tsid="2"/>' % n for n in range(10, 14))
            )
        ]
        sections = [
            Fill(region=n, tsid=SECTION, valid_time=self.time(SECTION), content=self.content(SECTION, n))
            for n in range(10, 14)
        ]
        made = [*([] if self.shape.unnamed else roots), *sections, *[self.change() for _ in range(count)]]
        self.draw.shuffle(made)
        return made


compiled = cache(compile)
"""Queries, each compiled once: they are asked again and again."""


def answer(text: str, document: Materialiser, now: Instant | None = None) -> str:
    now = document.now if now is None else now
    view = view_of(b"".join(document.document("", View(now=now))), "stream:s")
    try:
        return serialise(compiled(text).ask(streams=lambda _: view, now=moment_at(now)).items())
    except XStreamError as failure:
        return f"{failure.code}: {failure.message}"


def told(query: ContinuousQuery) -> str:
    found = query.told()
    return f"{found.code}: {found.message}" if isinstance(found, XStreamError) else found


def follow(text: str, shape: Structure, changes: list[Change], size: int, forwards: bool = True) -> ContinuousQuery:
    """Feed changes in batches; after each, what is told is the answer at that time, and so is T of what was told."""
    query, document, display = continuous(text, structures=shape), Materialiser(shape), Materialiser()
    query.inflow.forwards = forwards
    for begin in range(0, len(changes), size):
        some = changes[begin : begin + size]
        for change in some:
            document.apply(change)
        for emitted in query.feed(some[0]) if size == 1 else query.feed_many(some):
            display.apply(emitted)
        expected = answer(text, document)
        assert told(query) == expected, f"after {begin + len(some)} changes"
        if query.failure is None:
            assert display.text() == expected, f"after {begin + len(some)} changes"
    return query


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_told_is_the_answer_after_every_batch(shape: str, text: str) -> None:
    size, count = in_turn(shape, text)
    follow(text, SHAPES[shape], Drawn(SHAPES[shape], seed_of(shape, text)).changes(count), size)


@pytest.mark.parametrize("forwards", [True, False])
@pytest.mark.parametrize("text", COPIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_with_holes_are_copied_and_their_holes_told_or_not(shape: str, text: str, forwards: bool) -> None:
    size, count = in_turn(shape, text)
    changes = Drawn(SHAPES[shape], seed_of(shape, text)).changes(count)
    query = follow(text, SHAPES[shape], changes, size, forwards)
    assert query.state()["followed"] == "columns", query.state()["by_objects"]


@pytest.mark.parametrize("text", OPERATORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_operators_tell_is_the_answer_after_every_batch(shape: str, text: str) -> None:
    size, count = in_turn(shape, text)
    follow(text, SHAPES[shape], Drawn(SHAPES[shape], seed_of(shape, text)).changes(count), size)


def test_a_replacement_comes_instead_of_the_events_of_its_instant() -> None:
    shape = SHAPES["events"]
    at = parse_instant("2003-11-01T00:00:00")

    def event(kind: type[Fill] | type[Replace], k: str, version: int | None = None, later: int = 0) -> Change:
        content = f'<b id="1"><x>1</x><k>{k}</k></b>'.encode()
        return kind(region=100, tsid=RECORD, version=version, valid_time=at + later, content=content)

    root = Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/></r>')
    section = Fill(region=10, tsid=SECTION, content=b"<s>%b</s>" % _hole(100))
    changes: list[Change] = [
        root, section, event(Fill, "a"), event(Fill, "b"), event(Fill, "c", later=5), event(Replace, "d"),
        event(Fill, "a"), event(Replace, "e", 3), event(Fill, "f", 2), event(Replace, "g", 2), event(Fill, "h", 7),
        event(Replace, "i", 5), event(Replace, "i", 5), event(Replace, "j", 8), section,
    ]  # fmt: skip
    for text in (
        'stream("s")//b/k',
        'sum(stream("s")//b/x)',
        'for $b in stream("s")//b order by $b/k return $b/k/text()',
    ):
        for size in (1, 3, 100):
            query = follow(text, shape, changes, size)
            assert query.state()["followed"] == "columns"
    many = continuous('count(stream("s")//b)', structures=shape)
    many.feed_many([root, section])
    for number in range(1000):
        many.feed(event(Replace, str(number)))
    assert many.text() == "1"
    assert many.inflow.association("s").inlet.table.filled < 100  # type: ignore[union-attr]  # it is in columns


def _hole(number: int) -> bytes:
    return b'<stream:hole id="%d" tsid="3"/>' % number


def test_rows_of_no_items_do_not_stand_between_the_values_of_others() -> None:
    query = continuous('for $b in stream("s")//b order by $b/k return $b/@id/1', structures=SHAPES["fillers"])
    query.feed_many([
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/></r>'),
        Fill(region=10, tsid=SECTION, content=b"<s>%b</s>" % b"".join(map(_hole, (100, 101, 102)))),
        Fill(region=100, tsid=RECORD, content=b'<b id="1"><k>1</k></b>'),
        Fill(region=101, tsid=RECORD, content=b"<b><k>2</k></b>"),
        Fill(region=102, tsid=RECORD, content=b'<b id="3"><k>3</k></b>'),
    ])  # fmt: skip
    assert query.text() == "1 1"
    assert query.shown == 2


@pytest.mark.parametrize("way", ["", " descending", " empty greatest", " descending empty greatest"])
@pytest.mark.parametrize(
    "key",
    [
        'if ($b/k = "k2") then xs:decimal($b/x) else number($b/x)',
        "xs:decimal($b/x[. != 5])",
        "number($b/x), string($b/k)",
        "sum($b/c), -number($b/x)",
        "number($b/x[. = 7.5]), $b/k",
        "string-length($b/k), ($b/x[. > 1] ! xs:integer(floor(number(.))))[1]",
    ],
)
def test_rows_are_sorted_by_bytes_until_a_key_comes_that_has_none(key: str, way: str) -> None:
    for shape in ("fillers", "events"):
        changes = Drawn(SHAPES[shape], seed_of(shape, key)).changes(150)
        changes = [one for one in changes if b"no number" not in getattr(one, "content", b"")]
        text = f'for $b in stream("s")//b order by {key}{way} return <m>{{ $b/@id, $b/x }}</m>'
        assert follow(text, SHAPES[shape], changes, 7).state()["followed"] == "columns"


def test_something_stands_beside_a_region_that_was_removed_before_the_columns_were_left() -> None:
    changes: list[Change] = [
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/></r>'),
        Fill(region=10, tsid=SECTION, content=b'<s><stream:hole id="100" tsid="3"/></s>'),
        Fill(region=100, tsid=RECORD, content=b'<b><stream:hole id="200" tsid="6"/></b>'),
        Fill(region=200, tsid=PART, content=b"<c>1</c>"),
        Remove(region=200, tsid=PART),
        Hide(region=10),
        Show(region=10),
        After(region=900, target=200, tsid=PART, content=b"<c>2</c>"),
    ]
    assert told(follow('stream("s")//c', SHAPES["fillers"], changes, 1)) == "<c>2</c>"


def test_a_hole_that_is_filled_by_another_tag_in_two_places_of_one_content() -> None:
    tags = '<tag id="4" name="b"/><tag id="6" name="h"/>'
    shape = parse_structure(
        f'<stream:structure><tag id="1" name="r"><tag id="2" name="a">{tags}</tag></tag></stream:structure>'
    )
    hole = '<a><stream:hole id="1" tsid="6"/></a>'
    changes: list[Change] = [
        Fill(region=0, tsid=1, content=f'<r><stream:mutable id="17">{hole}</stream:mutable>{hole}</r>'.encode()),
        Fill(region=1, tsid=4, content=b"<b/>"),
    ]
    follow('count(stream("s")//b)', shape, changes, 1)


KINDS = ("text()", "comment()", "processing-instruction()", "node()", "@id")
OF_A_KIND = (
    'for $n in stream("s")//b/{} return concat("a", name($n))',
    'for $n in stream("s")//c/{} return string-length($n)',
    'for $n in stream("s")//{} order by string($n) return <x>{{ string($n) }}</x>',
    'for $n in stream("s")//b/k/{} group by $k := string($n) return <g>{{ $k, count($n) }}</g>',
    'sum(for $n in stream("s")//b/{} return string-length($n))',
    'max(for $n in stream("s")//s//{} return string-length(name($n)))',
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", OF_A_KIND)
def test_records_that_are_no_elements_are_not_taken_for_the_fragment_they_stand_in(text: str, kind: str) -> None:
    changes = [
        replace(one, content=one.content.replace(b"<k>", b"<?p i?>t<!--c--><k>")) if isinstance(one, Fill) else one
        for one in Drawn(SHAPES["fillers"], 3).changes(90)
    ]
    follow(text.format(kind), SHAPES["fillers"], changes, 7)


JOINS = [text for text in QUERIES if text.count("stream(") == 2]


@pytest.mark.parametrize("text", JOINS)
def test_a_join_is_followed_in_columns_and_looks_at_who_asked_for_a_key(text: str) -> None:
    query = continuous(text, structures=SHAPES["fillers"])
    numbers = range(100, 160)
    section = "".join(f'<stream:hole id="{n}" tsid="3"/>' for n in numbers)
    record = '<b id="{0}"><x>{1}</x><stream:hole id="{2}" tsid="6"/><k>{1}</k></b>'
    query.feed_many(
        [
            Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/></r>'),
            Fill(region=10, tsid=SECTION, content=f"<s>{section}</s>".encode()),
            *[Fill(region=n, tsid=RECORD, content=record.format(n, n % 20, n + 100).encode()) for n in numbers],
            *[Fill(region=n + 100, tsid=PART, content=b"<c>%d</c>" % (n % 20)) for n in numbers],
        ]
    )
    assert query.state()["followed"] == "columns"
    engine = query.engine
    assert engine is not None
    before = engine.evaluated
    query.feed(Replace(region=101, tsid=RECORD, content=record.format(101, 2, 201).encode()))
    # itself for each loop, and those with its key before and after: 3 and 3
    assert engine.evaluated - before <= 10
    assert query.text() == serialise(query.answer().items())


@pytest.mark.parametrize("shape", SHAPES)
def test_changes_of_other_kinds_go_on_by_objects_and_nothing_is_told_twice(shape: str) -> None:
    for number, text in enumerate(QUERIES):
        changes = Drawn(SHAPES[shape], 77 + number, odd=True).changes(56)
        query = follow(text, SHAPES[shape], changes, 7)
        assert query.engine is None or not any(isinstance(one, Hide | Show | Freeze | After) for one in changes)


def test_leaving_the_columns_tells_nothing() -> None:
    for text in QUERIES:
        shape = SHAPES["versions of parts"]
        query = continuous(text, structures=shape)
        query.feed_many(Drawn(shape, 5).changes(120))
        before, columns = told(query), query.engine is not None
        assert query.feed(Freeze(region=139)) == []
        assert query.engine is None
        assert not columns or query.state()["by_objects"] == "freeze 139 is none of the changes that columns follow"
        assert told(query) == before


def test_usual_changes_stay_in_columns_and_each_record_is_evaluated_once() -> None:
    shape = SHAPES["fillers"]
    query = continuous('sum(stream("s")//b/x)', structures=shape)
    root = b'<r><stream:hole id="10" tsid="2"/></r>'
    section = b"<s>%b</s>" % b"".join(b'<stream:hole id="%d" tsid="3"/>' % n for n in range(1000, 2000))
    record = b"<b><x>1</x></b>"
    query.feed_many([Fill(region=n, tsid=RECORD, content=record) for n in range(1000, 2000)])
    assert query.state()["evaluated"] == 0  # they stand nowhere yet
    assert query.state()["followed"] == "columns"
    query.feed_many([Fill(region=10, tsid=SECTION, content=section), Fill(region=0, content=root)])
    assert query.engine is not None
    assert query.text() == "1000"
    assert query.state()["evaluated"] == 1002
    query.feed_many([Replace(region=n, tsid=RECORD, content=b"<b><x>2</x></b>") for n in range(1000, 1010)])
    assert query.text() == "1010"
    assert query.state()["evaluated"] == 1012
    assert query.feed(Fill(region=10, tsid=SECTION, content=section)) == []
    assert query.state()["evaluated"] == 1012


@pytest.mark.parametrize("size", [1, 7])
def test_elements_at_the_top_stand_by_version_and_number(size: int) -> None:
    shape = SHAPES["no root"]

    def section(region: int, version: int | None) -> Change:
        return Replace(region=region, tsid=SECTION, version=version, content=b'<s n="%d"/>' % region)

    several = [section(region, None) for region in (13, 11, 0, 12)]
    moved = [section(11, 4), section(12, 3), section(13, 3), section(12, 7), section(10, 1)]
    others: list[Change] = [Remove(region=13, tsid=SECTION), section(13, 9), section(13, None)]
    for text in (
        'for $s in stream("s")/s return string($s/@n)',
        '(stream("s")/s)[last()]/@n',
        'stream("s")/s[@n > 10]/string(@n)',
    ):
        query = follow(text, shape, [*several, *moved, *others], size)
        assert query.engine is not None


def test_a_change_at_the_top_costs_no_more_where_there_are_many() -> None:
    query = continuous('stream("s")/s[b/k > "k"]/b/x', structures=SHAPES["no root"])
    section = '<s><stream:hole id="{0}" tsid="3"/></s>'
    numbers = range(1, 2001)
    query.feed_many([Fill(region=n, tsid=SECTION, content=section.format(n + 3000).encode()) for n in numbers])
    query.feed_many([Fill(region=n + 3000, tsid=RECORD, content=b"<b><k>k1</k><x>1</x></b>") for n in numbers])
    engine = query.engine
    assert engine is not None
    before = engine.evaluated
    assert len(query.feed(Replace(region=3007, tsid=RECORD, content=b"<b><k>a</k><x>1</x></b>"))) == 1
    assert engine.evaluated - before <= 6
    assert query.text() == "<x>1</x>" * 1999


def test_a_name_may_be_a_fragment_here_and_an_element_of_one_there() -> None:
    shape = parse_structure(
        '<tag id="1" name="r" type="snapshot"><tag id="2" name="b" type="filler"><tag id="3" name="k" type="filler"/>'
        '<tag id="4" name="g" type="filler"><tag id="5" name="k" type="snapshot"/></tag></tag></tag>'
    )
    changes: list[Change] = [
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="1" tsid="2"/></r>'),
        Fill(region=1, tsid=2, content=b'<b><stream:hole id="2" tsid="3"/><stream:hole id="3" tsid="4"/></b>'),
        Fill(region=2, tsid=3, content=b"<k>1</k>"),
        Fill(region=3, tsid=4, content=b"<g><k>2</k></g>"),
    ]
    for size in (1, 4):
        query = follow('for $g in stream("s")//g return $g/k', shape, changes, size)
        assert query.engine is not None
        query = follow('stream("s")//g', shape, [*changes, Fill(region=1, tsid=2, content=b"<b><k>3</k></b>")], size)
        assert query.state()["by_objects"] == "fill 1 is none of the changes that columns follow"


def test_what_is_put_aside_leaves_the_rest_in_columns() -> None:
    found: list[str] = []
    query = continuous('sum(stream("s")//b/x)', structures=SHAPES["fillers"], report=lambda one: found.append(one.code))
    good = b'<stream:filler id="10" tsid="2"><s><stream:hole id="100" tsid="3"/></s></stream:filler>'
    query.feed_many(b'<stream:filler id="0"><r><stream:hole id="10" tsid="2"/></r></stream:filler>' + good)
    record = Fill(region=100, tsid=RECORD, content=b"<b><x>7</x></b>")
    query.feed_many(
        [Fill(region=5, tsid=99, content=b"<b/>"), record, Fill(region=100, tsid=RECORD, content=b"<b><x>")]
    )
    query.feed_many(b'<stream:filler id="101" tsid="77"><b/></stream:filler><stream:filler id="6">' + good)
    assert query.text() == "7"
    assert query.engine is not None
    assert sorted(found) == ["XSC0001", "XSC0001", "XSC0022", "XSC0022"]


@pytest.mark.parametrize("text", QUERIES)
def test_a_parent_with_its_holes_in_another_order_moves_what_is_in_them(text: str) -> None:
    shape = SHAPES["fillers"]

    def section(numbers: list[int]) -> Change:
        holes = b"".join(b'<stream:hole id="%d" tsid="3"/>' % n for n in numbers)
        return Replace(region=10, tsid=SECTION, content=b'<s n="10">%b</s>' % holes)

    numbers = list(range(100, 112))
    draw = Drawn(shape, 9)
    records: list[Change] = [Fill(region=n, tsid=RECORD, content=draw.content(RECORD, n)) for n in numbers]
    root = Fill(region=0, content=b'<r><stream:hole id="10" tsid="2"/></r>')
    orders = [numbers, numbers[::-1], numbers[6:] + numbers[:6], numbers[1::2] + numbers[::2], numbers]
    query = follow(text, shape, [root, *records, *[section(order) for order in orders]], 1)
    by_objects = "string-join" in text or "c[1]" in text  # positions, and what cannot be undone
    assert (query.engine is None) == by_objects


def test_texts_that_must_not_meet_are_left_to_objects_without_a_great_buffer() -> None:
    query = continuous('count(stream("s")//b[contains(., "]]>")])', structures=SHAPES["fillers"])
    holes = "".join(f'<stream:hole id="{n}" tsid="3"/>' for n in range(100, 2100))
    query.feed(Fill(region=0, content=b'<r><stream:hole id="10" tsid="2"/></r>'))
    query.feed(Fill(region=10, tsid=SECTION, content=f"<s>{holes}</s>".encode()))
    records = [Fill(region=n, tsid=RECORD, content=b"<b><k>%b</k></b>" % (b"k" * 200)) for n in range(100, 2099)]
    inlet = query.inflow.association("s").inlet
    assert inlet is not None
    odd = b'<b>]]<stream:hole id="5000" tsid="6"/>></b>'
    query.feed_many([*records, Fill(region=2099, tsid=RECORD, content=odd)])
    assert query.text() == "1"
    assert query.state()["by_objects"] == "texts meet at the borders of fragments"
    assert len(inlet.table._out) < 1 << 21


def test_events_of_one_instant_stand_by_what_they_say() -> None:
    shape = SHAPES["events"]
    at = parse_instant("2003-11-01T00:00:00")
    root = Fill(region=0, content=b'<r><stream:hole id="10" tsid="2"/></r>')
    section = Fill(region=10, tsid=SECTION, content=b'<s n="10"><stream:hole id="100" tsid="3"/></s>')
    events: list[Change] = [
        Fill(region=100, tsid=RECORD, valid_time=at, content=b'<b id="%d"><x>1</x></b>' % n) for n in range(40)
    ]
    for size in (1, 7, 1000):
        query = follow('for $b in stream("s")//b return string($b/@id)', shape, [root, section, *events], size)
        assert query.engine is not None


def test_several_queries_have_one_table() -> None:
    shape = SHAPES["events"]
    changes = Drawn(shape, 3).changes(300)
    many = continuous_many(QUERIES, structures=shape)
    document = Materialiser(shape)
    for begin in range(0, len(changes), 50):
        many.feed_many(changes[begin : begin + 50], "s")
        for change in changes[begin : begin + 50]:
            document.apply(change)
        for query, text in zip(many.queries, QUERIES, strict=True):
            assert told(query) == answer(text, document)


def test_a_query_that_is_asked_before_anything_has_come_is_followed_in_columns() -> None:
    query = continuous('count(stream("s")//b)', structures=SHAPES["fillers"])
    assert query.text() == "0"
    query.feed_many(Drawn(SHAPES["fillers"], 1).changes(50))
    assert query.state()["followed"] == "columns"
    asked = continuous('count(stream("s")//b)')
    asked.feed(SHAPES["fillers"])
    assert asked.text() == "0"
    asked.feed_many(Drawn(SHAPES["fillers"], 1).changes(50))
    assert asked.state()["followed"] == "columns"
    assert asked.text() == query.text() != "0"


def test_a_batch_of_the_wire_that_begins_with_the_structure_is_followed_in_columns() -> None:
    query = continuous('count(stream("s")//b)')
    query.feed_many(
        b'<stream:structure><tag id="1" name="r"><tag id="2" name="b" type="filler"/></tag></stream:structure>'
        b'<stream:filler id="0" tsid="1"><r><stream:hole id="1" tsid="2"/></r></stream:filler>'
        b'<stream:filler id="1" tsid="2"><b/></stream:filler>'
    )
    assert (query.text(), query.state()["followed"]) == ("1", "columns")
