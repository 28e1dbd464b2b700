"""The smallest records: fragments in a record, each evaluated with no more of the record than is read besides.

    for $v in R for $i in $v/Q return f($v, $i)          E(v ⊎ i₁ ⊎ i₂) = E(v ⊎ i₁) ++ E(v ⊎ i₂)

Where E reads the fragments at ``R/Q`` by nothing but ``$i``, a record without them, its *shell*, may be cut between
them (DBPL'03 §4.9: the vendors of HP's PDAs). A fragment that is different is evaluated in the shell of its record, and
no other one is looked at; when the shell is different, all in it are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.plan.decompose.columns import looks_down
from xstreamcast.plan.decompose.scan_filters import relative
from xstreamcast.plan.passes.shapes import boolean
from xstreamcast.run.continuous.associate.reach import reached_tags
from xstreamcast.run.continuous.columns.layout import BEGIN, N_FILLING, N_PLACE, P_HOLE, TO
from xstreamcast.run.continuous.columns.roles import Refused, Roles, roles_of
from xstreamcast.run.continuous.columns.routed import Again
from xstreamcast.run.continuous.columns.splicing import PASSED
from xstreamcast.scan.path import Path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from xstreamcast.model.structure import Structure
    from xstreamcast.native.vector import Bytes, Longs
    from xstreamcast.plan.algebra import Plan, Unit, VarName
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.run.continuous.related import Related

_PARENT: Final = ("parent", ast.KindTest("node"), ())
_MOST: Final = 8 << 20
"""Bytes of shells that are kept, or written at a time."""
_TYPES: Final = frozenset({"filler", "temporal", "event"})


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the records of a unit are cut: the tag of its records, that of the fragments in them, and the bit by which
    shells are known."""

    record: int
    inside: int
    bit: int


def cut_roles(
    units: Related, structures: Mapping[str, Structure], stream: str, roles: Roles, first: int, whole: Collection[int]
) -> dict[int, Cut]:
    """The units of a stream whose records are cut: their roles become those of the fragments inside, and, by bits of
    their own behind those of the units, of the shells. ``first``: the number of the bit of the stream's first unit;
    ``whole``: units whose records are not cut."""
    structure, route = structures[stream], units.live[stream].route
    cuts: dict[int, Cut] = {}
    for number in route.outermost:
        unit = route.units[number]
        if number in whole or route.inside(number) or unit.nest is not None:
            continue
        found = _taken_apart(unit)
        tags = None if found is None else _tags(found[0], unit, structure)
        home = roles.home.get(number, set())
        if found is None or tags is None or home != {tags[0]}:
            continue
        made = _roles_of_shell(units, structures, stream, unit, found[1], first)
        bit, shells = 1 << (first + number), 1 << (first + len(route.units) + len(cuts))
        below = {tags[1], *structure.descendants({tags[1]})}
        if made is None or made.home.get(number) != home or any(made.part.get(tsid, 0) & bit for tsid in below):
            continue
        cuts[number] = Cut(*tags, shells)
        for tsid, part in roles.part.items():
            if part & bit and tsid not in below:
                roles.part[tsid] = part & ~bit | (shells if made.part[tsid] & bit else 0)
        roles.part[tags[1]] &= ~bit
        roles.evaluated[tags[1]] |= bit
        roles.evaluated[tags[0]] = roles.evaluated[tags[0]] & ~bit | shells
        roles.home[number] = {tags[1]}
    return cuts


def _roles_of_shell(
    units: Related, structures: Mapping[str, Structure], stream: str, unit: Unit, shell: ast.Expr, first: int
) -> Roles | None:
    """What tags would be to a unit that looks at no more than the shells of its records."""
    plan, other = units.plan, replace(unit, items=shell)
    passes = [replace(one, units=tuple([other if u == unit else u for u in one.units])) for one in plan.passes]
    try:
        again = Again(replace(plan, passes=tuple(passes)), structures)
        return roles_of(again.live[stream].route, structures[stream], first)
    except Refused:
        return None


def _tags(path: Path, unit: Unit, structure: Structure) -> tuple[int, int] | None:
    """The tags of a unit's records and of the fragments inside, where both come as fragments for certain, and nothing
    between them does."""
    records, inside = reached_tags(unit.records[0], structure), reached_tags(path, structure)
    if len(records) != 1 or len(inside) != 1:
        return None
    (record,), (tag,) = records, inside
    at: int | None = tag
    if structure.tags[tag].type not in _TYPES or structure.tags[record].type not in _TYPES or record == tag:
        return None
    while True:
        parents = structure.parents.get(at, ()) if at is not None else ()
        if len(parents) != 1:
            return None
        at = parents[0]
        if at == record:
            return record, tag
        if structure.tags[at].type != "snapshot":
            return None


# ------------------------------------------------------------------------------------------------------ wider records


