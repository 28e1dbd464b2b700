"""⋈: the rows of a unit by key, and who has asked for which key.

    E[key = e($a)]  =  G(e($a))            G = { key ↦ rows, in document order }

While a member is evaluated, each look-up is noted with who asks; when a row comes or goes, exactly those who asked for
one of its keys look again. A group is an order tree with the sums of its reduction, so that ``count`` and ``sum`` of a
group follow each row in O(log n).

General comparison decides by the types of both sides. Texts are found by their text, numbers and untyped values that
are asked for by a number by their value; where a column has keys of other types, every row is compared. What kinds of
keys there are is the *regime*: when that is another, all who asked look again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Float, Item, Untyped
from xstreamcast.model.compare import NAN_KEY, PAIR, hash_key
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.tree import Node, Tree
from xstreamcast.model.types import NUMERIC, TEXTUAL
from xstreamcast.operators.monoid import COUNT, Monoid
from xstreamcast.plan.algebra import Concat, Group, Reduce
from xstreamcast.run.continuous.adjust.derived import Derived, rows_of
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.adjust.sums import contribution, monoid_of

if TYPE_CHECKING:
    from xstreamcast.operators.state import State
    from xstreamcast.run.continuous.adjust.host import Holder, Host, Spot
    from xstreamcast.run.continuous.related import Number

Form = tuple[str, Hashable]
Key = tuple[Form | None, ...]
"""What a group is found by: for each column its values as text, or as numbers."""
ALL: Final[Key] = ()
"""Asked for by who has compared every row."""
OUTSIDE: Final[Key] = (("", None),)
"""Stands for rows that are in no group, for they are compared one by one."""
REGIME: Final[Key] = (None,)
"""Asked for by who has asked for nothing that could be there."""
TEXT, NUMBER, UNTYPED, ODD, OTHER = "text", "number", "untyped", "odd", "other"
"""Kinds of keys; untyped: it may be a number; odd: untyped, and it is none."""
TEXTS: Final = frozenset((TEXT, UNTYPED, ODD))
NUMBERS: Final = frozenset((NUMBER, UNTYPED))
_pair_eq = PAIR["eq"]


class Row:
    """An item, or several, with the values of its keys."""

    __slots__ = ("entries", "items", "keys", "place", "summary")

    def __init__(self, place: Spot, items: list[Item], keys: list[list[Item]]) -> None:
        self.place = place
        self.items = items
        self.keys = keys
        self.entries: dict[Key, Entry[Any]] = {}
        self.summary: Any = None
        """What it adds to the sums of its groups."""


class Lookup(Derived):
    """The value is a function from a value of each key to what the group's rows reduce to."""

    def __init__(self, engine: Host, where: Number, group: Group) -> None:
        super().__init__(engine, where)
        self.inner = group.inner
        self.width = len(group.keys)
        self.monoid: Monoid[Any] = monoid_of(group.inner) if isinstance(group.inner, Reduce) else COUNT
        self.groups: dict[Key, Sequence[Any]] = {}
        self.rows: dict[Holder, list[Row]] = {}
        self.kinds: list[Counter[str]] = [Counter() for _ in range(self.width)]
        self.askers: dict[Key, dict[Any, None]] = {}
        self._failing: dict[Holder, None] = {}
        self._odd: dict[Row, XStreamError] = {}
        """Rows that cannot be taken into the sums."""
        self._totals: dict[Key, Any] = {}
        self._function: list[Item] = [FunctionItem(None, self.width, self._ask)]
        self._regime: Any = self._now()
        self._epoch: object = None
        self._given: dict[int, tuple[Spot, Tree]] = {}
        """The trees that the evaluation at hand has been given."""
        self.compared = 0
        """How many rows were compared one by one."""

    def value(self) -> list[Item]:
        return self._function

    # ---------------------------------------------------------------------------------------------- rows

    def follow(self) -> None:
        self._totals.clear()
        self._epoch = None
        super().follow()
        woken: dict[Any, None] = {}
        others = [key for key, before in self._totals.items() if before is None or before != self._total(key)]
        for key in [*others, ALL] if others else ():
            woken.update(self.askers.get(key, {}))
        before = self._regime
        self._regime = self._now()
        if before != self._regime:
            texts, numbers, failing = (mine != its for mine, its in zip(before, self._regime, strict=True))
            for key, askers in self.askers.items():
                by_number = any(form is not None and form[0] == NUMBER for form in key)
                if failing or (key != REGIME and (numbers if by_number else texts)):
                    woken.update(askers)
        for asker in woken:
            self.engine.wake(asker)

    def _total(self, key: Key) -> Any:
        """What a group comes to, where that is all that can be asked of it; None where it is not told by this."""
        if not isinstance(self.inner, Reduce) or not self.inner.aggregate.counts:
            return None
        group = self.groups.get(key)
        return self.inner.aggregate.summaries.value(0 if group is None else group.total, self._fresh)

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            self._failing.pop(member, None)
            for row in self.rows.pop(member, ()):
                self._odd.pop(row, None)
                if not row.entries:
                    self._totals[OUTSIDE] = None
                for key, entry in row.entries.items():
                    self._totals.setdefault(key, self._total(key))
                    group = self.groups[key]
                    group.remove(entry)
                    if not group.root.children:
                        del self.groups[key]
                for kinds, values in zip(self.kinds, row.keys, strict=True):
                    for value in values:
                        kind = kind_of(value)
                        kinds[kind] -= 1
                        if not kinds[kind]:
                            del kinds[kind]

    def put(self, members: Iterable[Holder]) -> None:
        for member in members:
            if member in self.engine.failed:
                self._failing[member] = None
            made = [self._row(member, number, columns) for number, columns in rows_of(member)]
            if made:
                self.rows[member] = made

    def _row(self, member: Holder, number: int, columns: list[list[Item]]) -> Row:
        items, *keys = columns
        row = Row(member.place(number), items, keys)
        row.summary = self.monoid.zero
        try:
            row.summary = contribution(self.inner, items, self._fresh) if isinstance(self.inner, Reduce) else len(items)
        except XStreamError as failure:
            self._odd[row] = failure  # for who asks for its group
        for kinds, values in zip(self.kinds, keys, strict=True):
            kinds.update(map(kind_of, values))
        for key, at in self._places(row):
            self._totals.setdefault(key, self._total(key))
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = Sequence(self.monoid)
            row.entries[key] = group.insert_sorted(Entry(row, row.summary, at))
        if not row.entries:
            self._totals[OUTSIDE] = None
        return row

    def _places(self, row: Row) -> Iterable[tuple[Key, Any]]:
        """The groups that a row is in, and what it is sorted by in each."""
        return [(key, row.place) for key in keys_of(row.keys)]

    def _now(self) -> object:
        """What decides how texts are asked for, how numbers are, and whether there are errors to be met."""
        found = [kinds.keys() for kinds in self.kinds]
        typed = [kinds == {NUMBER} for kinds in found]
        texts, numbers = [kinds <= TEXTS for kinds in found], [kinds <= NUMBERS for kinds in found]
        return (texts, typed), (numbers, typed), bool(self._failing)

    def _fresh(self) -> State:
        return self.engine.fresh(self.where)

    # ---------------------------------------------------------------------------------------------- asking

    def _ask(self, args: list[list[Item]]) -> list[Item]:
        values = [atomize(arg) for arg in args]
        if not all(values):
            return self._nothing()
        forms = [[self._form(k, value) for value in column] for k, column in enumerate(values)]
        if any(form is None for column in forms for form in column):
            return self._one_by_one(values)
        keys = list(product(*forms))
        for key in keys:
            self._note(key)
        self._fail()
        for row, failure in self._odd.items():
            if any(key in row.entries for key in keys):
                raise failure
        if len(keys) == 1:
            return self._group(self.groups.get(keys[0]))
        found = {id(entry.item): entry.item for key in keys for entry in self.groups.get(key, ())}
        return self._reduced(in_order(found.values()))

    def _nothing(self) -> list[Item]:
        """What is asked for equals nothing, as long as its type is not another's."""
        self._note(REGIME)
        self._fail()
        return self._reduced([])

    def _one_by_one(self, values: list[list[Item]]) -> list[Item]:
        """What is asked for is compared with all rows."""
        self._note(ALL)
        self._fail()
        return self._reduced([row for row in self._every() if self._matches(row, values)])

    def _note(self, key: Key) -> None:
        """Who asks must look again when this key's rows are others."""
        asker = self.engine.asking
        if asker is not None:
            self.askers.setdefault(key, {})[asker] = None
            self.engine.note(asker, self, key)

    def unask(self, key: Key, asker: Any) -> None:
        """Who asked for a key does so no more."""
        askers = self.askers.get(key)
        if askers is not None:
            askers.pop(asker, None)
            if not askers:
                del self.askers[key]

    def _fail(self) -> None:
        failure = self.engine.first_failure(self._failing, self.where) if self._failing else None
        if failure is not None:
            raise failure

    def _form(self, column: int, value: Item) -> Form | None:
        """What the rows that equal a value in a column have in common; None: they are compared one by one."""
        kinds, kind = self.kinds[column].keys(), type(value)
        if kind is Untyped and kinds == {NUMBER}:
            number = number_of(value)
            return None if number is None else (NUMBER, number)
        if kind is Untyped or kind in TEXTUAL:
            return (TEXT, str(value)) if kinds <= TEXTS else None
        if kind in NUMERIC.classes and kind is not Float and kinds <= NUMBERS:
            found: Hashable = hash_key(value)
            return NUMBER, object() if found is NAN_KEY else found
        return None

    def _every(self) -> list[Row]:
        rows = in_order([row for rows in self.rows.values() for row in rows])
        self.compared += len(rows)
        return rows

    def _matches(self, row: Row, values: list[list[Item]]) -> bool:
        """Whether a row's keys equal the values; all pairs are compared, so that those that do not compare are met."""
        for keys, column in zip(row.keys, values, strict=True):
            equal = [_pair_eq(key, value) for key in keys for value in column]
            if True not in equal:
                return False
        return True

    def _group(self, group: Sequence[Any] | None) -> list[Item]:
        if group is None:
            return self._reduced([])
        if isinstance(self.inner, Reduce):
            return self.inner.aggregate.summaries.value(group.total, self._fresh)
        return self._reduced([entry.item for entry in group])

    def _reduced(self, rows: list[Row]) -> list[Item]:
        if isinstance(self.inner, Concat):
            self._arrange(rows)
            return [item for row in rows for item in row.items]
        state = self._fresh()
        for row in rows:
            state.add(row.items)
        return state.value()

    def _arrange(self, rows: list[Row]) -> None:
        """Put the trees of rows in document order, beside those that the same evaluation has looked up before.

        What is found twice, by different keys, must stay in order among the others of both.
        """
        engine = self.engine
        epoch = engine.evaluated, engine.asking
        if epoch != self._epoch:
            self._epoch, self._given = epoch, {}
        trees = {id(item[0]): (row.place, item[0]) for row in rows for item in row.items if isinstance(item, Node)}
        again = not trees.keys().isdisjoint(self._given)
        if again and trees.keys() <= self._given.keys():
            return
        self._given.update(trees)
        arranged = sorted(self._given.values(), key=lambda known: known[0]) if again else list(trees.values())
        if len(arranged) > 1:
            for _, tree in arranged:
                tree.come_last()


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows in document order: the place of each is looked for once."""
    return sorted(rows, key=lambda row: row.place.order())


def kind_of(key: Item) -> str:
    """Of which kind a key is."""
    kind = type(key)
    if kind is Untyped:
        return ODD if number_of(key) is None else UNTYPED
    if kind in TEXTUAL:
        return TEXT
    return NUMBER if kind in NUMERIC.classes and kind is not Float else OTHER


def number_of(text: Untyped) -> Hashable | None:
    """An untyped value as a number; None if it is none. NaN is one that equals no other."""
    try:
        number = parse_double(text)
    except XStreamError:
        return None
    return number if number == number else object()


def keys_of(columns: list[list[Item]]) -> dict[Key, None]:
    """What a row with some values in each column is found by."""
    return {key: None for combination in product(*columns) for key in product(*map(_forms, combination))}


def _forms(key: Item) -> list[Form]:
    """What a row with a key is found by."""
    kind = kind_of(key)
    if kind == UNTYPED:
        return [(TEXT, str(key)), (NUMBER, number_of(key))]
    if kind in (TEXT, ODD):
        return [(TEXT, str(key))]
    if kind == OTHER:
        return []
    found: Hashable = hash_key(key)
    return [] if found is NAN_KEY else [(NUMBER, found)]
