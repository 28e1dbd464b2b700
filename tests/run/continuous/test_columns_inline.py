"""Records that lie in fragments, several in one: each is a row, and a region of the answer, of its own."""

from __future__ import annotations

from random import Random

import pytest
from test_columns_law import follow

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import Change, Fill, Freeze, Remove, Replace
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.query import continuous

SHAPE = parse_structure(
    '<stream:structure><tag id="1" name="r"><tag id="2" name="s" type="filler"><tag id="3" name="b" type="filler">'
    '<tag id="4" name="k" type="snapshot"/><tag id="5" name="t" type="snapshot"><tag id="6" name="u" type="snapshot"/>'
    "</tag></tag></tag></tag></stream:structure>"
)
QUERIES = (
    'stream("s")//t',
    'stream("s")//b/t/u',
    'stream("s")//t/string()',
    'for $t in stream("s")//t return number($t/u)',
    'for $t in stream("s")//t where $t/u > 2 return <m n="{ $t/@n }">{ $t/u/text() }</m>',
    'for $t in stream("s")//t where $t/@n return ($t/@n/string(), $t/u)',
    'for $t in stream("s")//b/t where $t/../k = "k1" return $t/u',
    '<all>{ for $t in stream("s")//t where $t/u = 1 return $t }</all>',
    'for $t in stream("s")//t order by number($t/u) descending, $t/@n return $t',
    'for $t in stream("s")//t group by $u := string($t/u) return <g u="{ $u }">{ count($t) }</g>',
    'for $t in stream("s")//t group by $u := string($t/u) return <g u="{ $u }">{ $t/@n/string() }</g>',
    '(stream("s")//t)[5]',
    '(stream("s")//t)[last()]/u',
    'for $t at $i in stream("s")//t where $i < 9 return <p n="{ $i }">{ $t/u }</p>',
    'for tumbling window $w in stream("s")//t start at $p when true() end at $q when $q - $p = 2 return sum($w/u)',
    'for $t in stream("s")//t for $o in stream("s")//t[u = $t/u][@n] return <j>{ $t/@n, $o/u }</j>',
    'string-join(stream("s")//t/u, ",")',
    'sum(stream("s")//t/u)',
    'for $s in stream("s")//s return <s>{ sum($s/b/t/u), count($s//t) }</s>',
    'distinct-values(stream("s")//t/u)',
    'for $t in stream("s")//t where $t/u > avg(stream("s")//t/u) return $t/u',
)


def drawn(draw: Random, count: int) -> list[Change]:
    """Sections of records with some elements each; a record that is sent again has others in part."""

    def section(number: int) -> bytes:
        holes = draw.sample(range(100, 120), draw.randrange(12))
        return b"<s>%b</s>" % b"".join(b'<stream:hole id="%d" tsid="3"/>' % hole for hole in holes)

    def record() -> bytes:
        numbers = ["", ' n="1"', ' n="2"']
        inside = [f"<t{draw.choice(numbers)}><u>{draw.randrange(5)}</u></t>" for _ in range(draw.randrange(5))]
        return f"<b><k>k{draw.randrange(3)}</k>{''.join(inside)}</b>".encode()

    made: list[Change] = [Fill(region=10 + k, tsid=2, content=section(10 + k)) for k in range(3)]
    known: dict[int, bytes] = {}
    for _ in range(count):
        region, kind = draw.randrange(100, 120), draw.choice([Fill, Replace])
        if draw.random() < 0.1:
            made.append(Remove(region=region, tsid=3))
        elif draw.random() < 0.1:
            made.append(kind(region=10 + region % 3, tsid=2, content=section(10)))
        else:
            before = known.get(region, record())
            part = b"<t><u>%d</u></t>" % draw.randrange(5)
            known[region] = draw.choice([record(), before.replace(b"</b>", part + b"</b>"), before.replace(part, b"")])
            made.append(kind(region=region, tsid=3, content=known[region]))
    draw.shuffle(made)
    root = b"<r>%b</r>" % b"".join(b'<stream:hole id="%d" tsid="2"/>' % n for n in range(10, 13))
    return [Fill(region=0, tsid=1, content=root), *made]


@pytest.mark.parametrize("text", QUERIES)
def test_the_law_holds_for_records_within_fragments(text: str) -> None:
    for size, count in ((1, 40), (7, 120), (1000, 300)):
        query = follow(text, SHAPE, drawn(Random(len(text) + size), count), size)
        assert query.state()["followed"] == "columns", query.state()["by_objects"]


@pytest.mark.parametrize("text", QUERIES)
def test_what_was_told_of_records_within_fragments_is_gone_on_with_by_objects(text: str) -> None:
    changes = drawn(Random(len(text)), 90)
    changes.insert(60, Freeze(region=119))
    query = follow(text, SHAPE, changes, 7)
    assert query.state()["followed"] == "objects"


def test_each_record_is_a_region_and_only_those_that_are_different_are_told() -> None:
    query, sink = continuous('for $t in stream("s")//t return <m>{ $t/u/text() }</m>', structures=SHAPE), Materialiser()
    query.feed_many([
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/></r>'),
        Fill(region=10, tsid=2, content=b'<s><stream:hole id="100" tsid="3"/><stream:hole id="101" tsid="3"/></s>'),
        Fill(region=100, tsid=3, content=b"<b><t><u>1</u></t><t><u>2</u></t><t><u>3</u></t></b>"),
        Fill(region=101, tsid=3, content=b"<b><t><u>4</u></t></b>"),
    ])  # fmt: skip
    for one in query.output.snapshot():  # type: ignore[union-attr]  # it has begun
        sink.apply(one.change)
    assert query.shown == 4

    def told(*numbers: int) -> list[str]:
        content = "".join(f"<t><u>{number}</u></t>" for number in numbers)
        made = query.feed(Replace(region=100, tsid=3, content=f"<b>{content}</b>".encode()))
        for one in made:
            sink.apply(one)
        assert sink.text() == query.text() == "".join(f"<m>{number}</m>" for number in (*numbers, 4))
        return [one.kind for one in made]

    assert told(1, 2, 5, 3) == ["after"]
    assert told(1, 5, 3) == ["remove"]
    assert told(1, 6, 3) == ["replace"]
    assert told(0, 1, 6, 3) == ["after"]
    assert told(0, 1, 6, 3) == []
    assert told(3) == ["remove"] * 3
    assert told(7, 8) == ["replace", "after"]
