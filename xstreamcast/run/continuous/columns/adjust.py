"""What outcomes of fragments come to: counts, sums, sums of each record around, and rows that are told in order.

total := total ⊖ old ⊕ new
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from xstreamcast.errors import XStreamError
from xstreamcast.functions.total import Total
from xstreamcast.model.atomic import Untyped
from xstreamcast.model.convert import atomize
from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.model.tree import Node
from xstreamcast.operators.accumulators import Accumulator, accumulator_of, are_compared
from xstreamcast.run.continuous.columns.layout import NOWHERE
from xstreamcast.run.continuous.columns.roles import Refused
from xstreamcast.run.continuous.display.written import Written, written_each

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.native.vector import Longs
    from xstreamcast.operators.aggregates import Aggregate
    from xstreamcast.operators.state import State
    from xstreamcast.run.continuous.columns.rows import Outcome
    from xstreamcast.run.continuous.columns.table import RegionTable

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
"""Untyped values that are numbers, whatever else may be."""


class Adjusted(ABC):
    """What is kept of the fragments of a unit. ``failed``: those whose outcome is an error."""

    def __init__(self) -> None:
        self.failed: dict[int, XStreamError] = {}

    @abstractmethod
    def drop(self, fragments: Iterable[int]) -> None:
        """Some fragments are there no more."""

    def forget(self) -> None:
        """What is different has been told."""
        return

    @property
    def pending(self) -> bool:
        """Whether something is to be settled though no fragment is different."""
        return False

    @property
    def has_moved(self) -> bool:
        """Whether all fragments must be looked at again, for they stand in another order."""
        return False

    def settle(self) -> None:
        """All fragments that are different have been put, or dropped."""
        return

    @property
    def failure(self) -> XStreamError | None:
        """The error that its value is, if that is not one of a fragment."""
        return None

    @property
    @abstractmethod
    def size(self) -> int:
        """How many fragments have items."""


class Summed(Adjusted):
    """… where all fragments have one value together."""

    @abstractmethod
    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
        """Some fragments have these outcomes from now on."""

    @abstractmethod
    def total(self) -> Any:
        """What all of them add up to."""


class Contributions:
    """What outcomes of fragments add to an aggregate."""

    def __init__(self, aggregate: Aggregate, fresh: Callable[[], State]) -> None:
        self.aggregate = aggregate
        self.fresh = fresh
        self.nothing: Any = 0 if aggregate.counts else []
        self._kind: type | None = None
        """Of values that are compared: all are of one type."""

    def accumulator(self) -> Accumulator:
        return accumulator_of(self.aggregate, self.fresh)

    def unpacked(self, added: Any) -> Any:
        """What a fragment adds, of which no more than a single value was kept: how many items, or their values."""
        return added if self.aggregate.counts or type(added) is list else [added]

    def of(self, outcome: Outcome) -> Any:
        """What an outcome adds; an :class:`XStreamError` if it cannot be added."""
        if isinstance(outcome, XStreamError):
            return outcome
        if self.aggregate.counts:
            return len(outcome)
        return self._summed(outcome) if self.aggregate.undoes else self._compared(outcome)

    def _summed(self, items: list[Item]) -> list[Item] | XStreamError:
        if len(items) == 1 and type(items[0]) is Node and items[0].kind <= ATTRIBUTE:
            value = items[0].string  # by far the most
            if _NUMBER.fullmatch(value):
                return [Untyped(value)]
        try:
            found = atomize(items)
            if any(type(value) is not Untyped or not _NUMBER.fullmatch(value) for value in found):
                Total(f"fn:{self.aggregate.name}").add_many(found)
        except XStreamError as failure:
            return failure
        return found

    def _compared(self, items: list[Item]) -> list[Item] | XStreamError:
        try:
            found = atomize(items)
            if found:
                self.fresh().add(found)
        except XStreamError as failure:
            return failure
        if found and (not are_compared(found) or type(found[0]) is not (self._kind or type(found[0]))):
            raise Refused("values of several types are compared")
        self._kind = type(found[0]) if found else self._kind
        return found


class Reduced(Summed):
    """count, exists, sum, avg, min, max …: what each fragment adds, and what all of them come to.

    ``added``: by fragment, None for those that are not there; of one value no more than that.
    """

    def __init__(self, contributions: Contributions) -> None:
        super().__init__()
        self.contributions = contributions
        self.added: list[Any] = []
        self.accumulator = contributions.accumulator()

    def drop(self, fragments: Iterable[int]) -> None:
        gone = []
        for f in fragments:
            self.failed.pop(f, None)
            if f < len(self.added) and self.added[f] is not None:
                gone.append(self.contributions.unpacked(self.added[f]))
                self.added[f] = None
        self.accumulator.adjust(gone, [])

    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
        added, failed, of = self.added, self.failed, self.contributions.of
        gone: list[Any] = []
        come: list[Any] = []
        missing = max(fragments, default=-1) + 1 - len(added)
        if missing > 0:
            added += [None] * missing
        for f, outcome in zip(fragments, outcomes, strict=True):
            if added[f] is not None:
                gone.append(self.contributions.unpacked(added[f]))
            if failed:
                failed.pop(f, None)
            found = of(outcome)
            if isinstance(found, XStreamError):
                failed[f] = found
                found = self.contributions.nothing
            added[f] = found[0] if type(found) is list and len(found) == 1 else found
            come.append(found)
        self.accumulator.adjust(gone, come)

    def total(self) -> Any:
        return self.accumulator.summary

    @property
    def size(self) -> int:
        return sum(one is not None and bool(self.contributions.unpacked(one)) for one in self.added)


class Framed(Adjusted):
    """Sums of each record around: ``frames`` has what the fragments in it come to.

    ``owner``: by fragment, whose it is, NOWHERE for those that are not there; ``added``: what each adds; of one value
    no more than that.
    """

    def __init__(self, contributions: Contributions) -> None:
        super().__init__()
        self.contributions = contributions
        self.owner: list[int] = []
        self.added: list[Any] = []
        self.frames: dict[int, Accumulator] = {}
        self.touched: dict[int, None] = {}
        self._none = contributions.accumulator()

    def drop(self, fragments: Iterable[int]) -> None:
        gone: dict[int, list[Any]] = {}
        for f in fragments:
            if self.failed:
                self.failed.pop(f, None)
            self._take(f, gone)
        self._adjust(gone, {})

    def put_in(self, fragments: list[int], outcomes: list[Outcome], owners: list[int]) -> None:
        """Some fragments have outcomes, in the records of these."""
        gone: dict[int, list[Any]] = {}
        come: dict[int, list[Any]] = {}
        owner, added, of, failed = self.owner, self.added, self.contributions.of, self.failed
        missing = max(fragments, default=-1) + 1 - len(owner)
        if missing > 0:
            owner += [NOWHERE] * missing
            added += [None] * missing
        for f, outcome, frame in zip(fragments, outcomes, owners, strict=True):
            if failed:
                failed.pop(f, None)
            if owner[f] >= 0:
                self._take(f, gone)
            found = of(outcome)
            if isinstance(found, XStreamError):
                failed[f] = found
                found = self.contributions.nothing
            owner[f] = frame
            added[f] = found[0] if type(found) is list and len(found) == 1 else found
            mine = come.get(frame)
            if mine is None:
                come[frame] = [found]
            else:
                mine.append(found)
        self._adjust(gone, come)

    def _take(self, f: int, gone: dict[int, list[Any]]) -> None:
        """What a fragment adds is to go, if it is there."""
        frame = self.owner[f] if f < len(self.owner) else NOWHERE
        if frame >= 0:
            gone.setdefault(frame, []).append(self.contributions.unpacked(self.added[f]))
            self.owner[f], self.added[f] = NOWHERE, None

    def _adjust(self, gone: dict[int, list[Any]], come: dict[int, list[Any]]) -> None:
        for frame in come | gone:
            known = self.frames.get(frame)
            if known is None:
                known = self.frames[frame] = self.contributions.accumulator()
            known.adjust(gone.get(frame, []), come.get(frame, []))
            if not known.summary:
                del self.frames[frame]
            self.touched[frame] = None

    def take_touched(self) -> dict[int, None]:
        """The records whose sums are others."""
        found, self.touched = self.touched, {}
        return found

    def summary(self, frame: int) -> Any:
        """What the fragments in a record come to."""
        return self.frames.get(frame, self._none).summary

    def failure_in(self, frame: int) -> XStreamError | None:
        """The error of a fragment in a record."""
        return next((failure for f, failure in self.failed.items() if self.owner[f] == frame), None)

    @property
    def size(self) -> int:
        unpacked = self.contributions.unpacked
        return sum(one is not None and bool(unpacked(one)) for one in self.added)


Shows = Written | tuple[Written, ...]
"""What a fragment shows: a record, or several, which lie in it."""


class Told(Summed):
    """Rows that are told one by one, in document order.

    ``there``: how many items each fragment has that has any; ``changed``: what is to be written of fragments that look
    otherwise; ``gone``: those that are shown no more. One that is both has gone, and another one has its slot.
    """

    def __init__(self, table: RegionTable) -> None:
        super().__init__()
        self.table = table
        self.cut = False
        """Whether what it shows is told with its holes."""
        self.there: dict[int, int] = {}
        self.changed: dict[int, Shows | XStreamError] = {}
        self.gone: dict[int, None] = {}
        self.items = 0

    def drop(self, fragments: Iterable[int]) -> None:
        for f in fragments:
            self.failed.pop(f, None)
            self.items -= self.there.pop(f, 0)
            self.changed.pop(f, None)
            self.gone[f] = None

    def put(self, fragments: list[int], outcomes: list[Outcome], each: bool = False) -> None:
        """Some fragments have these items; ``each``: of several in one, each is told by itself."""
        shown: list[int] = []
        for f, outcome in zip(fragments, outcomes, strict=True):
            if self.failed:
                self.failed.pop(f, None)
            if isinstance(outcome, XStreamError):
                self.drop([f])
                self.failed[f] = outcome
            elif outcome:
                shown.append(f)
                self.items += len(outcome) - self.there.get(f, 0)
                self.there[f] = len(outcome)
            else:
                self.drop([f])
        said_by = [outcome for outcome in outcomes if outcome and not isinstance(outcome, XStreamError)]
        if each and any(len(items) > 1 for items in said_by):
            self._put_each(shown, said_by)
            return
        texts = texts_of(said_by, self.cut)
        for f, said in zip(shown, texts, strict=True):
            if said is None:  # items that come to nothing: empty arrays
                self.drop([f])
            else:
                self.changed[f] = said

    def _put_each(self, shown: list[int], said_by: list[Any]) -> None:
        texts = iter(texts_of([[item] for items in said_by for item in items], self.cut))
        for f, items in zip(shown, said_by, strict=True):
            found = [said for said in islice(texts, len(items)) if said is not None]
            failure = next((said for said in found if isinstance(said, XStreamError)), None)
            written = tuple([said for said in found if not isinstance(said, XStreamError)])
            if not found:
                self.drop([f])
            else:
                self.changed[f] = failure or (written if len(written) > 1 else written[0])

    def total(self) -> int:
        return self.items

    def in_order(self) -> Longs:
        """The fragments that have items, in document order."""
        return self.table.in_order(np.array(list(self.there), np.int64))

    def forget(self) -> None:
        self.changed.clear()
        self.gone.clear()

    @property
    def size(self) -> int:
        return len(self.there)


def texts_of(outcomes: list[Any], cut: bool) -> list[Written | XStreamError | None]:
    """What each outcome is as text, or why it cannot be written; ``cut``: at its seams, too."""
    try:
        return list(written_each(outcomes, cut))
    except XStreamError as failure:
        if len(outcomes) == 1:
            return [failure]
    half = len(outcomes) // 2
    return texts_of(outcomes[:half], cut) + texts_of(outcomes[half:], cut)
