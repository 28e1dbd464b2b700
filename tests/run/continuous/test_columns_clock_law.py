"""The law in columns while time goes on: windows, lifespans and ``now``, by the clock of the streams.

What looks at the clock looks again when its time has come, and nothing else does; what has passed all windows is let go
of, and no answer is another for that.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from test_columns_law import RECORD, SECTION, SHAPES, Drawn, answer, follow, in_turn, seed_of, told

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.cast.regions import Report
from xstreamcast.model.change import Change, Fill, Freeze, Remove
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import Instant, parse_instant
from xstreamcast.run.continuous.query import ContinuousQuery, continuous

TIMED = [name for name in SHAPES if name not in ("fillers", "no root")]
HOUR = 3_600_000_000
QUERIES = (
    'count(stream("s")//b?[now-PT6H,now])',
    'sum(stream("s")//b?[now-PT6H,now]/x)',
    'for $b in stream("s")//b?[now-PT6H,now] where $b/x > 4 return <b>{ $b/@id, $b/@vtFrom, $b/@vtTo }</b>',
    'for $b in stream("s")//b return <b id="{ $b/@id }">{ count($b/c?[now-PT3H,now-PT1H]), $b/c?[now]/text() }</b>',
    'for $s in stream("s")//s return sum($s/b?[now-PT5H,now]/x)',
    'for $s in stream("s")//s where count($s/b?[now-PT5H,now]) > 1 return <s>{ $s/@n, sum($s/b?[now-PT2H,now]/x) }</s>',
    'for $b in stream("s")//b where vtFrom($b) > now() - xs:dayTimeDuration("PT4H") return $b/@id/string()',
    'for $c in stream("s")//c?[now-PT4H,now] order by $c/text(), vtFrom($c) return <c>{ $c/@vtFrom, $c/text() }</c>',
    'for $b in stream("s")//b?[now-PT6H,now] group by $k := $b/k return <g k="{ $k }">{ count($b), sum($b/x) }</g>',
    'max(stream("s")//c?[now-PT6H,now])',
    '<all at="{ now() }">{ count(stream("s")//b), for $b in stream("s")//b?[now] return $b/k/text() }</all>',
    """declare variable $h := now() - xs:dayTimeDuration("PT4H");
    for $b in stream("s")//b where vtFrom($b) > $h return $b/@id/string()""",
    """declare function local:new($b) { vtFrom($b) > now() - xs:dayTimeDuration("PT4H") };
    count(stream("s")//b[local:new(.)])""",
    """for $b in stream("s")//b?[now-PT3H,now] for $o in stream("s")//b?[now-PT6H,now] where $o/k = $b/k
    return <p>{ $b/@id, $o/@id }</p>""",
    'for $b in stream("s")//b?[2003-11-02T00:00:00,2003-11-02T06:00:00] return $b/x',
    'stream("s")//c#[last]',
)  # fmt: skip


