"""A hole that is taken out of its run, or filled anew: nothing is added up that need not be, and nothing is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_runs import MANY, entries, live_of, loaded, records
from test_runs_law import Held, written

import xstreamcast
from xstreamcast.model.change import Change, Fill, Hide, Replace
from xstreamcast.operators.monoid import COUNT, Monoid
from xstreamcast.run.continuous.adjust.order import WIDTH, Entry, Sequence
from xstreamcast.run.continuous.arrive import inflow
from xstreamcast.run.continuous.associate.runs import Run
from xstreamcast.run.continuous.evaluate.bulk import Bulk

S = 'stream("s")'
FIRST = MANY + 1


@pytest.fixture(autouse=True)
def _by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(inflow.Inflow, "columns", False)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many outcomes were added up, each time that some were."""
    counted: list[int] = []
    total = Bulk.total

    def counting(self: Bulk, outcomes: list[Any]) -> Any:
        counted.append(len(outcomes))
        return total(self, outcomes)

    monkeypatch.setattr(Bulk, "total", counting)
    return counted


def touched(query: xstreamcast.ContinuousQuery) -> int:
    """The blocks of order trees that have been visited so far."""
    sequences: dict[int, Sequence[Any]] = {}
    for top in live_of(query).top.values():
        for entry in entries(top):
            sequences[id(entry.sequence)] = entry.sequence
    return sum(sequence.touched for sequence in sequences.values())


def text_of(number: int, value: object) -> Replace:
    return Replace(region=number, tsid=3, content=f"<b><x>{value}</x></b>".encode())


@pytest.mark.parametrize(("query", "most"), [("sum", WIDTH // 2 + 1), ("count", WIDTH // 2 + 1), ("max", WIDTH)])
@pytest.mark.parametrize("at", [0, 1, WIDTH // 2, WIDTH - 1])
def test_what_stays_in_a_run_is_not_added_up_again(
    query: str, most: int, at: int, added: list[int], tmp_path: Path
) -> None:
    made = loaded(f"{query}({S}//b/x)", records(), tmp_path)
    made.take()
    run = live_of(made).holes[FIRST]
    assert isinstance(run, Run)
    numbers = list(run.numbers)
    assert len(numbers) == WIDTH
    added.clear()
    made.feed(text_of(numbers[at], 1000), "s")
    assert sum(added) <= most, "the smaller rest, and the one; a greatest can be found in no other way"
    longest = max((numbers[:at], numbers[at + 1 :]), key=len)
    assert list(run.numbers) == longest, "most of them stay where they are"
    assert all(live_of(made).holes[number] is run for number in longest)


def test_a_first_change_of_a_record_goes_through_the_sums_once(tmp_path: Path) -> None:
    query = loaded(f"sum({S}//b/x)", records(), tmp_path)
    query.take()
    costs: list[int] = []
    for _ in range(2):
        before = touched(query)
        query.feed(text_of(FIRST + 40, 1000 + len(costs)), "s")
        costs.append(touched(query) - before)
    first, again = costs
    assert again <= 5, "made, given what was there, and then from it to the section, to the document: each once"
    assert first <= again + 4
    assert query.text() == str(sum(n % 10 for n in range(FIRST, 2 * MANY, 2)) - (FIRST + 40) % 10 + 1001)


def test_what_is_evaluated_and_added_up_is_not_kept_parsed(tmp_path: Path) -> None:
    query = loaded(f"sum({S}//b/x)", records(), tmp_path)
    numbers = range(FIRST, FIRST + 40, 2)
    for n in numbers:
        query.feed(text_of(n, 5), "s")
    live = live_of(query)
    held = [place for n in numbers for place in live.at(n)]
    kept = [mount.filling for place in held for mount in place.mounts.values() if mount.filling.grown is not None]
    assert len(held) == 20
    assert len(kept) <= 1, "only what came last, for other queries that have not looked at it yet"
    query.feed(Hide(region=FIRST), "s")
    assert query.text() == str(sum(5 if n in numbers else n % 10 for n in range(FIRST + 2, 2 * MANY, 2)))


QUERIES = (f"sum({S}//b/x)", f"string-join({S}//x, '-')", f"{S}//x", f"max({S}//x)")


def held(query: str, folder: Path) -> Held:
    """A query over a section with more records than a run has, beside the query from scratch."""
    numbers = range(11, 12 + WIDTH)
    holes = b"".join([b'<stream:hole id="%d" tsid="3"/>' % n for n in numbers])
    first: list[Change] = [
        Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/></r>'),
        Fill(region=1, tsid=2, content=b"<s>%s</s>" % holes),
    ]
    first += [Fill(region=n, tsid=3, content=b"<b><x>%d</x></b>" % n) for n in numbers]
    written(first, folder / "s.xml")
    made = Held(query)
    made.show(made.query.load(str(folder / "s.xml"), "s"))
    assert made.query.state()["streams"]["s"]["in_runs"] == len(numbers)
    for change in first:
        made.known.apply(change)
    return made


def follows(made: Held, region: int, content: bytes) -> None:
    change = Replace(region=region, tsid=3, content=content)
    made.known.apply(change)
    made.show(made.query.feed(change, "s"))
    made.check(change)


@pytest.mark.parametrize(("changed", "inside"), [(15, 16), (15, 14), (11, 40), (40, 11), (15, 15)])
@pytest.mark.parametrize("query", QUERIES)
def test_a_content_may_hold_a_hole_that_stands_in_the_same_run(
    query: str, changed: int, inside: int, tmp_path: Path
) -> None:
    follows(held(query, tmp_path), changed, b'<b><x>100</x><stream:hole id="%d" tsid="3"/></b>' % inside)


OTHER = {"nothing": b"", "none": b"<b/>", "several": b"<b><x>3</x><x>4</x></b>", "a comment": b"<!-- - -->"}


@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER)
@pytest.mark.parametrize("query", QUERIES)
def test_a_record_gives_way_to_something_else_and_comes_back(query: str, other: bytes, tmp_path: Path) -> None:
    made = held(query, tmp_path)
    for content in (other, b"<b><x>99</x></b>", b"<b><x>98</x></b>", other, b"<b><x>97</x></b>"):
        follows(made, 15, content)


@pytest.mark.parametrize("undone", [True, False], ids=["group", "monoid"])
def test_a_block_that_divides_adds_up_the_half_that_leaves(undone: bool) -> None:
    count = 0

    def add(a: int, b: int) -> int:
        nonlocal count
        count += 1
        return a + b

    monoid = Monoid(0, add, COUNT.less if undone else None, COUNT.swap if undone else None)
    tree: Sequence[int] = Sequence(monoid, [Entry(n, 1) for n in range(WIDTH)])
    count = 0
    tree.append(Entry(WIDTH, 1))
    assert not tree.root.leaf
    assert count <= (WIDTH // 2 + 2 if undone else 3 * WIDTH)
    assert tree.total == WIDTH + 1
    entry = next(iter(tree))
    entry.summary = 0
    others = [Entry(n, 1) for n in range(WIDTH, WIDTH + 1)]
    tree.divide(entry, [*others, entry])
    assert [one.item for one in tree][:2] == [WIDTH, 0]
    assert (len(tree), tree.total) == (WIDTH + 2, WIDTH + 1)
