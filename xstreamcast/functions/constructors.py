"""Constructor functions: ``xs:T($value as xs:anyAtomicType?) as T?`` is ``$value cast as T?`` (F&O 3.1 §18)."""

from __future__ import annotations

from collections.abc import Callable

from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import FunctionEntry
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.cast import cast
from xstreamcast.model.namespaces import XS
from xstreamcast.model.types import ANY_ATOMIC, LIST_TYPES, TYPES, AtomicType, SequenceType

_ABSTRACT = ("anyAtomicType", "NOTATION")


def constructor(local: str) -> FunctionEntry | None:
    """The constructor function of a type, or ``None`` if it has none."""
    target = TYPES.get(local) or LIST_TYPES.get(local)
    if target is None or local in _ABSTRACT:
        return None
    name, params = QName(XS, local, "xs"), (SequenceType(ANY_ATOMIC, "?"),)
    if local == "QName":
        return FunctionEntry(name, params, SequenceType(target, "?"), _qname, needs_context=True)
    result = SequenceType(target, "?") if target.members is None else SequenceType(target.members, "*")
    return FunctionEntry(name, params, result, _caster(target))


def _caster(target: AtomicType) -> Callable[[Item | None], Item | None]:
    return lambda value: None if value is None else cast(value, target)


def _qname(context: DynamicContext, value: Item | None) -> Item | None:
    """The prefix is looked up in the statically known namespaces."""
    if value is None:
        return None
    static = context.static
    return cast(value, TYPES["QName"], {**static.namespaces, "": static.default_element_namespace})
