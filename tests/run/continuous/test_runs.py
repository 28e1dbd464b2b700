"""What a file brings is kept in runs: a record that nothing happens to costs no object of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import Change, ContentChange, Fill, Remove, Replace
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.adjust.order import WIDTH, Sequence
from xstreamcast.run.continuous.arrive import inflow
from xstreamcast.run.continuous.associate.noted import Noted
from xstreamcast.run.continuous.journal import Journal

STRUCTURE = """<stream:structure>
  <tag id="1" name="r" type="snapshot"><tag id="2" name="s" type="filler">
    <tag id="3" name="b" type="filler">
      <tag id="4" name="x" type="snapshot"/><tag id="5" name="c" type="filler"/>
    </tag>
    <tag id="6" name="o" type="filler"/>
  </tag></tag>
</stream:structure>"""
MANY = 2000
SECTION = 500


@pytest.fixture(autouse=True)
def _by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(inflow.Inflow, "columns", False)


def filler(number: int, tsid: int | None, content: str) -> str:
    tag = "" if tsid is None else f' tsid="{tsid}"'
    return f'<stream:filler id="{number}"{tag}>{content}</stream:filler>'


def holes(numbers: range | list[int], tsid: int) -> str:
    return "".join(f'<stream:hole id="{number}" tsid="{tsid}"/>' for number in numbers)


def records(values: dict[int, str] | None = None, late: bool = False) -> str:
    """MANY records in sections, those with even numbers of no interest. ``late``: parents come after children."""
    sections = range(MANY, 2 * MANY, SECTION)
    top = [filler(0, None, f"<r>{holes([10_000 + s for s in sections], 2)}</r>")]
    made: list[str] = []
    for start in sections:
        inner = "".join(holes([n], 3 if n % 2 else 6) for n in range(start, start + SECTION))
        top.append(filler(10_000 + start, 2, f"<s>{inner}</s>"))
        for n in range(start, start + SECTION):
            x = (values or {}).get(n, str(n % 10))
            made.append(filler(n, 3, f"<b><x>{x}</x></b>") if n % 2 else filler(n, 6, "<o/>"))
    pieces = made + top[::-1] if late else top + made
    wrapped = "\n".join([STRUCTURE, *pieces])
    return f'<stream:fragments xmlns:stream="urn:xstreamcast:stream">{wrapped}</stream:fragments>'


def loaded(query: str, text: str, folder: Path) -> xstreamcast.ContinuousQuery:
    """Taken in, and nothing told yet."""
    file = folder / "stream.xml"
    file.write_text(text)
    made = xstreamcast.continuous(query)
    made.inflow.load(str(file), "s")
    return made


def live_of(query: xstreamcast.ContinuousQuery) -> Noted:
    journal = query._begun().journal
    assert isinstance(journal, Journal)
    return journal.live["s"]


def entries(sequence: Sequence[Any]) -> Iterator[Any]:
    for entry in sequence:
        yield entry
        if getattr(entry.item, "places", None):
            for inner in entry.item.content.values():
                yield from entries(inner)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("query", ['count(stream("s")//b)', 'sum(stream("s")//b/x)', 'stream("s")//b[x > 99]'])
def test_records_have_one_entry_for_many(query: str, late: bool, tmp_path: Path) -> None:
    live = live_of(loaded(query, records(late=late), tmp_path))
    assert live.runs.standing == MANY // 2
    sections = MANY // SECTION
    assert live.runs.opened <= sections, "what has many holes is no fragment of a run"
    assert len(list(entries(live.top[0]))) <= sections * (2 + SECTION // 2 // WIDTH)
    assert len(live.at(0)) == 1
    assert sum(isinstance(shown, list) for shown in live.holes.values()) == sections + 1


def content_of(change: Change) -> bytes:
    assert isinstance(change, ContentChange)
    return change.content


def test_a_change_opens_the_hole_that_it_is_about(tmp_path: Path) -> None:
    query = loaded('sum(stream("s")//b/x)', records(), tmp_path)
    live = live_of(query)
    before, opened = len(list(entries(live.top[0]))), live.runs.opened
    (told,) = [content_of(emitted.change) for emitted in query.take()][-1:]
    assert told == b"5000"
    query.feed(Replace(region=MANY + 41, tsid=3, content=b"<b><x>1001</x></b>"), "s")
    assert serialise(query.answer().items()) == "6000"
    assert live.runs.opened == opened + 1
    assert query.state()["streams"]["s"]["in_runs"] == MANY // 2 - 1
    assert len(list(entries(live.top[0]))) <= before + 3
    query.feed(Remove(region=MANY + 43), "s")
    assert serialise(query.answer().items()) == "5997"
    assert live.runs.opened == opened + 2


def test_what_is_shown_is_told_and_stays_where_it_is(tmp_path: Path) -> None:
    query = loaded('stream("s")//b[x = "9"]/x', records(), tmp_path)
    live = live_of(query)
    opened = live.runs.opened
    assert len(query.answer().items()) == MANY // 10
    assert live.runs.opened == opened
    assert sum(emitted.change.kind == "after" for emitted in query.take()) == MANY // 10
    assert live.runs.opened == opened
    assert query.take() == []
    (change,) = query.feed(Replace(region=MANY + 9, tsid=3, content=b"<b><x>9</x><x>10</x></b>"), "s")
    assert (change.kind, content_of(change)) == ("replace", b"<x>9</x><x>10</x>")
    assert query.feed(Replace(region=MANY + 9, tsid=3, content=b"<b><x>9</x><x>10</x></b>"), "s") == []
    (change,) = query.feed(Remove(region=MANY + 19), "s")
    assert change.kind == "remove"
    assert query.feed(Replace(region=MANY + 21, tsid=3, content=b"<b><x>8</x></b>"), "s") == []
    assert live.runs.opened == opened + 3


def test_a_fragment_with_several_records_is_opened_when_it_is_told(tmp_path: Path) -> None:
    text = records().replace(filler(MANY + 1, 3, "<b><x>1</x></b>"), filler(MANY + 1, 3, "<b><x>7</x><x>8</x></b>"))
    query = loaded('stream("s")/r/s/b/x[. > 6]', text, tmp_path)
    live = live_of(query)
    opened = live.runs.opened
    told = [emitted.change for emitted in query.take() if emitted.change.kind == "after"]
    assert [content_of(change) for change in told][:3] == [b"<x>7</x>", b"<x>8</x>", b"<x>7</x>"]
    assert live.runs.opened == opened + 1


def test_a_record_that_fails_is_opened_alone(tmp_path: Path) -> None:
    bad = MANY + 77
    query = loaded('sum(stream("s")//b/x)', records({bad: "many"}), tmp_path)
    assert live_of(query).runs.standing == MANY // 2 - 1
    assert query.failure is not None
    assert query.failure.code == "FORG0001"
    query.feed(Replace(region=bad, tsid=3, content=b"<b><x>7</x></b>"), "s")
    assert serialise(query.answer().items()) == "5000"


def test_an_odd_change_does_not_keep_the_others_from_standing_in_runs(tmp_path: Path) -> None:
    place = f'<stream:filler id="{MANY + 501}"'
    odd = f'<stream:filler id="{MANY + 401}" tsid="3" version="2"><b><x>100</x></b></stream:filler>'
    query = loaded('sum(stream("s")//b/x)', records().replace(place, odd + place), tmp_path)
    assert serialise(query.answer().items()) == "5099"
    assert live_of(query).runs.standing >= MANY // 2 - 1


def test_a_fragment_with_few_holes_is_one_of_a_run_and_its_holes_with_it(tmp_path: Path) -> None:
    inside = f"<x>1</x>{holes([1, 2], 5)}"
    text = records({MANY + 1: "1"}).replace(
        f'<stream:filler id="{MANY + 1}" tsid="3"><b><x>1</x></b></stream:filler>',
        filler(MANY + 1, 3, f"<b>{inside}</b>") + filler(1, 5, "<c>one</c>"),
    )
    query = loaded('count(stream("s")//b[c])', text, tmp_path)
    live = live_of(query)
    assert serialise(query.answer().items()) == "1"
    assert live.runs.standing == MANY // 2
    query.feed(Remove(region=1), "s")
    assert serialise(query.answer().items()) == "0"
    query.feed(Fill(region=2, tsid=5, content=b"<c>two</c>"), "s")
    assert serialise(query.answer().items()) == "1"
    assert live.runs.standing == MANY // 2 - 1


def test_evaluations_are_as_many_as_records(tmp_path: Path) -> None:
    query = loaded('sum(stream("s")//b/x)', records(), tmp_path)
    state = query.state()
    assert state["evaluated"] == MANY // 2
    assert state["operators"][0]["members"] == MANY // 2
    assert state["streams"]["s"]["opened"] == MANY // 2 + MANY // SECTION + 1


def test_in_the_mode_certain_holes_stand_in_no_runs_for_they_are_asked_whether_they_are_open(tmp_path: Path) -> None:
    file = tmp_path / "stream.xml"
    file.write_text(records().replace(filler(MANY + 1, 3, "<b><x>1</x></b>"), ""))
    query = xstreamcast.continuous('count(stream("s")//b)', emit="certain")
    said: list[str] = []

    def ask(_: int) -> None:
        query.inflow.go_on()
        said.append(query.text())

    query.inflow.load(str(file), "s", ask)
    assert set(said) == {""}, "one is still to come"
    assert query.text() == str(MANY // 2 - 1), "none comes any more"


def test_where_nothing_is_different_nothing_is_told_of_what_was_told_in_runs(tmp_path: Path) -> None:
    query = loaded('stream("s")//b[x = "9"]/x', records(), tmp_path)
    assert sum(emitted.change.kind == "after" for emitted in query.take()) == MANY // 10
    inner = "".join(holes([n], 3 if n % 2 else 6) for n in range(MANY, MANY + SECTION))
    again = Replace(region=10_000 + MANY, tsid=2, content=f'<s again="yes">{inner}</s>'.encode())
    assert query.feed(again, "s") == []
    grown = STRUCTURE.replace('name="o" type="filler"/>', 'name="o" type="filler"><tag id="7" name="p"/></tag>')
    assert query.feed(parse_structure(grown), "s") == []
    assert len(query.answer().items()) == MANY // 10
    moved = "".join(holes([n], 3) for n in range(MANY + 1, MANY + 20, 2))
    told = query.feed(Replace(region=10_000 + MANY, tsid=2, content=f"<s>{moved}</s>".encode()), "s")
    assert {change.kind for change in told} == {"remove"}
    assert len(told) == SECTION // 10 - 2


def test_an_open_hole_of_what_a_file_brought_is_told_as_a_hole(tmp_path: Path) -> None:
    """Of fragments in a run those that have open holes are told by member; the others stay where they are."""
    waits = 2001
    text = records().replace(f"<b><x>{waits % 10}</x></b>", f"<b><x>{'7' * 3000}</x>{holes([9], 5)}</b>", 1)
    file = tmp_path / "stream.xml"
    file.write_text(text)
    query = xstreamcast.continuous('stream("s")//b')
    sink = Materialiser()
    for change in query.load(str(file), "s"):
        sink.apply(change)
    assert live_of(query).runs.standing == MANY // 2 - 1
    told = list(query.feed(Fill(region=9, tsid=5, content=b"<c>3</c>"), "s"))
    assert [(change.kind, getattr(change, "content", b"")) for change in told] == [("fill", b"<c>3</c>")]
    for change in told:
        sink.apply(change)
    assert sink.text() == query.text()
    assert query.text().startswith(f"<b><x>{'7' * 3000}</x><c>3</c></b><b><x>3</x></b>")
