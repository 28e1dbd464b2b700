"""The rows of a unit that is followed in columns, as regions of the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from xstreamcast.errors import XStreamError
from xstreamcast.run.continuous.columns.operated import Holding
from xstreamcast.run.continuous.columns.table import without
from xstreamcast.run.continuous.display.labels import in_order
from xstreamcast.run.continuous.display.placed import Placed
from xstreamcast.run.continuous.display.shelf import Numbers, Shelf, Shown

if TYPE_CHECKING:
    from xstreamcast.native.vector import Longs
    from xstreamcast.run.continuous.columns.adjust import Shows, Told
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.columns.keyed import Keyed, Row
    from xstreamcast.run.continuous.columns.operated import Operated
    from xstreamcast.run.continuous.display.written import Written
    from xstreamcast.run.continuous.related import Number

_FEW: Final = 64
"""So many rows find their places one by one."""


class InColumns(Shelf, ABC):
    """The regions of a unit that is followed in columns."""

    @abstractmethod
    def look(self) -> None:
        """Raise what cannot be told."""

    @abstractmethod
    def written(self) -> Iterator[Written]:
        """What is to be written anew."""

    @abstractmethod
    def follow(self) -> None:
        """Put on the shelf what is to be told, and take off what is not to be shown any more."""

    @abstractmethod
    def clear(self) -> None:
        """Nothing is shown any more."""

    @abstractmethod
    def identities(self) -> Iterator[tuple[tuple[object, ...], Shown]]:
        """What each region is known by to those that follow by objects."""


class Rows(InColumns):
    """A region for each fragment that has items, in document order (``sequence``)."""

    def __init__(self, path: str, numbers: Numbers, journal: Columnar, where: Number, made: Told) -> None:
        super().__init__(path, numbers)
        self.journal = journal
        self.where = where
        self.made = made
        self.table = self.made.table
        self.shown: dict[int, Shown] = {}
        self.more: dict[int, list[Shown]] = {}
        """The other regions of fragments that have several."""
        self.sequence: Longs = np.zeros(0, np.int64)
        self._reordered = self.table.reordered

    def look(self) -> None:
        """Raise what cannot be told."""
        self.journal.check(self.where)
        bad = {f: said for f, said in self.made.changed.items() if isinstance(said, XStreamError)}
        if bad:
            raise bad[int(self.table.in_order(np.array(list(bad), np.int64))[0])]

    def written(self) -> Iterator[Written]:
        """What is to be written anew."""
        for said in self.made.changed.values():
            assert not isinstance(said, XStreamError)
            yield from said if isinstance(said, tuple) else (said,)

    def follow(self) -> None:
        """Put on the shelf what is to be told, and take off what is not to be shown any more."""
        gone = [f for f in self.made.gone if f in self.shown]
        for f in gone:
            self._take_all(f)
        self.sequence = without(self.sequence, gone)
        anew = self._moved() if self._reordered != self.table.reordered else {}
        fresh: dict[int, Shows] = anew
        for f, said in self.made.changed.items():
            assert not isinstance(said, XStreamError)
            known = self.shown.get(f)
            if known is None:
                fresh[f] = said
            elif isinstance(said, tuple) or f in self.more:
                self._put_several(f, said if isinstance(said, tuple) else (said,))
            else:
                self.put(known, said)
        if fresh:
            self._insert(fresh)

    def _take_all(self, f: int) -> None:
        """Nothing of a fragment is shown any more."""
        self.take(self.shown.pop(f))
        for shown in self.more.pop(f, ()):
            self.take(shown)

    def _put_several(self, f: int, said: tuple[Written, ...]) -> None:
        """A fragment that is shown has these items: what is the same at its beginning and its end stays as it is."""
        known = [self.shown[f], *self.more.pop(f, ())]
        first = last = 0
        least = min(len(known), len(said))
        while first < least and known[first].said == said[first]:
            first += 1
        while last < least - first and known[-1 - last].said == said[-1 - last]:
            last += 1
        middle, other = known[first : len(known) - last], said[first : len(said) - last]
        for shown, one in (*zip(known[:first], said, strict=False), *zip(middle, other, strict=False)):
            self.put(shown, one)
        for shown, one in zip(reversed(known[len(known) - last :]), reversed(said), strict=False):
            self.put(shown, one)
        before = known[first + min(len(middle), len(other)) - 1] if first or (middle and other) else known[0].before
        fresh = []
        for one in other[len(middle) :]:
            assert before is not None
            before = self.insert(before, one)
            fresh.append(before)
        for shown in middle[len(other) :]:
            self.take(shown)
        now = [*known[:first], *middle[: len(other)], *fresh, *known[len(known) - last :]]
        self.shown[f] = now[0]
        if len(now) > 1:
            self.more[f] = now[1:]

    def _last(self, f: int) -> Shown:
        """The last region of a fragment."""
        more = self.more.get(f) if self.more else None
        return self.shown[f] if more is None else more[-1]

    def _moved(self) -> dict[int, Shows]:
        """Regions stand in another order: as few as possible are taken off, to be put elsewhere."""
        self._reordered = self.table.reordered
        place = {f: number for number, f in enumerate(self.sequence.tolist())}
        self.sequence = self.table.in_order(self.sequence)
        now = self.sequence.tolist()
        stay = in_order([place[f] for f in now])
        moved = [f for number, f in enumerate(now) if number not in stay]
        said: dict[int, Shows] = {}
        for f in moved:
            more = self.more.get(f)
            own = self.shown[f].said
            said[f] = own if more is None else (own, *[shown.said for shown in more])
            self._take_all(f)
        self.sequence = without(self.sequence, moved)
        return said

    def _insert(self, fresh: dict[int, Shows]) -> None:
        some = self.table.in_order(np.array(list(fresh), np.int64))
        places = self.table.locate(some, self.sequence)
        before, last = self.anchor, -1
        order, shown = self.sequence, self.shown
        for f, place in zip(some.tolist(), places.tolist(), strict=True):
            if place != last:
                before = self._last(int(order[place - 1])) if place else self.anchor
                last = place
            said = fresh[f]
            if isinstance(said, tuple):
                before = shown[f] = self.insert(before, said[0])
                self.more[f] = more = []
                for one in said[1:]:
                    before = self.insert(before, one)
                    more.append(before)
            else:
                before = shown[f] = self.insert(before, said)
        self.sequence = np.insert(order, places, some)

    def identities(self) -> Iterator[tuple[tuple[object, ...], Shown]]:
        for n, shown in self.shown.items():
            gone = n in self.made.gone
            for number, one in enumerate((shown, *self.more.get(n, ()))):
                yield (n, number) if gone else (self.where[1], number, *self.table.holes_around(n)), one

    def clear(self) -> None:
        """Nothing is shown any more."""
        for shown in tuple(self):
            self.take(shown)
        self.shown.clear()
        self.more.clear()
        self.sequence = self.sequence[:0]


class KeyedRows(InColumns):
    """A region for each row that has items, in the order of the rows' keys (``keys``: those, with the rows)."""

    def __init__(self, path: str, numbers: Numbers, journal: Columnar, where: Number, made: Keyed) -> None:
        super().__init__(path, numbers)
        self.journal = journal
        self.where = where
        self.made = made
        self.shown: dict[Row, Shown] = {}
        self.known: dict[Row, Any] = {}
        self.keys: list[tuple[Any, Row]] = []
        self._renewed = made.renewed

    def look(self) -> None:
        """Raise what cannot be told."""
        self.made.catch_up()
        self.made.settle()
        self.journal.check(self.where)
        for said in self.made.changed.values():
            if isinstance(said, XStreamError):
                raise said

    def written(self) -> Iterator[Written]:
        """What is to be written anew."""
        for said in self.made.changed.values():
            assert not isinstance(said, XStreamError)
            yield said

    def follow(self) -> None:
        """Put on the shelf what is to be told, and take off what is not to be shown any more."""
        made = self.made
        leaving = dict.fromkeys([row for row in made.gone if row in self.shown])
        fresh: list[tuple[tuple[Any, Row], Written]] = []
        renewed = self._renewed != made.renewed
        moved = self._moved() if renewed else {}
        for row, said in (moved | made.changed).items():
            assert not isinstance(said, XStreamError)
            key = made.key(row)
            if row in self.shown and row not in leaving:
                if not (key < self.known[row] or self.known[row] < key):
                    self.put(self.shown[row], said)
                    continue
                leaving[row] = None
            fresh.append(((key, row), said))
        if len(leaving) <= _FEW and not renewed:
            for row in leaving:
                del self.keys[bisect_left(self.keys, (self.known[row], row))]
        for row in leaving:
            self.take(self.shown.pop(row))
            del self.known[row]
        if len(leaving) > _FEW or renewed:
            self.keys = [one for one in self.keys if one[1] in self.known]
        if fresh:
            self._insert(fresh)

    def _moved(self) -> dict[Row, Written]:
        """Labels are others, and rows may stand in another order: those that do are put elsewhere."""
        self._renewed = self.made.renewed
        place = {row: number for number, (_, row) in enumerate(self.keys)}
        present = [row for _, row in self.keys if row not in self.made.gone]
        self.keys = sorted([(self.made.key(row), row) for row in present])
        stay = in_order([place[row] for _, row in self.keys])
        self.known.update({row: key for number, (key, row) in enumerate(self.keys) if number in stay})
        gone = [row for number, (_, row) in enumerate(self.keys) if number not in stay]
        said = {row: self.shown[row].said for row in gone}
        for row in gone:
            self.take(self.shown.pop(row))
            del self.known[row]
        self.keys = [one for one in self.keys if one[1] in self.known]
        return said

    def _insert(self, fresh: list[tuple[tuple[Any, Row], Written]]) -> None:
        said = {row: one for (_, row), one in fresh}
        placed = sorted([one for one, _ in fresh])
        before = self.anchor
        if 16 * len(fresh) > len(self.keys):
            self.keys = sorted(self.keys + placed)  # two runs in order: they are merged
            for key, row in self.keys:
                if row in said:
                    before = self.shown[row] = self.insert(before, said[row])
                    self.known[row] = key
                else:
                    before = self.shown[row]
            return
        for key, row in placed:
            at = bisect_left(self.keys, (key, row))
            before = self.shown[self.keys[at - 1][1]] if at else self.anchor
            self.shown[row] = self.insert(before, said[row])
            self.known[row] = key
            self.keys.insert(at, (key, row))

    def identities(self) -> Iterator[tuple[tuple[object, ...], Shown]]:
        for row, shown in self.shown.items():
            yield (row,) if row in self.made.gone else self.made.identity(row, self.where[1]), shown

    def clear(self) -> None:
        """Nothing is shown any more."""
        for shown in tuple(self):
            self.take(shown)
        self.shown.clear()
        self.known.clear()
        self.keys = []


class Parts(Placed, InColumns):
    """A region for each row of an operator that has items, in the operator's order."""

    def __init__(self, path: str, numbers: Numbers, journal: Columnar, where: Number, made: Operated) -> None:
        super().__init__(path, numbers, journal, where)
        self.table = made.labels.table

    def is_seen(self, row: Any) -> bool:
        return row.entry.block is not None

    def identities(self) -> Iterator[tuple[tuple[object, ...], Shown]]:
        for part, shown in self.shown.items():
            whose = part.member
            if not isinstance(whose, Holding):
                yield part.identity(), shown
            elif whose.there:
                yield ((self.where[1], 0, *self.table.holes_around(whose.n)), part.number), shown
            else:
                yield (part,), shown