class WiderRecords(Refused):
    """A unit reads what is around its records, so that these are to be wider."""

    def __init__(self, unit: Unit, structure: Structure) -> None:
        super().__init__("what is around a record is read")
        self.unit = unit
        self.structure = structure


def widened(plan: Plan, refusal: WiderRecords) -> Plan:
    """The plan with the fragments around a unit's records as its records: what is cut between those is cut between
    these, too. Raises the refusal if there are none."""
    unit, structure = refusal.unit, refusal.structure
    steps = unit.records[0].steps if len(unit.records) == 1 else ()
    for end in range(len(steps) - 1, 0, -1):
        tags = reached_tags(Path(steps[:end]), structure)
        if len(tags) == 1 and structure.tags[next(iter(tags))].type in _TYPES and unit.nest is None:
            wider = replace(unit, records=(Path(steps[:end]),))
            passes = [replace(one, units=tuple([wider if u == unit else u for u in one.units])) for one in plan.passes]
            output = [wider if part == unit else part for part in plan.output]
            return replace(plan, passes=tuple(passes), output=tuple(output))
    raise refusal


# ------------------------------------------------------------------------------------------------------ taking apart


def _taken_apart(unit: Unit) -> tuple[Path, ast.Expr] | None:
    """The path of the fragments that E ranges over within its records, and what else it reads: E, were there none."""
    e = unit.items
    if not isinstance(e, ast.FLWOR) or len(unit.records) != 1:
        return None
    if not all(isinstance(clause, ast.ForClause | ast.LetClause | ast.WhereClause) for clause in e.clauses):
        return None
    loops = [clause for clause in e.clauses if isinstance(clause, ast.ForClause)]
    if not loops or e.clauses[0] is not loops[0] or any(c.position is not None or c.allowing_empty for c in loops):
        return None
    source = loops[0].source
    plain = _plain(source)
    begin = None if plain is None else relative(plain, unit.root)
    if begin is None:
        return None
    if begin == unit.records[0]:
        return _within(unit, e, loops)
    return _with_ancestors(unit, e, loops[0], begin)


def _within(unit: Unit, e: ast.FLWOR, loops: list[ast.ForClause]) -> tuple[Path, ast.Expr] | None:
    """``for $v in R for $i in $v/Q …``: by the last of the loops that begin at the one before."""
    known: dict[VarName, ast.Path] = {}
    chosen: tuple[ast.ForClause, Path] | None = None
    for loop in loops:
        plain = _plain(loop.source)
        if plain is None:
            break
        start = plain.steps[0]
        if loop is loops[0]:
            whole = plain
        elif isinstance(start, ast.VarRef) and start.name.expanded in known:
            whole = replace(plain, steps=(*known[start.name.expanded].steps, *plain.steps[1:]))
        else:
            break
        path = relative(whole, unit.root)
        if path is None:
            break
        known[loop.var.expanded] = whole
        if loop is not loops[0]:
            chosen = loop, path
    if chosen is None or not _looks_down(e) or not _is_about_itself(chosen[0].source):
        return None
    loop, path = chosen
    clauses = tuple([replace(c, source=ast.Sequence(())) if c is loop else c for c in e.clauses])
    return path, replace(e, clauses=clauses)


def _with_ancestors(unit: Unit, e: ast.FLWOR, loop: ast.ForClause, path: Path) -> tuple[Path, ast.Expr] | None:
    """``for $i in R/Q … $i/../name …``: what is read by ``..`` is read of the record."""
    record = unit.records[0].steps
    source = loop.source
    if path.steps[: len(record)] != record or not isinstance(source, ast.Path) or not _is_about_itself(source):
        return None
    name, climbed = loop.var.expanded, list[ast.Expr]()

    def change(part: ast.Node) -> ast.Node:
        if isinstance(part, ast.Path) and isinstance(part.steps[0], ast.VarRef) and part.steps[0].name.expanded == name:
            height = 0
            while height + 1 < len(part.steps) and _is_parent(part.steps[height + 1]):
                height += 1
            if height:
                rest = [rebuild(step, change) for step in part.steps[height + 1 :]]
                end = len(source.steps) - height
                below = path.steps[len(record) :]
                if height > len(below) or not all(_is_child(step) for step in source.steps[end:]):
                    climbed.append(part)
                return replace(part, steps=(*source.steps[:end], *rest))
        if isinstance(part, ast.VarRef) and part.name.expanded == name:
            return ast.Sequence(())
        return rebuild(part, change)

    top = ast.VarRef(ast.Name(None, unit.root[1], unit.root[0]))
    clauses = [change(clause) for clause in e.clauses[1:]]
    first = replace(loop, source=replace(source, steps=_to_record(source, top, len(record), path)))
    made = replace(e, clauses=(first, *clauses), result=change(e.result))  # type: ignore[arg-type]  # as they were
    if climbed or not _looks_down(made):
        return None
    return path, made


