"""Abstract values: where the nodes in a value can be, and which functions it can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Final, Literal

from xstreamcast.dataclass import dataclass
from xstreamcast.plan.projection.paths import Place, VarName, describe_path


@dataclass(frozen=True, slots=True)
class Closure:
    """A function item, by what made it.

    ``inline``, ``partial``, ``named`` (a reference to a function, with its arity): the number of the syntax node.
    ``reader`` only atomises its arguments; ``lookup`` does, and gives the rows of a look-up; ``opaque`` could do
    anything with them.
    """

    kind: Literal["inline", "partial", "named", "reader", "lookup", "opaque"]
    key: int = -1


@dataclass(frozen=True, slots=True)
class Value:
    """A value: nodes at ``places`` or elsewhere, functions among ``closures``, any atomic items.

    Maps and arrays are not told from what is in them: a map of nodes has their places.
    """

    places: frozenset[Place] = frozenset()
    closures: frozenset[Closure] = frozenset()

    @property
    def in_order(self) -> list[Place]:
        """The places in one order, whatever the process."""
        return sorted(self.places, key=lambda place: (place.root, describe_path(place.path)))

    def __or__(self, other: Value) -> Value:
        if not other.places and not other.closures:
            return self
        return Value(self.places | other.places, self.closures | other.closures)


NOTHING: Final = Value()
READER: Final = Value(closures=frozenset({Closure("reader")}))
OPAQUE: Final = Value(closures=frozenset({Closure("opaque")}))


def join(values: Iterable[Value]) -> Value:
    """What any of the values can be."""
    made = NOTHING
    for value in values:
        made |= value
    return made


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables and the context item that an expression sees."""

    variables: Mapping[VarName, Value] = field(default_factory=dict)
    focus: Value = NOTHING

    def bind(self, name: VarName, value: Value) -> Scope:
        """With one variable more."""
        return replace(self, variables={**self.variables, name: value})

    def at(self, focus: Value) -> Scope:
        """With another context item."""
        return replace(self, focus=focus)
