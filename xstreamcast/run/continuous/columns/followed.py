"""A unit that is followed in columns: which fragments it evaluates, how, and what comes of them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from xstreamcast.errors import XStreamError
from xstreamcast.model.names import ELEMENT, FIRST_NAME, name_kind
from xstreamcast.plan.algebra import Concat, Reduce, Sort
from xstreamcast.run.continuous.adjust.lookup import Lookup
from xstreamcast.run.continuous.associate.reach import name_of
from xstreamcast.run.continuous.columns.adjust import Adjusted, Framed, Summed, Told
from xstreamcast.run.continuous.columns.joined import Joined
from xstreamcast.run.continuous.columns.keyed import Keyed
from xstreamcast.run.continuous.columns.operated import Operated
from xstreamcast.run.continuous.columns.roles import Refused
from xstreamcast.run.continuous.columns.rows import Batch, FrameProgram, RowProgram
from xstreamcast.run.continuous.columns.shells import Shells
from xstreamcast.run.continuous.time.horizon import shows_items

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.native.vector import Longs
    from xstreamcast.run.continuous.columns.alike import TwinProgram
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.columns.roles import Roles
    from xstreamcast.run.continuous.columns.rows import Observer, Outcome
    from xstreamcast.run.continuous.columns.spelling import Around
    from xstreamcast.run.continuous.related import Number

TOGETHER: Final = 1 << 14
"""So many fragments are evaluated at a time."""


class Looking:
    """Fragments that a unit looks at, one after the other: joins know who asks, the agenda when it must look again."""

    def __init__(self, followed: Followed, few: list[int]) -> None:
        self.followed, self.few = followed, few
        self.timing = followed.engine.timing
        self.shows = shows_items(followed.unit)

    def begins(self, number: int) -> None:
        self.owner = self.followed.where, self.few[number]
        self.asked = self.followed.engine.ask_for(self.owner)
        self.outer = self.timing.horizon.begin()

    def ends(self, outcome: Outcome) -> None:
        self.followed.engine.asking = self.asked
        seen = outcome if self.shows and not isinstance(outcome, XStreamError) else ()
        self.timing.done(self.owner, self.outer, seen)


class Followed:
    """A unit over the table of its stream: which fragments it evaluates, how, and what comes of them.

    ``frame``: the tag of the instances that it is inside of, or that it is about; ``outer``: the unit that it is inside
    of.
    """

    def __init__(
        self,
        engine: Columnar,
        name: str,
        number: int,
        bit: int,
        made: Adjusted,
        frame: int | None = None,
        outer: int | None = None,
    ) -> None:
        route, code = engine.live[name].route, engine.codes[name][number]
        unit = route.units[number]
        self.engine, self.name, self.unit, self.code, self.bit = engine, name, unit, code, bit
        self.made, self.frame, self.outer = made, frame, outer
        self.where: Number = name, number
        self.asks = False
        """Whether it looks rows up in joins."""
        body = () if unit.nest is None else (unit.nest.body,)
        self.timely = engine.timing.may_look(unit.items, *body)
        self.table = engine.tables[name]
        roles = engine.roles[name]
        self.holes = engine.open_holes.get(name)
        """The holes that it asks for, in a mode that does."""
        cut = engine.cuts[name].get(number)
        self.shells = None if cut is None else Shells(self.table, cut)
        """The records around what it evaluates, without it."""
        self.inside = route.inside(number)
        around = None
        if outer is not None and frame is not None:
            around = roles.depth[frame]
        if around is not None or isinstance(made, Joined | Operated):
            self._own = FrameProgram(code, engine.evaluation, [unit.root], unit.items)
        if isinstance(made, Joined):
            made.evaluate = self._outcomes_apart
        self.program: RowProgram | TwinProgram = RowProgram(code, engine.evaluation, around)
        if self.inside:
            assert unit.nest is not None
            variables = [unit.nest.variable, *[route.units[inner].variable for inner in self.inside]]
            self._body = FrameProgram(code, engine.evaluation, variables, unit.nest.body)
        self._around: dict[int, Around] = {}
        self.widen(roles)

    def widen(self, roles: Roles) -> None:
        """The roles of all tags of the stream, as far as they are known now."""
        self.roles, self.home = roles, roles.home.get(self.where[1], set())
        self.sews = self._sews()
        if isinstance(self.made, Told | Keyed):
            self.made.cut = self.sews
        self._names = frozenset([name_of(tag.name) for tag in self.table.structure.tags.values()])

    def _sews(self) -> bool:
        """Whether holes of what it copies are told as holes of the answer."""
        route, number = self.engine.live[self.name].route, self.where[1]
        in_rows = isinstance(self.made, Told | Keyed) and isinstance(self.unit.reduction, Concat | Sort)
        return self.engine.forwards and in_rows and route.copies_holes(number)

    # ---------------------------------------------------------------------------------------------- fragments

    def batches(self, some: Longs) -> Iterator[tuple[Longs, int, Batch]]:
        """Fragments that are there, those of a tag together, in documents."""
        tags = self.table.tags_of(some)
        for tag in dict.fromkeys(tags.tolist()):
            mine = np.ascontiguousarray(some[tags == tag])
            for few in self._portions(mine, tag):
                batch = self._batch(few, tag)
                self._check_names(batch)
                self.engine.evaluated += len(few)
                self.engine.spliced += len(batch.text) - len(batch.around.start) - len(batch.around.end)
                yield few, tag, batch

    def _portions(self, mine: Longs, tag: int) -> Iterator[Longs]:
        """Fragments of a tag, as many at a time as are evaluated together."""
        for begin in range(0, len(mine), TOGETHER):
            few = mine[begin : begin + TOGETHER]
            shells = self._shells_of(tag)
            yield from (few,) if shells is None else shells.portions(few)

    def _shells_of(self, tag: int) -> Shells | None:
        """The records around fragments of a tag, where these are evaluated in them."""
        return self.shells if self.shells is not None and tag == self.shells.cut.inside else None

    def _batch(self, few: Longs, tag: int) -> Batch:
        """Fragments of a tag in a document."""
        around, shells = self._elements_around(tag), self._shells_of(tag)
        if shells is not None:
            text = shells.splice(few, self.bit)
            if text is None:
                raise Refused("texts meet at the borders of fragments")
            return Batch(self.engine.documents, text, around, len(few))
        spliced = self.table.splice(few, self.bit, self.sews or self.holes is not None)
        if spliced is None:
            raise Refused("texts meet at the borders of fragments")
        batch = Batch(self.engine.documents, spliced.text, around, len(few))
        if self.sews or self.holes is not None:
            batch.place(spliced.seams)
        if self.sews:
            batch.sew(spliced.seams, self.table)
        if self.holes is not None:
            batch.mark(spliced.seams, self.holes, tag)
        return batch

    def _elements_around(self, tag: int) -> Around:
        found = self._around.get(tag)
        if found is None:
            shells = self._shells_of(tag)
            found = self.table.around(tag if shells is None else shells.cut.record)
            if found is None:
                raise Refused("elements around fragments are in unknown namespaces")
            self._around[tag] = found
        return found

    def _check_names(self, batch: Batch) -> None:
        for name in set(batch.tree.name):
            if name_kind[name] == ELEMENT and name not in self._names and name >= FIRST_NAME:
                raise Refused("elements are not in the tag structure")

    def look_at(self, some: Longs, there: Any) -> None:
        """Some fragments must be evaluated, or are there no more."""
        if not len(some):
            return
        self.let_go(some[~there].tolist())
        for few, tag, batch in self.batches(some[there]):
            if self.outer is not None and tag == self.frame:
                found = self._own.outcomes([(batch.node(k),) for k in range(len(few))], self._observer(few))
            elif isinstance(self.made, Operated) and self.made.apart:
                found = self._own.outcomes([(batch.alone(k).root,) for k in range(len(few))], self._observer(few))
            else:
                found = self.program.outcomes(batch, tag in self.home, self._observer(few))
            self._take(few, tag, found)

    def _outcomes_apart(self, nodes: list[int]) -> list[Outcome]:
        """The outcomes of fragments, each in a document of its own."""
        found: dict[int, Outcome] = {}
        for few, _, batch in self.batches(np.array(nodes, np.int64)):
            roots = [(batch.alone(k).root,) for k in range(len(few))]
            found.update(zip(few.tolist(), self._own.outcomes(roots), strict=True))
        return [found[n] for n in nodes]

    def in_shells(self, some: Longs, marks: Longs, there: Any) -> dict[int, None]:
        """What must look again because the record around it is different; given the nodes that are, and for whom."""
        if self.shells is None:
            return {}
        different = marks & self.shells.cut.bit != 0
        if different.any():
            self.shells.forget()
        return dict.fromkeys(self.shells.in_records(some[different & there]).tolist())

    def outcomes_again(self, some: Longs) -> dict[int, Outcome]:
        """The outcomes of fragments, evaluated again."""
        found: dict[int, Outcome] = {}
        for few, tag, batch in self.batches(some) if len(some) else ():
            if self.inside:
                outcomes = self._body.outcomes(self._arguments(few, batch)[0])
            elif isinstance(self.made, Operated) and self.made.apart:
                outcomes = self._own.outcomes([(batch.alone(k).root,) for k in range(len(few))])
            else:
                outcomes = self.program.outcomes(batch, tag in self.home)
            found.update(zip(few.tolist(), outcomes, strict=True))
        return found

    def twin(self, engine: Columnar, program: TwinProgram) -> Followed:
        """The same unit of a query that differs in constants, of which nothing has been evaluated."""
        made = copy(self)
        made.engine, made.program = engine, program
        made.made = engine.adjusted(self.name, self.where[1])
        made.widen(self.roles)
        return made

    def take_rows(self, few: Longs, tag: int, found: list[Outcome]) -> None:
        """Some fragments have these outcomes, which somebody else has found."""
        self.engine.evaluated += len(found)
        self._take(few, tag, found)

    def _observer(self, few: Longs) -> Observer | None:
        """Who hears of fragments that are evaluated; None: nobody needs to."""
        return Looking(self, few.tolist()) if self.asks or self.timely else None

    def let_go(self, gone: list[int]) -> None:
        """Some fragments are there no more."""
        self.made.drop(gone)
        for n in gone if self.timely or self.asks else ():
            self.engine.unask((self.where, n))
            self.engine.timing.agenda.forget((self.where, n))

    def _take(self, few: Longs, tag: int, found: list[Outcome]) -> None:
        inline = self.home and tag not in self.home
        if isinstance(self.made, Told | Keyed | Operated) and inline and any(found):
            raise Refused("records are inline")
        if isinstance(self.made, Framed):
            assert self.frame is not None
            self.made.put_in(few.tolist(), found, self.table.owners(few, self.frame).tolist())
        else:
            assert isinstance(self.made, Summed | Joined | Operated)
            if isinstance(self.made, Told):
                self.made.put(few.tolist(), found, each=tag not in self.home)
            else:
                self.made.put(few.tolist(), found)

    # ---------------------------------------------------------------------------------------------- frames

    def frames_touched(self) -> dict[int, None]:
        """The instances whose sums are others."""
        assert isinstance(self.made, Framed)
        return self.made.take_touched()

    def look_at_frames(self, frames: list[int], gone: list[int]) -> None:
        """Evaluate the body of instances with the sums of what is inside."""
        self.let_go(gone)
        some: Longs = np.array(frames, np.int64)
        tags = self.table.tags_of(some)
        others = some[tags != self.frame]
        if len(others):  # around the instances, where there are none
            for few, tag, batch in self.batches(others):
                found = self.program.outcomes(batch, False)
                if any(found):
                    raise Refused("records are inline")
                del few, tag
        for few, _, batch in self.batches(some[tags == self.frame]):
            arguments, sound = self._arguments(few, batch)
            if not sound:
                raise Refused("a part of a record fails")
            self._take(few, self.frame or 0, self._body.outcomes(arguments, self._observer(few)))

    def _arguments(self, few: Longs, batch: Batch) -> tuple[list[tuple[Any, ...]], bool]:
        """The instances with the values of what is inside of each; whether none of these is an error."""
        inner = [self.engine.units[self.name, one] for one in self.inside]
        apart = isinstance(self.made, Operated) and self.made.apart
        arguments: list[tuple[Any, ...]] = []
        sound = True
        self.engine.evaluation.bind(self.unit.root, batch.tree.root)
        for k, f in enumerate(few.tolist()):
            values: list[Any] = [batch.node_alone(k) if apart else batch.node(k)]
            for one in inner:
                value = one.value_in(f)
                if isinstance(value, XStreamError):
                    sound, value = False, []
                values.append(value)
            arguments.append(tuple(values))
        return arguments, sound

    def value_in(self, frame: int) -> list[Item] | XStreamError:
        """What a unit inside comes to in an instance."""
        assert isinstance(self.made, Framed)
        reduction = self.unit.reduction
        assert isinstance(reduction, Reduce)
        failure = self.made.failure_in(frame)
        if failure is not None:
            return failure
        return reduction.aggregate.summaries.value(self.made.summary(frame), self._fresh)

    def _fresh(self) -> Any:
        reduction = self.unit.reduction
        if isinstance(reduction, Reduce) and reduction.argument is None:
            return self.engine.state(self.code, reduction)
        return self.engine.evaluation.state(self.code)

    # ---------------------------------------------------------------------------------------------- its value

    def failure(self) -> XStreamError | None:
        """The error of the first fragment that fails."""
        failed = self.made.failed
        if isinstance(self.made, Operated) and isinstance(self.made.operator, Lookup):
            return None  # who looks something up meets it
        if not failed:
            return self.made.failure
        first = self.table.in_order(np.array(list(failed), np.int64))[0]
        return failed[int(first)]

    def value(self) -> list[Item]:
        """What its variable stands for."""
        if isinstance(self.made, Joined):
            return self.made.function
        if isinstance(self.made, Operated):
            return self.made.operator.value()
        if isinstance(self.unit.reduction, Reduce):
            assert isinstance(self.made, Summed)
            return self.unit.reduction.aggregate.summaries.value(self.made.total(), self._fresh)
        return self._items()

    def _items(self) -> list[Item]:
        """Its items, evaluated again, in order."""
        if isinstance(self.made, Keyed):
            return self._keyed_items(self.made)
        assert isinstance(self.made, Told)
        some = self.made.in_order()
        found = self.outcomes_again(some)
        items: list[Item] = []
        for f in some.tolist():
            outcome = found[f]
            if isinstance(outcome, XStreamError):
                raise outcome
            items += outcome
        return items

    def _keyed_items(self, made: Keyed) -> list[Item]:
        """Its items, in the order of their keys: what is kept of rows is their text, so all are made anew."""
        rows = made.all_items(self.outcomes_again(np.array(list(made.labels.of), np.int64)))
        return [item for row in sorted(rows, key=made.key) for item in rows[row]]
