"""How much a query that goes on keeps: what ``state()`` tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.plan.algebra import Reduce, Unit
from xstreamcast.run.continuous.adjust.sums import size
from xstreamcast.run.continuous.columns.engine import Columnar
from xstreamcast.run.continuous.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.continuous.display.emit import Output


_UNITS: Final = ("", "K", "M", "G", "T")
_AMOUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)B?", re.IGNORECASE)


def bytes_of(given: int | str) -> int:
    """So many bytes, as a number or with a unit.

    >>> bytes_of("2GB"), bytes_of("1.5 kb"), bytes_of(4096)
    (2147483648, 1536, 4096)
    """
    if isinstance(given, int):
        return given
    found = _AMOUNT.fullmatch(given.strip())
    if found is None:
        raise error("XSC0091", f"{given!r} is no amount of memory", hint="such as 512MB or 2GB")
    return int(float(found[1]) * 1024 ** _UNITS.index(found[2].upper()))


def sizes(output: Output, associations: Mapping[str, Association]) -> dict[str, Any]:
    """Of the streams, by name, of the operators, and of the answer."""
    journal = output.journal
    streams: dict[str, dict[str, int]] = {name: one.sizes() for name, one in associations.items()}
    operators: list[dict[str, Any]] = []
    evaluated = None
    if isinstance(journal, Journal):
        evaluated = journal.evaluated
        for name, live in journal.live.items():
            streams.setdefault(name, {}).update(opened=live.walked, holders=live.holders, in_runs=live.runs.standing)
            for number, unit in enumerate(live.route.units):
                found = live.top.get(number)
                count = None if found is None else size(found, number)
                operators.append(_told(name, unit, count))
    elif isinstance(journal, Columnar):
        evaluated = journal.evaluated
        for name, routed in journal.live.items():
            opened, holders = journal.opened(name)
            streams.setdefault(name, {}).update(opened=opened, holders=holders, in_runs=0)
            for number, unit in enumerate(routed.route.units):
                operators.append(_told(name, unit, journal.members((name, number))))
    return {"streams": streams, "operators": operators, "shown": output.size, "evaluated": evaluated}


def _told(stream: str, unit: Unit, members: int | None) -> dict[str, Any]:
    return {"stream": stream, "operator": _operator(unit), "unit": unit.variable[1], "members": members}


def _operator(unit: Unit) -> str:
    """A unit in the words of the algebra."""
    reduction = unit.reduction
    return reduction.function if isinstance(reduction, Reduce) else type(reduction).__name__.lower()
