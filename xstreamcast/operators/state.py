"""What is left of the items of a unit, batch after batch.

    R(a ++ b) = R(a) ⊕ R(b)        R(a ++ b) = add(R(a), b)

so that ``value()`` is what the F&O function gives on all items at once: types, errors, NaN and the empty sequence
included. ``merge`` takes the state of the items that follow in document order (ranges of threads, Spark partitions).
"""

from __future__ import annotations

from copy import copy
from typing import ClassVar

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item


class State:
    """What a reduction keeps. ``part`` names the form in which a batch's items are best computed for it."""

    part: ClassVar[str] = "items"
    """``items``: E; ``values``: data(E); ``count``: count(E); ``exists``: exists(E); ``fold``: E folded."""
    settled = False
    """Whether no item to come can change the value: the scan may end for it."""

    def add(self, items: list[Item]) -> None:
        """Take the next items."""
        raise NotImplementedError

    def add_part(self, items: list[Item]) -> None:
        """Take what the expression of :attr:`part` gave for the next items."""
        self.add(items)

    def merge(self, other: State) -> None:
        """Take the state of the items that come after."""
        raise error("XSC0081", f"partial results of {type(self).__name__} do not combine")

    def value(self) -> list[Item]:
        """The value of the reduction for the items so far."""
        raise NotImplementedError

    def copied(self) -> State:
        """A state that goes on by itself."""
        return copy(self)
