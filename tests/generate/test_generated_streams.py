"""Streams of changes: deterministic, true to their structures, and T(initial changes) = the document."""

from __future__ import annotations

import io
import random
import re
import tracemalloc
from collections.abc import Iterator
from functools import cache

import pytest
from lxml import etree

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.generate import NAMES, find
from xstreamcast.model.change import After, Before, Change, ContentChange, Eos, Fill, Repeat
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.wire.fragment import encode_change

STREAMS = [name for name in NAMES if find(name).changes is not None]
TIMED = ["credit", "packets", "radar", "traffic"]
_HOLE = re.compile(rb'<stream:hole id="(\d+)" tsid="(\d+)"/>')
_MUTABLE = re.compile(rb'<stream:mutable id="(\d+)">')


def changes(name: str, factor: float = 0.05, seed: int = 1, updates: int = 600) -> Iterator[tuple[str, Change]]:
    made = find(name).changes
    assert made is not None
    return made(factor, seed, updates)


@cache
def sent(name: str) -> dict[str, list[Change]]:
    """The changes of each stream."""
    streams: dict[str, list[Change]] = {stream: [] for stream in find(name).structures}
    for stream, change in changes(name):
        streams[stream].append(change)
    return streams


def structure(name: str, stream: str) -> Structure:
    return parse_structure(find(name).structures[stream])


def encoded(name: str, seed: int) -> bytes:
    return b"".join(stream.encode() + encode_change(change) for stream, change in changes(name, seed=seed, updates=200))


@pytest.mark.parametrize("name", STREAMS)
def test_equal_seeds_give_equal_changes_and_other_seeds_do_not(name: str) -> None:
    assert encoded(name, 1) == encoded(name, 1)
    assert encoded(name, 1) != encoded(name, 2)


@pytest.mark.parametrize("name", STREAMS)
def test_updates_come_after_the_same_initial_changes_and_before_the_ends(name: str) -> None:
    streams = len(find(name).structures)
    few, many = list(changes(name, updates=0)), list(changes(name, updates=50))
    assert len(many) == len(few) + 50
    assert many[: len(few) - streams] == few[:-streams]
    for arrivals in (few, many):
        ends = arrivals[-streams:]
        assert [stream for stream, _ in ends] == list(find(name).structures)
        assert all(isinstance(change, Eos) for _, change in ends)
        assert not any(isinstance(change, Eos) for _, change in arrivals[:-streams])


@pytest.mark.parametrize("name", STREAMS)
def test_contents_are_what_their_tsid_says(name: str) -> None:
    for stream, arrived in sent(name).items():
        tags = structure(name, stream)
        for change in arrived:
            if isinstance(change, ContentChange) and change.tsid is not None and change.content:
                root = etree.fromstring(b'<w xmlns:stream="urn:xstreamcast:stream">' + change.content + b"</w>")
                assert [child.tag for child in root] == [tags.tag(change.tsid).name]
                timed = tags.tag(change.tsid).timed
                assert timed == (change.valid_time is not None)
                for _, tsid in _HOLE.findall(change.content):
                    assert tags.tag(int(tsid)).fragment


@pytest.mark.parametrize("name", STREAMS)
def test_every_region_that_changes_has_a_place(name: str) -> None:
    for stream, arrived in sent(name).items():
        tags = structure(name, stream)
        tops = {0} | {c.region for c in arrived if tags.unnamed and c.tsid == 1}
        places = {int(number): int(tsid) for c in arrived for number, tsid in _HOLE.findall(getattr(c, "content", b""))}
        regions = {int(number) for c in arrived for number in _MUTABLE.findall(getattr(c, "content", b""))}
        regions |= {change.region for change in arrived if isinstance(change, Before | After)}
        for change in arrived:
            target = getattr(change, "target", None)
            assert change.region in tops or change.region in places or change.region in regions or target is not None
            assert target is None or target in places or target in regions
            if change.region in places and isinstance(change, Fill | Repeat):
                assert places[change.region] == change.tsid


@pytest.mark.parametrize("name", STREAMS)
def test_region_ids_only_grow(name: str) -> None:
    """An id that is new to the stream is greater than all before it."""
    for arrived in sent(name).values():
        known, greatest = {0}, 0
        for change in arrived:
            content = getattr(change, "content", b"")
            for number in [change.region, *(int(n) for n in re.findall(rb'<stream:\w+ id="(\d+)"', content))]:
                assert number in known or number > greatest
                known.add(number)
                greatest = max(greatest, number)


