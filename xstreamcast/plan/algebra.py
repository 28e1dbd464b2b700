"""The plan of a query over documents: units that one pass computes, and what is left to do with their values.

VLDB'05 §5.1 writes a query as Generalized Nested Loops ``(I, Ep, Ec, S)``. Here a loop is a :class:`Unit`: an
expression ``E`` over a document that *distributes over cuts* of it,

    E(a ⊎ b) = E(a) ++ E(b)

where ``a ⊎ b`` is a document cut in two outside of ``E``'s *records* (the open ancestors stand in both halves, with
their attributes). What is made of ``E``'s items, a :class:`Reduction`, has a state that takes them one batch after the
other (equation 2 of §3.1: ``g(x1…xn) = g1(g(x1…xn-1), xn)``). The rest of the query, :attr:`Plan.output`, sees units as
variables. ``G0``, the loop of the main query, is that rest; a loop around loops is a :class:`Nest`.

A unit whose ``E`` reads the value of another unit must wait for it: it belongs to a later *pass*. One pass, one scan.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

from xstreamcast.model.record import record
from xstreamcast.operators.aggregates import AGGREGATES, Aggregate

if TYPE_CHECKING:
    from xstreamcast.lang import ast
    from xstreamcast.scan.automaton import Target
    from xstreamcast.scan.path import Path

VarName = tuple[str, str]

PLAN: Final = "urn:xstreamcast:plan"
"""The namespace of variables that stand for documents, records and units; no query can have named it by accident."""


@record
class Source:
    """A document that is scanned: the context item's (``uri`` None) or that of ``doc(uri)``, as the query wrote it.

    ``variable`` stands for its document node in the expressions of a plan.
    """

    uri: str | None
    variable: VarName
    stream: bool = False
    """It is ``stream(uri)``: planned when asked for, to explain a query over streams as one over documents."""
    forest: bool = False
    """It need not have one element at its top, as documents have: it may be the answer of another query, or several
    documents one after the other."""


# ------------------------------------------------------------------------------------------------- reductions


@record
class Concat:
    """∪: the items themselves, in document order."""


@record
class Reduce:
    """Δ: ``fn:function(items, argument)``."""

    function: str
    """One of :data:`~xstreamcast.operators.aggregates.AGGREGATES`."""
    argument: ast.Expr | None = None
    """``sum``'s zero, ``string-join``'s separator, a collation: an expression without documents in it."""

    @property
    def aggregate(self) -> Aggregate:
        return AGGREGATES[self.function]


@record
class Slice:
    """Items ``first`` to ``last`` (from 1; None: to the end): a positional predicate on a sequence of any length."""

    first: int
    last: int | None


@record
class Fold:
    """``fold-left(items, zero, function($accumulator, $item) { step })``: a linear recursive function, rewritten.

    ``associative``: ``step`` is ``op($accumulator, f($item))`` with an associative ``op`` and ``zero`` its identity, so
    that partial results of ranges may be combined in a tree.
    """

    zero: ast.Expr
    accumulator: VarName
    item: VarName
    step: ast.Expr
    associative: bool = False
    type: ast.SequenceType | None = None
    """What the accumulator always is, if the query says so."""


@record
class Group:
    """Γ: the items by the values of ``keys`` (expressions of ``$item``), each group reduced.

    A loop over ranges around a unit becomes this (one grouped pass instead of an unrolled loop). Its value is a
    function of as many arguments as there are keys; where there is no such group, it is ``inner`` of no items. An item
    is in the group of (k1, k2…) iff ``key1 = k1 and key2 = k2…`` as general comparisons.
    """

    item: VarName
    keys: tuple[ast.Expr, ...]
    inner: Concat | Reduce | Slice | Fold
    rows: bool = False
    """⋈: the unit's items are arrays already, what is found and then the values of each key; ``keys`` tell what of."""
    interval: bool = False
    """And they are found by an interval that meets their life: two more arguments."""
    relation: Literal["=", "<", "<=", ">", ">="] = "="
    """Of the last key and its argument."""
    theta: Theta | None = None
    """They are found by a condition that is no equation: its arguments are those of the function."""


@record
class Theta:
    """θ(keys, arguments): a condition on the values of a row's keys and on what is asked for, each a variable."""

    keys: tuple[VarName, ...]
    arguments: tuple[VarName, ...]
    condition: ast.Expr


