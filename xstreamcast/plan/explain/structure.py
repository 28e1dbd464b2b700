"""A query by the tag structures of its inputs: where its paths lead, the fragments it needs, paths to nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from xstreamcast.lang.walk import descendants
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.structure import UNNAMED, Structure
from xstreamcast.plan.algebra import Concat, Reduce, Source, Unit
from xstreamcast.plan.explain.changes import units_of
from xstreamcast.plan.explain.words import unit_names
from xstreamcast.plan.projection.project import describe_path
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.path import NODE, Path

if TYPE_CHECKING:
    from xstreamcast.plan.explain.explanation import Explanation
    from xstreamcast.plan.retention import Keep

MANY: Final = 4
"""So many places of a path are listed; the others are counted."""


def structure_of(source: Source, structures: Mapping[str, Structure]) -> Structure | None:
    """The structure of an input: its stream's, or that of any."""
    own = structures.get(source.uri) if source.stream and source.uri is not None else None
    return own or structures.get("")


def targets_by_source(explanation: Explanation) -> dict[Source, list[Target]]:
    """The targets that all passes keep or count of each input."""
    found: dict[Source, list[Target]] = {}
    for each in explanation.plan.passes:
        known = found.setdefault(each.source, [])
        counted = [Target(unit.path, Action.KEEP) for unit in each.units if unit.path is not None]
        known += [target for target in (*each.targets, *counted) if target not in known]
    return found


def elements(path: Path) -> str:
    """The element steps of a path as a structure's path; "" if it has none."""
    text = ""
    for step in path.steps:
        if step.test.kind not in (ELEMENT, NODE):
            break
        name = step.test.local or "*"
        text += ("//" if step.deep else "/") + (f"{{{step.test.uri}}}{name}" if step.test.uri else name)
    return text


def tags_of(target: Target, structure: Structure) -> set[int]:
    """The tags a target's elements can have."""
    path = elements(target.path)
    return structure.expand(path) if path else {structure.root}


def needed(targets: list[Target], structure: Structure) -> set[int]:
    """The tags on the way to what is kept, and those inside of what is kept whole."""
    found: set[int] = set()
    for target in targets:
        waiting = list(tags_of(target, structure))
        if target.action == Action.PROJECT:
            found |= structure.descendants(waiting)
        while waiting:
            tag = waiting.pop()
            if tag not in found or tag in tags_of(target, structure):
                found.add(tag)
                waiting += [parent for parent in structure.parents[tag] if parent not in found]
    return found - {UNNAMED}


def structure_lines(explanation: Explanation) -> Iterator[str]:
    """The paths with ``//`` or ``*``, resolved; for streams the tsids of the fragments that are needed."""
    for source, targets in targets_by_source(explanation).items():
        structure = structure_of(source, explanation.structures)
        if structure is None:
            continue
        yield "structure" + (f' of stream("{source.uri}")' if source.stream else "")
        for target in targets:
            path = elements(target.path)
            if "//" in path or "*" in path:
                places = sorted(structure.path(tag) for tag in tags_of(target, structure))
                more = f" and {len(places) - MANY} more" if len(places) > MANY else ""
                yield f"  {describe_path(target.path)} is {', '.join(places[:MANY]) or 'nowhere'}{more}"
        need = need_of(explanation, source, targets, structure)
        if need is not None and explanation.anew:
            yield "  fragments needed: all, and all are kept: the query is computed anew from the whole document"
        elif need is not None:
            yield f"  fragments needed: tsid {', '.join(map(str, need.tags))} ({len(need.tags)} of {need.count})"
            for tag, keep in lifetimes(explanation, need):
                yield f"  {structure.path(tag)} ({structure.tag(tag).type}) is kept: {keep}"
            yield from mutability_lines(explanation, need.tags, structure)


@dataclass(frozen=True, slots=True)
class Need:
    """The fragments of a stream that a query needs, by tag; ``count``: the tags whose elements may be fragments."""

    source: Source
    structure: Structure
    tags: list[int]
    count: int


