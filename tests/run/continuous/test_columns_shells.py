"""Fragments in a record, each evaluated in the record's shell: the law, and how much is evaluated (DBPL'03 §4.9)."""

from __future__ import annotations

from random import Random

import pytest
from test_columns_law import follow

from xstreamcast.model.change import Change, Fill, Freeze, Remove, Replace
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import parse_instant
from xstreamcast.run.continuous.query import ContinuousQuery, continuous


def shape(vendor: str, item: str) -> str:
    return f"""<stream:structure><tag id="1" name="r"><tag id="2" name="s" type="filler"><tag id="9" name="t"/>
    <tag id="3" name="v" type="{vendor}"><tag id="4" name="name" type="snapshot"/>
    <tag id="5" name="items" type="snapshot"><tag id="6" name="i" type="{item}"><tag id="7" name="k" type="snapshot"/>
    <tag id="8" name="p" type="filler"/></tag></tag><tag id="10" name="e" type="filler"/></tag></tag></tag>
    </stream:structure>"""


SHAPES = {
    "fillers": parse_structure(shape("filler", "filler")),
    "versions": parse_structure(shape("temporal", "temporal")),
    "events": parse_structure(shape("temporal", "event")),
}
CUT = (
    'for $v in stream("s")//v for $i in $v/items/i where $i/k = "1" return <m>{ $v/name, $i/p }</m>',
    'for $v in stream("s")//v for $i in $v/items/i return ($v/name/string(), $i/k/string())',
    'for $i in stream("s")//v/items/i where $i/k > 0 return <m n="{ $i/../../name }">{ $i/k/text() }</m>',
    'for $i in stream("s")//i where $i/../@n = "2" return ($i/../../e, $i/k)',
    'for $v in stream("s")//v let $n := $v/name for $i in $v/items/i let $k := $i/k return <m>{ $n, $k/text() }</m>',
    'for $v in stream("s")//v for $l in $v/items for $i in $l/i return <m l="{ $l/@n }">{ $v/@id, $i/k }</m>',
    'for $v in stream("s")//v for $i in $v/items/i order by $i/k, $v/name return <m>{ $v/name, $i/k }</m>',
    'for $v in stream("s")//v for $i in $v/items/i group by $n := $v/name return <g n="{ $n }">{ count($i) }</g>',
    '(for $v in stream("s")//v for $i in $v/items/i return <m>{ $v/name, $i/k }</m>)[3]',
    'for $i in stream("s")/r/s/v/items/i return concat($i/../../@id, "/", $i/../@n, ":", $i/k)',
    'for $i in stream("s")//v/items/i where $i/../../@id > 21 return <m>{ $i/../@n, $i/k }</m>',
    'for $v in stream("s")//v, $i in $v/items/i where $i/k = $v/name/string-length() return $v/@id/string()',
)
WHOLE = (
    'for $v in stream("s")//v for $i in $v/items/i where count($v/items/i) > 2 return <m>{ $v/name, $i/k }</m>',
    'for $i in stream("s")//v/items/i return ($i/../../name, $i/../i[1]/k)',
    'for $v in stream("s")//v for $i in $v/items/i for $o in $v/items/i where $o/k = $i/k return <m>{ $v/name }</m>',
    'for $v in stream("s")//v for $i at $n in $v/items/i return <m>{ $v/name, $n }</m>',
    'for $v in stream("s")//v for $i in $v/items/i[2] return <m>{ $v/name, $i/k }</m>',
    'for $i in stream("s")//v/items/i return ($i/../../name, $i/following-sibling::i[1]/k)',
    'for $v in stream("s")//v for $i in $v/items/i[k = $v/e] return <m>{ $i/k }</m>',
    'for $v in stream("s")//v for $i allowing empty in $v/items/i return <m>{ $v/name, $i/k }</m>',
    'for $v in stream("s")//v for $i in $v/items/i return <m>{ $v }</m>',
    """declare function local:up($n, $k) { if ($k = 0) then count($n/*) else local:up($n/.., $k - 1) };
    for $v in stream("s")//v for $i in $v/items/i return <m>{ $v/name, local:up($i, 1) }</m>""",
    'for $i in stream("s")//v/items/i return <m>{ $i/../../name, root($i)//t }</m>',
    'for $i in stream("s")//v/items/i[../../name = "n1"] return <m>{ $i/k, $i/../../e }</m>',
    'for $i in stream("s")/r/s/v/items/i[p] return concat($i/../../name, ":", $i/k)',
    'for $v in stream("s")//v where $v/name != "n1" for $i in $v//i[k = ("0", "1")] return <m>{ $v/e, $i/k }</m>',
    'sum(for $v in stream("s")//v for $i in $v/items/i where $v/name = "n1" return number($i/k))',
)
"""What may read other fragments, or depends on how many there are; and records that are taken apart otherwise."""


