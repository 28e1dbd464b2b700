"""Runs of fragments that are placed by their tags, without a look at those around (XCQL's QaC+): they stand by number.

A run has some fragments of one tag whose numbers follow one another, among those that have come. What comes in between
goes into the run before it, which is divided when it has more than WIDTH; what may not stand in a run divides the one
that it falls into.

    run(a) < run(b)  ⟸  every number of a < every number of b
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from xstreamcast.run.continuous.adjust.order import WIDTH, Entry, Sequence
from xstreamcast.run.continuous.associate.runs import COLUMNS, Run, Runs, rooted_key

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling
    from xstreamcast.run.continuous.associate.fragments import Holes
    from xstreamcast.run.continuous.associate.mounts import Above


class _Way(NamedTuple):
    """Where fragments of a tag stand: of which unit, in what state, in which elements."""

    unit: int
    state: int
    above: Above


Taken = tuple[int, "Filling", "Holes", _Way]
"""A fragment that may stand in a run: its number, its filling, its holes, and where it belongs."""


def take_root(runs: Runs, filled: list[tuple[int, Filling]]) -> list[tuple[int, Filling]]:
    """Put fragments that have come into runs; those that may not stand in one, or have a hole, are left."""
    live = runs.live
    ways = {tag: _way(runs, tag) for tag in dict.fromkeys([filling.tsid for _, filling in filled])}
    own = {number for number, filling in filled if ways[filling.tsid] is not None}
    taken: dict[int, list[Taken]] = {}
    rest: list[tuple[int, Filling]] = []
    for number, filling in filled:
        way = ways[filling.tsid]
        holes = None
        if way is not None and number not in live.holes:
            holes = runs.admitted(number, live.table[live.doc, number], own, way.unit, way.state)
        if way is None or holes is None:
            rest.append((number, filling))
        else:
            taken.setdefault(way.unit, []).append((number, filling, holes, way))
    for unit, fragments in taken.items():
        fragments.sort(key=_number)
        _place(runs, live.top[unit], fragments)
    return rest


def make_room(runs: Runs, sequence: Sequence[Any], number: int) -> None:
    """Divide the run that a fragment falls into that is not to stand in one."""
    found, _ = sequence.around(rooted_key(number))
    run = None if found is None else found.item
    if isinstance(run, Run) and run.mount is None and run.numbers[-1] > number:
        at = bisect_left(run.numbers, number)
        _divide(runs, run, [run.part(0, at), run.part(at, len(run.numbers))])


def _number(taken: Taken) -> int:
    return taken[0]


def _way(runs: Runs, tsid: int | None) -> _Way | None:
    """Where the fragments of a tag stand, if they may stand in runs."""
    route = runs.live.route
    rooting = route.rooted.get(tsid) if tsid is not None else None
    if rooting is None or rooting.above is None or not rooting.above.plain:
        return None
    units = [unit for unit in route.role(rooting.state).below if unit in runs.live.top]
    if len(units) != 1 or units[0] not in runs.units or route.is_in_another(rooting.above, units[0]):
        return None
    return _Way(units[0], rooting.state, rooting.above)


def _place(runs: Runs, sequence: Sequence[Any], fragments: list[Taken]) -> None:
    """Put fragments of a unit, in the order of their numbers, where they stand among those that are there."""
    begin = 0
    while begin < len(fragments):
        number, _, _, way = fragments[begin]
        found, behind = sequence.around(rooted_key(number))
        end = begin + 1
        while end < len(fragments) and fragments[end][3] == way and _is_before(fragments[end][0], behind):
            end += 1
        run = None if found is None else found.item
        if isinstance(run, Run) and run.mount is None and (run.unit, run.state, run.above) == way:
            _divide(runs, run, _runs(runs, way, run, fragments[begin:end]))
        else:
            make_room(runs, sequence, number)
            for made in _runs(runs, way, None, fragments[begin:end]):
                _stand(runs, made)
                sequence.insert_sorted(made.entry)
        runs.standing += end - begin
        begin = end


def _is_before(number: int, entry: Entry[Any] | None) -> bool:
    return entry is None or rooted_key(number) < entry.key


def _runs(runs: Runs, way: _Way, known: Run | None, fragments: list[Taken]) -> list[Run]:
    """Runs of some fragments, and of those of a run that is there, in the order of their numbers."""
    columns = [] if known is None else list(zip(*[getattr(known, name) for name in COLUMNS], strict=True))
    columns += [(number, None, 0, filling, holes, None, 0, False, None) for number, filling, holes, _ in fragments]
    columns.sort(key=_first)
    count = -(-len(columns) // WIDTH)
    edges = [len(columns) * k // count for k in range(count + 1)]
    made: list[Run] = []
    for begin, end in pairwise(edges):
        entry: Entry[Any] = Entry(None, None, rooted_key(columns[begin][0]))
        run = entry.item = Run(runs, way.unit, None, way.state, way.above, entry)
        for name, column in zip(COLUMNS, zip(*columns[begin:end], strict=True), strict=True):
            getattr(run, name).extend(column)
        entry.summary = runs.units[way.unit].total(run.outcomes)
        made.append(run)
    return made


def _first(row: tuple[Any, ...]) -> Any:
    return row[0]


def _divide(runs: Runs, run: Run, parts: list[Run]) -> None:
    """Put other runs where one stood."""
    runs.due.pop(run, None)
    untold = run in runs.untold
    runs.untold.pop(run, None)
    sequence = run.entry.sequence
    runs.replace(run, parts[:1], [parts[0].entry], untold)
    for part in parts:
        _stand(runs, part)
    for part in parts[1:]:
        if untold:
            runs.untold[part] = None
        sequence.insert_sorted(part.entry)


def _stand(runs: Runs, run: Run) -> None:
    """The fragments of a run stand in it, and are evaluated if they have not been."""
    runs.live.holes.update(dict.fromkeys(run.numbers, run))
    if None in run.outcomes:
        runs.due[run] = None