def need_of(explanation: Explanation, source: Source, targets: list[Target], structure: Structure) -> Need | None:
    """The fragments that a query that goes on needs of an input; None if the input is no stream."""
    if not source.stream or explanation.changing is None:
        return None
    may_come = {tag for tag in structure.tags if structure.tag(tag).type != "snapshot" or tag == structure.root}
    fragments = may_come - {UNNAMED}
    wanted = fragments if explanation.anew else needed(targets, structure) & fragments
    return Need(source, structure, sorted(wanted), len(fragments))


def needs(explanation: Explanation) -> Iterator[Need]:
    """The fragments needed of each stream whose structure is known."""
    for source, targets in targets_by_source(explanation).items():
        structure = structure_of(source, explanation.structures)
        need = None if structure is None else need_of(explanation, source, targets, structure)
        if need is not None:
            yield need


def lifetimes(explanation: Explanation, need: Need) -> list[tuple[int, Keep]]:
    """How long the versions and events of each tag are kept while the query goes on; nothing is said of one that is
    computed anew, which keeps all."""
    from xstreamcast.plan.retention import retention

    if explanation.anew:
        return []
    known = {one.uri or "": structure_of(one, explanation.structures) for one in explanation.plan.sources}
    structures = {name: found for name, found in known.items() if found is not None}
    asked = [question for _, question in explanation.modes.asked] if explanation.modes is not None else []
    kept = retention(explanation.changing or explanation.plan, structures, asked)
    return sorted(kept.get(need.source.uri or "", {}).items())


def mutability_lines(explanation: Explanation, wanted: list[int], structure: Structure) -> Iterator[str]:
    """The needed fragments that may change, and what is kept of them while the query goes on."""
    from xstreamcast.plan.mutability import mutability

    mutable, over = mutability(wanted, structure, explanation.fixed)
    fixed = [tag for tag in wanted if tag not in mutable and tag not in over]
    if mutable:
        yield f"  mutable: tsid {', '.join(map(str, mutable))}: kept, for they may change"
    if fixed:
        yield f"  fixed: tsid {', '.join(map(str, fixed))}: kept, for what they are in may change"
    if over:
        told = "nothing is kept of them once they are complete and told"
        kept = "kept, for the query keeps records: of sorts, groups, joins, positions, or what several parts read"
        yield f"  fixed: tsid {', '.join(map(str, over))}: {kept if keeps_records(explanation) else told}"


def keeps_records(explanation: Explanation) -> bool:
    """Whether records are kept although they can never change: where more is made of them than a sum or the answer."""
    from xstreamcast.lang.clock import looks_at_clock

    plan = explanation.changing or explanation.plan
    units = units_of(plan)
    needed_elsewhere = {name for unit in units for name in unit.needs}
    read = {name for part in plan.output if not isinstance(part, Unit) for name in unit_names(part)}
    told = [part for part in plan.output if isinstance(part, Unit)]
    if any(map(looks_at_clock, descendants(plan.module))):
        return True
    for unit in units:
        shown = told.count(unit) == 1 and unit.variable not in read and unit.variable not in needed_elsewhere
        summed = isinstance(unit.reduction, Reduce) and unit.variable not in needed_elsewhere
        if unit.needs or unit.each is not None or not (summed or (shown and isinstance(unit.reduction, Concat))):
            return True
    return False


def warnings(explanation: Explanation) -> tuple[str, ...]:
    """The warnings of the static phase about streams, and paths into documents that lead nowhere."""
    from xstreamcast.lang.warning_texts import warning_texts

    found = list(warning_texts(explanation.module))
    for source, targets in targets_by_source(explanation).items():
        structure = structure_of(source, explanation.structures)
        if structure is None or (source.stream and source.uri in explanation.structures):
            continue  # the static phase has looked at those
        for target in targets:
            if elements(target.path) and not tags_of(target, structure):
                found.append(f"nothing matches {describe_path(target.path)} by the structure")
    return tuple(dict.fromkeys(found))
