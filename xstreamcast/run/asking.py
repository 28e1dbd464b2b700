"""What the units of a pass ask a scan for, and what the batches they get are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from xstreamcast.dataclass import dataclass
from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Pass, Reduce, Unit
from xstreamcast.run.units import Cut

if TYPE_CHECKING:
    from xstreamcast.scan.automaton import Target
    from xstreamcast.scan.documents import BatchDocument
    from xstreamcast.scan.path import Path


def asked(steps: Sequence[Pass]) -> dict[str, Any]:
    """What ``document_batches`` is to hand over for passes over the same document."""
    units = [unit for step in steps for unit in step.units if unit not in counted_units(step)]
    return {
        "targets": tuple(dict.fromkeys(target for step in steps for target in step.targets)),
        "records": tuple(dict.fromkeys(path for unit in units for path in unit.records)),
        "counts": [unit.path for step in steps for unit in counted_units(step)],
        "carry": tuple(dict.fromkeys(path for unit in units for path in _bearers(unit))),
        "filters": _filters(units),
    }


@dataclass(frozen=True, slots=True)
class Whole:
    """A document that is in memory, as its only batch."""

    root: Node

    @property
    def tree(self) -> Any:
        return self.root.tree


def cuts_of(batch: BatchDocument | Whole) -> tuple[Cut, ...]:
    """The elements of a batch that are also in the one before, or in the next."""
    if isinstance(batch, Whole):
        return ()
    found = {element.row: (element.offset, True, False) for element in batch.began}
    for element in batch.open:
        found[element.row] = (element.offset, element.row in found, True)
    return tuple(Cut(row, offset, before, after) for row, (offset, before, after) in found.items())


def counted_units(step: Pass) -> tuple[Unit, ...]:
    """The units of which the scan itself counts the nodes: nothing is captured for them."""
    return tuple(
        unit
        for unit in step.units
        if unit.path is not None and isinstance(unit.reduction, Reduce) and unit.reduction.function == "count"
    )


def _bearers(unit: Unit) -> Iterator[Path]:
    """The elements whose own parts a nest's body still needs at their end."""
    if unit.nest is not None:
        if not all(_stands_with(part, unit.nest.path) for part in unit.nest.parts):
            yield unit.nest.path
        for inner in unit.nest.units:
            yield from _bearers(inner)


def _stands_with(part: Target, element: Path) -> bool:
    """Whether a part of an element is in every batch that the element is in: itself, or an attribute of it."""
    from xstreamcast.scan.automaton import Action

    below = part.path.steps[len(element.steps) :]
    if not below:
        return part.action == Action.KEEP
    return len(below) == 1 and below[0].test.kind == ATTRIBUTE and not below[0].deep


def _filters(units: Sequence[Unit]) -> list[Any]:
    """Tests that the scan makes: of records that are looked at by units with tests on that very record only."""
    made: list[Any] = []
    for unit in units:
        if not unit.tests or len(unit.records) != 1:
            continue
        record = unit.records[0]
        others = [other for other in units if other is not unit]
        if all(other.records == unit.records or _apart(other, record) for other in others):
            made.append((record, unit.tests))
            made.extend((record, ()) for other in others if other.records == unit.records and not other.tests)
    return made


def _apart(unit: Unit, record: Path) -> bool:
    """Whether no node that a unit looks at can be in a record of that path: their names part ways."""
    return bool(unit.records) and all(_part_ways(path, record) for path in unit.records)


def _part_ways(one: Path, other: Path) -> bool:
    for a, b in zip(one.steps, other.steps, strict=False):
        if a.deep or b.deep:
            return False
        if a.test != b.test:
            return None not in (a.test.local, b.test.local, a.test.uri, b.test.uri) and a.test.kind == b.test.kind
    return False
