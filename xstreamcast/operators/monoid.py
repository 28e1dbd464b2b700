"""What sums are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from xstreamcast.dataclass import dataclass

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Monoid(Generic[S]):
    """An associative ``add`` with an identity; ``less`` undoes it where that can be: ``less(add(a, b), b) = a``.

    ``swap(a, b, c) = add(less(a, b), c)``, where that is cheaper at one go.
    """

    zero: S
    add: Callable[[S, S], S]
    less: Callable[[S, S], S] | None = None
    swap: Callable[[S, S, S], S] | None = None


COUNT: Final[Monoid[int]] = Monoid(0, lambda a, b: a + b, lambda a, b: a - b, lambda total, old, new: total - old + new)
"""How many there are."""
