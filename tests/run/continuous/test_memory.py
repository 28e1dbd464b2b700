"""What is kept is what may still matter: memory follows the document, not the number of changes."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import xstreamcast
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, Fill, Remove, Replace
from xstreamcast.run.continuous.journal import Journal

STRUCTURE = """<stream:structure xmlns:stream="urn:xstreamcast:stream">
  <tag id="1" name="r" type="snapshot">
    <tag id="2" name="group" type="filler">
      <tag id="3" name="b" type="filler" reuse="no"><tag id="4" name="x" type="snapshot"/></tag>
    </tag>
    <tag id="5" name="o" type="filler"/>
  </tag>
</stream:structure>"""
GROUPS, SIZE = 4, 5


def content(numbers: list[int]) -> bytes:
    return b"<group>%s</group>" % b"".join(b'<stream:hole id="%d" tsid="3"/>' % number for number in numbers)


def ever_new(updates: int) -> Iterator[Change]:
    """A document of one size: in each update a record goes, and one that has not been comes in its place."""
    holes = b"".join(b'<stream:hole id="%d" tsid="2"/>' % group for group in range(1, GROUPS + 1))
    yield Fill(region=0, content=b"<r>%s</r>" % holes)
    last = 100
    groups: list[list[int]] = []
    for group in range(GROUPS):
        groups.append(list(range(last, last + SIZE)))
        last += SIZE
        yield Fill(region=group + 1, tsid=2, content=content(groups[group]))
        for number in groups[group]:
            yield Fill(region=number, tsid=3, content=b"<b><x>%d</x></b>" % number)
    for update in range(updates):
        numbers = groups[update % GROUPS]
        gone = numbers.pop(0)
        numbers.append(last)
        yield Replace(region=1 + update % GROUPS, tsid=2, content=content(numbers))
        if update % 3 == 0:
            yield Remove(region=gone)
        yield Fill(region=last, tsid=3, content=b"<b><x>%d</x></b>" % last)
        last += 1


def clean() -> None:
    """What other tests have left is gone: in several turns, where it holds files or ends something."""
    for _ in range(10):
        if not gc.collect():
            return


@pytest.mark.parametrize(
    "text",
    [
        'sum(stream("s")//b/x)',
        'for $b in stream("s")//b where $b/x mod 2 = 0 return $b/x',
        'for $g in stream("s")/r/group return <g>{ count($g/b) }</g>',
    ],
    ids=["sum", "where", "groups"],
)
def test_updates_with_numbers_that_are_not_used_again_leave_nothing_behind(text: str) -> None:
    clean()
    query = xstreamcast.continuous(text, structures=STRUCTURE)
    counts = []
    for number, change in enumerate(ever_new(1600)):
        query.feed(change, "s")
        if number in (1500, 3000):
            gc.collect()
            counts.append((len(gc.get_objects()), query.state()["streams"]["s"]))
    (before, early), (after, late) = counts
    assert after - before < 100, "no more objects than before"
    assert late["regions"] == early["regions"] <= 1 + GROUPS + GROUPS * SIZE + 1
    assert abs(late["bytes"] - early["bytes"]) < 100
    journal = query._begun().journal
    assert isinstance(journal, Journal)
    live = journal.live["s"]
    assert len(live.holes) <= 2 + GROUPS + GROUPS * SIZE


def test_a_number_that_is_not_used_again_stays_gone() -> None:
    query = xstreamcast.continuous('count(stream("s")//b)', structures=STRUCTURE)
    for change in ever_new(1):
        query.feed(change, "s")
    assert query.text() == str(GROUPS * SIZE)
    query.feed(Fill(region=100, tsid=3, content=b"<b><x>100</x></b>"), "s")  # a carousel sends it once more
    query.feed(Replace(region=1, tsid=2, content=content([100, 101])), "s")
    assert query.text() == str(GROUPS * SIZE - SIZE + 1)


def test_bytes_are_those_that_are_held() -> None:
    query = xstreamcast.continuous('count(stream("s")//b)')
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'), "s")
    for number in range(50):
        query.feed(Replace(region=1, content=b"<b>%d</b>" % (number % 10 + 10) * 20), "s")
    assert query.state()["streams"]["s"]["bytes"] == 28 + 20 * len(b"<b>10</b>")


LIMITED = (
    'for $g in stream("s")/r/g return <g>{ sum($g/x) }</g>',
    'count(stream("s")//x[. > 20])',
    'for $g in stream("s")/r/g order by number($g/x[1]) descending return $g/x[1]/string()',
    'for $g in stream("s")/r/g where $g/x = stream("s")/r/g[2]/x return count($g/x)',
    'stream("s")//g[x > 30]',
)


@pytest.mark.parametrize("text", LIMITED, ids=("loop", "count", "sort", "join", "copy"))
def test_beyond_a_limit_contents_are_on_disk_and_trees_are_made_again(text: str) -> None:
    query, wide = xstreamcast.continuous(text, memory=8000), xstreamcast.continuous(text)
    holes = b"".join(b'<stream:hole id="%d"/>' % number for number in range(1, 41))
    changes: list[Fill | Replace] = [Fill(region=0, content=b"<r>%s</r>" % holes)]
    inner = b"<g>%s<stream:hole id='%d'/></g>"
    changes += [Fill(region=k, content=inner % (b"<x>%d</x>" % k * 10, 100 + k)) for k in range(1, 41)]
    changes += [Fill(region=100 + k, content=b"<x>1000</x>") for k in range(1, 41)]
    for n in range(5):
        changes += [Replace(region=k, content=inner % (b"<x>%d</x>" % (k + n) * 10, 100 + k)) for k in range(1, 41)]
    sizes = []
    for change in changes:
        query.feed(change, "s")
        sizes.append(query.state()["streams"]["s"])
    wide.feed_many(changes, "s")
    assert query.text() == wide.text()
    assert max(one["bytes"] for one in sizes) <= 6000 < wide.state()["streams"]["s"]["bytes"]
    assert max(one["trees"] for one in sizes) <= 2000 + max(len(change.content) * 50 for change in changes)
    assert 0 < sizes[-1]["spilled"] <= 2 * sizes[80]["spilled"], "room on disk is used again"


IN_COLUMNS = """<stream:structure><tag id="1" name="r"><tag id="2" name="g" type="filler">
<tag id="4" name="x" type="snapshot"/><tag id="3" name="t" type="filler"/></tag></tag></stream:structure>"""


@pytest.mark.parametrize("text", LIMITED[:3], ids=("loop", "count", "sort"))
def test_in_columns_too_contents_are_on_disk_beyond_a_limit(text: str) -> None:
    query = xstreamcast.continuous(text, structures=IN_COLUMNS, memory=1 << 20)
    wide = xstreamcast.continuous(text, structures=IN_COLUMNS)
    holes = b"".join(b'<stream:hole id="%d" tsid="2"/>' % number for number in range(1, 41))
    changes: list[Fill | Replace] = [Fill(region=0, tsid=1, content=b"<r>%s</r>" % holes)]
    inner = b"<g>%s</g>"
    changes += [Fill(region=k, tsid=2, content=inner % (b"<x>%d</x>" % k * 500)) for k in range(1, 41)]
    for n in range(9):
        changes += [
            Replace(region=k, tsid=2, content=inner % (b"<x>%d</x>" % (k * n % 39) * 2500)) for k in range(1, 41)
        ]
    sizes = []
    for begin in range(0, len(changes), 10):
        query.feed_many(changes[begin : begin + 10], "s")
        sizes.append(query.state()["streams"]["s"])
    wide.feed_many(changes, "s")
    assert query.text() == wide.text()
    assert query.state()["followed"] == wide.state()["followed"] == "columns"
    assert max(one["bytes"] for one in sizes) <= 3 << 18 < wide.state()["streams"]["s"]["bytes"]
    assert 0 < sizes[-1]["spilled"] < 3 << 20, "what is no longer said is not kept"


def test_several_streams_share_what_there_is() -> None:
    query = xstreamcast.continuous('count(stream("s")//b), count(stream("t")//b)', memory="4KB")
    for stream in ("s", "t"):
        query.feed(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'), stream)
        query.feed(Fill(region=1, content=b"<b>%s</b>" % (b"x" * 3000)), stream)
    streams = query.state()["streams"]
    assert query.text() == "1 1"
    assert [streams[name]["bytes"] for name in ("s", "t")] == [28, 28]
    assert all(streams[name]["spilled"] >= 3000 for name in ("s", "t"))


@pytest.mark.parametrize("memory", ["much", "-1", "2 PB"])
def test_what_is_no_amount_of_memory_is_refused(memory: str) -> None:
    with pytest.raises(XStreamError, match="XSC0091"):
        xstreamcast.continuous('count(stream("s")//b)', memory=memory)


@pytest.mark.parametrize(
    "text",
    [
        'count(stream("s")//b[x > 50])',
        'sum(stream("s")//b/x)',
        'for $b in stream("s")//b where $b/x > 50 return $b/x',
        'for $b in stream("s")//b order by number($b/x) return $b/x',
    ],
    ids=["count", "sum", "where", "sort"],
)
def test_a_change_leaves_nothing_for_the_collector(text: str) -> None:
    query = xstreamcast.continuous(text, structures=STRUCTURE)
    for change in ever_new(0):
        query.feed(change, "s")
    changes = [Replace(region=100 + n % 20, tsid=3, content=b"<b><x>%d</x></b>" % (n * 7 % 100)) for n in range(60)]
    for change in changes[:20]:
        query.feed(change, "s")
    clean()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for change in changes[20:]:
            query.feed(change, "s")
        found = gc.collect()
    finally:
        if collecting:
            gc.enable()
    assert found < 40, "garbage that refers to itself in circles: less than an object for each change"
