"""The law while time passes: after every change and tick the answer is that of the evaluator on T(γ) as of now."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from budget import MORE
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from xstreamcast.run.continuous.time.clock import Clock

sys.path.insert(0, str(Path(__file__).parent))

from random_streams import STRUCTURE, queries, streams
from timed import Beside, Happening, at

from xstreamcast.model.change import Change
from xstreamcast.model.structure import parse_structure
from xstreamcast.wire.fragment import read_stream

seeded = settings(max_examples=24 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))

WINDOWS = (
    "?[now]", "?[now-P1D,now]", "?[now-P1D]", "?[now-P2D,now-P1D]", "?[now-PT36H,2003-11-05]", "?[2003-11-02,now-P1D]",
    "?[now,2003-11-04]", "?[now-P1M,now]", "?[now+P1D,now+P2D]", "?[start,now-P1D]", "#[last]", "#[last-1,last]",
)  # fmt: skip
STEPS = ("/a", "/c", "/f", "//f", "//c", "//e", "/b", "/g/h", "/*")
SHAPES = (
    "PATH",
    "count(PATH)",
    "PATH/string()",
    "PATH/@vtTo/string()",
    "PATH/(@* ! string())",
    "sum(PATH//text()[. castable as xs:integer])",
    "for $x in PATH where $x/f?[now] = 1 return <y>{ $x/@n, $x/f?[now]/string() }</y>",
    "for $x in PATH return <y>{ count($x/c?[now-P1D,now]), $x/f#[last] }</y>",
    "for $x in PATH[. instance of element()] return vtTo($x)",
    "for $x in PATH[. instance of element()] where vtFrom($x) + xs:dayTimeDuration('P1D') < now() return string($x)",
    "for $x in PATH[. instance of element()] where now() - vtFrom($x) le xs:dayTimeDuration('P2D') return name($x)",
    "for $x in PATH return PATH before $x",
    "for $x in PATH[. instance of element()] where $x during [now() - xs:dayTimeDuration('P2D'), now()] return $x/f",
    "let $x := PATH return ($x[1], count($x), now())",
    "declare variable $from := now() - xs:dayTimeDuration('P1D'); PATH?[$from, now]",
    "declare function local:w($x) { $x?[now-P1D,now] }; for $x in PATH return local:w($x)/string()",
    "for $x in PATH?[now-P3D,now] order by string($x) return string($x)",
    "for $x in PATH group by $n := string($x/@n) order by $n return <g n='{$n}'>{ count($x?[now-P1D,now]) }</g>",
    "for $x in PATH group by $n := string($x/@n) return <g n='{$n}'>{ $x#[last] }</g>",
    "for $x in PATH[. instance of element()] return count(stream('s')//c?[vtFrom($x), vtFrom($x) + P1D])",
    "for $x in PATH order by count($x/c?[now-P1D,now]), string($x) return string($x)",
    "for $x in PATH return deep-equal($x?[now], $x?[now-P1D])",
)


@st.composite
def timed_queries(draw: st.DrawFn) -> str:
    path = 'stream("s")' + draw(st.sampled_from(("//a", "//c", "/r", "//f", "/r/a", "//e", "/r/g")))
    for _ in range(draw(st.integers(0, 3))):
        path += draw(st.sampled_from(STEPS if draw(st.booleans()) else WINDOWS))
    return draw(st.sampled_from(SHAPES)).replace("PATH", path)


@st.composite
def happenings(draw: st.DrawFn, ticks: bool) -> list[Happening]:
    found = read_stream(io.BytesIO(draw(streams()).encode()))
    changes = [arrival.item for arrival in found if isinstance(arrival.item, Change)]
    if not ticks:
        return [("s", change) for change in changes]
    times = ("01", "01T12:00:00", "02", "03", "03T00:00:00.000001", "04", "05T06:00:00", "06", "07", "09")
    made: list[Happening] = []
    for change in changes:
        made.append(("s", change))
        if draw(st.integers(0, 2)) == 0:
            made.append(at(draw(st.sampled_from(times))))
    return [*made, at("06"), at("20")]


def check(text: str, happens: list[Happening], clock: Clock) -> None:
    Beside(text, {"s": parse_structure(STRUCTURE)}, clock).happen(*happens)


@seed(51)
@seeded
@given(happenings(False), timed_queries())
def test_windows_and_lifespans_by_the_event_clock(happens: list[Happening], text: str) -> None:
    check(text, happens, "event")


@seed(52)
@seeded
@given(happenings(True), timed_queries())
def test_windows_and_lifespans_by_a_clock_that_ticks(happens: list[Happening], text: str) -> None:
    check(text, happens, "manual")


@seed(53)
@seeded
@given(happenings(True), queries())
def test_any_query_by_a_clock_that_ticks(happens: list[Happening], text: str) -> None:
    check(text, happens, "manual")


@pytest.mark.parametrize("clock", ["event", "manual"])
def test_nothing_has_come(clock: Clock) -> None:
    beside = Beside('count(stream("s")//c?[now-P1D,now]), now()', {"s": parse_structure(STRUCTURE)}, clock)
    beside.compare("nothing")
