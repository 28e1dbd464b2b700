"""Sorted and grouped loops whose keys, and what is reduced of their groups, are paths from the record.

Of such a loop columns are kept, and no tuples: ``for $i in //item order by number($i/price) return …``. ``let`` that
names a path is read as that path.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import CODEPOINT, FN, MATH, XS
from xstreamcast.model.record import record
from xstreamcast.plan.algebra import Gather, Reduce, Sort, Unit, VarName
from xstreamcast.plan.decompose.scan_filters import relative
from xstreamcast.plan.passes.shapes import is_fn
from xstreamcast.scan.path import Path

_DOWN: Final = ("child", "descendant", "descendant-or-self", "attribute", "self")
_ELSEWHERE: Final = frozenset(
    (
        *("root", "base-uri", "document-uri", "path", "id", "idref", "element-with-id", "lang", "generate-id"),
        *("function-lookup", "innermost", "outermost"),
    )
)
_READ: Final = {"double": "double", "integer": "integer"}


@record
class Keyed:
    """A key: the path of its one value, read as ``form``: text, number (fn:number), double or integer."""

    path: Path
    form: str = "text"
    exactly: bool = False
    """None is an error."""


@record
class Columnar:
    """A unit that is sorted or grouped by columns: its loop over the nodes of ``path``, and what is taken of each."""

    reduction: Sort | Gather
    loop: ast.FLWOR
    variable: ast.Name
    path: Path
    keys: tuple[Keyed, ...]
    ways: list[tuple[bool, bool]]
    """Of each key whether it descends, and whether nothing is greatest."""
    columns: tuple[Path, ...]
    result: ast.Expr
    """Of a sort: what each record gives."""
    static: StaticContext
    spills: bool
    """Records may go to disk: nothing of what is around them is looked at."""


def columnar(unit: Unit, static: StaticContext) -> Columnar | None:
    """How a unit is sorted or grouped by columns; None if it is not."""
    loop, reduction = unit.items, unit.reduction
    if not isinstance(reduction, Sort | Gather) or unit.nest is not None or unit.needs:
        return None
    if not (isinstance(loop, ast.FLWOR) and isinstance(loop.result, ast.SquareArray)):
        return None
    over, *rest = loop.clauses
    if not isinstance(over, ast.ForClause) or over.type is not None or over.allowing_empty or over.position is not None:
        return None
    plain = (isinstance(each, ast.LetClause) and each.type is None for each in rest)
    if not all(own or isinstance(each, ast.WhereClause) for own, each in zip(plain, rest, strict=True)):
        return None
    path = relative(over.source, unit.root)
    if path is None or not path.steps:
        return None
    variable = over.var.expanded
    lets = _lets(each for each in rest if isinstance(each, ast.LetClause))
    members = [_inlined(member, lets) for member in loop.result.members]
    width = len(reduction.keys)
    keys = [_key(member, variable) for member in members[:width]]
    collations = [key.collation for key in reduction.keys]
    if any(each not in (None, CODEPOINT) for each in (*collations, static.default_collation)) or None in keys:
        return None
    if isinstance(reduction, Sort):
        greatest = [not (static.empty_least if k.empty_least is None else k.empty_least) for k in reduction.keys]
        ways = [(key.descending, each) for key, each in zip(reduction.keys, greatest, strict=True)]
        columns: list[Path | None] = []
        spills = looks_down([loop.result.members[-1], *lets.values()])
    else:
        if any(key is not None and key.form != "text" for key in keys):
            return None
        ways, spills = [(False, False)] * width, reduction.order is None
        columns = [
            _column(member, variable, column.reduction) if isinstance(column.reduction, Reduce) else None
            for member, column in zip(members[width:], reduction.columns, strict=True)
        ]
    found = tuple([key for key in keys if key is not None])
    paths = tuple([each for each in columns if each is not None])
    if len(paths) < len(columns):
        return None
    return Columnar(reduction, loop, over.var, path, found, ways, paths, loop.result.members[-1], static, spills)


def _lets(clauses: Iterable[ast.LetClause]) -> dict[VarName, ast.Expr]:
    found: dict[VarName, ast.Expr] = {}
    for clause in clauses:
        found[clause.var.expanded] = _inlined(clause.value, found)
    return found


def _inlined(e: ast.Expr, lets: dict[VarName, ast.Expr]) -> ast.Expr:
    """An expression that may be the value of a variable."""

    def change(part: ast.Node) -> ast.Node:
        if isinstance(part, ast.VarRef):
            return lets.get(part.name.expanded, part)
        return rebuild(part, change) if isinstance(part, ast.FunctionCall) else part

    made = change(e)
    assert isinstance(made, ast.Expr)
    return made


def _key(e: ast.Expr, variable: VarName) -> Keyed | None:
    exactly = False
    while isinstance(e, ast.FunctionCall) and len(e.args) == 1 and e.name.uri == FN:
        if e.name.local == "exactly-one":
            exactly = True
        elif e.name.local not in ("data", "zero-or-one"):
            break
        e = e.args[0]
    if isinstance(e, ast.FunctionCall) and len(e.args) == 1 and not exactly:
        form = "number" if is_fn(e, "number", 1) else _READ.get(e.name.local, "") if e.name.uri == XS else ""
        path = relative(e.args[0], variable) if form else None
        return None if path is None else Keyed(path, form)
    if isinstance(e, ast.Path) and len(e.steps) > 1 and isinstance(e.steps[-1], ast.FunctionCall):
        last = e.steps[-1]
        if not is_fn(last, "string", 0):
            return None
        e = ast.Path(e.steps[:-1]) if len(e.steps) > 2 else e.steps[0]
    path = relative(e, variable)
    return None if path is None else Keyed(path, exactly=exactly)


def _column(e: ast.Expr, variable: VarName, reduction: Reduce) -> Path | None:
    """The path of what an aggregate is about."""
    if reduction.argument is not None or not (reduction.aggregate.counts or reduction.aggregate.of_values):
        return None
    if reduction.aggregate.counts:
        return relative(e.steps[0], variable) if isinstance(e, ast.SimpleMap) and len(e.steps) == 2 else None
    return relative(e.args[0], variable) if isinstance(e, ast.FunctionCall) and is_fn(e, "data", 1) else None


def looks_down(parts: Iterable[ast.Expr]) -> bool:
    """Whether of a record nothing is looked at but what is in it."""
    for part in (each for e in parts for each in descendants(e)):
        if isinstance(part, ast.AxisStep) and part.axis not in _DOWN:
            return False
        if isinstance(part, ast.Root | ast.DynamicCall | ast.NamedFunctionRef):
            return False
        if isinstance(part, ast.FunctionCall) and not _is_plain(part.name):
            return False
    return True


def _is_plain(name: ast.Name) -> bool:
    """Whether a function looks at its arguments, and nothing around them."""
    return name.uri in (XS, MATH) or (name.uri == FN and name.local not in _ELSEWHERE)
