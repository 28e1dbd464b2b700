"""Joins in time: an interval about one stream's element, projected on another stream."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from budget import MORE
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from timed import Beside, Happening, at

from xstreamcast.model.change import Fill, Remove
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.adjust.coincidence import Spans

STRUCTURE = parse_structure("""<tag type="snapshot" id="1" name="log">
  <tag type="event" id="2" name="e">
    <tag type="snapshot" id="3" name="f"><tag type="temporal" id="5" name="g"/></tag>
  </tag>
  <tag type="temporal" id="4" name="v"/>
</tag>""")
ROOT = Fill(region=0, tsid=1, content=b'<log><stream:hole id="1" tsid="2"/><stream:hole id="2" tsid="4"/></log>')
NOON, SECOND = at("12:00:00"), 1_000_000


def event(time: int, f: object, n: int = 0) -> Fill:
    return Fill(region=1, tsid=2, valid_time=time, content=f'<e n="{n}"><f>{f}</f></e>'.encode())


QUERIES = {
    "equal and near": """for $r in stream("a")//e, $s in stream("b")//e?[vtFrom($r)-PT1S, vtTo($r)+PT1S]
        where $r/f = $s/f return <p r="{$r/@n}" s="{$s/@n}"/>""",
    "near": """for $r in stream("a")//e, $s in stream("b")//e?[vtFrom($r)-PT1S, vtTo($r)+PT1S]
        return <p r="{$r/@n}" s="{$s/@n}"/>""",
    "how many": 'for $r in stream("a")//e return count(stream("b")//e?[vtFrom($r), vtFrom($r)+PT2S])',
    "none": """for $r in stream("a")//e
        where not(some $s in stream("b")//e?[vtFrom($r), vtFrom($r)+PT2S] satisfies $s/f = $r/f)
        return string($r/@n)""",
    "until now": """for $r in stream("a")//e
        where empty(stream("b")//e?[vtFrom($r)+PT1S, now][f = $r/f]) return string($r/@n)""",
    "an age": """for $r in stream("a")//e
        where vtFrom($r) + xs:dayTimeDuration("PT2S") < now()
          and not(some $s in stream("b")//e?[vtFrom($r), vtFrom($r)+PT2S] satisfies $s/@n = $r/@n)
        return string($r/@n)""",
    "a version at the time": """for $r in stream("a")//e
        return <x n="{$r/@n}">{ stream("b")//v?[vtFrom($r)]/string() }</x>""",
    "in the life of a version": """for $v in stream("a")//v
        return <x>{ stream("b")//e?[vtFrom($v), vtTo($v)]/@n/string() }</x>""",
    "in a window": """for $r in stream("a")//e?[now-PT3S,now], $s in stream("b")//e?[vtFrom($r)-PT1S, vtTo($r)+PT1S]
        where $r/f = $s/f return <p r="{$r/@n}" s="{$s/@n}"/>""",
    "itself": """for $r in stream("a")//e return <x n="{$r/@n}">{
        for $s in stream("a")//e?[vtFrom($r)-PT1S, vtFrom($r)] order by $s/f return string($s/@n) }</x>""",
}


@st.composite
def happenings(draw: st.DrawFn, ticks: bool) -> list[Happening]:
    made: list[Happening] = [("a", ROOT), ("b", ROOT)]
    for number in range(draw(st.integers(1, 14))):
        stream, time = draw(st.sampled_from("ab")), NOON + draw(st.integers(0, 12)) * SECOND // 2
        kind = draw(st.integers(0, 8))
        if kind == 0:
            made.append((stream, Remove(region=2, tsid=4, valid_time=time)))
        elif kind <= 2:
            made.append((stream, Fill(region=2, tsid=4, valid_time=time, content=f"<v>{number}</v>".encode())))
        elif kind == 3:
            inside = f'1<stream:hole id="{10 + number}" tsid="5"/>'
            made.append((stream, event(time, inside, number)))
            version = Fill(region=10 + number, tsid=5, valid_time=time, content=b"<g>2</g>")
            made.append((stream, version))
        else:
            made.append((stream, event(time, draw(st.integers(1, 3)), number)))
        if ticks and draw(st.booleans()):
            made.append(NOON + draw(st.integers(0, 16)) * SECOND // 2)
    return made


@pytest.mark.parametrize("name", QUERIES)
@seed(61)
@settings(max_examples=5 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_join_in_time_at_every_moment(name: str, data: st.DataObject) -> None:
    for ticks in (False, True):
        beside = Beside(QUERIES[name], {"a": STRUCTURE, "b": STRUCTURE}, "manual" if ticks else "event")
        beside.happen(*data.draw(happenings(ticks)))


@pytest.mark.parametrize("name", ["equal and near", "near", "how many", "none", "an age"])
def test_an_event_wakes_what_is_near_it_in_the_other_stream(name: str) -> None:
    beside = Beside(QUERIES[name], {"a": STRUCTURE, "b": STRUCTURE}, "manual")
    beside.happen(("a", ROOT), ("b", ROOT), NOON + 9000 * SECOND)
    query = beside.query
    query.feed_many([event(NOON + 10 * k * SECOND, 1, k) for k in range(200)], "a")
    query.feed_many([event(NOON + 10 * k * SECOND, 2, k) for k in range(200)], "b")
    before = beside.evaluated
    query.feed(event(NOON + 500 * SECOND, 1, 999), "b")
    assert beside.evaluated - before <= 2, "the event itself, and the one at its time"


def test_intervals_are_found_by_what_they_meet() -> None:
    spans: Spans[str] = Spans()
    numbers = {
        name: spans.add(span, name) for name, span in {"a": (1, 3), "b": (2, 2), "c": (5, 9), "d": (4, 4)}.items()
    }
    assert sorted(spans.meeting((2, 4))) == ["a", "b", "d"]
    spans.remove((2, 2), numbers["b"])
    assert sorted(spans.meeting((2, 2))) == ["a"]
    assert sorted(spans.meeting((9, 20))) == ["c"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [(False, {"a": 147, "b": 145}), (True, {"a": 128, "b": 128})],  # in columns when there are twice as many as before
)
def test_what_no_window_of_the_other_stream_can_meet_is_let_go_of(columns: bool, expected: dict[str, int]) -> None:
    beside = Beside(QUERIES["in a window"], {"a": STRUCTURE, "b": STRUCTURE})
    beside.query.inflow.columns = columns
    beside.happen(("a", ROOT), ("b", ROOT))
    for k in range(300):
        beside.query.feed(event(NOON + k * SECOND // 2, k % 3, k), "ab"[k % 2])
    assert {name: one["discarded"] for name, one in beside.query.state()["streams"].items()} == expected
    assert beside.query.state()["followed"] == ("columns" if columns else "objects")
