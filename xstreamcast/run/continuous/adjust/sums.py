"""Reductions that follow their members: what one adds, how sums are put together, and the value that comes of them.

What sums are made of, and whether they can be undone, is up to the aggregate (:mod:`xstreamcast.operators.aggregates`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xstreamcast.model.atomic import Item
from xstreamcast.operators.monoid import COUNT, Monoid
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import Concat, Fold, Reduce, Reduction, Slice
from xstreamcast.plan.decompose.folds import last_item
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.associate.mounts import Nested
from xstreamcast.run.continuous.associate.runs import Run
from xstreamcast.run.continuous.associate.standing import ordered


def monoid_of(reduction: Reduction) -> Monoid[Any]:
    """What sums of a reduction's members are made of."""
    return reduction.aggregate.summaries.monoid if isinstance(reduction, Reduce) else COUNT


def contribution(reduction: Reduction, items: list[Item], fresh: Callable[[], State]) -> Any:
    """What the items of one member add."""
    return reduction.aggregate.summaries.summary(items, fresh) if isinstance(reduction, Reduce) else len(items)


def outcomes(sequence: Sequence[Any]) -> Iterator[list[Item]]:
    """The items of all that is visible, in document order."""
    stack: list[Iterator[Entry[Any]]] = [iter(sequence)]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
        elif not entry.hidden:
            item = entry.item
            if isinstance(item, Run):
                yield from [found for found in item.outcomes if found]
            elif getattr(item, "places", None) is None:
                yield item.outcome
            else:
                stack.append(iter(content_of(entry)))


def size(sequence: Sequence[Any], unit: int) -> int:
    """How many members of a unit there are; of a fragment in a run, one."""
    found, waiting = 0, [sequence]
    while waiting:
        for entry in waiting.pop():
            item = entry.item
            if isinstance(item, Run):
                found += len(item.fillings) - item.fillings.count(None)
            elif getattr(item, "places", None) is None:
                found += item.unit == unit
                waiting += (item.inner or {}).values()
            elif not isinstance(item, Nested):  # the frame itself tells of it
                waiting.append(content_of(entry))
    return found


def members(sequence: Sequence[Any]) -> Iterator[Any]:
    """All visible members in document order, those in regions inside too. What stands in runs is opened."""
    stack: list[Iterator[Entry[Any]]] = [iter(list(sequence))]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
        elif not entry.hidden:
            item = entry.item
            if isinstance(item, Run):
                stack.append(iter(item.opened()))
            elif getattr(item, "places", None) is None:
                yield item
            else:
                stack.append(iter(list(content_of(entry))))


def every(sequence: Sequence[Any]) -> Iterator[Any]:
    """All members of a sequence, hidden ones and those inside of frames too. What stands in runs is opened."""
    waiting: list[Any] = [sequence]
    while waiting:
        for entry in list(waiting.pop()):
            if isinstance(entry.item, Run):
                waiting.append(entry.item.opened())
            elif getattr(entry.item, "places", None) is None:
                yield entry.item
                waiting += (entry.item.inner or {}).values()
            elif not isinstance(entry.item, Nested):  # the frame itself tells of it
                waiting.append(content_of(entry))


def content_of(entry: Entry[Any]) -> Sequence[Any]:
    """The sequence of the region whose place an entry is."""
    occurrence = entry.item
    for unit, place in occurrence.places.items():
        if place is entry:
            found: Sequence[Any] = occurrence.content[unit]
            return found
    raise AssertionError("an entry of an occurrence is one of its places")


def value(reduction: Reduction, sequence: Sequence[Any], fresh: Callable[[], State]) -> list[Item]:
    """The value of a reduction."""
    match reduction:
        case Concat():
            return ordered([item for found in outcomes(sequence) for item in found])
        case Slice(first, last):
            return ordered(_slice(sequence, max(first, 1), last))
        case Reduce():
            return reduction.aggregate.summaries.value(sequence.total, fresh)
        case Fold() if reduction == last_item():
            return _slice(sequence, max(sequence.total, 1), None)
    state = fresh()
    for member in members(sequence):
        state.add(member.outcome)
    return state.value()


def _slice(sequence: Sequence[int], first: int, last: int | None) -> list[Item]:
    """Items by number: found through the counts, not by walking over what is before."""
    found: list[Item] = []
    place, end = first, sequence.total if last is None else min(last, sequence.total)
    while place <= end:
        member, number = member_at(sequence, place)
        items = member.outcome[number - 1 :][: end - place + 1]
        found += items
        place += len(items)
    return found


def member_at(sequence: Sequence[int], place: int) -> tuple[Any, int]:
    """The visible member with the item of a number, and the item's number in it, from 1: what is in a run is opened."""
    while True:
        holder, number = holder_at(sequence, place)
        if not isinstance(holder, Run):
            return holder, number
        holder.opened()


def holder_at(sequence: Sequence[int], place: int) -> tuple[Any, int]:
    """The visible member, or run, with the item of a number, and the item's number in it, from 1: O(depth · log n)."""
    within, rest = sequence, place
    while True:
        reach = rest
        entry = within.find(lambda count, reach=reach: count >= reach)  # type: ignore[misc]  # bound at once
        assert entry is not None, "there are as many items as the counts say"
        rest -= within.before_here(entry)
        if getattr(entry.item, "places", None) is None:
            return entry.item, rest
        within = content_of(entry)
