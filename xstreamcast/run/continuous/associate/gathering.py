"""Holes that follow one another in a content, gathered into runs while it is walked through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.model.names import ATTRIBUTE, ELEMENT
from xstreamcast.run.continuous.adjust.order import WIDTH, Entry
from xstreamcast.run.continuous.associate.fragments import NO_HOLES
from xstreamcast.run.continuous.associate.mounts import HOLE, ID, TSID, Member
from xstreamcast.run.continuous.associate.runs import Run

if TYPE_CHECKING:
    from xstreamcast.model.tree import Tree
    from xstreamcast.run.continuous.associate.mounts import Above
    from xstreamcast.run.continuous.associate.walk import Found, Walk


def hole_at(tree: Tree, row: int) -> tuple[int, int | None]:
    """The number of a hole, and the tag that it names."""
    number, tsid = 0, None
    for at in range(row + 1, row + tree.size[row] + 1):
        if tree.name[at] == ID:
            number = int(tree.value[at] or 0)
        elif tree.name[at] == TSID:
            tsid = int(tree.value[at] or 0)
        elif tree.kind[at] != ATTRIBUTE:
            break
    return number, tsid


def gather(walk: Walk, row: int, state: int, above: Above | None, around: tuple[Member, ...], found: Found) -> int:
    """Put the holes that follow one another from a row on into runs, as far as they may stand in one.

    The row of the first thing that may not, or behind them all. Texts between them are nobody's.
    """
    live, route, tree = walk.live, walk.route, walk.tree
    role, runs = route.role(state), live.runs
    units = [unit for unit in found if unit in role.below]
    if above is None or not above.plain or len(units) != 1 or units[0] not in runs.units:
        return row
    unit = units[0]
    if any(member.unit in role.reads for member in around) or route.is_in_another(above, unit):
        return row
    zero, entries, holes, table = route.monoid(unit).zero, found[unit], live.holes, live.table
    names, values, sizes, kinds = tree.name, tree.value, tree.size, tree.kind
    end = row - tree.up[row] + sizes[row - tree.up[row]]
    base, doc, path, passed, forced = walk.base, live.doc, walk.path, walk.passed, live.forced
    matters: dict[int | None, bool] = {None: True}
    run: Run | None = None
    made: list[Run] = []
    room = 0
    while row <= end:
        size = sizes[row]
        if names[row] != HOLE:
            if kinds[row] == ELEMENT:
                break
            row += size + 1
            continue
        if size == 2 and names[row + 1] == ID and names[row + 2] == TSID:
            number: int = int(values[row + 1] or 0)
            tsid: int | None = int(values[row + 2] or 0)
        else:
            number, tsid = hole_at(tree, row)
        if tsid not in matters:
            matters[tsid] = route.filler(state, tsid)
        region = table.get((doc, number))
        if not matters[tsid]:
            assert tsid is not None
            if number in forced or (region is not None and live.holds_others(number, tsid)):
                break
            passed[number] = tsid
            row += size + 1
            continue
        if number in holes or number in path:
            break
        inside = NO_HOLES if region is None else runs.admitted(number, region, walk.numbers, unit, state)
        if inside is None:
            break
        if run is None or not room:
            entry: Entry[Any] = Entry(None, zero)
            run = entry.item = Run(runs, unit, walk.mount, state, above, entry)
            room = WIDTH
            entries.append(entry)
            if not walk.mount.runs:
                walk.mount.runs = {}
            walk.mount.runs[run] = None
            made.append(run)
        holes[number] = run
        run.numbers.append(number)
        run.tsids.append(tsid)
        run.rows.append(row - base)
        run.fillings.append(None if region is None else next(region.fillings()))
        run.holes.append(inside)
        room -= 1
        if region is not None:
            runs.due[run] = None
            runs.gathered.add(number)
        row += size + 1
    for run in made:
        count = len(run.numbers)
        run.outcomes, run.shown = [None] * count, [None] * count
        run.met, run.single = bytearray(count), bytearray(count)
        runs.standing += count
    return row
