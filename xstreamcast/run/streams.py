"""Streams for the from-scratch evaluator: each is materialised whole, as the temporal view T(γ) of what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError, error
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.datetime import DateTime
from xstreamcast.model.findings import Findings
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.time import START, Instant
from xstreamcast.model.tree import Node
from xstreamcast.run.temporal import START_OF_TIME, instant_of, moment_at
from xstreamcast.scan.parse import parse, parse_forest

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Report
    from xstreamcast.lang.ast import Module
    from xstreamcast.model.structure import Structure


class Streams:
    """The documents of ``stream("name")``. A source is a fragment stream (path, text, bytes or open file) or a node.

    What they put aside is counted in ``findings``, and goes to ``report``, or is warned of.
    The event clock: without a ``now`` given, the current time is the largest valid time of all the streams.
    """

    def __init__(
        self,
        sources: Mapping[str, Any],
        structures: Mapping[str, Structure] | None = None,
        now: DateTime | None = None,
        report: Report | None = None,
    ) -> None:
        self.now = now
        self.findings = Findings(report)
        self._documents: dict[str, Node] = {}
        self._regions: dict[str, Any] = {}
        structures = structures or {}
        for name, source in sources.items():
            if isinstance(source, Node):
                self._documents[name] = source
            else:
                self._regions[name] = self._read(source, structures.get(name) or structures.get(""))
        if now is None:
            seen: Instant = max((regions.now for regions in self._regions.values()), default=START)
            self.now = START_OF_TIME if seen == START else moment_at(seen)
        self.findings.tell()

    def _read(self, source: Any, structure: Structure | None) -> Any:
        from xstreamcast.cast.materialise import read_regions

        return read_regions(source, structure, self.findings)

    @property
    def structures(self) -> dict[str, Structure]:
        """The tag structures of the streams, given or brought by them."""
        known = {name: regions.structure for name, regions in self._regions.items()}
        return {name: structure for name, structure in known.items() if structure is not None}

    def __call__(self, name: str) -> Node:
        """The document node of a stream's temporal view."""
        known = self._documents.get(name)
        if known is not None:
            return known
        regions = self._regions.get(name)
        if regions is None:
            raise error("FODC0002", f'there is no stream "{name}"', hint="name it with streams= or --stream")
        from xstreamcast.cast.materialise import View, pick

        assert self.now is not None
        view = View(now=instant_of(self.now))
        pieces = regions.document(pick(regions.documents(), None), view, self.findings)
        text = b"".join(pieces)
        self.findings.tell()
        made = view_of(text, f"stream:{name}")
        self._documents[name] = made
        return made


def streams_named(module: Module) -> tuple[str, ...]:
    """The streams that a query names, in the order of first mention."""
    found: dict[str, None] = {}
    for part in (part for one in (module, *module.imported) for part in descendants(one)):
        if isinstance(part, ast.FunctionCall) and part.name.expanded == (STREAM, "stream"):
            name = part.args[0]
            if isinstance(name, ast.StringLiteral):
                found[name.value] = None
    return tuple(found)


def names_all_streams(module: Module) -> bool:
    """Whether a query says the name of every stream that it reads, so that it is known before it runs."""
    return not any(
        isinstance(part, ast.FunctionCall | ast.NamedFunctionRef)
        and part.name.expanded == (STREAM, "stream")
        and not (isinstance(part, ast.FunctionCall) and isinstance(part.args[0], ast.StringLiteral))
        for one in (module, *module.imported)
        for part in descendants(one)
    )


def in_order(names: tuple[str, ...], find: Callable[[str], Node]) -> None:
    """Have the documents of several streams in the order in which a query names them, be they opened in another."""
    for name in names if len(names) > 1 else ():
        try:
            find(name)[0].come_last()
        except XStreamError:
            continue  # whoever asks for it will hear


def view_of(text: bytes, uri: str) -> Node:
    """The document node of T: with one element as a document has, or, before the root has come or without a named
    root, with none or several."""
    try:
        return parse(text, None, uri)
    except XStreamError:
        return parse_forest(text, None, uri)