@pytest.mark.parametrize("name", STREAMS)
def test_versions_of_a_region_rise_by_one(name: str) -> None:
    for arrived in sent(name).values():
        last: dict[int, int] = {}
        for change in arrived:
            if isinstance(change, Eos) or change.version is None:
                continue
            region = getattr(change, "target", None) or change.region
            expected = last.get(region, 0) + (not isinstance(change, Repeat))
            assert change.version in (expected, expected + (region not in last))
            last[region] = change.version


@pytest.mark.parametrize("name", STREAMS)
def test_a_region_that_changes_again_says_its_version(name: str) -> None:
    for arrived in sent(name).values():
        times: dict[int, list[Change]] = {}
        for change in arrived:
            times.setdefault(getattr(change, "target", None) or change.region, []).append(change)
        for together in times.values():
            again = [c for c in together if not isinstance(c, Before | After | Eos)]
            assert len(again) < 2 or all(change.version is not None for change in again[1:])


@pytest.mark.parametrize("name", TIMED)
def test_times_never_go_back_once_the_story_runs(name: str) -> None:
    initial = sum(1 for _ in changes(name, updates=0)) - len(find(name).structures)
    first = initial if name == "credit" else 0
    times = [change.valid_time for _, change in list(changes(name))[first:] if change.valid_time is not None]
    assert len(times) >= 600
    assert times == sorted(times)


@pytest.mark.parametrize("name", [name for name in STREAMS if find(name).document is not None])
@pytest.mark.parametrize("factor", [0.001, 0.1])
def test_the_initial_changes_describe_the_document(name: str, factor: float) -> None:
    made = find(name)
    first = next(iter(made.structures))
    diagnostics: list[Diagnostic] = []
    known = Materialiser(structure(name, first), diagnostics.append)
    for stream, change in changes(name, factor, 3, 0):
        if stream == first:
            known.apply(change)
    assert made.document is not None
    expected = b"".join(made.document(factor, 3))
    assert canonical(b"".join(known.document("", None, diagnostics.append))) == canonical(expected)
    assert not diagnostics


def canonical(document: bytes) -> bytes:
    return etree.tostring(etree.fromstring(document), method="c14n")


@pytest.mark.parametrize("name", STREAMS)
def test_versions_make_the_arrival_order_irrelevant(name: str) -> None:
    for stream, arrived in sent(name).items():
        if stream == "ticker":  # an update stream speaks of regions that are there
            continue
        shuffled = list(arrived)
        random.Random(5).shuffle(shuffled)
        texts = []
        for order in (arrived, shuffled):
            known = Materialiser(structure(name, stream))
            for change in order:
                known.apply(change)
            texts.append(known.text())
        assert texts[0] == texts[1]


@pytest.mark.parametrize("name", STREAMS)
def test_nothing_in_a_stream_is_put_aside(name: str) -> None:
    for stream, arrived in sent(name).items():
        diagnostics: list[Diagnostic] = []
        known = Materialiser(structure(name, stream), diagnostics.append)
        for change in arrived:
            known.apply(change)
        assert known.ended
        assert known.text()
        assert not diagnostics


@pytest.mark.parametrize("name", ["packets", "radar", "traffic", "currencies", "stock", "commodities"])
def test_memory_does_not_grow_with_the_number_of_changes(name: str) -> None:
    def peak(updates: int) -> int:
        tracemalloc.start()
        for _ in changes(name, 0.05, 1, updates):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(3_000) < 2 * peak(800) + 100_000


def test_the_credit_structure_is_the_papers() -> None:
    tags = structure("credit", "credit")
    assert [(tag.id, tag.name, tag.type) for tag in sorted(tags.tags.values(), key=lambda tag: tag.id)] == [
        (1, "creditAccounts", "snapshot"),
        (2, "account", "temporal"),
        (3, "customer", "snapshot"),
        (4, "creditLimit", "temporal"),
        (5, "transaction", "event"),
        (6, "vendor", "snapshot"),
        (7, "status", "temporal"),
        (8, "amount", "snapshot"),
    ]


def test_the_wire_form_of_a_stream_is_well_formed_xml() -> None:
    from xstreamcast.wire.fragment import FragmentWriter

    for name in STREAMS:
        for stream, arrived in sent(name).items():
            out = io.BytesIO()
            writer = FragmentWriter(out, structure(name, stream))
            for change in arrived:
                writer.write(change)
            writer.close()
            assert len(etree.fromstring(out.getvalue())) == len(arrived) + 1
