"""What the functions of the library look at in their arguments, and which of them they give back.

A function that is not told of here is judged by its signature: it reads the values of all its arguments; if it could
give back nodes or functions, nothing is known any more and the documents are wanted whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model.namespaces import ARRAY, FN, MAP, MATH, STREAM, XML, XS
from xstreamcast.model.types import AtomicType, FunctionTest, SequenceType
from xstreamcast.plan.modes.ways import MODES, looked_at
from xstreamcast.plan.projection.paths import ANY_ELEMENT, ANY_NODE, Place
from xstreamcast.plan.projection.values import NOTHING, OPAQUE, READER, Value, join
from xstreamcast.scan.path import Path

if TYPE_CHECKING:
    from xstreamcast.plan.projection.flow import Flow

Rule = Callable[["Flow", Sequence[Value], ast.Node], Value]

_FOCUS_FOR_NONE: Final = """
    string data number string-length normalize-space name local-name namespace-uri node-name nilled base-uri
    document-uri root path has-children generate-id
"""
_FOCUS_FOR_LAST: Final = "lang id element-with-id idref"
IMPLICIT: Final = frozenset(
    {(local, 0) for local in _FOCUS_FOR_NONE.split()} | {(local, 1) for local in _FOCUS_FOR_LAST.split()}
)
"""Functions of the fn namespace that, with so many arguments, take the context item for one more."""

_LOOKED_AT: Final = """
    count exists empty not boolean name local-name namespace-uri node-name nilled document-uri generate-id
    function-name function-arity in-scope-prefixes
"""
"""These ask whether there are nodes, which, or what they are called; never for what is in them."""

_PASSED_ON: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    **dict.fromkeys(("head", "tail", "reverse", "unordered", "zero-or-one", "one-or-more", "exactly-one"), ("-", (0,))),
    **dict.fromkeys(("innermost", "outermost"), ("-", (0,))),
    **dict.fromkeys(("subsequence", "remove"), ("-vv", (0,))),
    "insert-before": ("-v-", (0, 2)),
    "trace": ("vv", (0,)),
    "namespace-uri-for-prefix": ("v-", ()),
    "resolve-QName": ("v-", ()),
    **dict.fromkeys(_LOOKED_AT.split(), ("-", ())),
}
"""Per argument ``v`` when its value is read, ``-`` when not; then which arguments come back."""

_FRESH: Final = frozenset(
    {"parse-xml", "parse-xml-fragment", "analyze-string", "json-to-xml", "parse-json", "json-doc"}
)
"""These read values and give new nodes, maps and arrays."""


def call(flow: Flow, name: ast.Name, args: Sequence[Value], focus: Value, site: ast.Node) -> Value:
    """The value of a call of a library function."""
    uri, local = name.expanded
    if uri == FN:
        if (local, len(args)) in IMPLICIT:
            args = (*args, focus)
        rule = _RULES.get(local)
        if rule is not None:
            return rule(flow, args, site)
        if local in _PASSED_ON:
            uses, given = _PASSED_ON[local]
            for use, arg in zip(uses, args, strict=False):
                if use == "v":
                    flow.read(arg)
            return join(args[at] for at in given if at < len(args))
        if local in _FRESH:
            flow.read(*args)
            flow.read(flow.apply(join(args), [NOTHING]))
            return READER
    if uri in (MAP, ARRAY):
        return _contents(flow, name, args, site)
    if uri == MODES:
        looked_at(flow, args, site)
        return NOTHING
    flow.read(*args)
    if uri in (XS, MATH, STREAM):
        return NOTHING
    entry = lookup(uri, local, len(args))
    if entry is None or not (entry.result.item is None or isinstance(entry.result.item, AtomicType)):
        flow.give_up()
    return NOTHING


def _contents(flow: Flow, name: ast.Name, args: Sequence[Value], site: ast.Node) -> Value:
    """Maps and arrays: keys and positions are read, functions are called, the rest goes in and out unseen."""
    entry = lookup(*name.expanded, len(args))
    if entry is None:
        flow.give_up()
        return OPAQUE
    pool = flow.flow(("pool", id(site)), join(args))
    for arg, expected in zip(args, entry.params, strict=True):
        if isinstance(expected.item, AtomicType):
            flow.read(arg)
        elif isinstance(expected.item, FunctionTest):
            given = flow.apply(arg, [pool] * len(expected.item.params or ()))
            if _is_atomic(expected.item.result):
                flow.read(given)
            pool = flow.flow(("pool", id(site)), given)
    if name.local == "sort":
        flow.read(pool)
    if _is_atomic(entry.result):
        return NOTHING
    return pool | READER


def _is_atomic(type_: SequenceType | None) -> bool:
    return type_ is not None and isinstance(type_.item, AtomicType)


# ------------------------------------------------------------------------------------------------- nodes and documents


def _root(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    return flow.roots(args[0])


def _has_children(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    for place in args[0].in_order:
        if place.has_content:
            flow.keep(place.down(ANY_NODE))
    return NOTHING


def _path(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    """Siblings of one kind and name are counted, of the nodes and of their ancestors.

    Where one of them is at a step, the others are too; but among those that ``//`` passes over, not all are kept.
    """
    for place in args[0].in_order:
        for at, step in enumerate(place.path.steps):
            if step.deep:
                flow.keep(Place(place.root, Path(place.path.steps[:at])).down(ANY_ELEMENT, True))
    return NOTHING


def _base_uri(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    flow.inherited.add((XML, "base"))
    return NOTHING


def _lang(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    flow.read(args[0])
    flow.inherited.add((XML, "lang"))
    return NOTHING


def _id(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    """Which attributes are IDs only the document's DTD tells; where all is wanted, places add nothing."""
    flow.read(*args, flow.roots(args[-1]))
    return NOTHING


