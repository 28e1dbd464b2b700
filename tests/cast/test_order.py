"""The order of fragments on their way out: document, breadth, priority, shuffle; and repeats."""

from __future__ import annotations

import io
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.cast import ORDERS, Order, fragment, order
from xstreamcast.cast.order import Record, Spool, in_order, with_repeats
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Eos, Fill, Repeat
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import START
from xstreamcast.wire.fragment import read_stream

checked = settings(max_examples=60, derandomize=True, deadline=None)

STRUCTURE = parse_structure(
    '<structure><tag id="1" name="n" type="filler"><tag ref="1"/><tag id="2" name="m" type="filler" priority="5">'
    '<tag ref="1"/><tag ref="2"/><tag ref="3"/></tag>'
    '<tag id="3" name="k" type="filler" priority="1"/></tag></structure>'
)
trees = st.recursive(
    st.sampled_from(["<n/>", "<m/>", "<k/>"]),
    lambda inner: st.builds("<{0}>{1}</{0}>".format, st.sampled_from("nm"), st.lists(inner, max_size=3).map("".join)),
    max_leaves=12,
).map("<n>{}</n>".format)


def sent(document: str, how: Order, seed: int = 0, repeat: float = 0.0) -> list[Fill | Repeat]:
    out = io.BytesIO()
    fragment(io.BytesIO(document.encode()), out, STRUCTURE, order=how, seed=seed, repeat=repeat)
    changes = [arrival.item for arrival in read_stream(io.BytesIO(out.getvalue()))][1:]
    assert changes[-1] == Eos(), "the end is sent once, and last"
    return [change for change in changes[:-1] if isinstance(change, Fill | Repeat)]


def ids(document: str, how: Order, seed: int = 0, repeat: float = 0.0) -> list[int]:
    return [change.region for change in sent(document, how, seed, repeat)]


def levels(document: str) -> dict[int, int]:
    """The depth of every fragment; ids are numbered in document order."""
    depth, found = 0, []
    for token in document.replace("/>", "></>").split("<")[1:]:
        if token.startswith("/"):
            depth -= 1
        else:
            found.append(depth)
            depth += 1
    return dict(enumerate(found))


@checked
@given(trees)
def test_document_order_sends_parents_before_children_in_document_order(document: str) -> None:
    assert ids(document, "document") == list(levels(document))


@checked
@given(trees)
def test_breadth_order_sends_level_by_level_each_in_document_order(document: str) -> None:
    depth = levels(document)
    assert ids(document, "breadth") == sorted(depth, key=lambda region: (depth[region], region))


@checked
@given(trees)
def test_priority_order_sends_higher_priorities_first_each_in_document_order(document: str) -> None:
    changes = sent(document, "priority")
    keys = [(-STRUCTURE.tag(change.tsid or 0).priority, change.region) for change in changes]
    assert keys == sorted(keys)


@checked
@given(trees, st.integers(0, 5))
def test_shuffling_loses_and_doubles_nothing_and_depends_on_the_seed_alone(document: str, seed: int) -> None:
    first = ids(document, "shuffle", seed)
    assert sorted(first) == list(levels(document))
    assert ids(document, "shuffle", seed) == first


def test_different_seeds_give_different_orders() -> None:
    document = "<n>" + "<k/>" * 50 + "</n>"
    orders = {tuple(ids(document, "shuffle", seed)) for seed in range(5)}
    assert len(orders) == 5
    assert tuple(range(51)) not in orders


@pytest.mark.parametrize("how", ORDERS)
def test_repeats_come_after_what_they_repeat_and_say_the_same(how: Order) -> None:
    changes = sent("<n>" + "<k/>" * 300 + "</n>", how, 3, 0.5)
    first: dict[int, bytes] = {}
    for change in changes:
        if isinstance(change, Fill):
            assert change.region not in first
            first[change.region] = change.content
        else:
            assert first[change.region] == change.content
    repeats = sum(isinstance(change, Repeat) for change in changes)
    assert 100 < repeats < 200


def test_a_probability_of_one_repeats_everything_once_and_of_zero_nothing() -> None:
    document = "<n>" + "<k/>" * 20 + "</n>"
    assert set(Counter(ids(document, "shuffle", 1, 1.0)).values()) == {2}
    assert set(Counter(ids(document, "shuffle", 1, 0.0)).values()) == {1}


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_probability_that_is_none_is_refused(probability: float) -> None:
    with pytest.raises(XStreamError, match="repeat probability"):
        ids("<n/>", "document", 0, probability)


# -- spools -----------------------------------------------------------------------------------------------------------


def record(region: int, content: bytes = b"x", level: int = 0) -> Record:
    return Record(level, region, 1, None, content, len(content))


def test_a_spool_gives_back_what_was_put_in() -> None:
    records = [
        record(1),
        record(2, b""),
        Record(3, 2**40, 5, START, b"<a/>", 4, 7, True, True),
        Record(0, 4, 1, -1, b"\x00\n", 2),
    ]
    spool = Spool()
    for item in records:
        spool.add(item)
    assert list(spool) == records


def test_a_spool_takes_content_from_disk_and_gives_large_content_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "IN_MEMORY", 10)
    spool = Spool()
    spool.add(Record(0, 1, 1, None, io.BytesIO(b"y" * 25), 25))
    spool.add(record(2, b"z"))
    large, small = spool
    assert not isinstance(large.content, bytes)
    assert large.content.read() == b"y" * 25
    assert small.content == b"z"


def test_buckets_that_are_too_large_are_spread_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "BUCKET", 2000)
    records = [record(n, b"some content") for n in range(3000)]
    shuffled = [r.region for r in in_order(iter(records), "shuffle", STRUCTURE, random.Random(1))]
    assert sorted(shuffled) == list(range(3000))
    assert shuffled != sorted(shuffled)


def test_one_fragment_larger_than_a_bucket_is_shuffled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "BUCKET", 100)
    records = [record(1, b"x" * 500), record(2), record(3)]
    shuffled = [r.region for r in in_order(iter(records), "shuffle", STRUCTURE, random.Random(1))]
    assert sorted(shuffled) == [1, 2, 3]


def test_repeats_are_delayed_but_not_beyond_the_end() -> None:
    again = [r for r in with_repeats([record(n) for n in range(5)], 1.0, random.Random(2)) if r.again]
    assert sorted(r.region for r in again) == [0, 1, 2, 3, 4]