@record
class Sort:
    """``order by``: the unit's items are arrays, the values of the keys and then what the tuple gives.

    Only of queries over what changes: a document that is read once is sorted when it is all there. ``chosen``: no more
    than these of the items in order.
    """

    keys: tuple[ast.OrderKey, ...]
    chosen: Slice | None = None


@record
class Column:
    """What a group keeps of its tuples: a value of each, reduced; ``variable`` stands for it in the group's body."""

    variable: VarName
    reduction: Concat | Reduce


@record
class Gather:
    """Γ, ``group by``: the unit's items are arrays, the values of the keys and then those of the columns.

    ``body`` is evaluated for each group, with the variables of ``keys`` and ``columns``; it gives arrays of keys and
    items where there is an ``order``. Groups come in the order of their first tuples in the document.
    """

    keys: tuple[ast.GroupKey, ...]
    columns: tuple[Column, ...]
    body: ast.Expr
    order: Sort | None = None


@record
class Versions:
    """``E#[first, last]``: versions by number; a bound is (from the end, number): 3 or ``last - 3``.

    Only of queries over what changes.
    """

    first: tuple[bool, int]
    last: tuple[bool, int]

    def numbers(self, count: int) -> tuple[int, int]:
        """The bounds where ``last`` is so much."""
        first, last = (count - number if from_end else number for from_end, number in (self.first, self.last))
        return first, last


@record
class Rank:
    """Tuples by their number: ``for $x at $i``, ``count $i``, ``reverse``, a choice of positions that may be long.

    The unit's items are arrays, the values of ``keys`` (none: they stay in document order) and then those of
    ``columns``. ``body`` is evaluated for each tuple that is ``chosen``, with the variables of the columns and its
    ``position``. ``from_end``: the choice counts from the last one. ``backward``: the last one comes first.

    Only of queries over what changes.
    """

    keys: tuple[ast.OrderKey, ...]
    columns: tuple[VarName, ...]
    body: ast.Expr
    position: VarName | None = None
    chosen: Slice | None = None
    from_end: bool = False
    backward: bool = False
    mark: Mark | None = None
    """The choice is by where they stand."""


@record
class Mark:
    """Of the tuples whose first column is true, marks, the first (``after``) or the last one bounds a choice.

    ``P/following::Q`` is what stands after the first P, ``P/preceding::Q`` what stands before the last one. What is in
    one record with it does neither: it is inside it, or around it. ``negated``: all others are chosen. ``summed``: no
    more than that of the chosen items is asked for.
    """

    after: bool
    negated: bool = False
    summed: Reduce | None = None


@record
class Windows:
    """``for tumbling window $variable in E start … end …``, or sliding: ``body`` is evaluated for each.

    The unit's items are arrays of one item of E each. The conditions read nothing but the variables of their ends.
    ``numbered``: a number of an item is read, not only how many are between two.

    Only of queries over what changes.
    """

    sliding: bool
    variable: VarName
    start: ast.WindowCondition
    end: ast.WindowCondition | None
    only_end: bool
    body: ast.Expr
    numbered: bool


Reduction = Concat | Reduce | Slice | Fold | Group | Sort | Gather | Rank | Windows | Versions


def reads_items(reduction: Reduction) -> bool:
    """Whether a reduction looks at its items; one that counts them does not."""
    return not (isinstance(reduction, Reduce) and reduction.aggregate.counts)


def is_ordered(reduction: Reduction) -> bool:
    """Whether the order of the items makes a difference: not to ``count``, but to ``string-join``."""
    return not isinstance(reduction, Reduce) or reduction.aggregate.ordered


def in_parts(reduction: Reduction) -> bool:
    """Whether a value is the items of members, one after the other, in some order: an answer can follow each."""
    if isinstance(reduction, Sort):
        return reduction.chosen is None
    if isinstance(reduction, Rank) and reduction.mark is not None and reduction.mark.summed is not None:
        return False
    return isinstance(reduction, Concat | Gather | Rank | Windows)


def is_weak(reduction: Reduction) -> bool:
    """Whether a reduction only tells that something is there: often it is about one child."""
    return isinstance(reduction, Reduce) and reduction.aggregate.weak


# ------------------------------------------------------------------------------------------------- units


@record
class RecordTest:
    """``path relation value``: a general comparison, ``contains``, or that there is such a node; ``path`` in full.

    A record passes when one of its nodes at ``path`` does, or when its characters do not tell (a value that
    is no number compared with one): then the evaluation tells, or raises.
    """

    path: Path
    relation: Literal["=", "!=", "<", "<=", ">", ">=", "contains", "exists"]
    value: str | float | None = None