def _document(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    """What it finds is none of the documents that variables stand for."""
    flow.read(*args)
    return NOTHING


def _give_up(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    flow.read(*args)
    flow.give_up()
    return OPAQUE


def _generator(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    flow.read(*args)
    return OPAQUE


def _error(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    flow.read(*args)
    flow.flow(("error object",), join(args[2:]))
    return NOTHING


# ---------------------------------------------------------------------------------------------- higher-order functions


def _for_each(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    return flow.apply(args[1], [args[0]])


def _filter(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    flow.read(flow.apply(args[1], [args[0]]))
    return args[0]


def _sort(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    flow.read(*args[1:2])
    flow.read(flow.apply(args[2], [args[0]]) if len(args) > 2 else args[0])
    return args[0]


def _fold_left(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    accumulator = flow.flow(("fold", id(site)), args[1])
    return flow.flow(("fold", id(site)), flow.apply(args[2], [accumulator, args[0]]))


def _fold_right(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    accumulator = flow.flow(("fold", id(site)), args[1])
    return flow.flow(("fold", id(site)), flow.apply(args[2], [args[0], accumulator]))


def _for_each_pair(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    return flow.apply(args[2], [args[0], args[1]])


def _apply(flow: Flow, args: Sequence[Value], site: ast.Node) -> Value:
    return flow.apply(args[0], [args[1]] * flow.most_parameters(args[0]))


_RULES: Final[dict[str, Rule]] = {
    "root": _root,
    "path": _path,
    "has-children": _has_children,
    "base-uri": _base_uri,
    "lang": _lang,
    "id": _id,
    "element-with-id": _id,
    "idref": _id,
    "doc": _document,
    "collection": _document,
    "function-lookup": _give_up,
    "load-xquery-module": _give_up,
    "transform": _give_up,
    "random-number-generator": _generator,
    "error": _error,
    "for-each": _for_each,
    "filter": _filter,
    "sort": _sort,
    "fold-left": _fold_left,
    "fold-right": _fold_right,
    "for-each-pair": _for_each_pair,
    "apply": _apply,
}
