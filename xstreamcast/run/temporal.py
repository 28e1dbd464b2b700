"""XCQL on temporal views (SIGMOD'04 §2, §6): lifespans, interval and version projection, Allen's relations.

In the view, elements of temporal and event tags carry ``vtFrom`` and ``vtTo``. A version lives in [vtFrom, vtTo), an
event at [t, t]; the lifespan of any other element is the hull of its children's, of a leaf [start, now]. Copies made
by projections, and copies of them, remember beside the tree whether an end is closed, which attributes cannot say; so
``e?[a]?[b] = e?[a ∩ b]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.cast import cast
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import Array
from xstreamcast.model.names import ATTRIBUTE, DOCUMENT, ELEMENT, intern
from xstreamcast.model.time import (
    ALWAYS,
    NOW,
    START,
    Instant,
    Interval,
    allen,
    event_lifespan,
    format_instant,
    parse_instant,
    version_lifespan,
)
from xstreamcast.model.tree import Node, Tree
from xstreamcast.model.types import STRING, TYPES, describe

if TYPE_CHECKING:
    from xstreamcast.run.evaluate import EvaluationContext

VT_FROM: Final = intern(ATTRIBUTE, "", "vtFrom")
VT_TO: Final = intern(ATTRIBUTE, "", "vtTo")
_EPOCH: Final = dt.ordinal(1970, 1, 1) * dt.DAY


def moment(text: str) -> dt.DateTime:
    """An instant as written inside brackets: a date is its midnight, no zone is UTC."""
    parsed = dt.parse_moment(dt.DateTime, text if "T" in text else f"{text[:10]}T00:00:00{text[10:]}")
    if not isinstance(parsed, dt.DateTime):
        raise error("FORG0001", f'"{text}" is not a time')
    return parsed if parsed.tz is not None else dt.DateTime(parsed.local, 0)


def duration(text: str) -> dt.Duration:
    """A duration as written inside brackets, of the subtype that can be added to a time."""
    parsed = dt.parse_duration(text)
    if parsed is None:
        raise error("FORG0001", f'"{text}" is not a duration')
    if not parsed.months:
        return dt.DayTimeDuration(0, parsed.ticks)
    return dt.YearMonthDuration(parsed.months) if not parsed.ticks else parsed


START_OF_TIME: Final = moment("0001-01-01T00:00:00Z")
"""``start`` as a dateTime: earlier than anything a stream says."""


def instant_of(value: dt.DateTime) -> Instant:
    """A dateTime as an instant of the time line; :data:`START_OF_TIME` is its beginning."""
    return START if value == START_OF_TIME else (value.utc - _EPOCH) // 1000


def moment_at(instant: Instant) -> dt.DateTime:
    """A proper instant as a dateTime."""
    return START_OF_TIME if instant == START else dt.DateTime(instant * 1000 + _EPOCH, 0)


def moment_of(ctx: EvaluationContext, instant: Instant) -> dt.DateTime:
    """An instant as a dateTime; the open end of what still lasts is the current time."""
    return ctx.now if instant == NOW else moment_at(instant)


def _instant(items: list[Item], role: str) -> Instant | None:
    """The instant that an expression inside brackets gives."""
    values = atomize(items)
    if not values:
        return None
    if len(values) > 1:
        raise error("XPTY0004", f"{role} has {len(values)} values where one is allowed")
    value = values[0]
    if isinstance(value, dt.Date):
        value = cast(value, TYPES["dateTime"])
    if type(value) is Untyped or type(value) in STRING.classes:
        try:
            return parse_instant(value)
        except XStreamError as fault:
            raise error("FORG0001", f"{role}: {fault.message}", hint=fault.hint) from None
    if not isinstance(value, dt.DateTime):
        raise error("XPTY0004", f"{role} must be a time, not {describe(value)}")
    return instant_of(value)


# ---------------------------------------------------------------------------------------------------- lifespans


def timed(node: Node) -> bool:
    """Whether an element is a version or an event: whether it carries its lifespan."""
    return node.kind == ELEMENT and node[0].attribute(node[1], VT_FROM) is not None


def lifespan(ctx: EvaluationContext, node: Node) -> Interval:
    """When an element lives."""
    tree, row = node[0], node[1]
    known = tree.lifespans.get(row)
    if known is not None:
        return known
    begin = tree.attribute(row, VT_FROM)
    if begin is not None:
        first = parse_instant(begin)
        last = parse_instant(tree.attribute(row, VT_TO) or "now")
        return event_lifespan(first) if first == last else version_lifespan(first, last)
    hull: Interval | None = None
    for child in tree.children(row):
        if tree.kind[child] == ELEMENT:
            own = lifespan(ctx, Node((tree, child)))
            hull = own if hull is None else hull.hull(own)
    return ALWAYS if hull is None else hull


def _the_element(items: list[Item], role: str) -> Node | None:
    if not items:
        return None
    if len(items) > 1 or not isinstance(items[0], Node) or items[0].kind != ELEMENT:
        raise error("XPTY0004", f"{role} needs one element", hint="loop over several with for")
    return items[0]


def vt_from(ctx: EvaluationContext, items: list[Item]) -> dt.DateTime | None:
    """``vtFrom(e)``: when the life of an element begins."""
    node = _the_element(items, "vtFrom()")
    return None if node is None else moment_of(ctx, lifespan(ctx, node).begin)


def vt_to(ctx: EvaluationContext, items: list[Item]) -> dt.DateTime | None:
    """``vtTo(e)``: when it ends; of what still lasts, now."""
    node = _the_element(items, "vtTo()")
    return None if node is None else moment_of(ctx, lifespan(ctx, node).end)


# --------------------------------------------------------------------------------------------------- projections


def interval_projection(
    ctx: EvaluationContext, items: list[Item], begin: list[Item], end: list[Item]
) -> list[Item]:
    """``e?[begin, end]``: what lives in the interval, clipped to it; other items pass."""
    first = _instant(begin, "the begin of an interval")
    last = _instant(end, "the end of an interval")
    if first is None or last is None or first > last:
        return []
    wanted = Interval(first, last)
    found: list[Item] = []
    for item in items:
        made = project(ctx, item, wanted) if isinstance(item, Node) else item
        if made is not None:
            found.append(made)
    return found


def project(ctx: EvaluationContext, node: Node, wanted: Interval) -> Node | None:
    """A copy of an element or document with what lives in an interval, or None if it does not itself."""
    if node.kind not in (ELEMENT, DOCUMENT):
        return node
    if timed(node) and lifespan(ctx, node).intersect(wanted) is None:
        return None
    builder = TreeBuilder(node.base_uri)
    projection = _Projection(ctx, builder)
    if node.kind == DOCUMENT:
        builder.start_document()
        for child in node.children():
            projection.copy(child, wanted)
        builder.end()
    else:
        projection.copy(node, wanted)
    return builder.finish().root


class _Projection:
    """Copies a subtree, leaving out the dead and clipping the living."""

    def __init__(self, ctx: EvaluationContext, builder: TreeBuilder) -> None:
        self.ctx = ctx
        self.builder = builder

    def copy(self, node: Node, wanted: Interval) -> None:
        tree, row = node[0], node[1]
        builder = self.builder
        if tree.kind[row] != ELEMENT:
            builder.copy(node)
            return
        common: Interval | None = None
        if tree.attribute(row, VT_FROM) is not None:
            common = lifespan(self.ctx, node).intersect(wanted)
            if common is None:
                return
        elif self._untouched(tree, row):
            builder.copy(node)
            return
        made = len(builder.tree)
        builder.open(tree.name[row], tree.prefix[row])
        declared = tree.in_scope(row) if made == 0 else tree.namespaces.get(row, {})
        for prefix, uri in declared.items():
            builder.namespace(prefix, uri)
        self._attributes(tree, row, common)
        for child in tree.children(row):
            self.copy(Node((tree, child)), wanted)
        builder.end()
        if common is not None:
            builder.tree.lifespans[made] = common

    def _attributes(self, tree: Tree, row: int, common: Interval | None) -> None:
        for at in range(row + 1, tree.first_child(row)):
            name, value = tree.name[at], tree.value[at] or ""
            if common is not None and name == VT_FROM:
                value = format_instant(common.begin)
            elif common is not None and name == VT_TO:
                value = format_instant(common.end)
            self.builder.put_attribute(name, value, tree.prefix[at])

    def _untouched(self, tree: Tree, row: int) -> bool:
        """Whether nothing below is timed, so that the whole subtree is copied at once."""
        return not tree.has_descendant(row, VT_FROM)


def versions(ctx: EvaluationContext, items: list[Item]) -> list[Node]:
    """The versions and events among items, numbered by (vtFrom, document order)."""
    found = [item for item in items if isinstance(item, Node) and timed(item)]
    found.sort(key=lambda node: (lifespan(ctx, node).begin, node))
    return found


def count_versions(ctx: EvaluationContext, items: list[Item]) -> int:
    """The number ``last`` stands for inside ``#[ ]``."""
    return len(versions(ctx, items))


