"""Γ: one state per group, found by general comparison with the group's keys.

``E[k1 = $i and k2 = $j]`` for many i and j asks for the items whose keys *equal* i and j: an untyped key "01" equals
the string "01" and the number 1, and so do the untyped keys "1" and " 1 " the number. So a group is known by its keys
as they are (``raw``), and by those of them that are numbers as numbers (``number``). Where several raw groups are one
by number, that one has a state of its own from the moment the second of them appears.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import product
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.compare import NAN_KEY, PAIR, hash_key
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.types import NUMERIC, TEXTUAL, describe
from xstreamcast.operators.state import State
from xstreamcast.run.runtime.values import group_hash, group_value

if TYPE_CHECKING:
    from xstreamcast.model.collation import Collation
    from xstreamcast.plan.algebra import Gather

RAW: Final = 0
NUMBER: Final = 1
Key = tuple[Hashable, ...]
_pair_eq = PAIR["eq"]


class Grouped(State):
    """The states of the groups of up to ``width`` keys; the value is a function from keys to a group's value.

    The items come as arrays: the item, then for each key the sequence of its values.
    """

    def __init__(self, width: int, fresh: Callable[[], State]) -> None:
        self.width = width
        self.fresh = fresh
        self.states: dict[Key, list[State]] = {}
        """By raw keys: the raw group's own state, then those of the groups by number that it is part of."""
        self.owners: dict[tuple[Key, Key], Key | State] = {}
        """By the ways of looking and the keys seen that way: the only raw group there, or the state of several."""
        self.examples: list[dict[type, Item]] = [{} for _ in range(width)]
        self.odd: list[tuple[Item, ...]] = []
        """Keys with an untyped one that is no number: an error for who asks by numbers and gets as far as that."""
        self.ways = [way for way in product((RAW, NUMBER), repeat=width) if NUMBER in way]

    def add(self, items: list[Item]) -> None:
        states = self.states
        for item in items:
            assert isinstance(item, Array)
            value, *keys = item.members()
            if all(len(key) == 1 for key in keys):
                raw = tuple([self._raw(k, key[0]) for k, key in enumerate(keys)])
                found = states.get(raw)
                if found is None:
                    found = self._begin(raw, tuple([key[0] for key in keys]))
                for state in found:
                    state.add(value)
            else:
                self._add_to_all(value, keys)

    def _add_to_all(self, value: list[Item], keys: list[list[Item]]) -> None:
        """An item with several values of a key is in the group of each, once."""
        reached: dict[int, State] = {}
        for combination in product(*keys):
            raw = tuple([self._raw(k, key) for k, key in enumerate(combination)])
            if raw not in self.states:
                self._begin(raw, combination)
            reached.update((id(state), state) for state in self.states[raw])
        for state in reached.values():
            state.add(value)

    def _raw(self, k: int, key: Item) -> Hashable:
        kind = type(key)
        examples = self.examples[k]
        if kind not in examples:
            examples[kind] = key
        found: Hashable = key if kind is Untyped or kind is str else hash_key(key)
        return found

    def _begin(self, raw: Key, keys: tuple[Item, ...]) -> list[State]:
        """A raw group appears: it may be the second of a group by number."""
        made = self.states[raw] = [self.fresh()]
        numbers = [_number(key) for key in keys]
        if any(number is None and type(key) is Untyped for number, key in zip(numbers, keys, strict=True)):
            self.odd.append(keys)
        for way in self.ways:
            seen = tuple([number if by == NUMBER else one for by, number, one in zip(way, numbers, raw, strict=True)])
            if any(by == NUMBER and number is None for by, number in zip(way, numbers, strict=True)):
                continue
            owner = self.owners.get((way, seen))
            if owner is None:
                self.owners[way, seen] = raw
                continue
            if not isinstance(owner, State):
                shared = self.states[owner][0].copied()
                self.states[owner].append(shared)
                self.owners[way, seen] = owner = shared
            made.append(owner)
        return made

    def value(self) -> list[Item]:
        return [FunctionItem(None, self.width, self._group)]

    def _group(self, args: list[list[Item]]) -> list[Item]:
        values = [atomize(arg) for arg in args]
        if any(len(value) > 1 for value in values):
            raise error("XSC0081", "a group is asked for by one value of each key")
        if not all(values):
            return self.fresh().value()
        way, seen = [], []
        for value, examples in zip(values, self.examples, strict=True):
            (key,) = value
            for example in examples.values():
                _pair_eq(example, key)  # for the error, where the types do not compare
            if type(key) in NUMERIC.classes:
                way.append(NUMBER)
                seen.append(_hashed(key))
            else:
                if type(key) not in TEXTUAL and Untyped in examples:
                    hint = f"compare it as that type: xs:{describe(key).removeprefix('xs:')}(…)"
                    raise error("XSC0081", f"groups of untyped values are not found by {describe(key)}", hint=hint)
                way.append(RAW)
                seen.append(_hashed(key))
        for keys in self.odd:
            all(_pair_eq(key, value[0]) for key, value in zip(keys, values, strict=True))  # for the error
        if NUMBER not in way:
            found = self.states.get(tuple(seen))
            return found[0].value() if found else self.fresh().value()
        owner = self.owners.get((tuple(way), tuple(seen)))
        if owner is None:
            return self.fresh().value()
        return (owner if isinstance(owner, State) else self.states[owner][0]).value()


def _hashed(key: Item) -> Hashable:
    """What a value that is looked up by has in common with the keys it equals; NaN equals none, NaN included."""
    found: Hashable = hash_key(key)
    return object() if found is NAN_KEY else found


def _number(key: Item) -> Hashable | None:
    """A key as it compares with numbers; None if it equals none, or is no number."""
    if type(key) is Untyped:
        try:
            number = parse_double(key)
        except XStreamError:
            return None
        return number if number == number else None
    if type(key) in NUMERIC.classes:
        found: Hashable = hash_key(key)
        return None if found is NAN_KEY else found
    return None


def tuple_keys(
    gather: Gather, collations: Iterable[Collation], values: Iterable[list[Item]]
) -> tuple[list[Item | None], tuple[Hashable, ...]]:
    """The grouping keys of a tuple, whose values begin with them; and what keys that are equal have in common."""
    keys: list[Item | None] = []
    for key, found in zip(gather.keys, values, strict=False):
        if len(found) > 1:
            raise error("XPTY0004", f"the grouping key ${key.var.lexical} has {len(found)} items")
        keys.append(group_value(found[0] if found else None))
    return keys, known_by(keys, collations)


def known_by(keys: list[Item | None], collations: Iterable[Collation]) -> tuple[Hashable, ...]:
    """What grouping keys that are equal have in common."""
    return tuple([group_hash(key, used) for key, used in zip(keys, collations, strict=True)])
