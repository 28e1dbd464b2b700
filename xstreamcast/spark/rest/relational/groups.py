"""Γ: groups whose parts have come from all ranges, and their bodies, evaluated many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import Any, Final, cast

from xstreamcast.errors import XStreamError
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import FunctionEntry, lookup
from xstreamcast.lang import ast
from xstreamcast.model.atomic import Item
from xstreamcast.model.collation import Collation
from xstreamcast.model.namespaces import FN
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import Gather, Reduce, Reduction
from xstreamcast.run.evaluate import Executable
from xstreamcast.run.grouping import known_by
from xstreamcast.run.units import Evaluation, Parts, atomic_type, plan_name
from xstreamcast.spark.rest.partials import add_partial
from xstreamcast.spark.rest.relational.gathering import Form, Keys, Lot, forms_of
from xstreamcast.spark.rest.relational.placing import Place
from xstreamcast.spark.rest.relational.sending import Columns, Received
from xstreamcast.spark.transport import loads

_TOGETHER: Final = 256
"""Groups that are evaluated together, and are a block where they look something up; there may be a lot more."""
_LONG: Final = 4 << 20
"""Or bytes of what they came in."""


@dataclass(slots=True)
class Groups:
    """Groups of which all parts are here, column by column."""

    places: list[Place] = field(default_factory=list)
    """Of the first tuple of each."""
    keys: list[Keys] = field(default_factory=list)
    columns: list[list[Any]] = field(default_factory=list)
    """Of each column, what each group has: a count, or a list of what came: values or :class:`Partial`."""
    rows: list[list[bytes]] = field(default_factory=list)
    """Of each group, what came of the columns that are kept."""

    def __len__(self) -> int:
        return len(self.places)


def met(came: Iterable[tuple[int, int, bytes]], collations: list[Collation], forms: list[Form]) -> Iterator[Groups]:
    """The groups of lots: their numbers, the parts they are from and what they are; in that order."""
    groups, size = Groups(columns=[[] for _ in forms]), 0
    for _, lots in groupby(came, key=itemgetter(0)):
        index: dict[Any, int] = {}
        for _, part, packed in lots:
            size += len(packed)
            _meet(groups, index, part, loads(packed), collations, forms)
        if len(groups) >= _TOGETHER or size > _LONG:
            yield groups
            groups, size = Groups(columns=[[] for _ in forms]), 0
    if len(groups):
        yield groups


def _meet(
    groups: Groups, index: dict[Any, int], part: int, lot: Lot, collations: list[Collation], forms: list[Form]
) -> None:
    """Take the next part of a lot. ``index``: the groups of the lot, by what their keys have in common."""
    first = len(groups)
    new: list[int] = []
    for number, keys in enumerate(lot.keys):
        known = known_by(keys, collations)
        group = index.get(known)
        if group is None:
            index[known] = first + len(new)
            new.append(number)
            continue
        for column, more, form in zip(groups.columns, lot.columns, forms, strict=True):
            if form is Form.COUNT:
                column[group] += more[number]
            elif form is not Form.KEPT:
                column[group].append(more[number])
        if lot.rows:
            groups.rows[group].append(lot.rows[number])
    groups.places += [(part, lot.numbers[number]) for number in new]
    groups.keys += [lot.keys[number] for number in new]
    groups.rows += [[lot.rows[number]] for number in new] if lot.rows else []
    for column, more, form in zip(groups.columns, lot.columns, forms, strict=True):
        column += [more[number] if form is Form.COUNT else [more[number]] for number in new]


# ------------------------------------------------------------------------------------------------------ bodies


_KEY: Final = atomic_type("anyAtomicType", "?")


def _type(reduction: Reduction) -> ast.SequenceType | None:
    """What a column comes to; None: anything."""
    return atomic_type(*reduction.aggregate.result) if isinstance(reduction, Reduce) else None


def _function(reduction: Reduction) -> FunctionEntry | None:
    """The function of a column's values: what a state of its reduction comes to, sooner where all values are here."""
    if not isinstance(reduction, Reduce) or reduction.argument is not None:
        return None
    return lookup(FN, reduction.function, 1)


