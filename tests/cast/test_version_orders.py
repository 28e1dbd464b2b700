"""Changes of one region that say their versions give the same T in every order of arrival, of every kind of tag."""

from __future__ import annotations

from itertools import permutations

import pytest
from streams import after

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import ROW, Change, Fill, Freeze, Hide, Remove, Replace, Show, from_row, to_row
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import Instant, parse_instant
from xstreamcast.spark.motion.state_log import compacted

STRUCTURE = parse_structure(
    '<stream:structure><tag id="1" name="r"><tag id="2" name="u" type="filler"/><tag id="3" name="e" type="event"/>'
    '<tag id="4" name="t" type="temporal"/></tag></stream:structure>'
)
ROOT = Fill(region=0, tsid=1, content=b'<r><stream:hole id="1"/></r>')


def at(day: int) -> Instant:
    return parse_instant(f"2003-11-0{day}")


def fill(tsid: int, version: int, content: str, day: int | None = None) -> Fill:
    time = None if day is None else at(day)
    return Fill(region=1, tsid=tsid, version=version, valid_time=time, content=content.encode())


def instead(tsid: int, version: int, content: str, day: int | None = None) -> Replace:
    time = None if day is None else at(day)
    return Replace(region=1, tsid=tsid, version=version, valid_time=time, content=content.encode())


CASES: dict[str, list[Change]] = {
    "untimed": [fill(2, 1, "<u>1</u>"), instead(2, 2, "<u>2</u>"), Remove(region=1, version=3), fill(2, 4, "<u>4</u>")],
    "untimed, removed at last": [fill(2, 1, "<u>1</u>"), instead(2, 3, "<u>3</u>"), Remove(region=1, version=4)],
    "untimed, hidden": [
        fill(2, 1, "<u>1</u>"),
        Hide(region=1, version=2),
        Show(region=1, version=3),
        instead(2, 4, "<u>4</u>"),
        Hide(region=1, version=5),
    ],
    "event, replaced": [fill(3, 1, "<e>1</e>", 1), instead(3, 2, "<e>2</e>", 1)],
    "event, replaced twice": [fill(3, 1, "<e>1</e>", 1), instead(3, 2, "<e>2</e>", 1), instead(3, 3, "<e>3</e>", 1)],
    "event, newer ones beside it": [
        fill(3, 1, "<e>1</e>", 1),
        instead(3, 2, "<e>2</e>", 1),
        fill(3, 3, "<e>3</e>", 1),
        fill(3, 1, "<e>o</e>", 2),
    ],
    "event, replaced by nothing": [fill(3, 1, "<e>1</e>", 1), instead(3, 2, "", 1), fill(3, 1, "<e>2</e>", 1)],
    "temporal": [
        fill(4, 1, "<t>1</t>", 1),
        instead(4, 2, "<t>2</t>", 1),
        fill(4, 1, "<t>3</t>", 2),
        Remove(region=1, tsid=4, version=2, valid_time=at(2)),
        fill(4, 3, "<t>4</t>", 3),
    ],
    "frozen": [
        fill(2, 1, "<u>1</u>"),
        fill(2, 2, "<u>2</u>"),
        Freeze(region=1, version=3),
        Freeze(region=1, version=5),
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_versions_order_the_changes_of_one_region_whatever_the_order_of_arrival(case: str) -> None:
    changes = [ROOT, *CASES[case]]
    expected = after(changes, STRUCTURE)
    for order in permutations(changes):
        assert after(order, STRUCTURE) == expected, order


def test_a_replaced_event_stays_away() -> None:
    changes = [ROOT, instead(3, 2, "<e>new</e>", 1), fill(3, 1, "<e>old</e>", 1)]
    assert after(changes, STRUCTURE).count("<e ") == 1


def test_a_replacement_of_an_earlier_version_replaces_nothing_newer() -> None:
    changes = [ROOT, instead(3, 2, "<e>2</e>", 1), instead(3, 1, "<e>1</e>", 1)]
    assert ">2<" in after(changes, STRUCTURE)
    assert ">1<" not in after(changes, STRUCTURE)


def test_events_that_came_without_versions_are_replaced_in_the_order_of_arrival() -> None:
    one = Fill(region=1, tsid=3, valid_time=at(1), content=b"<e>1</e>")
    two = Replace(region=1, tsid=3, valid_time=at(1), content=b"<e>2</e>")
    assert after([ROOT, one, two], STRUCTURE).count("<e ") == 1
    assert after([ROOT, two, one], STRUCTURE).count("<e ") == 2


@pytest.mark.parametrize("tsid", [3, 4])
def test_a_change_without_a_version_counts_as_of_the_version_that_it_finds(tsid: int) -> None:
    name = "e" if tsid == 3 else "t"
    unversioned = Replace(region=1, tsid=tsid, valid_time=at(1), content=f"<{name}>now</{name}>".encode())
    older = fill(tsid, 2, f"<{name}>late</{name}>", 1)
    assert ">late<" not in after([ROOT, fill(tsid, 3, f"<{name}>3</{name}>", 1), unversioned, older], STRUCTURE)


def test_what_a_region_is_frozen_at_is_the_earliest_version_that_says_so() -> None:
    for freezes in permutations([Freeze(region=1, version=3), Freeze(region=1, version=5)]):
        assert ">2<" in after([ROOT, fill(2, 2, "<u>2</u>"), *freezes, fill(2, 4, "<u>4</u>")], STRUCTURE)


def test_a_replaced_event_stays_away_where_the_state_has_been_compacted() -> None:
    changes = [ROOT, fill(3, 3, "<e>3</e>", 1), instead(3, 2, "<e>2</e>", 1), fill(3, 1, "<e>1</e>", 2)]
    table, again = Materialiser(STRUCTURE), Materialiser(STRUCTURE)
    for change in changes:
        table.apply(change)
    rows = compacted([dict(zip(ROW, to_row(one, "s", 0), strict=True)) for one in changes], {"s": table}, None)
    assert rows is not None
    for row in rows:
        if row["change"] != "structure":
            again.apply(from_row(row))
    assert again.text() == table.text()
    again.apply(fill(3, 1, "<e>old</e>", 1))
    assert again.text() == table.text()
