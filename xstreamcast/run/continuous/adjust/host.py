"""What operators know of those whose rows they keep, and of the engine that they work for.

An operator is told which holders have other rows, by :meth:`~xstreamcast.run.continuous.adjust.derived.Derived.follow`.
It asks the engine for programs and values, and says who must look again. So it serves any engine that has these.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from xstreamcast.errors import XStreamError
    from xstreamcast.lang.context import StaticContext
    from xstreamcast.model.atomic import Item
    from xstreamcast.operators.state import State
    from xstreamcast.plan.algebra import Concat, Reduce, Unit
    from xstreamcast.run.continuous.related import Number
    from xstreamcast.run.continuous.time.horizon import Timing
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.units import Evaluation, Parts, UnitCode

Asker = tuple[Any, Any]
"""Who looks something up: a holder, with where it stands, or a group or row, with the operator it belongs to."""


class Spot(Protocol):
    """The place of a row in the document: places compare as it is now."""

    def __lt__(self, other: Any) -> bool: ...

    def order(self) -> Any:
        """What orders it among others, as long as nothing moves."""

    def within(self, number: int) -> Spot:
        """The place of a part of the row."""


class Holder(Protocol):
    """Whoever holds rows: a record. ``outcome``: the items, or rows, that its last evaluation gave."""

    outcome: Any

    def place(self, number: int) -> Spot:
        """The place of one of its rows."""

    def identity(self) -> Hashable:
        """What it is known by when its content is sent again: where it stands."""

    def __hash__(self) -> int: ...


class LooksUp(Protocol):
    """An operator that is asked for keys."""

    def unask(self, key: Any, asker: Asker) -> None:
        """Who asked for a key does so no more."""


class Host(Protocol):
    """An engine that operators work for. ``asking``: who is being evaluated; ``failed``: holders whose outcome is an
    error."""

    asking: Asker | None
    evaluated: int
    failed: dict[Any, XStreamError]

    @property
    def asks_again(self) -> bool:
        """Whether nodes are not to be kept: rows are asked for again when they are wanted."""

    @property
    def evaluation(self) -> Evaluation: ...
    @property
    def parts(self) -> Parts: ...
    @property
    def static(self) -> StaticContext: ...
    @property
    def timing(self) -> Timing[Any]: ...
    @property
    def codes(self) -> dict[str, list[UnitCode]]: ...

    def unit(self, where: Number) -> Unit:
        """A unit of its plan."""

    def is_there(self, holder: Any, where: Number) -> bool:
        """Whether a holder is in the document, and seen."""

    def first_failure(self, holders: Iterable[Any], where: Number) -> XStreamError | None:
        """Of holders that have failed the error of the first one in the document."""

    def rows_again(self, where: Number, holders: list[Any]) -> dict[Any, list[list[list[Item]]]]:
        """The rows of some holders, as sequences side by side."""

    def fresh(self, where: Number) -> State:
        """A state of a unit's reduction of no items; of one group, where it has groups."""

    def column_state(self, reduction: Concat | Reduce, program: Executable) -> State:
        """A state of the reduction of a column, of no items."""

    def ask_for(self, asker: Asker) -> Asker | None:
        """What is looked up from now on is noted for who asks; who asked before."""

    def note(self, asker: Asker, lookup: LooksUp, key: Any) -> None:
        """Remember what somebody has looked up."""

    def unask(self, asker: Asker) -> None:
        """Somebody is evaluated anew, or gone."""

    def wake(self, asker: Asker) -> None:
        """Somebody must look again."""
