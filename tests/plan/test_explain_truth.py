"""What ``explain`` says of a query over streams is what the engine does: regions kept, fragments opened, calls."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any

import pytest

import xstreamcast
from xstreamcast.model.change import Change, Fill, Replace
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.run.continuous.query import ContinuousQuery

TYPED = parse_structure(
    '<tag id="1" name="r" type="snapshot"><tag id="2" name="a" type="filler"><tag id="3" name="b" type="filler"/>'
    '<tag id="4" name="k" type="filler"/></tag></tag>'
)
UNTYPED = parse_structure(
    '<tag id="1" name="r"><tag id="2" name="a"><tag id="3" name="b"/><tag id="4" name="k"/></tag></tag>'
)
SEVERAL = parse_structure(
    '<stream:structure><tag><tag id="2" name="a" type="filler"><tag id="3" name="b" type="filler"/></tag>'
    '<tag id="5" name="c" type="filler"/></tag></stream:structure>'
)


def changes(records: int, children: int) -> list[Change]:
    """A root, records, and their children, each a fragment."""
    holes = "".join(f'<stream:hole id="{n + 1}" tsid="2"/>' for n in range(records))
    made: list[Change] = [Fill(region=0, tsid=1, content=f"<r>{holes}</r>".encode())]
    for n in range(records):
        first = 1000 + n * 2 * children
        numbers = range(first, first + children)
        inside = "".join(
            f'<stream:hole id="{m}" tsid="3"/><stream:hole id="{m + children}" tsid="4"/>' for m in numbers
        )
        made.append(Fill(region=n + 1, tsid=2, content=f"<a>{inside}</a>".encode()))
        for m in numbers:
            made.append(Fill(region=m, tsid=3, content=f"<b>{m - first}</b>".encode()))
            made.append(Fill(region=m + children, tsid=4, content=f"<k>{n}</k>".encode()))
    return made


def followed(text: str, structure: Structure, records: int = 20, children: int = 2, **given: Any) -> ContinuousQuery:
    query = xstreamcast.continuous(text, structures={"s": structure}, **given)
    root, *others = changes(records, children)
    query.feed(root)
    if children > 2:
        query.feed_many(others)
    else:
        for change in others:
            query.feed(change)
    query.text()
    return query


def explained(text: str, structure: Structure, **given: Any) -> str:
    return str(xstreamcast.explain(text, structures={"s": structure}, **given))


@pytest.mark.parametrize("text", ['stream("s")/a[b > 0]/b', 'count(stream("s")//b)', 'stream("s")//a/b'])
def test_a_stream_without_a_root_is_computed_anew_and_kept_where_it_is_not_followed_in_columns(text: str) -> None:
    told = explained(text, SEVERAL, fixed=["a", "b"])
    assert "anew       the whole query, from all that is there:\n             a stream has no root element" in told
    assert "fragments needed: all, and all are kept" in told
    assert "O(log n)" not in told
    assert "nothing is kept" not in told
    query = xstreamcast.continuous(text, structures={"s": SEVERAL}, fixed=["a", "b"])
    for n in range(30):
        query.feed(Fill(region=2 * n + 1, tsid=2, content=f'<a><stream:hole id="{2 * n + 2}" tsid="3"/></a>'.encode()))
        query.feed(Fill(region=2 * n + 2, tsid=3, content=b"<b>1</b>"))
    assert query.recomputed == "a stream has no root element of its own"
    assert query.state()["streams"]["s"]["regions"] == 60


@pytest.mark.parametrize("text", ['stream("s")/a[b > 0]/b', 'count(stream("s")//b)', 'stream("s")//a/b'])
def test_a_stream_without_a_root_is_followed_in_columns(text: str) -> None:
    told = explained(text, SEVERAL)
    assert "  followed   in columns, batch by batch" in told
    assert "anew" not in told
    query = xstreamcast.continuous(text, structures={"s": SEVERAL})
    query.feed(Fill(region=2, tsid=3, content=b"<b>1</b>"))
    assert query.state()["followed"] == "columns"
    assert query.recomputed == ""


def test_why_a_query_is_not_followed_in_columns_is_said() -> None:
    told = explained('stream("s")//b/..', TYPED, emit="certain")
    assert "  followed   in columns, batch by batch" in told
    told = explained('stream("s")//b[2]', TYPED)
    assert "  followed   by objects, one by one: what is inside of a record is more than summed up" in told
    assert "one by one: a stream has no tag structure" in str(xstreamcast.explain('count(stream("s")//b)'))
    told = explained('count(stream("s")//b)', TYPED, fixed="*")
    assert "one by one: regions are declared fixed" in told


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('count(stream("s")//b) + count(doc("d.xml")//b)', "it reads a stored document beside its streams"),
        ('for $n in ("s", "t") return count(stream($n)//b)', "it reads its streams in a way that is known only when"),
    ],
)
def test_other_queries_that_are_computed_anew_as_a_whole_say_so(text: str, reason: str) -> None:
    told = explained(text, TYPED)
    assert f"anew       the whole query, from all that is there:\n             {reason}" in told
    assert "O(log n)" not in told
    query = xstreamcast.continuous(text, structures={"s": TYPED}, docs={"d.xml": "<b/>"})
    query.feed(Fill(region=0, tsid=1, content=b"<r/>"), "s")
    assert query.recomputed.startswith(reason)


@pytest.mark.parametrize("structure", [TYPED, UNTYPED], ids=["typed", "untyped"])
@pytest.mark.parametrize(("text", "needed"), [('stream("s")/r/a/b', {1, 2, 3}), ('count(stream("s")//k)', {1, 2, 4})])
def test_fragments_that_are_not_needed_are_not_opened(structure: Structure, text: str, needed: set[int]) -> None:
    found = re.search(r"fragments needed: tsid ([\d, ]+) \((\d) of (\d)\)", explained(text, structure))
    assert found is not None
    assert {int(tag) for tag in found[1].split(",")} == needed
    assert (int(found[2]), int(found[3])) == (3, 4)
    state = followed(text, structure).state()["streams"]["s"]
    assert state["skipped"] == sum(change.tsid not in needed for change in changes(20, 2)) == 40


KEPT = {
    'stream("s")/r/a/b': False,
    'count(stream("s")/r/a/b)': False,
    'sum(stream("s")//b)': False,
    'stream("s")/r/a[b > 0]': False,
    'for $b in stream("s")//b order by number($b) return $b': True,
    'for $b in stream("s")//b group by $n := string($b) return <g>{$n, count($b)}</g>': True,
    'for $x in stream("s")//a, $y in stream("s")//a where $x/b = $y/b return $y/b': True,
    '(stream("s")//b)[last()]': True,
    'let $b := stream("s")//b return ($b, $b)': True,
}


@pytest.mark.parametrize("text", KEPT)
def test_of_what_is_fixed_it_is_said_whether_it_is_kept(text: str) -> None:
    told = explained(text, TYPED, fixed="*")
    kept = "nothing is kept of them once they are complete and told" not in told
    assert kept == KEPT[text]
    assert ("kept, for the query keeps records" in told) == kept
    few, many = (followed(text, TYPED, records, fixed="*").state()["streams"]["s"] for records in (20, 60))
    assert (many["regions"] > few["regions"]) == kept
    assert (many["sealed"] > 0) != kept


def work(text: str, children: int) -> tuple[int, int]:
    """How much is called for a change of one child among so many, and how many bytes of fragments are evaluated."""
    query = followed(text, TYPED, 3, children)
    count, before = 0, spliced(query)

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        query.feed(Replace(region=1000, tsid=3, content=b"<b>5</b>"))
    finally:
        sys.setprofile(None)
    query.text()
    return count, spliced(query) - before


def spliced(query: ContinuousQuery) -> int:
    return 0 if query.engine is None else query.engine.spliced  # objects are not written


WHOLE = {
    'count(stream("s")/r/a[b > 3])': True,
    'sum(stream("s")/r/a[b > 3]/b)': True,
    'count(stream("s")/r/a[every $b in b satisfies $b > 3])': True,
    'exists(stream("s")//a[count(b) > 3])': True,
    'for $a in stream("s")/r/a where $a/b > 3 order by count($a/b) return $a': True,
    'count(stream("s")/r/a)': False,
    'count(stream("s")/r/a/b)': False,
    'sum(for $a in stream("s")/r/a return count($a/b))': False,
    'for $a in stream("s")/r/a order by count($a/b) return <a>{sum($a/b)}</a>': False,
}


@pytest.mark.parametrize("text", WHOLE)
def test_where_a_record_is_put_together_for_a_change_inside_the_cost_says_so(text: str) -> None:
    told = explained(text, TYPED)
    assert ("and the records that Δ is in, whole" in told) == WHOLE[text]
    few, many = work(text, 100), work(text, 800)
    assert any(more > 3 * less for less, more in zip(few, many, strict=True)) == WHOLE[text]


JOINS = [
    'for $x in stream("s")/r/a return count(stream("s")/r/a[b = $x/k])',
    'for $a in stream("s")/r/a let $m := stream("s")/r/a[b = $a/k] where count($m) > 2 order by $a/b return $m',
    'stream("s")/r/a[k = stream("s")/r/a[b = 1]/k]',
    'for $a in stream("s")/r/a where exists(stream("s")/r/a[b < $a/b][k = $a/k]) return $a',
    'for $x in stream("s")/r/a let $x := $x/b order by $x/c return $x',
    'declare function local:f($x) { count($x/b) }; for $x in stream("s")/r/a order by local:f($x) return $x',
    'some $x in stream("s")/r/a, $y in stream("t")/r/b satisfies $x/k = $y/k',
]


@pytest.mark.parametrize("emit", ["eager", "certain", "optimistic"])
@pytest.mark.parametrize("text", JOINS)
def test_names_are_those_of_the_query(text: str, emit: Any) -> None:
    known = set(re.findall(r"\$[\w-]+", text))
    told = explained(text, TYPED, emit=emit)
    assert set(re.findall(r"\$[\w-]+", told)) <= known
    assert "Q{" not in told
    assert not re.search(r"\b(member|unit|record|convert)-\d", told)