def version_projection(
    ctx: EvaluationContext, items: list[Item], bounds: list[list[Item]], own: list[list[Item]]
) -> list[Item]:
    """``e#[first, last]``: versions by number, their subtrees projected to their lifespans.

    A snapshot is a single version, its first and its last: ``own`` are the bounds where ``last`` is 1.
    """
    first, last = (_number(bound) for bound in bounds)
    chosen = [node for number, node in enumerate(versions(ctx, items), 1) if first <= number <= last]
    alone_first, alone_last = (_number(bound) for bound in own)
    alone = alone_first <= 1 <= alone_last
    snapshots = [item for item in items if alone and not (isinstance(item, Node) and timed(item))]
    found: list[Item] = []
    for item in [*chosen, *snapshots]:
        if isinstance(item, Node) and item.kind == ELEMENT:
            item = project(ctx, item, lifespan(ctx, item))
        if item is not None:
            found.append(item)
    return found


def _number(items: list[Item]) -> int:
    values = atomize(items)
    if len(values) != 1:
        raise error("XPTY0004", "a version number must be one integer")
    value = cast(values[0], TYPES["integer"]) if type(values[0]) is Untyped else values[0]
    if not isinstance(value, int) or isinstance(value, bool):
        raise error("XPTY0004", f"a version number must be an integer, not {describe(value)}")
    return value


# -------------------------------------------------------------------------------------------- Allen's relations


def _interval(ctx: EvaluationContext, item: Item) -> Interval | None:
    """An operand of a comparison of intervals: an element, a time, or an array of two times."""
    if isinstance(item, Node):
        if item.kind == ELEMENT:
            return lifespan(ctx, item)
        item = item.typed
    if isinstance(item, Array):
        members = item.members()
        if len(members) != 2:
            raise error("XPTY0004", f"an interval is [begin, end], not an array of {len(members)} members")
        first, last = (_instant(member, "an end of an interval") for member in members)
        if first is None or last is None or first > last:
            return None
        return Interval(first, last)
    at = _instant([item], "an operand of a comparison of intervals")
    return None if at is None else event_lifespan(at)


def allen_comparison(ctx: EvaluationContext, relation: str, left: list[Item], right: list[Item]) -> bool:
    """``left relation right``: whether it holds between some pair; nothing holds for the empty interval."""
    others = [span for item in right if (span := _interval(ctx, item)) is not None]
    for item in left:
        span = _interval(ctx, item)
        if span is not None and any(allen(span, other) == relation for other in others):
            return True
    return False
