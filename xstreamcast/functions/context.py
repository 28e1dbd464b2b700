"""What a function can see of the evaluation it is called in (XQuery 3.1 §2.1.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from xstreamcast.errors import error
from xstreamcast.lang.context import DecimalFormat, StaticContext
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.collation import Collation, collation
from xstreamcast.model.datetime import DateTime
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.tree import Node

if TYPE_CHECKING:
    from xstreamcast.run.continuous.time.horizon import Horizon

__all__ = ["DecimalFormat", "DynamicContext", "StaticContext"]

IMPLICIT_TIMEZONE = 0
"""Minutes east of UTC: times without a zone are UTC, on every machine alike."""


def _no_document(uri: str) -> Node:
    raise error("FODC0002", f"no document at {uri}", hint="name it with docs= or --doc")


def _no_collection(uri: str | None) -> list[Item]:
    raise error("FODC0002", f"no collection {uri}" if uri else "there is no default collection")


def _no_resource(uri: str, encoding: str | None) -> str:
    raise error("FOUT1170", f"no text resource at {uri}", hint="the network is not read")


def _no_function(context: DynamicContext, name: QName, arity: int) -> FunctionItem | None:
    return None


class DynamicContext:
    """The focus, the clock, and the doors to the outside.

    ``item`` is ``None`` where the focus is absent. ``now`` is fixed for one evaluation; it is ``moment``, and a
    ``horizon``, where there is one, hears that it was looked at. ``documents(uri)``,
    ``collections(uri or None)`` and ``resources(uri, encoding)`` get absolute URIs and raise FODC0002 and FOUT1170;
    ``uri_collections`` lists URIs; ``functions(name, arity)`` finds the query's own functions. ``call`` applies a
    function item to sequences.
    """

    __slots__ = (
        "collections",
        "documents",
        "environment",
        "functions",
        "horizon",
        "item",
        "moment",
        "position",
        "resources",
        "size",
        "static",
        "uri_collections",
    )

    def __init__(
        self,
        static: StaticContext,
        now: DateTime,
        item: Item | None = None,
        position: int = 0,
        size: int = 0,
        *,
        documents: Callable[[str], Node] = _no_document,
        collections: Callable[[str | None], list[Item]] = _no_collection,
        uri_collections: Callable[[str | None], list[str]] = _no_collection,
        environment: Mapping[str, str] | None = None,
        resources: Callable[[str, str | None], str] = _no_resource,
        functions: Callable[[DynamicContext, QName, int], FunctionItem | None] = _no_function,
    ) -> None:
        self.static = static
        self.moment = now
        self.horizon: Horizon | None = None
        self.item = item
        self.position = position
        self.size = size
        self.documents = documents
        self.collections = collections
        self.uri_collections = uri_collections
        self.environment = environment or {}
        self.resources = resources
        self.functions = functions

    @property
    def now(self) -> DateTime:
        """The current time, for who makes of it what cannot be foreseen."""
        if self.horizon is not None:
            self.horizon.at_once()
        return self.moment

    def focused(self, item: Item, position: int, size: int) -> DynamicContext:
        """The same context with another focus."""
        made = DynamicContext.__new__(type(self))
        for slot in DynamicContext.__slots__:
            setattr(made, slot, getattr(self, slot))
        made.item, made.position, made.size = item, position, size
        return made

    def require_item(self, asker: str) -> Item:
        if self.item is None:
            raise error("XPDY0002", f"{asker} needs a context item, and there is none")
        return self.item

    def require_node(self, asker: str) -> Node:
        item = self.require_item(asker)
        if not isinstance(item, Node):
            raise error("XPTY0004", f"{asker} needs a node as context item")
        return item

    def collation(self, uri: str | None = None) -> Collation:
        """The collation of a URI argument, or the default one; FOCH0002."""
        return collation(uri, self.static.base_uri, self.static.default_collation)

    def call(self, function: FunctionItem, args: list[list[Item]]) -> list[Item]:
        """Apply a function item; the arguments are converted to its declared types."""
        return function.invoke(args)