def _to_record(source: ast.Path, top: ast.Expr, count: int, path: Path) -> tuple[ast.Expr, ...]:
    """The steps of a path as far as the record."""
    end = len(source.steps)
    for _ in range(len(path.steps) - count):
        end -= 1
        while isinstance(source.steps[end - 1], ast.AxisStep) and _is_anywhere(source.steps[end - 1]):
            end -= 1
    return source.steps[:end] if end > 1 else (top,)


def _plain(e: ast.Expr) -> ast.Path | None:
    """A path without its conditions; None if it is none, or chooses by position."""
    if not isinstance(e, ast.Path):
        return None
    for step in e.steps[1:]:
        if not isinstance(step, ast.AxisStep) or not all(map(boolean, step.predicates)):
            return None
    steps = [replace(step, predicates=()) if isinstance(step, ast.AxisStep) else step for step in e.steps]
    return replace(e, steps=tuple(steps))


def _is_about_itself(source: ast.Expr) -> bool:
    """Whether the conditions on the steps of a path read nothing but what is below them."""
    steps = source.steps[1:] if isinstance(source, ast.Path) else ()
    conditions = [p for step in steps if isinstance(step, ast.AxisStep) for p in step.predicates]
    return all(_looks_down(p) and not any(isinstance(part, ast.VarRef) for part in descendants(p)) for p in conditions)


def _looks_down(e: ast.Expr) -> bool:
    """Whether nothing is reached from a node but what is in it, whatever node it is."""
    others = ast.NodeComparison | ast.IntervalProjection | ast.VersionProjection
    return looks_down([e]) and not any(isinstance(part, others) for part in descendants(e))


def _is_parent(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and (step.axis, step.test, step.predicates) == _PARENT


def _is_child(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and step.axis == "child"


def _is_anywhere(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and step.axis == "descendant-or-self" and not step.predicates


# --------------------------------------------------------------------------------------------------------- splicing


class Shells:
    """The shells of records as text, with the places of the holes in them."""

    def __init__(self, table: RegionTable, cut: Cut) -> None:
        self.table = table
        self.cut = cut
        self._texts: dict[int, tuple[Bytes, Longs, Longs]] = {}
        self._held = 0
        self._compacted = table.compacted

    def forget(self) -> None:
        """Shells may be others."""
        self._texts.clear()
        self._held = 0

    def portions(self, some: Longs) -> Iterator[Longs]:
        """The fragments inside, as many at a time as their shells are no large text."""
        owners = self.table.owners(some, self.cut.record)
        fillings = self.table.fillings[self.table.nodes[owners, N_FILLING]]
        sizes = np.cumsum(fillings[:, TO] - fillings[:, BEGIN])
        begin = 0
        while begin < len(some):
            before = int(sizes[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(sizes, before + _MOST)))
            yield some[begin:end]
            begin = end

    def splice(self, some: Longs, bit: int) -> Bytes | None:
        """The fragments inside, each in the shell of its record, one after the other; None if it must not be."""
        spliced = self.table.splice(some, bit)
        if spliced is None:
            return None
        text, ends = spliced.text.copy(), spliced.ends.tolist()
        owners = self.table.owners(some, self.cut.record).tolist()
        if not self._hold(owners):
            return None
        places = self.table.nodes[some, N_PLACE]
        holes = self.table.places[places, P_HOLE].tolist()
        parts: list[Bytes] = []
        begin = 0
        for owner, hole, end in zip(owners, holes, ends, strict=True):
            shell, known, offsets = self._texts[owner]
            at = int(offsets[np.searchsorted(known, hole)])
            parts += (shell[:at], text[begin:end], shell[at:])
            begin = end
        return np.concatenate(parts)

    def _hold(self, owners: list[int]) -> bool:
        """Have the shells of some records."""
        if self._compacted != self.table.compacted or self._held > _MOST:  # holes have other numbers
            self._compacted = self.table.compacted
            self.forget()
        missing = list(dict.fromkeys([owner for owner in owners if owner not in self._texts]))
        if not missing:
            return True
        spliced = self.table.splice(np.array(missing, np.int64), self.cut.bit, sews=True)
        if spliced is None:
            return False
        passed = spliced.seams[spliced.seams[:, 1] == PASSED]
        ends = spliced.ends.tolist()
        cuts = np.searchsorted(passed[:, 0], spliced.ends).tolist()
        begin = first = 0
        for owner, end, last in zip(missing, ends, cuts, strict=True):
            mine = passed[first:last]
            order = np.argsort(mine[:, 2], kind="stable")
            shell = spliced.text[begin:end].copy(), mine[order, 2], mine[order, 0] - begin
            self._texts[owner] = shell
            self._held += sum([part.nbytes for part in shell])
            begin, first = end, last
        return True

    def in_records(self, some: Longs) -> Longs:
        """The fragments in some records, which are there."""
        return self.table.nodes_in(some, self.cut.inside)
