"""``mypy --strict``, and one rule more that needs its types: nothing is done in the order of a set.

The order of a set of strings, or of tuples with strings in them, differs from process to process (``PYTHONHASHSEED``),
that of a set of objects from run to run. What is told, saved, numbered or printed in such an order differs too: a Spark
worker and its driver once numbered the regions of one answer differently. So a loop, a comprehension, an unpacking or a
call that keeps the order may not go over a set; ``sorted(…)`` may, and so may what the order makes no difference to:
``any``, ``all``, ``sum``, ``len``, ``min``, ``max``, other sets. Sets of whole numbers have one order everywhere.

    python tools/types_and_order.py        exit 1 with a line for each finding
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mypy.build import BuildResult, build
from mypy.errors import CompileError
from mypy.main import process_options
from mypy.server.subexpr import get_subexpressions
from mypy.types import Instance, TupleType, Type, UnionType, get_proper_type

PRODUCT: Final = "xstreamcast"
ORDER_FREE: Final = frozenset({"any", "all", "sum", "len", "min", "max", "sorted", "set", "frozenset"})
ORDER_KEPT: Final = frozenset(
    {"list", "tuple", "iter", "enumerate", "map", "filter", "zip", "join", "extend", "fromkeys", "deque"}
)
SETS: Final = frozenset({"builtins.set", "builtins.frozenset", "typing.AbstractSet", "typing.MutableSet"})
VIEWS: Final = frozenset({"typing.KeysView", "typing.ItemsView", "_collections_abc.dict_keys"})
"""Of dictionaries: in the order in which things were put in."""
NUMBERS: Final = frozenset({"builtins.int", "builtins.bool"})

Span = tuple[int, int, int | None, int | None]


def main() -> int:
    sources, options = process_options([])
    options.export_types = options.preserve_asts = True
    options.incremental = False
    try:
        checked = build(sources, options=options)
    except CompileError as failure:
        print("\n".join(failure.messages))
        return 1
    findings = [*checked.errors, *in_order_of_sets(checked)]
    print("\n".join(findings) if findings else f"types and orders: no issues in {len(sources)} source files")
    return 1 if findings else 0


def in_order_of_sets(checked: BuildResult) -> Iterator[str]:
    """The places in the product where something is done in the order of a set."""
    for module, state in sorted(checked.graph.items()):
        if module.split(".")[0] != PRODUCT or state.tree is None or state.path is None:
            continue
        sets: dict[Span, bool] = {}
        for each in get_subexpressions(state.tree):
            known = checked.types.get(each)
            kind = None if known is None else hashed_set(known)
            if kind is not None:
                sets[each.line, each.column, each.end_line, each.end_column] = kind
        text = Path(state.path).read_text(encoding="utf-8")
        where = Path(state.path).resolve().relative_to(Path.cwd())
        for line in sorted(Orders(sets).lines(ast.parse(text))):
            yield f"{where}:{line}: error: in the order of a set: {text.splitlines()[line - 1].strip()}"


def hashed_set(known: Type) -> bool | None:
    """Whether a value of the type may be a set whose order depends on hashing; None: it is no set."""
    known = get_proper_type(known)
    if isinstance(known, UnionType):
        kinds = [kind for item in known.items if (kind := hashed_set(item)) is not None]
        return any(kinds) if kinds else None
    if not isinstance(known, Instance) or any(base.fullname in VIEWS for base in known.type.mro):
        return None
    if not any(base.fullname in SETS for base in known.type.mro):
        return None
    return not (known.args and is_number(known.args[0]))


def is_number(known: Type) -> bool:
    """Whether values of the type hash alike in every process: numbers, and tuples of them. (None does not.)"""
    known = get_proper_type(known)
    if isinstance(known, TupleType):
        return all(map(is_number, known.items))
    return isinstance(known, Instance) and known.type.fullname in NUMBERS


class Orders:
    """Where a module goes over one of the ``sets`` so that their order shows; true: it depends on hashing."""

    def __init__(self, sets: dict[Span, bool]) -> None:
        self._sets = sets

    def _kind(self, node: ast.expr) -> bool | None:
        return self._sets.get((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))

    def _set(self, node: ast.expr) -> bool:
        return bool(self._kind(node))

    def lines(self, module: ast.Module) -> set[int]:
        nodes = list(ast.walk(module))
        free = {part for node in nodes for part in self._order_free(node)}
        return {node.lineno for node in nodes if isinstance(node, ast.expr | ast.For) and self._shows(node, free)}

    def _order_free(self, node: ast.AST) -> Iterator[ast.expr]:
        """The parts of a node whose order does not reach its value."""
        if isinstance(node, ast.SetComp):
            yield node
        elif isinstance(node, ast.Set):
            yield from node.elts
        elif isinstance(node, ast.Call) and self._takes_any_order(node.func):
            for each in node.args:
                yield each
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "map":
                    yield from each.args

    def _takes_any_order(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Attribute):
            return self._kind(function.value) is not None and function.attr != "pop"
        return isinstance(function, ast.Name) and function.id in ORDER_FREE

    def _shows(self, node: ast.expr | ast.For, free: set[ast.expr]) -> bool:
        match node:
            case ast.For():
                return self._set(node.iter)
            case ast.GeneratorExp() | ast.ListComp() | ast.DictComp() if node not in free:
                return any(self._set(each.iter) for each in node.generators)
            case ast.Starred() if node not in free:
                return self._set(node.value)
            case ast.YieldFrom():
                return self._set(node.value)
            case ast.Call(func=ast.Attribute(value=owner, attr="pop")) if self._set(owner):
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in ORDER_KEPT:
                ordered = node.args[:1] if name == "fromkeys" else node.args  # the second is the value of all
                return any(self._set(each) and each not in free for each in ordered)
        return False


if __name__ == "__main__":
    sys.exit(main())
