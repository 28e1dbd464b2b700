"""``order by``: stable, key by key from the last to the first."""

from __future__ import annotations

from typing import Any

from xstreamcast.dataclass import dataclass
from xstreamcast.model.collation import Collation
from xstreamcast.model.compare import order_keys


@dataclass(frozen=True, slots=True)
class OrderSpec:
    """How one key orders."""

    descending: bool
    empty_greatest: bool
    collation: Collation


def sort_rows(rows: list[tuple[Any, ...]], specs: tuple[OrderSpec, ...]) -> list[tuple[Any, ...]]:
    """The rows in order of their first ``len(specs)`` columns; ties stay as they came."""
    for column in range(len(specs) - 1, -1, -1):
        spec = specs[column]
        keys = order_keys([row[column] for row in rows], spec.empty_greatest, spec.collation)
        order = sorted(range(len(rows)), key=keys.__getitem__, reverse=spec.descending)
        rows = [rows[number] for number in order]
    return rows
