"""Fragments that are placed by their tags stand in runs, too, and the answer is that of one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from budget import MORE
from test_runs import live_of
from test_runs_law import STRUCTURE, Stream, written

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, Fill, Remove, Replace
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.adjust.order import WIDTH
from xstreamcast.run.continuous.arrive import inflow, share
from xstreamcast.run.continuous.associate.runs import Run
from xstreamcast.run.continuous.evaluate import bulk
from xstreamcast.run.continuous.query import ContinuousQuery

S = 'stream("s")'
QUERIES = (
    f"count({S}//b)",
    f"sum({S}//b/x)",
    f"string-join({S}//b/x, '-')",
    f"{S}//b[x > 3]/x",
    f"for $b in {S}//b where $b/x > 2 return <m>{{ $b/x, count($b/c) }}</m>",
    f"{S}//b[c/y = 3]",
    f"count({S}//*[self::b or self::o])",
    f"({S}//b/x, count({S}//c))",
    f"max({S}//b/x)",
)


@pytest.fixture(autouse=True)
def _by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)


def told(query: ContinuousQuery) -> str:
    try:
        return query.text()  # what is frozen has no items any more
    except XStreamError as failure:
        return f"error {failure.code}"


def rooted(text: str) -> ContinuousQuery:
    return xstreamcast.continuous(text, assume="rooted", structures=parse_structure(STRUCTURE))


def runs(query: ContinuousQuery) -> Iterator[Run]:
    for sequence in live_of(query).top.values():
        yield from [entry.item for entry in sequence if isinstance(entry.item, Run)]


def records(numbers: list[int]) -> list[Change]:
    return [Fill(region=n, tsid=3, content=b"<b><x>%d</x></b>" % (n % 10)) for n in numbers]


@pytest.mark.parametrize("seed", range(15 * MORE))
def test_whatever_touches_fragments_in_runs_the_answer_is_that_of_one_by_one(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "TOGETHER", 300)
    monkeypatch.setattr(share, "STRETCH_OF", Random(seed).choice((3, 17, 4096)))
    stream = Stream(seed)
    first = stream.first()
    written(first, tmp_path / "s.xml")
    changes = [stream.change() for _ in range(12)]
    stood = 0
    for text in QUERIES[seed % 3 :: 3]:
        loaded, single, display = rooted(text), rooted(text), Materialiser()
        loaded.inflow.load(str(tmp_path / "s.xml"), "s")
        stood += sum(len(run.numbers) for run in runs(loaded))
        for emitted in loaded.take():
            display.apply(emitted.change)
        for change in first:
            single.feed(change, "s")
        assert told(loaded) == told(single), f"{text}\nafter the file"
        for change in changes:
            single.feed(change, "s")
            for shown in loaded.feed(change, "s"):
                display.apply(shown)
            assert told(loaded) == told(single), f"{text}\nafter {change}"
            if loaded.failure is None:
                assert display.text().rstrip("\n") == loaded.text(), f"{text}\nafter {change}"
    assert stood or max(map(len, stream.sections.values())) < 40


@pytest.mark.parametrize("shuffled", [False, True], ids=["in-order", "shuffled"])
def test_runs_are_in_the_order_of_numbers_and_well_filled(
    shuffled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "STRETCH_OF", 64)
    numbers = list(range(1000, 3000))
    changes = records(numbers)
    if shuffled:
        Random(1).shuffle(changes)
    written(changes, tmp_path / "s.xml")
    query = rooted(f"sum({S}//b/x)")
    query.load(str(tmp_path / "s.xml"), "s")
    found = list(runs(query))
    assert [number for run in found for number in run.numbers] == numbers
    assert len(found) <= 2 * len(numbers) // WIDTH + 1
    assert query.text() == "9000"


def test_what_is_fed_into_the_midst_of_a_run_divides_it(tmp_path: Path) -> None:
    written(records(list(range(1000, 1400, 2))), tmp_path / "s.xml")
    query = rooted(f"string-join({S}//b/x)")
    query.load(str(tmp_path / "s.xml"), "s")
    before: list[Any] = list(runs(query))
    expected = ["02468"] * 40
    assert query.text() == "".join(expected)
    query.feed(Fill(region=1003, tsid=3, content=b"<b><x>3</x></b>"), "s")
    expected[0] = "023468"
    assert query.text() == "".join(expected)
    assert len(list(runs(query))) == len(before) + 1
    query.feed(Replace(region=1022, tsid=3, content=b"<b><x>two</x></b>"), "s")
    expected[2] = "0two468"
    query.feed(Remove(region=1198), "s")
    expected[19] = "0246"
    assert query.text() == "".join(expected)
    assert query.state()["streams"]["s"]["in_runs"] == 198
