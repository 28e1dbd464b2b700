"""Order trees against plain lists."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.operators.monoid import COUNT, Monoid
from xstreamcast.run.continuous.adjust.order import Entry, Sequence

SMALLEST: Monoid[float] = Monoid(math.inf, min)
JOINED: Monoid[str] = Monoid("", lambda a, b: a + b)


@pytest.mark.parametrize("monoid", [COUNT, SMALLEST, JOINED], ids=["count", "min", "concat"])
@given(steps=st.lists(st.tuples(st.sampled_from("aapbirruhs"), st.integers(0, 10**6)), max_size=300))
@settings(max_examples=40, deadline=None)
def test_total_order_and_sums_before_follow_every_change(monoid: Monoid[Any], steps: list[tuple[str, int]]) -> None:
    made = {"": str, 0: int, math.inf: float}[monoid.zero]
    tree: Sequence[Any] = Sequence(monoid)
    model: list[Entry[Any]] = []
    for step, number in steps:
        value = str(number % 10) if made is str else made(number % 100)
        at = number % len(model) if model else 0
        if step == "p" or not model:
            model.insert(0, tree.prepend(Entry(number, value)))
        elif step == "a":
            model.append(tree.append(Entry(number, value)))
        elif step == "b":
            model.insert(at, tree.insert_before(model[at], Entry(number, value)))
        elif step == "i":
            model.insert(at + 1, tree.insert_after(model[at], Entry(number, value)))
        elif step == "r":
            tree.remove(model.pop(at))
        elif step == "u":
            tree.update(model[at], value)
        else:
            tree.hide(model[at], step == "h")
        seen = [entry.summary for entry in model if not entry.hidden]
        assert tree.total == fold(monoid, seen)
    assert list(tree) == model
    assert len(tree) == len(model)
    for number, entry in enumerate(model):
        assert tree.before(entry) == fold(monoid, [e.summary for e in model[:number] if not e.hidden])


def fold(monoid: Monoid[Any], values: list[Any]) -> Any:
    total = monoid.zero
    for value in values:
        total = monoid.add(total, value)
    return total


@given(st.lists(st.integers(0, 9), max_size=400), st.integers(0, 400))
@settings(max_examples=60, deadline=None)
def test_the_nth_visible_entry_is_found_by_its_number(values: list[int], nth: int) -> None:
    tree = Sequence(COUNT, [Entry(k, 1) for k in range(len(values))])
    for entry, value in zip(list(tree), values, strict=True):
        tree.hide(entry, value < 3)
    visible = [entry.item for entry in tree if not entry.hidden]
    found = tree.find(lambda count: count > nth)
    assert (found.item if found else None) == (visible[nth] if nth < len(visible) else None)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=300))
@settings(max_examples=60, deadline=None)
def test_sorted_entries_stand_after_their_equals(steps: list[tuple[int, bool]]) -> None:
    tree: Sequence[int] = Sequence(COUNT)
    model: list[Entry[int]] = []
    for number, (key, add) in enumerate(steps):
        if add or not model:
            entry = tree.insert_sorted(Entry(number, 1, key))
            model.append(entry)
            model.sort(key=lambda e: (e.key, e.item))
        else:
            tree.remove(model.pop(key % len(model)))
        assert [e.item for e in tree] == [e.item for e in model]


def test_a_sequence_inside_a_sequence_adds_its_total_and_hides_as_one() -> None:
    outer: Sequence[int] = Sequence(COUNT, [Entry("a", 1), Entry("region", 0), Entry("z", 1)])
    first, place, last = outer
    inner = Sequence(COUNT, [Entry(k, 1) for k in range(100)], place)
    outer.update(place, inner.total)
    assert outer.total == 102
    members = list(inner)
    inner.remove(members[10])
    assert outer.total == 101
    assert inner.before(members[50]) == 1 + 49
    assert outer.before(last) == 100
    before = inner.touched
    outer.hide(place, True)
    assert (outer.total, inner.touched) == (2, before), "hiding visits none of the members"
    inner.append(Entry("new", 1))
    assert outer.total == 2
    outer.hide(place, False)
    assert outer.total == 102
    assert first.sequence is outer


@pytest.mark.parametrize("monoid", [COUNT, SMALLEST], ids=["count", "min"])
def test_a_change_touches_logarithmically_many_blocks(monoid: Monoid[Any]) -> None:
    costs = []
    for size in (1_000, 100_000):
        tree: Sequence[Any] = Sequence(monoid, [Entry(k, 1) for k in range(size)])
        entries = list(tree)
        shuffled = random.Random(7)
        tree.touched = 0
        for _ in range(200):
            tree.update(shuffled.choice(entries), 2)
            tree.remove(entries.pop(shuffled.randrange(len(entries))))
            entries.append(tree.insert_after(shuffled.choice(entries), Entry("new", 1)))
        costs.append(tree.touched)
    assert costs[1] <= 2.5 * costs[0], costs
