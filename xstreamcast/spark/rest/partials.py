"""What a range of a document contributes to a unit, and how contributions become the unit's value.

A unit's ``E`` distributes over cuts, and the state of its reduction is made of the items of all ranges in their order:

    R(E(range 1) ++ E(range 2)) = R(E(range 1)) ⊕ R(E(range 2))

A :class:`Partial` is one ``R(E(range))`` in a form that travels between processes: a count, an exact sum, the best
values, or the items themselves where a reduction needs them all (folds, groups). Of a nest instance that goes beyond
its range, the partials of its inner units travel, and its body is evaluated where they come together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.tree import ATTRIBUTE, Node
from xstreamcast.operators.aggregates import Counted, Extreme, Found, Joined, Totalled
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import Concat, Reduce, Slice
from xstreamcast.run.reductions import Sliced
from xstreamcast.run.units import Cut, Evaluation, NestCode, UnitCode, UnitRun


@dataclass(slots=True)
class Piece:
    """What a range saw of a nest instance that is not all in it; ``identity``: where the instance begins."""

    identity: int
    instance: Node
    units: list[Partial]


Segment = list[Item] | Piece


@dataclass(slots=True)
class Partial:
    """A range's share of a unit. ``data`` is what its reduction has of it; a nest has ``segments`` instead.

    A ``failure`` came after these: it counts only if they do not settle the value.
    """

    data: Any = None
    segments: list[Segment] | None = None
    failure: XStreamError | None = None


# ------------------------------------------------------------------------------------------------------ in a range


@dataclass(slots=True)
class _OpenPiece:
    identity: int
    instance: Node
    units: list[RangeUnit]


class RangeUnit:
    """A unit at work on the batches of one range."""

    def __init__(self, evaluation: Evaluation, code: UnitCode) -> None:
        self.evaluation, self.code = evaluation, code
        self.failure: XStreamError | None = None
        self.work = UnitRun(evaluation, code)
        reduction = code.unit.reduction
        if isinstance(reduction, Slice):
            self.work.state = Sliced(1, reduction.last)  # how many came before is not known here
        self.items: list[Item] = []
        self.segments: list[list[Item] | _OpenPiece] = []
        self.open: dict[int, _OpenPiece] = {}

    @property
    def settled(self) -> bool:
        """Whether nothing more of this range can matter."""
        return self.failure is not None or (self.code.nest is None and self.work.state.settled)

    def take(self, root: Node, cuts: Sequence[Cut]) -> None:
        """Take E's items in a batch."""
        if self.settled:
            return
        try:
            if self.code.nest is not None:
                self.evaluation.begin(self.code, root)
                self._take_nest(self.code.nest, cuts)
            elif isinstance(self.work.state, Sliced):
                for item in self.work.items(root, cuts):
                    self.work.state.add([item])
                    if self.work.state.settled:
                        break
            elif _reduces(self.code):
                self.work.take(root, cuts)
                self.failure = self.work.failure
            else:
                self.items.extend(self.work.items(root, cuts))
        except XStreamError as failure:
            self.failure = failure

    def take_items(self, items: Iterable[Item]) -> None:
        """Take some of E's items that have been computed elsewhere."""
        if self.settled:
            return
        try:
            if isinstance(self.work.state, Sliced):
                for item in items:
                    self.work.state.add([item])
                    if self.work.state.settled:
                        break
            elif _reduces(self.code):
                self.work.state.add(list(items))
            else:
                self.items.extend(items)
        except XStreamError as failure:
            self.failure = failure

    def _take_nest(self, code: NestCode, cuts: Sequence[Cut]) -> None:
        cut = {each.row: each for each in cuts if each.before or each.after}
        whole: list[Node] = []
        for instance in list(self.evaluation.run(code.instances)):
            place = cut.get(instance.row)
            if place is None:
                whole.append(instance)
                continue
            self._take_whole(code, whole)
            whole = []
            opened = self.open.get(place.identity)
            if opened is None:
                units = [RangeUnit(self.evaluation, unit) for unit in code.units]
                opened = self.open[place.identity] = _OpenPiece(place.identity, instance, units)
                self.segments.append(opened)
            opened.instance = instance
            self.evaluation.bind(code.nest.variable, instance)
            for unit in opened.units:
                unit.take(instance, cuts)
        self._take_whole(code, whole)

    def _take_whole(self, code: NestCode, instances: list[Node]) -> None:
        if not instances:
            return
        self.evaluation.bind(code.key, instances)
        items = list(self.evaluation.run(code.whole))
        if self.segments and isinstance(self.segments[-1], list):
            self.segments[-1].extend(items)
        else:
            self.segments.append(items)

    def partial(self) -> Partial:
        """What goes out."""
        if self.code.nest is not None:
            segments: list[Segment] = [
                each
                if isinstance(each, list)
                else Piece(each.identity, _alone(each.instance), [unit.partial() for unit in each.units])
                for each in self.segments
            ]
            return Partial(segments=segments, failure=self.failure)
        data = partial_of(self.work.state) if _reduces(self.code) else self.items
        return Partial(data, failure=self.failure)


