"""Row programs: E over the fragments of a batch, the items of each by themselves.

    E(a ⊎ b) = E(a) ++ E(b)

The fragments stand side by side in one document, in the elements that the structure has around them. Where E is a path
to nodes it runs once, and an item tells by its row which fragment it is of. Otherwise E is a function of a record, and
called for each. What fits neither runs on each fragment in a document of its own. An error is the outcome of the
fragment that it comes from.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.names import ELEMENT, intern, name_local
from xstreamcast.model.tree import Node, Tree
from xstreamcast.plan.algebra import PLAN, Concat, Group, Unit
from xstreamcast.plan.decompose.tests import relative
from xstreamcast.run.continuous.arrive.grove import parse_document
from xstreamcast.run.continuous.associate.mounts import Above
from xstreamcast.run.continuous.evaluate.assemble import sliced
from xstreamcast.run.units import plan_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xstreamcast.model.atomic import Item
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.units import Evaluation, UnitCode
    from xstreamcast.scan.path import Path
    from xstreamcast.scan.vector import Bytes

Outcome = list["Item"] | XStreamError
"""The items of a fragment, or the error that comes instead."""
_RECORD: Final = (PLAN, "a record")


class Batch:
    """Fragments of one tag in a document: the row of each, which is one element."""

    def __init__(self, text: Bytes, around: tuple[str, ...], count: int) -> None:
        start = "".join([f"<{name}>" for name in around]).encode()
        end = "".join([f"</{name}>" for name in reversed(around)]).encode()
        self.tree: Tree = parse_document(start + text.tobytes() + end)
        self.around = around
        self.rows: list[int] = []
        row, sizes = 1 + len(around), self.tree.size
        for _ in range(count):
            self.rows.append(row)
            row += sizes[row] + 1
        assert row == len(self.tree), "a fragment is one element"

    def node(self, number: int) -> Node:
        """The element of a fragment."""
        return Node((self.tree, self.rows[number]))

    def alone(self, number: int) -> Tree:
        """A document with one fragment."""
        above: Above | None = None
        for name in self.around:
            above = Above(above, intern(ELEMENT, "", name), 0, ())
        row = self.rows[number]
        return sliced(above, self.tree, row, row + self.tree.size[row] + 1)[0]


class RowProgram:
    """The evaluation of a unit over batches. ``frame``: how many elements are around the instance it is inside of."""

    def __init__(self, code: UnitCode, evaluation: Evaluation, frame: int | None = None) -> None:
        self.code = code
        self.unit: Unit = code.unit
        self.evaluation = evaluation
        self.frame = frame
        self.apart = isinstance(self.unit.reduction, Group) and isinstance(self.unit.reduction.inner, Concat)
        """Whether fragments are documents of their own: their items are kept."""
        self.nodes = True
        """Whether all items have been nodes of their fragments so far."""

    def outcomes(self, batch: Batch, home: bool, before: Callable[[int], None] | None = None) -> list[Outcome]:
        """The outcome of each fragment; ``home``: they are records, and nothing else is. ``before`` hears of each that
        is to be evaluated."""
        if self.nodes and self._function is None and before is None and not self.apart:
            found = self._by_rows(batch)
            if found is not None:
                return found
            self.nodes = False
        function = self._function
        if function is not None and home and not self.apart and self._are_all(batch):
            return _called(function, self.evaluation, [(batch.node(k),) for k in range(len(batch.rows))], before)
        alone: list[Outcome] = []
        for k in range(len(batch.rows)):
            if before is not None:
                before(k)
            alone.append(self._alone(batch, k))
        return alone

    def _are_all(self, batch: Batch) -> bool:
        """Whether no element within a fragment has its name."""
        names = batch.tree.name
        name = names[batch.rows[0]]
        return names.count(name) == len(batch.rows) + batch.around.count(name_local[name])

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
        (record,) = self.unit.records if len(self.unit.records) == 1 else (None,)
        made = None if record is None or self.frame is not None else _of_record(self.unit, record)
        return None if made is None else self.code.parts.compile(made)


class FrameProgram:
    """E of a unit inside, and the body, as functions of the instance: for fragments that are instances."""

    def __init__(self, code: UnitCode, evaluation: Evaluation, variables: list[Any], e: ast.Expr) -> None:
        self.evaluation = evaluation
        params = tuple([ast.Param(plan_name(variable)) for variable in variables])
        self._function = code.parts.compile(ast.InlineFunction(params, None, e, span=e.span))

    def outcomes(self, arguments: list[tuple[Any, ...]]) -> list[Outcome]:
        """The outcome for each list of arguments: the instance, and what is known of it."""
        return _called(self._function, self.evaluation, arguments)


def _called(
    function: Executable,
    evaluation: Evaluation,
    arguments: list[tuple[Any, ...]],
    before: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """What a function gives of each; an error is an outcome."""
    context = evaluation.context(function)
    found: list[Outcome] = []

    def each(first: int) -> Iterator[list[Any]]:
        for k in range(first, len(arguments)):
            if before is not None:
                before(k)
            yield [[one] if isinstance(one, Node) else one for one in arguments[k]]

    while len(found) < len(arguments):
        given = each(len(found))
        try:
            for items in function.calls(context, given):
                found.append(list(items))
        except XStreamError as failure:
            found.append(failure)
    return found


# ------------------------------------------------------------------------------------------------- E of a record


def _of_record(unit: Unit, record: Path) -> ast.InlineFunction | None:
    e = unit.items
    if isinstance(e, ast.FLWOR):
        first = e.clauses[0]
        if not isinstance(first, ast.ForClause) or first.position is not None or first.allowing_empty:
            return None
        source = _from_record(first.source, unit, record)
        body: ast.Expr | None = (
            None if source is None else replace(e, clauses=(replace(first, source=source), *e.clauses[1:]))
        )
    else:
        body = _from_record(e, unit, record)
        steps = e.steps if isinstance(e, ast.Path) else ()
        if steps and isinstance(steps[-1], ast.AxisStep):
            return None  # nodes: by rows
    if body is None:
        return None
    return ast.InlineFunction((ast.Param(plan_name(_RECORD)),), None, body, span=e.span)


def _from_record(e: ast.Expr, unit: Unit, record: Path) -> ast.Expr | None:
    """A path from the document as one from the record; the predicates of its step to the record stay."""
    if not isinstance(e, ast.Path):
        return None
    steps = e.steps
    for end in range(2, len(steps) + 1):
        last = steps[end - 1]
        if not isinstance(last, ast.AxisStep):
            return None
        if relative(replace(e, steps=(*steps[: end - 1], replace(last, predicates=()))), unit.root) == record:
            start: tuple[ast.Expr, ...] = (ast.VarRef(plan_name(_RECORD), span=e.span),)
            if last.predicates:
                start = (*start, ast.AxisStep("self", ast.KindTest("node"), last.predicates, span=last.span))
            rest = (*start, *steps[end:])
            return replace(e, steps=rest) if len(rest) > 1 else rest[0]
        if last.predicates:
            return None
    return None
