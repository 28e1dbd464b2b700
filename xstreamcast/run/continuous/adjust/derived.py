"""What is kept beside document order: the rows of a unit's members by key (⋈), sorted, or gathered in groups (Γ).

Holders (records) say which rows they have; when one is another, its rows are taken out and put in again:

    rows after = rows before − rows of (looked at ∪ gone ∪ moved) + rows of (looked at ∪ moved)

and nothing else is visited. A :class:`Part` is what such an operator shows: a row, or a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.atomic import Item
from xstreamcast.operators.monoid import COUNT
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.associate.standing import ordered
from xstreamcast.run.units import plan_name

if TYPE_CHECKING:
    from xstreamcast.model.function import Array
    from xstreamcast.plan.algebra import VarName
    from xstreamcast.run.continuous.adjust.host import Holder, Host
    from xstreamcast.run.continuous.related import Number
    from xstreamcast.run.evaluate import Executable


class Part:
    """Items in the order of an operator. ``member`` and ``number`` say whose they are: it is known by these again."""

    __slots__ = ("entry", "member", "number", "outcome")

    def __init__(self, member: Any, number: int, outcome: list[Item], key: Any) -> None:
        self.member = member
        self.number = number
        self.outcome = outcome
        self.entry: Entry[int] = Entry(self, len(outcome), key)

    def identity(self) -> tuple[Any, ...]:
        """What it is known by when its holder's content is sent again; of a group, its keys."""
        whose = self.member
        return whose.identity() if hasattr(whose, "identity") else (whose,), self.number


class Derived:
    """An operator over the rows of one unit's members. ``touched`` and ``left``: what it has not followed yet."""

    def __init__(self, engine: Host, where: Number) -> None:
        self.engine = engine
        self.where = where
        self.touched: dict[Holder, None] = {}
        self.left: dict[Holder, None] = {}

    @property
    def pending(self) -> bool:
        """Whether there is something to follow."""
        return bool(self.touched or self.left)

    def follow(self) -> None:
        """Take in what has happened to the members."""
        gone = [member for member in self.left if member not in self.touched]
        here = [member for member in self.touched if self.engine.is_there(member, self.where)]
        members = [*gone, *self.touched]
        self.touched.clear()
        self.left.clear()
        self.take(members)
        self.put(here)

    def take(self, members: Iterable[Holder]) -> None:
        """Take the rows of some members out."""
        raise NotImplementedError

    def put(self, members: Iterable[Holder]) -> None:
        """Put the rows of some members in."""
        raise NotImplementedError

    def value(self) -> list[Item]:
        """What the unit's variable stands for."""
        raise NotImplementedError

    @property
    def failure(self) -> XStreamError | None:
        """The error that its value is, if it is one."""
        return None


class Ordered(Derived):
    """An operator whose value is a sequence of its own order. ``changed`` and ``removed``: parts, since told."""

    def __init__(self, engine: Host, where: Number) -> None:
        super().__init__(engine, where)
        self.sequence: Sequence[int] = Sequence(COUNT, home=Nobody)
        self.changed: dict[Part, None] = {}
        self.removed: dict[Part, None] = {}
        self.faults: dict[Any, XStreamError] = {}

    def insert(self, part: Part) -> None:
        """A part comes."""
        self.sequence.insert_sorted(part.entry)
        self.changed[part] = None

    def remove(self, part: Part) -> None:
        """A part goes."""
        self.sequence.remove(part.entry)
        if self.changed.pop(part, part) is part:  # it may have been shown
            self.removed[part] = None

    def value(self) -> list[Item]:
        return ordered([item for entry in self.sequence for item in entry.item.outcome])

    def forget(self) -> None:
        """What happened to the parts has been told."""
        self.changed.clear()
        self.removed.clear()

    @property
    def failure(self) -> XStreamError | None:
        return next(iter(self.faults.values()), None)


class Bodied(Ordered):
    """An operator that evaluates a body for each of its rows, or groups of them. ``dirty``: whose must run again."""

    program: Executable

    def __init__(self, engine: Host, where: Number) -> None:
        super().__init__(engine, where)
        self.dirty: dict[Any, None] = {}
        self.variables: list[VarName] = []

    @property
    def pending(self) -> bool:
        return bool(self.touched or self.left or self.dirty)

    def again(self) -> None:
        """All bodies run again."""
        raise NotImplementedError

    def compile(self, body: ast.Expr, variables: list[VarName]) -> None:
        """The program of the body, which reads some variables besides."""
        self.variables = variables
        declared = [ast.VariableDecl(plan_name(name), None, None, external=True) for name in variables]
        self.program = self.engine.parts.compile(body, *declared)

    def run(self, who: Any, values: list[list[Item]], failures: Mapping[VarName, XStreamError]) -> list[Item]:
        """The body with values of its variables, or errors that it meets where it reads them."""
        engine, evaluation = self.engine, self.engine.evaluation
        for variable, value in zip(self.variables, values, strict=True):
            evaluation.give(variable, value)
        for variable, failure in failures.items():
            evaluation.fail(variable, failure)
        engine.evaluated += 1
        outer, asked, items = engine.timing.horizon.begin(), engine.ask_for((self, who)), []
        try:
            items = list(evaluation.run(self.program))
        finally:
            engine.asking = asked
            engine.timing.done((self, who), outer, items)
        return items


class Nobody:
    """Whose a sequence is that is in no document: it hears nothing, and is in no frame."""

    member = None

    @staticmethod
    def moved() -> None:
        pass


def rows_of(member: Holder) -> Iterator[tuple[int, list[list[Item]]]]:
    """The rows that a member's evaluation gave, as sequences side by side."""
    row: Array
    for number, row in enumerate(member.outcome or ()):
        yield number, list(row.members())
