"""What passes its windows is let go of in the modes certain and optimistic, too, and no answer is another for it."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kept_streams import Kept
from timed import at

from xstreamcast import explain
from xstreamcast.model.change import Change, Eos, Fill, Freeze, Remove, Replace
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import Instant
from xstreamcast.plan.modes.rewrite import Emission
from xstreamcast.run.continuous.query import ContinuousQuery, continuous

STRUCTURE = parse_structure("""<tag type="snapshot" id="1" name="log">
  <tag type="event" id="2" name="e" reuse="no"><tag type="temporal" id="3" name="state" reuse="no"/></tag>
  <tag type="temporal" id="4" name="limit"><tag type="filler" id="5" name="note"/></tag>
</tag>""")
ROOT = Fill(region=0, tsid=1, content=b'<log><stream:hole id="1" tsid="2"/><stream:hole id="2" tsid="4"/></log>')
MINUTE = 60_000_000
NOON = at("12:00:00")
MODES: tuple[Emission, ...] = ("certain", "optimistic")


def event(time: Instant, name: int, inside: str = "") -> Fill:
    return Fill(region=1, tsid=2, valid_time=time, content=f'<e n="{name}">{inside}</e>'.encode())


def limit(time: Instant, value: int, inside: str = "") -> Fill:
    return Fill(region=2, tsid=4, valid_time=time, content=f"<limit>{value}{inside}</limit>".encode())


def state(region: int, time: Instant, value: str) -> Fill:
    return Fill(region=region, tsid=3, valid_time=time, content=f"<state>{value}</state>".encode())


def check(text: str, happenings: list[Change | Instant], emission: Emission) -> ContinuousQuery:
    kept = Kept(text, emission, STRUCTURE)
    query = continuous(text, structures={"s": STRUCTURE}, clock="manual", now="2003-11-01T12:00:00", emit=emission)
    now = NOON
    for number, one in enumerate(happenings):
        if isinstance(one, Change):
            kept.stream.apply(one)
            query.feed(one)
        else:
            now = max(now, one)
            query.tick(now)
        assert query.text() == kept.answer(now), f"{emission}: {text}\nafter {happenings[: number + 1]}"
    return query


QUERIES = (
    'stream("s")//e?[now-PT5M,now]',
    'for $e in stream("s")//e?[now-PT5M,now] return $e/@n/string()',
    'for $e in stream("s")//e?[now-PT5M,now] where $e/state?[now] = "x" return $e/@n/string()',
    'for $l in stream("s")/log where $l/e?[now-PT3M,now]/state = "x" return count($l/e?[now-PT3M,now])',
    'for $l in stream("s")/log where not($l/e?[now-PT3M,now]/state = "y") return "quiet"',
    'count(stream("s")//e?[now-PT4M,now])',
    'stream("s")//limit?[now]',
    'sum(stream("s")/log/limit?[now-PT2M,now])',
    'stream("s")/log/limit#[last]',
    'for $l in stream("s")/log return $l/e#[last]/@n/string()',
    'stream("s")//e?[2003-11-01T12:03:00,2003-11-01T12:06:00]/@n/string()',
    'for $l in stream("s")/log let $x := $l/e/state where $l/e?[now-PT3M,now] return "some"',
    'if (stream("s")//e?[now-PT2M,now]) then "busy" else "idle"',
)


def happenings_of(random: Random) -> list[Change | Instant]:
    """Events with states that come apart, limits with notes, corrections, freezes, and the time, which goes on."""
    made: list[Change | Instant] = [ROOT]
    now, regions = NOON, range(10, 22)
    unused = list(regions)  # a hole's number is not used again
    for _ in range(26):
        kind, back = random.randrange(12), random.randrange(8) * MINUTE
        region = random.choice(regions)
        if kind < 3:
            now += random.randrange(1, 4) * MINUTE
            made.append(now)
        elif kind < 6:
            inside = f'<stream:hole id="{unused.pop()}" tsid="3"/>' if unused and random.random() < 0.6 else ""
            made.append(event(now - back, random.randrange(9), inside))
        elif kind < 8:
            made.append(state(region, now - back, random.choice("xy")))
        elif kind == 8:
            inside = f'<stream:hole id="{region + 20}" tsid="5"/>' if random.random() < 0.4 else ""
            made.append(limit(now - back, random.randrange(9), inside))
        elif kind == 9:
            made.append(Fill(region=region + 20, tsid=5, content=b"<note/>"))
        elif kind == 10:
            made.append(Freeze(region=random.choice((1, 2, region)), version=None))
        else:
            made.append(
                random.choice(
                    (
                        Remove(region=2, tsid=4, valid_time=now - back),
                        Replace(region=1, tsid=2, valid_time=now - back, content=b'<e n="r"/>'),
                    )
                )
            )
    return [*made, Eos(), now + 20 * MINUTE]


@pytest.mark.parametrize("emission", MODES)
@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_no_answer_is_another_because_something_was_let_go_of(number: int, emission: Emission) -> None:
    for turn in range(5):
        check(QUERIES[number], happenings_of(Random(100 * number + turn)), emission)


@pytest.mark.parametrize("emission", MODES)
def test_a_moving_window_keeps_what_is_in_it_however_long_the_stream(emission: Emission) -> None:
    text = 'for $e in stream("s")//e?[now-PT10M,now] where $e/state?[now] = "x" return $e/@n/string()'
    query = continuous(text, structures={"s": STRUCTURE}, emit=emission)
    query.feed(ROOT)
    sizes = []
    for k in range(300):
        time = NOON + k * MINUTE
        query.feed(event(time, 1000 + k, f'<stream:hole id="{1000 + k}" tsid="3"/>'))
        query.feed(state(1000 + k, time, "x" if k % 2 else "y"))
        query.feed(Freeze(region=1000 + k))
        if k % 100 == 99:
            sizes.append(query.state()["streams"]["s"])
    assert [one["regions"] for one in sizes] == [sizes[0]["regions"]] * 3
    assert [one["bytes"] for one in sizes] == [sizes[0]["bytes"]] * 3
    assert sizes[-1]["discarded"] == 2 * 289
    assert query.text() == "1289 1291 1293 1295 1297 1299"
    assert query.waiting == 1, "the hole of the events"


@pytest.mark.parametrize("emission", MODES)
@pytest.mark.parametrize(("window", "kept"), [("?[now]", 1), ("#[last]", 100), ("?[now-PT2M,now]", 3)])
def test_of_a_value_that_changes_the_versions_in_the_window_are_kept(
    window: str, kept: int, emission: Emission
) -> None:
    query = continuous(f'stream("s")/log/limit{window}/string()', structures={"s": STRUCTURE}, emit=emission)
    query.feed(ROOT)
    for k in range(100):
        query.feed(limit(NOON + k * MINUTE, k))
    # Of the last version's predecessors the table has what a correction could bring back; nobody looks at them.
    assert len(query.inflow.associations["s"].table["", 2].versions) == kept
    query.feed(Eos())
    assert query.text().split()[-1] == "99"


def test_explain_tells_it() -> None:
    text = 'for $l in stream("s")/log where $l/e?[now-PT3M,now]/state = "x" return $l/limit#[last]'
    for emission in MODES:
        said = str(explain(text, structures={"s": STRUCTURE}, emit=emission))
        assert "/log/e (event) is kept: the last PT3M" in said
        assert "/log/limit (temporal) is kept: the last version" in said


def test_an_open_hole_in_what_has_passed_its_window_holds_nothing_back() -> None:
    text = 'for $l in stream("s")/log return <n>{ count($l/e?[now-PT3M,now]), count($l/limit?[now]/note) }</n>'
    changes: list[Change] = [ROOT, event(NOON, 1, '<stream:hole id="10" tsid="3"/>'), limit(NOON, 1)]
    freezes = [Freeze(region=1), Freeze(region=2)]
    query = check(text, [*changes, *freezes, NOON + MINUTE, NOON + 3 * MINUTE], "certain")
    assert query.text() == ""
    query.tick(NOON + 3 * MINUTE + 1)
    assert query.text() == "<n>0 0</n>"


@pytest.mark.parametrize("emission", ["eager", *MODES])
def test_what_a_carousel_brings_after_its_eos_counts(emission: Emission) -> None:
    query = continuous('count(stream("s")//e), count(stream("s")//limit)', structures={"s": STRUCTURE}, emit=emission)
    for change in (event(NOON, 1), limit(NOON, 1), Eos()):
        query.feed(change)
    assert query.text() == "0 0", "the root has been missed"
    query.feed(ROOT)
    assert query.text() == "1 1"
    for change in (event(NOON, 1), limit(NOON, 1), Eos()):
        assert query.feed(change) == []
    assert query.waiting == 0