class InTime(Drawn):
    """Changes whose times go on, most of them an hour or so at a step, some far behind."""

    at: Instant = parse_instant("2003-11-01T00:00:00")

    def time(self, tsid: int) -> int | None:
        if not self.shape.tags[tsid].timed:
            return None
        self.at += self.draw.choice([0, 0, HOUR // 7, HOUR // 3])
        behind = self.draw.choice([0, 0, 0, 1, 2, 5, 9])
        return self.at - behind * HOUR


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("shape", TIMED)
def test_what_is_told_is_the_answer_at_that_time(shape: str, text: str) -> None:
    size, count = in_turn(shape, text, ((1, 40), (7, 80), (50, 200)))
    follow(text, SHAPES[shape], InTime(SHAPES[shape], seed_of(shape, text)).changes(count), size)


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_that_leaves_the_columns_goes_on_with_the_clock(text: str) -> None:
    for shape in TIMED:
        changes = InTime(SHAPES[shape], len(text)).changes(40)
        follow(text, SHAPES[shape], [*changes[:24], Freeze(region=9999), *changes[24:]], 8)


def window(count: int, report: Report | None = None) -> ContinuousQuery:
    """Events, one each minute, of which those of the last ten minutes are summed up."""
    query = continuous('sum(stream("s")//b?[now-PT10M,now]/x)', structures=SHAPES["events"], report=report)
    holes = "".join(f'<stream:hole id="{n}" tsid="3"/>' for n in range(1000, 1000 + count))
    query.feed(Fill(region=0, content=b'<r><stream:hole id="10" tsid="2"/></r>'))
    query.feed(Fill(region=10, tsid=SECTION, content=f"<s>{holes}</s>".encode()))
    return query


def event(number: int) -> Change:
    at = InTime.at + number * HOUR // 60
    return Fill(region=1000 + number, tsid=RECORD, valid_time=at, content=b"<b><x>1</x></b>")


def test_a_tick_looks_at_those_whose_time_has_come_and_what_has_passed_is_let_go_of() -> None:
    query = window(5000)
    evaluated = []
    for begin in range(0, 5000, 50):
        query.feed_many([event(number) for number in range(begin, begin + 50)])
        assert query.text() == "11"
        evaluated.append(query.state()["evaluated"])
    assert query.state()["followed"] == "columns"
    # Once when an event comes, for those that come within the window once more when they leave it.
    assert max(later - before for before, later in pairwise(evaluated)) <= 50 + 11 + 2
    sizes = query.state()["streams"]["s"]
    assert sizes["discarded"] > 4800
    engine = query.engine
    assert engine is not None
    assert engine.tables["s"].filled < 200
    assert len(engine.timing.agenda) <= 11
    assert engine.members(("s", 0)) < 200


def test_what_is_let_go_of_is_not_told_as_removed_to_who_goes_on_from_it() -> None:
    found: list[str] = []
    query = window(300, lambda one: found.append(one.code))
    leaving = 0
    for begin in range(0, 300, 10):
        query.feed_many([event(number) for number in range(begin, begin + 10)])
        engine = query.engine
        assert engine is not None
        kept = list(engine.tables["s"].kept(removed=True))
        leaving += engine.tables["s"]._leaving > 0
        assert not any(isinstance(change, Remove) for change, *_ in kept)
    assert leaving, "some were about to leave"
    query.inflow.leave_columns("to see what objects are told")
    assert query.text() == "11"
    assert found == []


@pytest.mark.parametrize("text", [QUERIES[0], QUERIES[4], QUERIES[8], QUERIES[9]])
def test_windows_are_followed_in_columns(text: str) -> None:
    query = follow(text, SHAPES["events"], InTime(SHAPES["events"], 5).changes(200), 7)
    assert query.state()["followed"] == "columns", query.state()["by_objects"]


CLOCKED = (*QUERIES, 'count(stream("s")//b)', 'for $b in stream("s")//b order by $b/x return <m>{ $b/@vtTo, $b/k }</m>')


@pytest.mark.parametrize("text", CLOCKED)
@pytest.mark.parametrize("shape", TIMED)
def test_what_is_ahead_of_a_clock_by_hand_is_seen_once_its_time_has_come(shape: str, text: str) -> None:
    query = follow_by_hand(text, SHAPES[shape], sum(map(ord, text)), 80)
    assert query.state()["followed"] == "columns" or text not in CLOCKED[-2:]


def follow_by_hand(text: str, shape: Structure, seed: int, count: int) -> ContinuousQuery:
    """Feed changes in batches of all sizes, while a clock goes on by hand, which they are ahead of."""
    drawn = InTime(shape, seed)
    drawn.at += 30 * HOUR
    changes = drawn.changes(count)
    query, document, display = continuous(text, structures=shape, clock="manual"), Materialiser(shape), Materialiser()
    now, sizes = parse_instant("2003-11-01T12:00:00"), drawn.draw.choices([1, 3, 9, 30], k=max(20, count // 3))
    begin = 0
    for size in sizes:
        now += drawn.draw.choice([0, 2 * HOUR, 10 * HOUR])
        emitted = query.tick(now)
        some = changes[begin : begin + size]
        begin += size
        for change in some:
            document.apply(change)
        for one in [*emitted, *query.feed_many(some)]:
            display.apply(one)
        expected = answer(text, document, now)
        assert told(query) == expected, f"after {begin} changes, at {now}"
        if query.failure is None:
            assert display.text() == expected
    return query


@pytest.mark.parametrize("shape", TIMED)
@pytest.mark.parametrize("odd", [False, True], ids=["columns", "left"])
def test_what_comes_late_is_put_aside_wherever_batches_end(shape: str, odd: bool) -> None:
    changes: list[Change] = InTime(SHAPES[shape], len(shape)).changes(200)
    if odd:
        changes.insert(120, Freeze(region=9999))
    outcomes = set()
    for size in (1, 7, 1000):
        late: list[str] = []
        query = continuous(
            'count(stream("s")//b), sum(stream("s")//c)',
            structures=SHAPES[shape],
            lateness=3 * 3600,
            report=lambda one, late=late: late.append(one.message) if one.code == "XSC0090" else None,  # type: ignore[misc]
        )
        for begin in range(0, len(changes), size):
            query.feed_many(changes[begin : begin + size])
        assert (query.state()["followed"] == "columns") is not odd
        outcomes.add((query.text(), tuple(late)))
    ((_, late_ones),) = outcomes
    assert len(late_ones) > 10
    kept = continuous('count(stream("s")//b), sum(stream("s")//c)', structures=SHAPES[shape])
    mark = now = 0
    for change in changes:
        if change.valid_time is None or change.valid_time >= mark:
            kept.feed(change)
            now = max(now, change.valid_time or 0)
            mark = max(mark, now - 3 * HOUR)
    assert kept.text() == next(iter(outcomes))[0]
