"""What outcomes of fragments come to: counts, sums, sums of each record around, and rows that are told in order.

total := total ⊖ old ⊕ new
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from xstreamcast.errors import XStreamError
from xstreamcast.functions.total import Total
from xstreamcast.model.atomic import Untyped
from xstreamcast.model.convert import atomize
from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.model.tree import Node
from xstreamcast.run.continuous.display.written import Written, written_each

if TYPE_CHECKING:
    from xstreamcast.operators.aggregates import Aggregate
    from xstreamcast.run.continuous.columns.rows import Outcome
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.scan.vector import Longs

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


class Counted(Summed):
    """count, exists, empty: how many items each fragment has."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[int, int] = {}
        self._total = 0

    def drop(self, fragments: Iterable[int]) -> None:
        for f in fragments:
            self._total -= self.counts.pop(f, 0)
            self.failed.pop(f, None)

    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
        counts, failed, total = self.counts, self.failed, self._total
        for f, outcome in zip(fragments, outcomes, strict=True):
            if failed:
                failed.pop(f, None)
            if isinstance(outcome, XStreamError):
                failed[f] = outcome
                outcome = []
            new = len(outcome)
            total += new - counts.get(f, 0)
            counts[f] = new
        self._total = total

    def total(self) -> int:
        return self._total

    @property
    def size(self) -> int:
        return sum(map(bool, self.counts.values()))


class Totalled(Summed):
    """sum, avg: the values of each fragment, and their exact total."""

    def __init__(self, aggregate: Aggregate) -> None:
        super().__init__()
        self.function = f"fn:{aggregate.name}"
        self.values: dict[int, list[Any]] = {}
        self._total = Total(self.function)

    def drop(self, fragments: Iterable[int]) -> None:
        gone = [value for f in fragments for value in self._taken(f)]
        if gone:
            self._total.remove_many(gone)

    def _taken(self, f: int) -> list[Any]:
        self.failed.pop(f, None)
        return self.values.pop(f, [])

    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
        values = self.values
        gone: list[Any] = []
        come: list[Any] = []
        for f, outcome in zip(fragments, outcomes, strict=True):
            gone += values.get(f, ())
            if self.failed:
                self.failed.pop(f, None)
            found = self._adding(f, outcome)
            values[f] = found
            come += found
        if gone:
            self._total.remove_many(gone)
        self._total.add_many(come)

    def _adding(self, f: int, outcome: Outcome) -> list[Any]:
        found = added(outcome, self.function)
        if isinstance(found, XStreamError):
            self.failed[f] = found
            return []
        return found

    def total(self) -> Total | None:
        return self._total if self._total.count else None

    @property
    def size(self) -> int:
        return sum(map(bool, self.values.values()))


class Framed(Adjusted):
    """Sums of each record around: ``frames`` has what the fragments in it add up to, ``owner`` whose a fragment is."""

    def __init__(self, aggregate: Aggregate) -> None:
        super().__init__()
        self.counts = aggregate.counts
        self.function = f"fn:{aggregate.name}"
        self.owner: dict[int, int] = {}
        self.values: dict[int, Any] = {}
        self.frames: dict[int, Any] = {}
        self.touched: dict[int, None] = {}

    def drop(self, fragments: Iterable[int]) -> None:
        self.put_in(list(fragments), None, None)

    def put_in(self, fragments: list[int], outcomes: list[Outcome] | None, owners: list[int] | None) -> None:
        """Some fragments have outcomes, in the records of these; None: they are there no more."""
        differs: dict[int, tuple[list[Any], list[Any]]] = {}
        for number, f in enumerate(fragments):
            if self.failed:
                self.failed.pop(f, None)
            if f in self.owner:
                differs.setdefault(self.owner.pop(f), ([], []))[0].append(self.values.pop(f))
            if outcomes is not None and owners is not None:
                owner = self.owner[f] = owners[number]
                found = self.values[f] = self._adding(f, outcomes[number])
                differs.setdefault(owner, ([], []))[1].append(found)
        for frame, (gone, come) in differs.items():
            self._adjust(frame, gone, come)
        self.touched.update(dict.fromkeys(differs))

    def _adding(self, f: int, outcome: Outcome) -> Any:
        if self.counts and not isinstance(outcome, XStreamError):
            return len(outcome)
        found = added(outcome, self.function)
        if isinstance(found, XStreamError):
            self.failed[f] = found
            return 0 if self.counts else []
        return found

    def _adjust(self, frame: int, gone: list[Any], come: list[Any]) -> None:
        if self.counts:
            self.frames[frame] = self.frames.get(frame, 0) + sum(come) - sum(gone)
            return
        total = self.frames.get(frame)
        if total is None:
            total = self.frames[frame] = Total(self.function)
        total.remove_many([value for values in gone for value in values])
        total.add_many([value for values in come for value in values])
        if not total.count:
            del self.frames[frame]

    def take_touched(self) -> dict[int, None]:
        """The records whose sums are others."""
        found, self.touched = self.touched, {}
        return found

    def summary(self, frame: int) -> Any:
        """What the fragments in a record add up to."""
        return self.frames.get(frame, 0 if self.counts else None)

    def failure_in(self, frame: int) -> XStreamError | None:
        """The error of a fragment in a record."""
        return next((failure for f, failure in self.failed.items() if self.owner.get(f) == frame), None)

    @property
    def size(self) -> int:
        return sum(map(bool, self.values.values()))


def added(outcome: Outcome, function: str) -> list[Any] | XStreamError:
    """The values that an outcome adds, or why they cannot be added."""
    if isinstance(outcome, XStreamError):
        return outcome
    if len(outcome) == 1 and type(outcome[0]) is Node and outcome[0].kind <= ATTRIBUTE:
        value = outcome[0].string  # by far the most
        if _NUMBER.fullmatch(value):
            return [Untyped(value)]
    try:
        found = atomize(outcome)
        if any(type(value) is not Untyped or not _NUMBER.fullmatch(value) for value in found):
            Total(function).add_many(found)
    except XStreamError as failure:
        return failure
    return found


class Told(Summed):
    """Rows that are told one by one, in document order.

    ``there``: how many items each fragment has that has any; ``changed``: what is to be written of fragments that look
    otherwise; ``gone``: those that are shown no more. One that is both has gone, and another one has its slot.
    """

    def __init__(self, table: RegionTable) -> None:
        super().__init__()
        self.table = table
        self.there: dict[int, int] = {}
        self.changed: dict[int, Written | XStreamError] = {}
        self.gone: dict[int, None] = {}
        self.items = 0

    def drop(self, fragments: Iterable[int]) -> None:
        for f in fragments:
            self.failed.pop(f, None)
            self.items -= self.there.pop(f, 0)
            self.changed.pop(f, None)
            self.gone[f] = None

    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
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
        texts = texts_of([outcome for outcome in outcomes if outcome and not isinstance(outcome, XStreamError)])
        for f, said in zip(shown, texts, strict=True):
            if said is None:  # items that come to nothing: empty arrays
                self.drop([f])
            else:
                self.changed[f] = said

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


def texts_of(outcomes: list[Any]) -> list[Written | XStreamError | None]:
    """What each outcome is as text, or why it cannot be written."""
    try:
        return list(written_each(outcomes))
    except XStreamError as failure:
        if len(outcomes) == 1:
            return [failure]
    half = len(outcomes) // 2
    return texts_of(outcomes[:half]) + texts_of(outcomes[half:])
