"""What a task does with the documents of a collection that it has: one after the other, each projected and whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xstreamcast.model.atomic import Item
from xstreamcast.model.tree import Node
from xstreamcast.run.units import UnitRun
from xstreamcast.spark.rest.partials import Partial, RangeUnit
from xstreamcast.spark.rest.program import Scan, reported
from xstreamcast.spark.rest.projection import joined, projections
from xstreamcast.spark.rest.ranges import Asked, Range


class CollectedScan(Scan):
    """The only pass of the plan of a collection."""

    def items(self, parts: Sequence[Range]) -> Iterator[Item]:
        """The items of its unit, document by document."""
        work = UnitRun(*self._unit)
        for root in self._roots(parts):
            yield from work.items(root, ())

    def partials(self, parts: Sequence[Range]) -> list[Partial]:
        """What some documents contribute to its unit."""
        work = RangeUnit(*self._unit)
        for root in self._roots(parts):
            work.take(root, ())
            if work.settled:
                break
        return [work.partial()]

    @property
    def _unit(self) -> tuple[Any, Any]:
        (unit,) = self.step.units
        return self.program.evaluation(), self.program.code.units[unit.variable]

    def _roots(self, parts: Sequence[Range]) -> Iterator[Node]:
        """The documents, with what the unit looks at."""
        step = self.step
        for part in parts:
            uri = part.document.uri
            found = reported(projections([part], Asked(step.targets, uri=uri)), uri)
            yield joined(found, uri).root
