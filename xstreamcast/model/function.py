"""Function items, maps and arrays.

All three are immutable. A sequence inside a map or an array is a Python list that nobody changes.

* A :class:`Map` finds its entries by ``op:same-key``. It is a large shared dictionary (``base``) under a small overlay
  of about √n entries (``changes``): ``put`` copies the overlay only, and folds it into a new dictionary when it has
  grown, so that n puts cost O(n√n) at C speed and every older version stays valid. A small map is copied whole.
  Generated code reads these two, and ``size``; nobody writes to them.
* An :class:`Array` shares its list with the arrays made from it by appending: the one that reaches the list's end
  may extend it in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from math import isnan, isqrt
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.datetime import Moment

if TYPE_CHECKING:
    from xstreamcast.model.types import SequenceType

Body = Callable[[list[list[Item]]], list[Item]]


class FunctionItem:
    """A function value.

    ``body`` takes one sequence per argument, already converted to ``params``, and returns a sequence. ``params`` and
    ``result`` are ``None`` where nothing is declared (``item()*``). Equality is identity.
    """

    __slots__ = ("annotations", "arity", "body", "name", "params", "result")

    def __init__(
        self,
        name: QName | None,
        arity: int,
        body: Body,
        params: tuple[SequenceType, ...] | None = None,
        result: SequenceType | None = None,
        annotations: tuple[Any, ...] = (),
    ) -> None:
        self.name = name
        self.arity = arity
        self.body = body
        self.params = params
        self.result = result
        self.annotations = annotations

    def invoke(self, args: list[list[Item]]) -> list[Item]:
        """Call with the function conversion rules: arguments and result converted to the declared types."""
        from xstreamcast.model.convert import convert_arguments, convert_result

        if len(args) != self.arity:
            raise error("XPTY0004", f"{self.described} takes {self.arity} arguments, not {len(args)}")
        if self.params is not None:
            args = convert_arguments(args, self.params, self.described)
        value = self.body(args)
        return value if self.result is None else convert_result(value, self.result, self.described)

    @property
    def described(self) -> str:
        return f"{self.name}#{self.arity}" if self.name else f"anonymous function#{self.arity}"

    def __repr__(self) -> str:
        return f"<{self.described}>"


class _NaN:
    """The key that stands for NaN, which op:same-key finds equal to itself."""


_NAN: Final = _NaN()


def same_key(item: Item) -> Any:
    """A hashable that is equal for two atomic values exactly when ``op:same-key`` holds.

    Strings, untyped values and URIs are equal by codepoints; numbers by exact mathematical value, which is how
    Python compares int, float and Decimal; a date with and one without a timezone are never the same key.
    """
    kind = type(item)
    if kind is str or kind is int:
        return item
    if kind is bool:
        return (bool, item)  # Python finds True == 1
    if kind is Decimal:
        return item
    if isinstance(item, float):
        return _NAN if isnan(item) else item
    if isinstance(item, Moment):
        return (item, item.tz is None)
    return item


class _Gone:
    """Marks a removed entry in an overlay."""


_GONE: Final = _Gone()
_OVERLAY_MIN: Final = 16
#: The overlay of all maps without one; nobody writes to an overlay.
_UNCHANGED: Final[dict[Any, Any]] = {}


_new: Final = object.__new__


class Map(FunctionItem):
    """``map { key: sequence }``; iteration in order of first insertion."""

    __slots__ = ("base", "changes", "size")
    # Class attributes over the slots of the parent: a map has no fields but its entries.
    name = None
    arity = 1
    params = None
    result = None
    annotations = ()

    def __init__(self, items: Iterable[tuple[Item, list[Item]]] = ()) -> None:
        self.base: dict[Any, Any] = {same_key(entry[0]): entry for entry in items}
        self.changes = _UNCHANGED
        self.size = len(self.base)

    @classmethod
    def of_entries(cls, entries: dict[Any, tuple[Item, list[Item]]]) -> Map:
        """A map that takes a dictionary as :meth:`entries` describes it for its own."""
        return cls._made(entries, _UNCHANGED, len(entries))

    @classmethod
    def _made(cls, entries: dict[Any, Any], overlay: dict[Any, Any], size: int) -> Map:
        made = cls.__new__(cls)
        made.base, made.changes, made.size = entries, overlay, size
        return made

    def body(self, args: list[list[Item]]) -> list[Item]:
        return self.get(args[0][0]) or []

    def invoke(self, args: list[list[Item]]) -> list[Item]:
        from xstreamcast.model.convert import single_atomic

        if len(args) != 1:
            raise error("XPTY0004", f"a map takes one argument, not {len(args)}")
        return self.get(single_atomic(args[0], "the key of a map look-up")) or []

    def get(self, key: Item) -> list[Item] | None:
        """The value at a key, or ``None``."""
        found = key if type(key) is str else same_key(key)
        if self.changes:
            entry = self.changes.get(found)
            if entry is not None:
                return None if entry is _GONE else entry[1]
        entry = self.base.get(found)
        return None if entry is None else entry[1]

    def __contains__(self, key: Item) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return self.size

    def __bool__(self) -> bool:
        return True

    def put(self, key: Item, value: list[Item]) -> Map:
        """The map with one entry more, or with the entry at ``key`` replaced."""
        if self.changes is _UNCHANGED and self.size <= _OVERLAY_MIN:
            entries = self.base.copy()
            entries[key if type(key) is str else same_key(key)] = (key, value)
            made = _new(Map)
            made.base, made.changes, made.size = entries, _UNCHANGED, len(entries)
            return made
        grown = 0 if key in self else 1
        return self._changed({same_key(key): (key, value)}, self.size + grown)

    def remove(self, keys: Iterable[Item]) -> Map:
        gone = {same_key(key): _GONE for key in keys if key in self}
        return self._changed(gone, self.size - len(gone)) if gone else self

    def _changed(self, change: dict[Any, Any], size: int) -> Map:
        made = Map._made(self.base, self.changes | change, size)
        if len(made.changes) > max(_OVERLAY_MIN, isqrt(len(self.base))):
            made.base, made.changes = made._merged(), _UNCHANGED
        return made

    def entries(self) -> Iterable[tuple[Any, tuple[Item, list[Item]]]]:
        """Pairs of the hashable that stands for a key (:func:`same_key`) and the entry (key, value)."""
        return self._merged().items()

    def items(self) -> Iterable[tuple[Item, list[Item]]]:
        return self._merged().values()

    def _merged(self) -> dict[Any, tuple[Item, list[Item]]]:
        """One dictionary of all entries."""
        if not self.changes:
            return self.base
        merged = self.base | self.changes
        if len(merged) != self.size:
            merged = {found: entry for found, entry in merged.items() if entry is not _GONE}
        return merged

    def keys(self) -> Iterator[Item]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[list[Item]]:
        return (value for _, value in self.items())

    @property
    def described(self) -> str:
        return "map"

    def __repr__(self) -> str:
        return f"Map({list(self.items())!r})"


_extend = Lock()


class Array(FunctionItem):
    """``[ member, … ]``; every member is a sequence. Positions count from 1."""

    __slots__ = ("_list", "_size")
    name = None
    arity = 1
    params = None
    result = None
    annotations = ()

    def __init__(self, members: Iterable[list[Item]] = ()) -> None:
        self._adopt(list(members))

    def _adopt(self, members: list[list[Item]]) -> None:
        self._list = members
        self._size = len(members)

    def body(self, args: list[list[Item]]) -> list[Item]:
        return self.get(args[0][0])

    def invoke(self, args: list[list[Item]]) -> list[Item]:
        from xstreamcast.model.convert import single_integer

        if len(args) != 1:
            raise error("XPTY0004", f"an array takes one argument, not {len(args)}")
        return self.get(single_integer(args[0], "the position in an array look-up"))

    def get(self, position: int) -> list[Item]:
        if not 0 < position <= self._size:
            raise error("FOAY0001", f"no member {position} in an array of size {self._size}")
        return self._list[position - 1]

    def members(self) -> list[list[Item]]:
        """All members; the list is not to be changed."""
        return self._list if len(self._list) == self._size else self._list[: self._size]

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return True

    def append(self, member: list[Item]) -> Array:
        made = Array.__new__(Array)
        with _extend:
            if len(self._list) == self._size:
                self._list.append(member)
                made._adopt(self._list)
                return made
        made._adopt([*self.members(), member])
        return made

    @property
    def described(self) -> str:
        return "array"

    def __repr__(self) -> str:
        return f"Array({self.members()!r})"