def _reduces(code: UnitCode) -> bool:
    """Whether states of ranges combine: else the items travel."""
    return isinstance(code.unit.reduction, Concat | Slice | Reduce)


def partial_of(state: State) -> Any:
    """What a state has of its items, in a form that travels."""
    match state:
        case Counted():
            return state.count
        case Found():
            return state.settled
        case Totalled():
            return state.total
        case Joined():
            return state.value() if state.parts else []
        case Extreme():
            return [value for _, value in sorted(state.best.values(), key=lambda entry: entry[0])]
        case _:
            return state.value()  # items, distinct values


def _alone(instance: Node) -> Node:
    """An element with its attributes only: all that the body of a nest that may be cut reads of it."""
    tree, row = instance.tree, instance.row
    builder = TreeBuilder(tree.base(row), tree.document_uri)
    builder.open(tree.name[row], tree.prefix[row])
    for prefix, uri in tree.in_scope(row).items():
        builder.namespace(prefix, uri)
    for attribute in range(row + 1, row + tree.size[row] + 1):
        if tree.kind[attribute] != ATTRIBUTE:
            break
        builder.put_attribute(tree.name[attribute], tree.string(attribute), tree.prefix[attribute])
    builder.end()
    return builder.finish().root


# ------------------------------------------------------------------------------------------------------ together


def merged(evaluation: Evaluation, code: UnitCode, partials: Iterable[Partial]) -> UnitRun:
    """The unit after all ranges, whose partials come in document order."""
    work = UnitRun(evaluation, code)
    try:
        if code.nest is not None:
            _merge_nest(evaluation, code.nest, work, list(partials))
            return work
        for partial in partials:
            if work.settled:
                break
            if _reduces(code):
                add_partial(work.state, partial)
            else:
                work.state.add(partial.data)
            if partial.failure is not None and not work.settled:
                work.failure = partial.failure
    except XStreamError as failure:
        work.failure = failure
    return work


def add_partial(state: State, partial: Partial) -> None:
    """Take what :func:`partial_of` gave for the items that follow."""
    data = partial.data
    match state:
        case Counted():
            state.count += data
        case Found():
            state.settled = state.settled or data
        case Totalled():
            state.total.merge(data)
        case _ if state.part == "values":
            state.add_part(data)
        case _:
            state.add(data)


def combined(evaluation: Evaluation, code: UnitCode, partials: Iterable[Partial]) -> Partial:
    """The share of several ranges that follow each other: ``R(a) ⊕ R(b)``, as far as nothing has failed."""
    made = RangeUnit(evaluation, code)
    items: list[Item] = []
    segments: list[Segment] = []
    for partial in partials:
        try:
            if code.nest is not None:
                segments += partial.segments or ()
            elif _reduces(code):
                add_partial(made.work.state, partial)
            else:
                items += partial.data
        except XStreamError as failure:
            made.failure = failure
        made.failure = made.failure or partial.failure
        if made.settled:
            break
    if code.nest is not None:
        return Partial(segments=segments, failure=made.failure)
    return Partial(partial_of(made.work.state) if _reduces(code) else items, failure=made.failure)


@dataclass(slots=True)
class _Whole:
    """A nest instance of which all pieces are here."""

    instance: Node
    units: list[list[Partial]] = field(default_factory=list)


def _merge_nest(evaluation: Evaluation, code: NestCode, work: UnitRun, partials: list[Partial]) -> None:
    known: dict[int, _Whole] = {}
    order: list[list[Item] | _Whole] = []
    failure: XStreamError | None = None
    for partial in partials:
        for segment in partial.segments or ():
            if not isinstance(segment, Piece):
                order.append(segment)
                continue
            whole = known.get(segment.identity)
            if whole is None:
                whole = known[segment.identity] = _Whole(segment.instance, [[] for _ in segment.units])
                order.append(whole)
            for own, unit in zip(whole.units, segment.units, strict=True):
                own.append(unit)
        if partial.failure is not None:
            failure = partial.failure
            break
    for each in order:
        if work.settled:
            return
        if isinstance(each, list):
            work.state.add(each)
            continue
        for inner, parts in zip(code.units, each.units, strict=True):
            evaluation.bind_unit(merged(evaluation, inner, parts))
        evaluation.bind(code.nest.variable, each.instance)
        work.state.add(list(evaluation.run(code.body)))
    if failure is not None and not work.settled:
        work.failure = failure
