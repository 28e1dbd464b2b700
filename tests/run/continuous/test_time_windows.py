"""Clocks, windows that let go by themselves, and what is kept: how much is done, and how much is held."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from xstreamcast.run.continuous.time.clock import Clock

sys.path.insert(0, str(Path(__file__).parent))

from timed import Beside, at

from xstreamcast.model.change import Change, Fill, Remove
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import Instant
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.run.continuous.query import ContinuousQuery, continuous, continuous_many

STRUCTURE = parse_structure("""<tag type="snapshot" id="1" name="log">
  <tag type="event" id="2" name="e" reuse="no"><tag type="temporal" id="3" name="state" reuse="no"/></tag>
  <tag type="temporal" id="4" name="limit"/>
</tag>""")
ROOT = Fill(region=0, tsid=1, content=b'<log><stream:hole id="1" tsid="2"/><stream:hole id="2" tsid="4"/></log>')
MINUTE = 60_000_000


def event(time: Instant, name: int, inside: str = "") -> Change:
    return Fill(region=1, tsid=2, valid_time=time, content=f'<e n="{name}">{inside}</e>'.encode())


def limit(time: Instant, value: int) -> Change:
    return Fill(region=2, tsid=4, valid_time=time, content=f"<limit>{value}</limit>".encode())


def begun(text: str, clock: Clock = "manual") -> ContinuousQuery:
    query = continuous(text, structures={"s": STRUCTURE}, clock=clock, now="2003-11-01T12:00:00")
    query.feed(ROOT)
    return query


def evaluated(query: ContinuousQuery) -> int:
    found: int = query.state()["evaluated"]
    return found


NOON = at("12:00:00")


def test_a_tick_evaluates_those_that_leave_the_window_and_no_others() -> None:
    query = begun('for $e in stream("s")//e?[now-PT1H,now] return $e/@n/string()')
    query.feed_many([event(NOON - k * MINUTE, k) for k in range(60, -1, -1)])
    assert query.shown == 61
    before = evaluated(query)
    query.tick(NOON)
    query.tick(NOON + 1)  # the event of an hour ago
    assert (evaluated(query) - before, query.shown) == (0, 60), "it was let go of without being evaluated"
    query = begun('for $e in stream("s")//e return <x>{ $e/@n, count($e?[now-PT1H,now]) }</x>')
    query.feed_many([event(NOON - k * MINUTE, k) for k in range(60, -1, -1)])
    before = evaluated(query)
    query.tick(NOON)
    assert evaluated(query) == before
    query.tick(NOON + 1)
    assert evaluated(query) == before + 1
    query.tick(NOON + 3 * MINUTE)
    assert evaluated(query) == before + 3, "at the ends of their hour, inclusive"
    query.tick(NOON + 3 * MINUTE + 1)
    assert evaluated(query) == before + 4


@pytest.mark.parametrize(
    "condition",
    [
        "vtFrom($e) + xs:dayTimeDuration('PT1M') < now()",
        "now() - vtFrom($e) gt xs:dayTimeDuration('PT1M')",
        "vtFrom($e) < now() - xs:dayTimeDuration('PT1M')",
        "empty($e?[now-PT1M,now])",
    ],
)
def test_an_age_is_looked_at_when_it_is_reached(condition: str) -> None:
    query = begun(f'for $e in stream("s")//e where {condition} return $e/@n/string()')
    query.feed_many([event(NOON + k * MINUTE, k) for k in range(50)])
    query.tick(NOON + 50 * MINUTE)
    assert query.shown == 49
    before = evaluated(query)
    query.tick(NOON + 50 * MINUTE + 30)
    assert query.shown == 50
    assert evaluated(query) - before <= 1


@pytest.mark.parametrize("text", ['stream("s")//limit/string()', 'stream("s")//limit?[now]/string()'])
def test_what_does_not_depend_on_the_clock_is_not_looked_at(text: str) -> None:
    query = begun(text)
    query.feed_many([limit(NOON - MINUTE, 1), limit(NOON, 2)])
    before = evaluated(query)
    for k in range(1, 20):
        query.tick(NOON + k * MINUTE)
    assert evaluated(query) == before
    assert query.text().split()[-1] == "2"


def test_an_open_end_that_is_shown_goes_on_with_the_clock() -> None:
    beside = Beside('stream("s")//limit?[now-PT1M,now]', {"s": STRUCTURE}, "manual")
    beside.happen(("s", ROOT), NOON, ("s", limit(NOON, 1)), NOON + 1, NOON + MINUTE, NOON + 2 * MINUTE)
    assert beside.query.text() == '<limit vtFrom="2003-11-01T12:01:00" vtTo="2003-11-01T12:02:00">1</limit>'


def test_what_is_ahead_of_the_clock_is_seen_when_its_time_has_come() -> None:
    beside = Beside('stream("s")//limit, count(stream("s")//e)', {"s": STRUCTURE}, "manual")
    ahead = [limit(NOON + 2 * MINUTE, 2), event(NOON + MINUTE, 1), limit(NOON, 1), event(NOON + MINUTE, 2)]
    beside.happen(("s", ROOT), NOON, *[("s", change) for change in ahead], NOON + MINUTE, NOON + 2 * MINUTE)
    assert beside.query.text().endswith(">2</limit>2")


def test_the_clock_does_not_go_back() -> None:
    query = begun('stream("s")//e, string(now())')
    query.tick(NOON + 2 * MINUTE)
    query.tick(NOON)
    assert query.text() == "2003-11-01T12:02:00Z"


# ------------------------------------------------------------------------------------------------------- retention


def held(query: ContinuousQuery) -> tuple[int, int, int]:
    """Regions, bytes of content, and contents that are looked at."""
    streams = query.state()["streams"]["s"]
    journal = query._begun().journal
    assert isinstance(journal, Journal)
    holes = journal.live["s"].holes.values()
    mounts = [len(place.mounts) for places in holes if isinstance(places, list) for place in places]
    return streams["regions"], streams["bytes"], sum(mounts)


def test_a_moving_window_keeps_what_is_in_it_however_long_the_stream() -> None:
    query = begun('for $e in stream("s")//e?[now-PT10M,now] where $e/state?[now] = "x" return $e/@n/string()', "event")
    sizes = []
    for k in range(600):
        time = NOON + k * MINUTE
        query.feed(event(time, 1000 + k, f'<stream:hole id="{1000 + k}" tsid="3"/>'))
        state = b"<state>x</state>" if k % 2 else b"<state>y</state>"
        query.feed(Fill(region=1000 + k, tsid=3, valid_time=time, content=state))
        if k % 100 == 99:
            sizes.append(held(query))
    assert sizes[-1] == sizes[0]
    assert sizes[0][2] == 1 + 2 * 11, "the root, and events with their states"
    assert query.text() == "1589 1591 1593 1595 1597 1599"
    assert query.state()["streams"]["s"]["discarded"] == 2 * 589
    assert query.state()["retention"]["s"] == {"/log/e": "the last PT10M", "/log/e/state": "the last PT10M"}


@pytest.mark.parametrize(("window", "values"), [("?[now]", "99"), ("#[last]", "99"), ("?[now-PT2M,now]", "97 98 99")])
def test_of_a_value_that_changes_the_versions_in_the_window_are_kept(window: str, values: str) -> None:
    query = begun(f'stream("s")/log/limit{window}/string()', "event")
    for k in range(100):
        query.feed(limit(NOON + k * MINUTE, k))
    assert query.text() == values
    assert held(query)[2] == 1 + len(values.split())


def test_the_newest_event_is_kept_of_a_query_that_sees_no_other() -> None:
    query = begun('for $l in stream("s")/log return $l/e#[last]/@n/string()', "event")
    for k in range(100):
        query.feed(event(NOON + k * MINUTE, k))
    assert query.text() == "99"
    assert query.state()["streams"]["s"]["discarded"] == 99


def test_a_version_taken_back_gives_way_to_the_one_before() -> None:
    beside = Beside('stream("s")/log/limit#[last]', {"s": STRUCTURE})
    taken_back = Remove(region=2, tsid=4, valid_time=NOON + MINUTE)
    beside.happen(("s", ROOT), ("s", limit(NOON, 1)), ("s", limit(NOON + MINUTE, 2)), ("s", taken_back))


def test_a_second_query_that_sees_all_keeps_all() -> None:
    both = continuous_many(
        ['count(stream("s")//e?[now-PT1M,now])', 'count(stream("s")//e)'], structures={"s": STRUCTURE}
    )
    both.feed(ROOT, "s")
    for k in range(50):
        both.feed(event(NOON + k * MINUTE, k), "s")
    assert [query.text() for query in both.queries] == ["2", "50"]


def test_late_events_are_let_go_of_at_once() -> None:
    beside = Beside('count(stream("s")//e?[now-PT1M,now]), stream("s")//limit?[now-PT1M,now]', {"s": STRUCTURE})
    late = [event(NOON, 1), limit(NOON, 1), event(NOON + 9 * MINUTE, 2), limit(NOON + 9 * MINUTE, 2)]
    late += [event(NOON, 3), limit(NOON + MINUTE, 3), limit(NOON + 8 * MINUTE, 4), event(NOON + 8 * MINUTE, 5)]
    beside.happen(("s", ROOT), *[("s", change) for change in late])
    assert beside.query.text().startswith("2<limit")


# -------------------------------------------------------------------------------------------------------- lateness


def test_a_change_behind_the_watermark_is_put_aside() -> None:
    found: list[str] = []
    query = continuous(
        'stream("s")//e/@n/string()',
        structures={"s": STRUCTURE},
        lateness=60,
        report=lambda one: found.append(one.code),
    )
    query.feed_many([ROOT, event(NOON, 1), event(NOON + 2 * MINUTE, 2), event(NOON, 3), event(NOON + MINUTE, 4)])
    assert query.text() == "1 4 2"
    assert found == ["XSC0090"]


def test_the_watermark_is_that_of_the_stream_furthest_behind() -> None:
    found: list[str] = []
    text = 'stream("a")//e/@n/string(), stream("b")//e/@n/string()'
    structures = {"a": STRUCTURE, "b": STRUCTURE}
    late = {"a": 60.0, "b": 180.0}
    query = continuous(text, structures=structures, lateness=late, report=lambda one: found.append(one.code))
    for stream, time in (("b", 9), ("a", 10), ("a", 6), ("b", 6), ("a", 5), ("b", 20), ("a", 8), ("b", 9)):
        query.feed(event(NOON + time * MINUTE, time), stream)
    assert query.text() == ""
    query.feed(ROOT, "a")
    query.feed(ROOT, "b")
    assert query.text() == "6 10 6 9 20"
    assert found == ["XSC0090"] * 2


def test_a_stream_of_unbounded_lateness_lets_nothing_be_late() -> None:
    query = continuous('count(stream("a")//e), count(stream("b")//e)', structures=STRUCTURE, lateness={"a": 1.0})
    for stream, time in (("b", 1), ("a", 10), ("a", 5), ("b", 0)):
        query.feed(event(NOON + time * MINUTE, time), stream)
    query.feed(ROOT, "a")
    query.feed(ROOT, "b")
    assert query.text() == "2 2"


# --------------------------------------------------------------------------------------------------- tuple windows


@pytest.mark.parametrize(
    "text",
    [
        'stream("s")//e#[last-9,last]/@n/string()',
        'count(stream("s")//e#[2,5])',
        'stream("s")//e#[1], stream("s")//limit#[last-1,last]/string()',
        'for $e in stream("s")//e?[now-PT5M,now]#[last-1,last] return <x>{ $e }</x>',
        'sum(stream("s")//e#[last-3,last]/@n)',
        'stream("s")/log#[1]/limit/string(), stream("s")//e#[3,last]/@n/string()',
    ],
)
def test_a_window_of_tuples_at_every_moment(text: str) -> None:
    beside = Beside(text, {"s": STRUCTURE})
    times = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9]
    changes = [event(NOON + time * MINUTE, number) for number, time in enumerate(times)]
    changes += [limit(NOON + time * MINUTE, time) for time in times]
    beside.happen(("s", changes[0]), ("s", ROOT), *[("s", change) for change in changes[1:]])
    assert not beside.query.recomputed