class BodyCode:
    """An expression about a group, compiled: a function of its keys and columns, and a program that reads them."""

    def __init__(self, parts: Parts, gather: Gather, e: ast.Expr) -> None:
        self._parts, self._e = parts, e
        keys = [(key.var.expanded, _KEY) for key in gather.keys]
        self.variables = [*keys, *[(column.variable, _type(column.reduction)) for column in gather.columns]]

    @cached_property
    def function(self) -> Executable:
        """Types of parameters are known to the compiler, so that it need not be asked what their values are."""
        # Of two keys of one name the later counts, as with variables that are bound one after the other.
        params = [ast.Param(plan_name(name), type) for name, type in self.variables]
        return self._parts.compile(ast.InlineFunction(tuple(params), None, self._e, span=self._e.span))

    @cached_property
    def program(self) -> Executable:
        """For groups of which a column is an error: whoever reads it there meets it."""
        return self._parts.compile(self._e, bound=[name for name, _ in self.variables])


class Body:
    """Evaluates expressions about groups, many at a time."""

    def __init__(
        self, evaluation: Evaluation, gather: Gather, fresh: Callable[[int], State], context: DynamicContext
    ) -> None:
        self.evaluation, self.fresh, self.width = evaluation, fresh, len(gather.keys)
        self.context = context
        self.forms = forms_of(gather, fresh)
        self.functions = [_function(column.reduction) for column in gather.columns]
        self.kept = [self.width + number for number, form in enumerate(self.forms) if form is Form.KEPT]

    def items(self, code: BodyCode, groups: Groups) -> Iterator[list[Item]]:
        """What an expression gives of each group."""
        values: list[Any] = [[[] if keys[k] is None else [keys[k]] for keys in groups.keys] for k in range(self.width)]
        failed: set[int] = set()
        for number, (form, column) in enumerate(zip(self.forms, groups.columns, strict=True)):
            if form is Form.KEPT:
                values.append(repeat(()))
            elif form is Form.COUNT:
                values.append([[count] for count in column])
            else:
                made = [self._reduced(number, came) for came in column]
                failed.update(k for k, value in enumerate(made) if isinstance(value, XStreamError))
                values.append(made)
        given = zip(*values, strict=False)
        arguments = map(self._with_kept, given, groups.rows) if self.kept else given
        if not failed:
            yield from code.function.calls(self.evaluation.context(code.function), arguments)
            return
        for number, each in enumerate(arguments):
            if number in failed:
                yield self._alone(code, each)
            else:
                yield from code.function.calls(self.evaluation.context(code.function), (each,))

    def _with_kept(self, values: tuple[Any, ...], rows: list[bytes]) -> list[Any]:
        """The arguments of a group with the items of columns that are kept, in document order."""
        made, received = list(values), Received()
        kept: Columns = [[] for _ in self.kept]
        for row in rows:
            for items, more in zip(kept, received.row(row), strict=True):
                items += more
        received.arrange()
        for number, items in zip(self.kept, kept, strict=True):
            made[number] = items
        return made

    def _reduced(self, number: int, came: list[Any]) -> list[Item] | XStreamError:
        """What a column comes to, or why to nothing."""
        function = self.functions[number]
        try:
            if function is not None and all(type(each) is list for each in came):
                values = came[0] if len(came) == 1 else list(chain.from_iterable(came))
                return function.apply(self.context, [values])
            state = self.fresh(number)
            for each in came:
                if isinstance(each, list):
                    state.add_part(each)
                    continue
                add_partial(state, each)
                if each.failure is not None and not state.settled:
                    return cast(XStreamError, each.failure)
            return state.value()
        except XStreamError as failure:
            return failure

    def _alone(self, code: BodyCode, values: Iterable[list[Item] | XStreamError]) -> list[Item]:
        for (name, _), value in zip(code.variables, values, strict=True):
            if isinstance(value, XStreamError):
                self.evaluation.fail(name, value)
            else:
                self.evaluation.give(name, value)
        return list(self.evaluation.run(code.program))
