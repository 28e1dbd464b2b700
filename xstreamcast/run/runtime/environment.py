"""The names that generated code can use."""

from __future__ import annotations

from decimal import Decimal
from itertools import count
from typing import Any

from xstreamcast.errors import XStreamError
from xstreamcast.model import arithmetic, axes
from xstreamcast.model.atomic import Untyped
from xstreamcast.model.cast import cast
from xstreamcast.model.compare import GENERAL, GENERAL_OPERATORS, PAIR, VALUE, value_compare
from xstreamcast.model.convert import atomize, convert, convert_item, to_double
from xstreamcast.model.function import Array, FunctionItem, Map, same_key
from xstreamcast.model.lexical import parse_double, to_string
from xstreamcast.model.names import name_local, name_uri
from xstreamcast.model.tree import Node, nodes_at
from xstreamcast.run import temporal
from xstreamcast.run.runtime import chains, construct, functions, nodes, values
from xstreamcast.run.runtime.indexes import RangeIndex, ValueIndex, ValueSet
from xstreamcast.run.runtime.order import sort_rows


def _public(module: Any) -> dict[str, Any]:
    """The functions and classes a module of the runtime defines itself."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_")
    }


ENVIRONMENT: dict[str, Any] = {
    **_public(values),
    **_public(nodes),
    **_public(chains),
    **_public(construct),
    **_public(functions),
    **_public(axes),
    **_public(temporal),
    **{f"pair_{op}": function for op, function in PAIR.items()},
    **{f"value_{op}": function for op, function in VALUE.items()},
    **{f"general_{op}": GENERAL[symbol] for symbol, op in GENERAL_OPERATORS.items()},
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "integer_divide": arithmetic.integer_divide,
    "modulo": arithmetic.modulo,
    "negate": arithmetic.negate,
    "plus": arithmetic.plus,
    "Array": Array,
    "FunctionItem": FunctionItem,
    "Node": Node,
    "PLAIN": frozenset({int, float, str, bool, Decimal, Untyped, type(None)}),
    "RangeIndex": RangeIndex,
    "START_OF_TIME": temporal.START_OF_TIME,
    "Untyped": Untyped,
    "ValueIndex": ValueIndex,
    "ValueSet": ValueSet,
    "XStreamError": XStreamError,
    "atomize": atomize,
    "cast": cast,
    "convert": convert,
    "counter": count,
    "convert_item": convert_item,
    "map_of_entries": Map.of_entries,
    "name_local": name_local,
    "name_uri": name_uri,
    "nodes_at": nodes_at,
    "parse_double": parse_double,
    "same_key": same_key,
    "sort_rows": sort_rows,
    "to_double": to_double,
    "to_string": to_string,
    "value_compare": value_compare,
}
