"""Instants, intervals and Allen's relations, against the standard library's calendar and against sets of cuts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xstreamcast.errors import Place, XStreamError
from xstreamcast.lang.ast import ALLEN
from xstreamcast.model.time import (
    ALWAYS,
    NOW,
    START,
    Interval,
    allen,
    civil_from_days,
    days_from_civil,
    event_lifespan,
    format_instant,
    parse_instant,
    version_lifespan,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
checked = settings(max_examples=100, derandomize=True, deadline=None)

instants = st.integers(-9_000_000_000_000_000_000, 9_000_000_000_000_000_000)
moments = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


# -- instants ---------------------------------------------------------------------------------------------------------


@checked
@given(instants)
@example(0)
@example(-1)
@example(999_999)
def test_every_instant_survives_being_written_and_read(instant: int) -> None:
    assert parse_instant(format_instant(instant)) == instant


@checked
@given(moments, zones)
def test_instants_agree_with_the_standard_library_in_every_zone(moment: datetime, zone: timezone) -> None:
    zoned = moment.replace(tzinfo=zone)
    assert parse_instant(zoned.isoformat()) == micros(zoned)


@checked
@given(moments)
def test_a_time_without_a_zone_is_utc(moment: datetime) -> None:
    assert parse_instant(moment.isoformat()) == micros(moment.replace(tzinfo=UTC))
    assert parse_instant(moment.isoformat() + "Z") == micros(moment.replace(tzinfo=UTC))


@checked
@given(st.dates())
def test_a_bare_date_is_its_midnight(day: date) -> None:
    assert parse_instant(day.isoformat()) == parse_instant(f"{day.isoformat()}T00:00:00")


@checked
@given(st.dates())
def test_days_are_counted_as_the_calendar_counts_them(day: date) -> None:
    days = days_from_civil(day.year, day.month, day.day)
    assert days == day.toordinal() - date(1970, 1, 1).toordinal()
    assert civil_from_days(days) == (day.year, day.month, day.day)


@checked
@given(st.integers(-100_000_000, 100_000_000))
def test_the_calendar_has_an_inverse_in_any_year(days: int) -> None:
    assert days_from_civil(*civil_from_days(days)) == days


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2003-10-23T12:23:34", "2003-10-23T12:23:34"),
        ("  2003-10-23T12:23:34\n", "2003-10-23T12:23:34"),
        ("2003-12-31T24:00:00", "2004-01-01T00:00:00"),
        ("2000-02-29", "2000-02-29T00:00:00"),
        ("2004-02-29T23:59:59.5", "2004-02-29T23:59:59.5"),
        ("2003-01-01T00:00:00.1234567", "2003-01-01T00:00:00.123456"),
        ("2003-11-01+01:00", "2003-10-31T23:00:00"),
        ("12003-01-01", "12003-01-01T00:00:00"),
        ("-0044-03-15", "-0044-03-15T00:00:00"),
        ("start", "start"),
        ("now", "now"),
    ],
)
def test_a_time_is_written_in_utc_without_a_zone(text: str, written: str) -> None:
    assert format_instant(parse_instant(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "", "yesterday", "2003", "2003-1-1", "2003-13-01", "2003-00-10", "2003-02-29", "1900-02-29", "2003-04-31",
        "2003-10-23T24:00:01", "2003-10-23T24:30:00", "2003-10-23T25:00:00", "2003-10-23T12:60:00",
        "2003-10-23T12:00:60", "2003-10-23T12:00", "2003-10-23 12:00:00", "2003-10-23T12:00:00.", "２003-10-23",
        "2003-10-23T12:00:00+1:00", "999999-01-01", "NOW", "20031023",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_a_code_a_place_and_a_hint(text: str) -> None:
    with pytest.raises(XStreamError) as caught:
        parse_instant(text, Place("feed.xml", offset=7))
    assert (caught.value.code, caught.value.place) == ("XSC0010", Place("feed.xml", offset=7))
    assert caught.value.hint


@pytest.mark.parametrize("zone", ["+14:01", "+15:00", "-99:00", "+10:60"])
def test_a_zone_no_clock_can_be_in_is_refused(zone: str) -> None:
    """XSD 1.1 part 2 §3.3.7: a zone lies within fourteen hours, and has sixty minutes to the hour."""
    with pytest.raises(XStreamError, match="time"):
        parse_instant("2003-10-23T12:00:00" + zone)


def test_a_year_of_five_thousand_digits_is_refused_like_any_other_that_does_not_fit() -> None:
    with pytest.raises(XStreamError, match=r'XSC0010 not a time: "9{59}…"'):
        parse_instant("9" * 5000 + "-01-01")


def test_start_and_now_lie_outside_the_calendar() -> None:
    assert START < parse_instant("-280000-01-01") < parse_instant("280000-01-01") < NOW


# -- intervals --------------------------------------------------------------------------------------------------------

# Instants 0..6 and the gaps between them as the cuts 0..13: an interval is the set of half-steps it covers.
STEPS = range(-1, 14)


def covered(interval: Interval) -> set[int]:
    """The half-steps inside: even ones are the instants, odd ones stand for all the instants between two of them."""
    low, high = 2 * interval.begin, 2 * interval.end
    low_closed, high_closed = interval.begin_closed, interval.end_closed
    return {
        step for step in STEPS if (low < step or (low == step and low_closed))
        and (step < high or (step == high and high_closed))
    }  # fmt: skip


any_interval = st.builds(Interval, st.integers(0, 6), st.integers(0, 6), st.booleans(), st.booleans())
intervals = any_interval.filter(lambda interval: not interval.empty)


@checked
@given(any_interval)
def test_an_interval_is_empty_when_no_instant_lies_inside(interval: Interval) -> None:
    assert interval.empty == (not covered(interval))


@checked
@given(intervals, intervals)
def test_the_intersection_holds_what_both_hold(a: Interval, b: Interval) -> None:
    common = a.intersect(b)
    assert (covered(common) if common else set()) == covered(a) & covered(b)
    assert common == b.intersect(a)


@checked
@given(intervals, intervals, intervals)
def test_projections_compose_as_their_intersections_do(e: Interval, a: Interval, b: Interval) -> None:
    """e?[a]?[b] = e?[a ∩ b]."""
    first = e.intersect(a)
    both = a.intersect(b)
    assert (first.intersect(b) if first else None) == (e.intersect(both) if both else None)


@checked
@given(intervals, intervals)
def test_the_hull_is_the_least_interval_that_covers_both(a: Interval, b: Interval) -> None:
    hull = covered(a.hull(b))
    both = covered(a) | covered(b)
    assert hull == set(range(min(both), max(both) + 1))
    assert a.hull(b) == b.hull(a)


@checked
@given(intervals)
def test_an_interval_is_its_own_hull_and_its_own_intersection(a: Interval) -> None:
    assert a.hull(a) == a.intersect(a) == a


@checked
@given(intervals, st.integers(0, 6))
def test_an_interval_contains_the_instants_inside_it(interval: Interval, instant: int) -> None:
    assert interval.contains(instant) == (2 * instant in covered(interval))


@checked
@given(st.lists(st.integers(0, 6), min_size=2, max_size=5, unique=True).map(sorted), st.integers(0, 6))
def test_at_any_instant_at_most_one_version_is_alive(begins: list[int], at: int) -> None:
    """?[now] at a change instant gives one version."""
    ends = [*begins[1:], NOW]
    alive = [b for b, e in zip(begins, ends, strict=True) if version_lifespan(b, e).contains(at)]
    assert alive == [max(b for b in begins if b <= at)] if at >= begins[0] else alive == []


def test_an_event_lives_for_its_one_instant() -> None:
    assert [t for t in range(5) if event_lifespan(3).contains(t)] == [3]


def test_an_untimed_leaf_lives_always() -> None:
    assert ALWAYS.contains(START)
    assert ALWAYS.contains(NOW)


def test_a_query_interval_that_runs_backwards_is_empty() -> None:
    assert Interval(5, 1).empty


def test_an_interval_is_written_with_its_ends() -> None:
    assert str(version_lifespan(parse_instant("2001-04-23T23:11:08"), NOW)) == "[2001-04-23T23:11:08, now)"


# -- Allen's relations ------------------------------------------------------------------------------------------------

INVERSE = dict(zip(ALLEN, reversed(ALLEN), strict=True))


def by_definition(a: Interval, b: Interval) -> list[str]:
    """Every relation whose textbook condition holds of the sets of half-steps."""
    x, y = covered(a), covered(b)
    (a0, a1), (b0, b1) = (min(x), max(x)), (min(y), max(y))
    conditions = {
        "before": a1 + 1 < b0,
        "meets": a1 + 1 == b0,
        "overlaps": a0 < b0 <= a1 < b1,
        "starts": a0 == b0 and a1 < b1,
        "during": b0 < a0 and a1 < b1,
        "finishes": b0 < a0 and a1 == b1,
        "equals": x == y,
        "finishedBy": a0 < b0 and a1 == b1,
        "contains": a0 < b0 and b1 < a1,
        "startedBy": a0 == b0 and b1 < a1,
        "overlappedBy": b0 < a0 <= b1 < a1,
        "metBy": b1 + 1 == a0,
        "after": b1 + 1 < a0,
    }
    return [name for name in ALLEN if conditions[name]]


def test_there_are_thirteen_relations() -> None:
    assert len(set(ALLEN)) == 13


@settings(checked, max_examples=400)
@given(intervals, intervals)
def test_exactly_one_of_allens_relations_holds(a: Interval, b: Interval) -> None:
    assert by_definition(a, b) == [allen(a, b)]


@checked
@given(intervals, intervals)
def test_every_relation_has_its_inverse(a: Interval, b: Interval) -> None:
    assert allen(b, a) == INVERSE[allen(a, b)]


def test_successive_versions_meet_and_closed_intervals_that_share_an_end_overlap() -> None:
    assert allen(version_lifespan(1, 3), version_lifespan(3, 5)) == "meets"
    assert allen(Interval(1, 3), Interval(3, 5)) == "overlaps"
    assert allen(event_lifespan(3), version_lifespan(3, 5)) == "starts"
