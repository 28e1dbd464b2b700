"""XCQL on temporal views (SIGMOD'04 §2, §6): lifespans, interval and version projection, Allen's relations.

In the view, elements of temporal and event tags carry ``vtFrom`` and ``vtTo``. A version lives in [vtFrom, vtTo), an
event at [t, t]; the lifespan of any other element is the hull of its children's, of a leaf [start, now]. Copies made
by projections, and copies of them, remember beside the tree whether an end is closed, which attributes cannot say; so
``e?[a]?[b] = e?[a ∩ b]``.

Where a query goes on, the context has a *horizon* (``run/continuous/time/horizon.py``): whatever looks at the current
time tells it when it will come out otherwise. An end that was clipped by the clock is a :class:`Moving` one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import XStreamError, error
from xstreamcast.model import arithmetic
from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.cast import cast
from xstreamcast.model.compare import GENERAL, GENERAL_OPERATORS, VALUE
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
    from xstreamcast.run.continuous.time.horizon import Horizon
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


def instant_in(items: list[Item], role: str) -> Instant | None:
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


# ------------------------------------------------------------------------------------------------------ the clock


@dataclass(frozen=True, slots=True)
class Moving(Interval):
    """An interval of which an end goes on with the clock; ``turns``: its begin stands, and will go on from then on."""

    begin_moves: bool = False
    end_moves: bool = False
    turns: Instant | None = None


def _moves(span: Interval) -> tuple[bool, bool]:
    return (span.begin_moves, span.end_moves) if isinstance(span, Moving) else (False, False)


def look(horizon: Horizon | None, span: Interval, begin: bool = True, end: bool = True) -> None:
    """The ends of a lifespan are looked at: the horizon hears it, if they may go on with the clock."""
    if horizon is not None and isinstance(span, Moving):
        if (begin and span.begin_moves) or (end and span.end_moves):
            horizon.at_once()
        elif begin and span.turns is not None:
            horizon.reaches(span.turns)


def shifted(ctx: EvaluationContext, moving: Item | None, op: str, items: list[Item]) -> Item | None:
    """``moving op items``: a time, or an age, that goes on with the clock; evenly, unless there are months in it."""
    values = atomize(items)
    if moving is None or not values:
        return None
    if len(values) > 1:
        raise error("XPTY0004", f"an operand of {op} has {len(values)} values where one is allowed")
    if not isinstance(values[0], dt.DayTimeDuration | dt.DateTime) and ctx.horizon is not None:
        ctx.horizon.at_once()
    return (arithmetic.add if op == "+" else arithmetic.subtract)(moving, values[0])


def against_clock(
    ctx: EvaluationContext, op: str, items: list[Item], moving: Item | None, mirrored: bool
) -> bool | None:
    """``items op moving``, or mirrored: a comparison with a time or an age that goes on with the clock.

    It may come out otherwise when that reaches one of the items, and when it has passed it.
    """
    values = atomize(items)
    if ctx.horizon is not None and moving is not None:
        for value in values:
            _compared(ctx.horizon, GENERAL_OPERATORS.get(op, op), value, moving, mirrored)
    if op in GENERAL:
        others: list[Item] = [] if moving is None else [moving]
        return GENERAL[op](others, values) if mirrored else GENERAL[op](values, others)
    if not values or moving is None:
        return None
    if len(values) > 1:
        raise error("XPTY0004", f"an operand of {op} has {len(values)} values where one is allowed")
    return VALUE[op](moving, values[0]) if mirrored else VALUE[op](values[0], moving)


_PASSING: Final = frozenset({("lt", False), ("ge", False), ("gt", True), ("le", True)})
"""What comes out otherwise when the clock has passed a value: value < clock, value ≥ clock, and mirrored."""


def _compared(horizon: Horizon, op: str, value: Item, moving: Item, mirrored: bool) -> None:
    at, clock = _ticks(value), _ticks(moving)
    if at is None or clock is None or horizon.now == START:
        horizon.at_once()
        return
    (reached, exact), (time, _) = at, clock
    passing = (op, mirrored) in _PASSING
    if not passing or not exact:
        horizon.reaches(horizon.now + reached - time)
    if passing or not exact or op in ("eq", "ne"):
        horizon.reaches(horizon.now + reached - time + 1)


def _ticks(value: Item) -> tuple[int, bool] | None:
    """A time or a duration in microseconds, and whether in whole ones, if it is one of those that go on evenly."""
    if isinstance(value, dt.DateTime):
        return instant_of(value), not (value.utc - _EPOCH) % 1000
    return (value.ticks // 1000, not value.ticks % 1000) if isinstance(value, dt.DayTimeDuration) else None


# ---------------------------------------------------------------------------------------------------- lifespans


def timed(node: Node) -> bool:
    """Whether an element is a version or an event: whether it carries its lifespan."""
    return node.kind == ELEMENT and node[0].attribute(node[1], VT_FROM) is not None


def lifespan(node: Node) -> Interval:
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
            own = lifespan(Node((tree, child)))
            hull = own if hull is None else _hull(hull, own)
    return ALWAYS if hull is None else hull


def _hull(a: Interval, b: Interval) -> Interval:
    made = a.hull(b)
    if not (isinstance(a, Moving) or isinstance(b, Moving)):
        return made
    begin_moves, end_moves = (x or y for x, y in zip(_moves(a), _moves(b), strict=True))
    turns = min([one.turns for one in (a, b) if isinstance(one, Moving) and one.turns is not None], default=None)
    return Moving(made.begin, made.end, made.begin_closed, made.end_closed, begin_moves, end_moves, turns)


def _the_element(items: list[Item], role: str) -> Node | None:
    if not items:
        return None
    if len(items) > 1 or not isinstance(items[0], Node) or items[0].kind != ELEMENT:
        raise error("XPTY0004", f"{role} needs one element", hint="loop over several with for")
    return items[0]


def vt_from(ctx: EvaluationContext, items: list[Item]) -> dt.DateTime | None:
    """``vtFrom(e)``: when the life of an element begins."""
    node = _the_element(items, "vtFrom()")
    if node is None:
        return None
    span = lifespan(node)
    look(ctx.horizon, span, end=False)
    return moment_of(ctx, span.begin)


def vt_to(ctx: EvaluationContext, items: list[Item]) -> dt.DateTime | None:
    """``vtTo(e)``: when it ends; of what still lasts, now."""
    node = _the_element(items, "vtTo()")
    if node is None:
        return None
    span = lifespan(node)
    look(ctx.horizon, span, begin=False)
    return moment_of(ctx, span.end)


def common(ctx: EvaluationContext, own: Interval, wanted: Interval) -> Interval | None:
    """What is common to a lifespan and an interval that is asked for; the horizon hears when it will be other."""
    found = own.intersect(wanted)
    horizon = ctx.horizon
    own_begins, own_ends = _moves(own)
    begins, ends = _moves(wanted)
    if horizon is None or not (isinstance(own, Moving) or isinstance(wanted, Moving)):
        return found
    horizon.ordered(own.begin, own_begins, wanted.end, ends, not (own.begin_closed and wanted.end_closed))
    horizon.ordered(wanted.begin, begins, own.end, own_ends, not (wanted.begin_closed and own.end_closed))
    for span in (own, wanted):
        if isinstance(span, Moving) and span.turns is not None:
            horizon.reaches(span.turns)
    if found is None or (own.begin == own.end and not own_begins):
        return found  # an event is where it is, or gone
    begin_moves = (begins and found.begin == wanted.begin) or (own_begins and found.begin == own.begin)
    end_moves = (ends and found.end == wanted.end) or (own_ends and found.end == own.end)
    turns = None
    if begins != own_begins and not begin_moves:  # the one that moves will overtake the one that stands
        turns = horizon.now + abs(own.begin - wanted.begin) + 1
    made = Moving(found.begin, found.end, found.begin_closed, found.end_closed, begin_moves, end_moves, turns)
    if horizon.observed:
        look(horizon, made)
    return made


# --------------------------------------------------------------------------------------------------- projections


def interval_projection(
    ctx: EvaluationContext,
    items: list[Item],
    begin: list[Item],
    end: list[Item],
    begin_moves: bool = False,
    end_moves: bool = False,
) -> list[Item]:
    """``e?[begin, end]``: what lives in the interval, clipped to it; other items pass.

    ``begin_moves``, ``end_moves``: whether a bound is the current time, or a fixed while from it.
    """
    first = instant_in(begin, "the begin of an interval")
    last = instant_in(end, "the end of an interval")
    if first is None or last is None:
        return []
    if ctx.horizon is not None:
        ctx.horizon.ordered(first, begin_moves, last, end_moves)
    if first > last:
        return []
    wanted = (
        Moving(first, last, True, True, begin_moves, end_moves) if begin_moves or end_moves else (Interval(first, last))
    )
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
    shared = common(ctx, lifespan(node), wanted) if timed(node) else None
    if shared is None and timed(node):
        return None
    builder = TreeBuilder(node.base_uri)
    projection = _Projection(ctx, builder)
    if node.kind == DOCUMENT:
        builder.start_document()
        for child in node.children():
            projection.copy(child, wanted)
        builder.end()
    else:
        projection.copy(node, wanted, shared)
    return builder.finish().root


class _Projection:
    """Copies a subtree, leaving out the dead and clipping the living."""

    def __init__(self, ctx: EvaluationContext, builder: TreeBuilder) -> None:
        self.ctx = ctx
        self.builder = builder

    def copy(self, node: Node, wanted: Interval, shared: Interval | None = None) -> None:
        tree, row = node[0], node[1]
        builder = self.builder
        if tree.kind[row] != ELEMENT:
            builder.copy(node)
            return
        if shared is None and tree.attribute(row, VT_FROM) is not None:
            shared = common(self.ctx, lifespan(node), wanted)
            if shared is None:
                return
        elif shared is None and self._untouched(tree, row):
            builder.copy(node)
            return
        made = len(builder.tree)
        builder.open(tree.name[row], tree.prefix[row])
        declared = tree.in_scope(row) if made == 0 else tree.namespaces.get(row, {})
        for prefix, uri in declared.items():
            builder.namespace(prefix, uri)
        self._attributes(tree, row, shared)
        for child in tree.children(row):
            self.copy(Node((tree, child)), wanted)
        builder.end()
        if shared is not None:
            builder.tree.lifespans[made] = shared

    def _attributes(self, tree: Tree, row: int, shared: Interval | None) -> None:
        for at in range(row + 1, tree.first_child(row)):
            name, value = tree.name[at], tree.value[at] or ""
            if shared is not None and name == VT_FROM:
                value = format_instant(shared.begin)
            elif shared is not None and name == VT_TO:
                value = format_instant(shared.end)
            self.builder.put_attribute(name, value, tree.prefix[at])

    def _untouched(self, tree: Tree, row: int) -> bool:
        """Whether nothing below is timed, so that the whole subtree is copied at once."""
        return not tree.has_descendant(row, VT_FROM)


def versions(ctx: EvaluationContext, items: list[Item]) -> list[Node]:
    """The versions and events among items, numbered by (vtFrom, document order)."""
    found = [item for item in items if isinstance(item, Node) and timed(item)]
    if ctx.horizon is not None and len(found) > 1:
        for node in found:
            look(ctx.horizon, lifespan(node), end=False)  # it may overtake others
    found.sort(key=lambda node: (lifespan(node).begin, node))
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
            item = project(ctx, item, lifespan(item))
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
            span = lifespan(item)
            look(ctx.horizon, span)
            return span
        item = item.typed
    if isinstance(item, Array):
        members = item.members()
        if len(members) != 2:
            raise error("XPTY0004", f"an interval is [begin, end], not an array of {len(members)} members")
        first, last = (instant_in(member, "an end of an interval") for member in members)
        if first is None or last is None or first > last:
            return None
        return Interval(first, last)
    at = instant_in([item], "an operand of a comparison of intervals")
    return None if at is None else event_lifespan(at)


def allen_comparison(ctx: EvaluationContext, relation: str, left: list[Item], right: list[Item]) -> bool:
    """``left relation right``: whether it holds between some pair; nothing holds for the empty interval."""
    others = [span for item in right if (span := _interval(ctx, item)) is not None]
    for item in left:
        span = _interval(ctx, item)
        if span is not None and any(allen(span, other) == relation for other in others):
            return True
    return False