class Drawn:
    """Vendors with items, which have parts; all of them are sent again, removed, and stand in other holes."""

    def __init__(self, shape: str, number: int) -> None:
        self.draw, self.structure = Random(number), SHAPES[shape]

    def hole(self, region: int, tsid: int) -> str:
        return f'<stream:hole id="{region}" tsid="{tsid}"/>'

    def content(self, tsid: int, region: int) -> str:
        draw = self.draw
        match tsid:
            case 2:
                return f"<s><t>x</t>{''.join(self.hole(n, 3) for n in draw.sample(range(20, 26), 3))}</s>"
            case 3:
                some = [self.hole(n, 6) for n in draw.sample(range(100, 130), draw.randrange(6))]
                name, extra = f"<name>n{draw.randrange(3)}</name>", self.hole(region + 50, 10)
                items = f'<items n="{draw.randrange(3)}">{"".join(some)}</items>'
                return f'<v id="{region}">{draw.choice([name + extra + items, items + name + extra])}</v>'
            case 6:
                return f"<i><k>{draw.randrange(3)}</k>{self.hole(region + 100, 8)}</i>"
            case 8:
                return f"<p>{draw.randrange(3)}</p>"
        return f"<e>{draw.randrange(3)}</e>"

    def change(self) -> Change:
        draw = self.draw
        tsid = draw.choices([2, 3, 6, 8, 10], [1, 4, 12, 5, 3])[0]
        first, count = {2: (10, 2), 3: (20, 6), 6: (100, 30), 8: (200, 30), 10: (70, 6)}[tsid]
        region = draw.randrange(first, first + count)
        timed = self.structure.tags[tsid].timed
        at = parse_instant(f"2003-11-0{draw.randrange(1, 9)}") if timed else None
        if draw.random() < 0.1:
            return Remove(region=region, tsid=tsid, valid_time=at)
        kinds: list[type[Fill] | type[Replace]] = [Fill, Replace]
        return draw.choice(kinds)(region=region, tsid=tsid, valid_time=at, content=self.content(tsid, region).encode())

    def changes(self, count: int) -> list[Change]:
        root = f"<r>{self.hole(10, 2)}{self.hole(11, 2)}</r>"
        made = [self.change() for _ in range(count)]
        made.insert(self.draw.randrange(5), Fill(region=0, tsid=1, content=root.encode()))
        made[5:5] = [Fill(region=n, tsid=2, content=self.content(2, n).encode()) for n in (10, 11)]
        return made


def cuts(query: ContinuousQuery) -> int:
    assert query.engine is not None
    return sum(map(len, query.engine.cuts.values()))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("text", CUT)
def test_the_law_holds_for_fragments_in_shells(text: str, shape: str) -> None:
    for size, count in ((1, 50), (7, 150), (1000, 300)):
        query = follow(text, SHAPES[shape], Drawn(shape, len(text) + size).changes(count), size)
        assert query.state()["followed"] == "columns", query.state()["by_objects"]
        assert cuts(query) == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("text", WHOLE)
def test_records_whose_fragments_are_read_together_are_not_cut(text: str, shape: str) -> None:
    query = follow(text, SHAPES[shape], Drawn(shape, len(text)).changes(120), 7)
    assert query.engine is None or cuts(query) == 0


@pytest.mark.parametrize("text", CUT)
def test_what_was_told_of_fragments_in_shells_is_gone_on_with_by_objects(text: str) -> None:
    changes = Drawn("fillers", len(text)).changes(120)
    changes.insert(80, Freeze(region=129))
    assert follow(text, SHAPES["fillers"], changes, 7).state()["followed"] == "objects"


def test_a_fragment_that_is_different_is_evaluated_alone_and_all_are_when_the_shell_is() -> None:
    query = continuous(CUT[0], structures=SHAPES["fillers"])
    count = 500
    holes = "".join(f'<stream:hole id="{100 + n}" tsid="6"/>' for n in range(count))
    vendor = '<v><name>{}</name><items n="1">' + holes + '</items><stream:hole id="70" tsid="10"/></v>'
    item = "<i><k>{}</k></i>"
    query.feed_many([
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/></r>'),
        Fill(region=10, tsid=2, content=b'<s><t/><stream:hole id="20" tsid="3"/></s>'),
        Fill(region=20, tsid=3, content=vendor.format("one").encode()),
        *[Fill(region=100 + n, tsid=6, content=item.format(n % 2).encode()) for n in range(count)],
    ])  # fmt: skip
    engine = query.engine
    assert engine is not None
    assert query.shown == count // 2

    def evaluated(change: Change) -> tuple[int, int]:
        before, spliced = engine.evaluated, engine.spliced
        query.feed(change)
        return engine.evaluated - before, engine.spliced - spliced

    fragments, size = evaluated(Replace(region=100, tsid=6, content=item.format(1).encode()))
    assert (fragments, size < 200, query.shown) == (1, True, count // 2 + 1)
    assert evaluated(Remove(region=101, tsid=6)) == (0, 0)
    assert evaluated(Fill(region=70, tsid=10, content=b"<e>1</e>")) == (0, 0), "nobody reads it"
    fragments, _ = evaluated(Replace(region=20, tsid=3, content=vendor.format("two").encode()))
    assert fragments == count - 1
    assert query.text().count("<name>two</name>") == query.shown == count // 2


def test_shells_that_are_large_are_written_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xstreamcast.run.continuous.columns.shells._MOST", 300)
    for text in CUT[:4]:
        assert cuts(follow(text, SHAPES["fillers"], Drawn("fillers", 5).changes(200), 50)) == 1
