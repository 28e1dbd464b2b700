"""Row programs: E over the fragments of a batch, the items of each by themselves.

    E(a ⊎ b) = E(a) ++ E(b)

The fragments stand side by side in one document, in the elements that the structure has around them. Where E is a path
to nodes it runs once, and an item tells by its row which fragment it is of. Otherwise E is a function of a record, and
called for each. What fits neither runs on each fragment in a document of its own. An error is the outcome of the
fragment that it comes from.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import PLAN, Unit
from xstreamcast.plan.decompose.scan_filters import relative
from xstreamcast.run.continuous.arrive.grove import LOAD_FROM
from xstreamcast.run.continuous.columns.roles import leads_to_elements
from xstreamcast.run.continuous.columns.seams import Placed, moved, seams_of
from xstreamcast.run.continuous.evaluate.assemble import sliced
from xstreamcast.run.continuous.evaluate.marks import move_marks
from xstreamcast.run.units import plan_name
from xstreamcast.scan.parse import parse, parse_forest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xstreamcast.model.atomic import Item
    from xstreamcast.model.tree import Tree
    from xstreamcast.native.vector import Bytes, Table
    from xstreamcast.run.continuous.columns.open_holes import OpenHoles
    from xstreamcast.run.continuous.columns.spelling import Around
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.units import Evaluation, UnitCode
    from xstreamcast.scan.path import Path
    from xstreamcast.scan.tree import TreeReader

Outcome = list["Item"] | XStreamError
"""The items of a fragment, or the error that comes instead."""
RECORD: Final = (PLAN, "a record")
_KERNEL_FROM: Final = 1 << 9
"""Bytes of a document from which it is worth calling the kernel."""


class Observer(Protocol):
    """Hears of each fragment that is evaluated, by its number in a batch."""

    def begins(self, number: int) -> None:
        """It is about to be evaluated."""

    def ends(self, outcome: Outcome) -> None:
        """That has come of it."""


class Documents:
    """The documents that batches are, read by one who remembers their names."""

    def __init__(self) -> None:
        self._readers: dict[bool, TreeReader] = {}
        self._unaided = 0
        """Bytes that were read without the kernel."""

    def tree(self, text: Bytes, many: bool) -> Tree:
        """The tree of a document that is known to be well-formed; ``many`` elements may be at its top."""
        by_hand = parse_forest if many else parse
        reader = self._readers.get(many)
        if reader is None:
            self._unaided += len(text)
            if self._unaided < LOAD_FROM and "xstreamcast.scan.kernel" not in sys.modules:
                return by_hand(text.tobytes())[0]
            from xstreamcast.scan.tree import TreeReader

            reader = self._readers[many] = TreeReader(many)
        return reader.read(text) if len(text) >= _KERNEL_FROM else by_hand(text.tobytes())[0]


class Batch:
    """Fragments of one tag in a document: the row of each, which is one element."""

    def __init__(self, documents: Documents, text: Bytes, around: Around, count: int) -> None:
        many = count > 1 and not len(around)
        self.text = np.concatenate([around.start, text, around.end])
        self.tree = documents.tree(self.text, many)
        self.around = around
        self.is_marked = False
        self.places: Placed
        self.rows: list[int] = []
        row, sizes = 1 + len(around), self.tree.size
        for _ in range(count):
            self.rows.append(row)
            row += sizes[row] + 1
        assert row == len(self.tree), "a fragment is one element"

    def place(self, seams: Table) -> None:
        """Say where holes lie in what is written, by their places in its text."""
        self.places = Placed(self.tree, self.text, seams[:, 0] + len(self.around.start))

    def sew(self, seams: Table, table: RegionTable) -> None:
        """… so that copies know of them."""
        self.tree.seams = seams_of(self.places, seams, table)

    def mark(self, seams: Table, holes: OpenHoles, tag: int) -> None:
        """… so that it is known which of them are open."""
        self.is_marked = True
        holes.mark(self, seams, tag)

    @cached_property
    def are_all(self) -> bool:
        """Whether no element within a fragment has its name."""
        names = self.tree.name
        name = names[self.rows[0]]
        return names.count(name) == len(self.rows) + self.around.names.count(name)

    def node(self, number: int) -> Node:
        """The element of a fragment."""
        return Node((self.tree, self.rows[number]))

    def node_alone(self, number: int) -> Node:
        """The element of a fragment, in a document of its own."""
        return Node((self.alone(number), 1 + len(self.around)))

    def alone(self, number: int) -> Tree:
        """A document with one fragment."""
        tree, row = self.tree, self.rows[number]
        end = row + tree.size[row] + 1
        made, at = sliced(self.around.above, tree, row, end)
        if tree.seams:
            made.seams = moved(tree.seams, row, end, at - row)
        if self.is_marked:
            move_marks(tree, made, row, end, at - row)
        if tree.namespaces:
            own = {at + k - row: declared for k, declared in tree.namespaces.items() if row <= k < end}
            made.namespaces = made.namespaces | own
        return made


class RowProgram:
    """The evaluation of a unit over batches. ``frame``: how many elements are around the instance it is inside of."""

    def __init__(self, code: UnitCode, evaluation: Evaluation, frame: int | None = None) -> None:
        self.code = code
        self.unit: Unit = code.unit
        self.evaluation = evaluation
        self.frame = frame
        self.nodes = True
        """Whether all items have been nodes of their fragments so far."""

    def outcomes(self, batch: Batch, home: bool, observer: Observer | None = None) -> list[Outcome]:
        """The outcome of each fragment; ``home``: they are records, and nothing else is. With an ``observer`` they are
        evaluated one by one."""
        if self.nodes and self._function is None and observer is None:
            found = self._by_rows(batch)
            if found is not None:
                return found
            self.nodes = False
        function = self._function
        if function is not None and home and batch.are_all:
            self.evaluation.bind(self.unit.root, self._root(batch.tree))
            return _called(function, self.evaluation, [(batch.node(k),) for k in range(len(batch.rows))], observer)
        alone: list[Outcome] = []
        for k in range(len(batch.rows)):
            if observer is not None:
                observer.begins(k)
            alone.append(self._alone(batch, k))
            if observer is not None:
                observer.ends(alone[-1])
        return alone

    def _root(self, tree: Tree) -> Node:
        return Node((tree, 1 + self.frame)) if self.frame is not None else tree.root

    def _by_rows(self, batch: Batch) -> list[Outcome] | None:
        """… if all items are nodes of the fragments, which E gives in order."""
        self.evaluation.bind(self.unit.root, self._root(batch.tree))
        try:
            items = list(self.evaluation.run(self.code.program("items")))
        except XStreamError:
            return None
        rows, tree = batch.rows, batch.tree
        found: list[list[Item]] = [[] for _ in rows]
        number, upto, begun = -1, rows[0] if rows else 0, 0
        for item in items:
            if type(item) is not Node or item[0] is not tree or item[1] < begun:
                return None
            row = item[1]
            while row >= upto:
                number += 1
                upto = rows[number + 1] if number + 1 < len(rows) else len(tree)
            if number < 0:
                return None
            begun = row
            found[number].append(item)
        return list(found)

    def _alone(self, batch: Batch, number: int) -> Outcome:
        self.evaluation.bind(self.unit.root, self._root(batch.alone(number)))
        try:
            return list(self.evaluation.run(self.code.program("items")))
        except XStreamError as failure:
            return failure

    @cached_property
    def _function(self) -> Executable | None:
        """E as a function of a record; None if E is a path to nodes, or does not begin with its records."""
        made = None if self.frame is not None else _of_record(self.unit)
        return None if made is None else self.code.parts.compile(made)


class SharedProgram:
    """E of a unit as a function of a record and of the constants that it compares with: one for all queries of a shape.
    ``constants``: those of each query."""

    def __init__(self, code: UnitCode, evaluation: Evaluation, units: list[Unit]) -> None:
        self.evaluation = evaluation
        e = from_record_of(code.unit)
        assert e is not None
        self._root = code.unit.root
        names = [plan_name((PLAN, f"constant {number}")) for number in range(len(constants_in(e)))]
        params = tuple([ast.Param(name) for name in (plan_name(RECORD), *names)])
        self._function = code.parts.compile(ast.InlineFunction(params, None, _lifted(e, names), span=e.span))
        self.constants: list[tuple[list[Item], ...]] = []
        for unit in units:
            mine = from_record_of(unit)
            assert mine is not None
            self.constants.append(tuple([[literal.value] for literal in constants_in(mine)]))

    def outcomes(self, batch: Batch, pairs: list[tuple[int, int]]) -> list[Outcome]:
        """The outcome of each pair of a query and a fragment."""
        constants = self.constants
        self.evaluation.bind(self._root, batch.tree.root)
        return _called(self._function, self.evaluation, [(batch.node(k), *constants[query]) for query, k in pairs])


class FrameProgram:
    """E of a unit inside, and the body, as functions of the instance: for fragments that are instances."""

    def __init__(self, code: UnitCode, evaluation: Evaluation, variables: list[Any], e: ast.Expr) -> None:
        self.evaluation = evaluation
        params = tuple([ast.Param(plan_name(variable)) for variable in variables])
        self._function = code.parts.compile(ast.InlineFunction(params, None, e, span=e.span))

    def outcomes(self, arguments: list[tuple[Any, ...]], observer: Observer | None = None) -> list[Outcome]:
        """The outcome for each list of arguments: the instance, and what is known of it."""
        return _called(self._function, self.evaluation, arguments, observer)


def _called(
    function: Executable,
    evaluation: Evaluation,
    arguments: list[tuple[Any, ...]],
    observer: Observer | None = None,
) -> list[Outcome]:
    """What a function gives of each; an error is an outcome."""
    context = evaluation.context(function)
    found: list[Outcome] = []

    def each(first: int) -> Iterator[list[Any]]:
        for k in range(first, len(arguments)):
            if observer is not None:
                observer.begins(k)
            yield [[one] if isinstance(one, Node) else one for one in arguments[k]]

    while len(found) < len(arguments):
        given = each(len(found))
        try:
            for items in function.calls(context, given):
                found.append(list(items))
                if observer is not None:
                    observer.ends(found[-1])
        except XStreamError as failure:
            found.append(failure)
            if observer is not None:
                observer.ends(failure)
    return found


# ------------------------------------------------------------------------------------------------- E of a record


def _of_record(unit: Unit) -> ast.InlineFunction | None:
    e = unit.items
    steps = e.steps if isinstance(e, ast.Path) else ()
    if steps and isinstance(steps[-1], ast.AxisStep):
        return None  # nodes: by rows
    body = from_record_of(unit)
    if body is None:
        return None
    return ast.InlineFunction((ast.Param(plan_name(RECORD)),), None, body, span=e.span)


def from_record_of(unit: Unit) -> ast.Expr | None:
    """E from the record on; None if it does not begin with its only records. The document is that of the batch."""
    e = unit.items
    if len(unit.records) != 1:
        return None
    made = from_record(e, unit, unit.records[0])
    if isinstance(e, ast.FLWOR):
        first = e.clauses[0]
        if not isinstance(first, ast.ForClause) or first.position is not None or first.allowing_empty:
            return None
        source = from_record(first.source, unit, unit.records[0])
        made = None if source is None else replace(e, clauses=(replace(first, source=source), *e.clauses[1:]))
    return made


def from_record(e: ast.Expr, unit: Unit, record: Path) -> ast.Expr | None:
    """A path from the document as one from the record, an element; the predicates of its step to the record stay."""
    if not isinstance(e, ast.Path) or not leads_to_elements(record):
        return None
    steps = e.steps
    for end in range(2, len(steps) + 1):
        last = steps[end - 1]
        if not isinstance(last, ast.AxisStep):
            return None
        if relative(replace(e, steps=(*steps[: end - 1], replace(last, predicates=()))), unit.root) == record:
            start: tuple[ast.Expr, ...] = (ast.VarRef(plan_name(RECORD), span=e.span),)
            if last.predicates:
                start = (*start, ast.AxisStep("self", ast.KindTest("node"), last.predicates, span=last.span))
            rest = (*start, *steps[end:])
            return replace(e, steps=rest) if len(rest) > 1 else rest[0]
        if last.predicates:
            return None
    return None


# ------------------------------------------------------------------------------------------------- constants

LITERALS: Final = (ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral)


def constants_in(e: ast.Expr) -> list[ast.Literal]:
    """The constants that something is compared with, in the order of the text."""
    found: list[ast.Literal] = []
    for part in descendants(e):
        if isinstance(part, ast.GeneralComparison):
            found += [side for side in (part.left, part.right) if isinstance(side, LITERALS)]
    return found


def _lifted(e: ast.Expr, names: list[ast.Name]) -> ast.Expr:
    """An expression with variables instead of the constants that something is compared with."""
    literals = {id(literal): name for literal, name in zip(constants_in(e), names, strict=True)}

    def change(part: ast.Node) -> ast.Node:
        name = literals.get(id(part))
        return rebuild(part, change) if name is None else ast.VarRef(name, span=part.span)

    made = change(e)
    assert isinstance(made, ast.Expr)
    return made