@record
class Unit:
    """A loop over one document and what is made of its items."""

    variable: VarName
    """Stands for its value in what is left of the query."""
    root: VarName
    """The document it ranges over, or the variable of the :class:`Nest` it is in."""
    items: ast.Expr
    """E. Free in it: ``root``, variables of units of earlier passes, the query's external variables."""
    records: tuple[Path, ...]
    """Paths from the document node. A cut falls outside of all of them: the state is one of these at a time."""
    reduction: Reduction
    span: ast.Span
    """The sub-expression of the query that it is."""
    needs: frozenset[VarName] = frozenset()
    """The units whose values ``items`` reads."""
    nest: Nest | None = None
    """How E is computed for one that is cut, because it is larger than a batch."""
    tests: tuple[RecordTest, ...] = ()
    """A record that fails one of these gives no items: it need not be built. All are about the unit's one record."""
    path: Path | None = None
    """When E is no more than a path of steps without predicates: its nodes can be counted without being captured."""
    each: Nest | None = None
    """How E is computed of what changes, where instances may be inside each other."""


@record
class Nest:
    """``items`` is ``for $variable in path return body``; units inside compute what ``body`` needs piece by piece.

    An instance that lies within one batch is done by ``Unit.items`` as it is. One that is cut is done by ``units``,
    whose ``root`` is ``variable``; at its end ``body`` is evaluated with their values and the instance's ``parts``.
    """

    variable: VarName
    path: Path
    units: tuple[Unit, ...]
    body: ast.Expr
    parts: tuple[Target, ...]
    """What ``body`` reads of the instance itself; it is kept until the end of the instance."""
    frame: bool = False
    """It is there for what changes inside: ``items`` is as good where an instance comes in one piece."""
    each: Each | None = None
    """Instances may be inside each other, and each is one by itself."""


@record
class Each:
    """``for $variable in path return whole`` where instances are inside each other: ``//*[b]``, ``count(//*)``.

    An instance in which no hole lies is computed with all that are in it, by ``whole``. Of another one the nest's body
    looks at no more than its name, its attributes and the values of the units inside; unless it ``reads`` what is in it
    too, which happens only while ``guard`` is true. The records of a unit inside are children of an instance, or, of a
    unit in ``deep``, descendants, which it has in common with the instances around it. Of the records of those in
    ``shallow`` nothing is looked at but name and attributes.
    """

    whole: ast.Expr
    guard: ast.Expr | None
    reads: bool
    deep: frozenset[VarName]
    shallow: frozenset[VarName]
    choice: Choice | None = None


@record
class Choice:
    """``//b[p][2]``: of the children of each element that the unit ``counted`` counts, those of some numbers.

    Instances are all elements then; one gives something if it is chosen. ``inside`` is what those give that are chosen
    somewhere in one. ``from_end``: the numbers count from the last one.
    """

    counted: VarName
    inside: ast.Expr
    first: int
    last: int | None
    from_end: bool = False
    parent: ast.Expr | None = None
    """What must be true of the parent, as of an instance, for any of its children to be chosen."""


# ------------------------------------------------------------------------------------------------- plans


class Strategy(Enum):
    """How a query gets at its documents."""

    STREAM = "stream"
    """Units, in as many passes as they need."""
    PROJECT = "project"
    """One scan keeps the projected parts of the documents; the query runs on those (joins, sorts, groups)."""
    NONE = "none"
    """There is no document to scan: the query reads none, or only what is computed at run time."""


@record
class Pass:
    """One scan of a document for some units, and what it must keep of it for them."""

    source: Source
    units: tuple[Unit, ...]
    targets: tuple[Target, ...]


@record
class Plan:
    """A query, planned. ``output``: the answer is the concatenation of these; a unit stands for its value.

    A :class:`Unit` with :class:`Concat` in ``output`` is handed out while it is scanned, once all before it is out.
    """

    module: ast.Module
    strategy: Strategy
    sources: tuple[Source, ...]
    passes: tuple[Pass, ...]
    output: tuple[Unit | ast.Expr, ...]
    blocking: tuple[ast.Expr, ...] = ()
    """PROJECT: the sub-expressions of the query because of which it cannot stream."""
    reasons: tuple[str, ...] = ()
    """PROJECT: why, for each of these."""
