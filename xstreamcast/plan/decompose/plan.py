"""A query, decomposed: units that one scan computes each, and what is left to do with their values.

The main expression is walked from the top. What distributes over cuts of a document (:mod:`~xstreamcast.plan.
decompose.spread`), or is an aggregate of something that does, becomes a :class:`~xstreamcast.plan.algebra.Unit`; a
variable stands for it in what is left. Values that are as long as the document may go into the answer or into new
nodes and nowhere else: whatever would have to keep one is named, and the query runs on a projected document instead.

>>> from xstreamcast.lang.link import parse
>>> made = plan(parse("let $n := count(//item) for $i in //item return $i/price div $n"))
>>> made.strategy.value, len(made.passes)
('stream', 2)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import Pass, Plan, Reduce, Source, Strategy, Unit, VarName, reads_items
from xstreamcast.plan.decompose.record_paths import Blocking
from xstreamcast.plan.decompose.unit_view import seen_by
from xstreamcast.plan.decompose.units import Decomposition
from xstreamcast.plan.passes import Streams, normalise
from xstreamcast.plan.passes.dependence import Dependence, call_key, focus_of
from xstreamcast.plan.projection.project import merge, project
from xstreamcast.plan.sources import source_of, sources_of
from xstreamcast.scan.path import Path

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.scan.automaton import Target

_BY_ID: Final = {((FN, local), arity) for local in ("id", "idref", "element-with-id") for arity in (1, 2)}


def plan(
    module: ast.Module,
    *,
    streams: bool = False,
    changing: bool = False,
    forests: Collection[str] = (),
    structures: Mapping[str, Structure] | None = None,
    many: Collection[str | None] = (),
) -> Plan:
    """The plan of a main module that has been through the static phase.

    ``streams``: a fragment stream counts as the document it describes, to be explained; else it is not planned.
    ``changing``: the documents go on changing, and so do the values of units: what must be kept for that may be kept.
    ``forests``: the streams that need not have one element at their top; ``structures``: those whose paths are to be
    spelled out by their tag structures. ``many``: the inputs, None for the context, that have several documents.
    """
    assert module.body is not None, "a library module is not a query"
    known = Streams(forests, structures or {}) if changing and streams else None
    made = _planned(module, normalise(module, known, many), streams, changing)
    if known is not None and made.strategy is Strategy.PROJECT:  # on the document itself: no copy stands for it
        made = _planned(module, normalise(module, replace(known, copies=False)), streams, changing)
    return made


def looks_everywhere(made: Plan) -> bool:
    """Whether a query looks at all elements, or is computed anew: tag structures may tell where it needs to look."""
    if made.strategy is Strategy.PROJECT:
        return True
    paths = [unit.each.path for step in made.passes for unit in step.units if unit.each is not None]
    return any(path.steps[-1].test.local is None for path in paths)


def _planned(module: ast.Module, normal: ast.Module, streams: bool, changing: bool) -> Plan:
    """The plan of a module that has been normalised."""
    assert module.body is not None
    assert normal.body is not None
    sources = sources_of(normal.body)
    dependence = Dependence(normal)
    indirect = dependence.blame(normal.body)
    if indirect is not None:
        sources = sources_of(normal)
    unplanned = any(source.stream for source in sources) and not streams
    # What asks for IDs or for a context item of another kind, or catches that there is none, needs the document itself.
    # Streams that are followed are there, and what fails of them is known by record.
    following = changing and streams
    itself = focus_of(normal.body) or any(
        call_key(part) in _BY_ID or (isinstance(part, ast.TryCatch) and dependence.on(part) and not following)
        for part in descendants(normal)
    )
    if not sources or unplanned or itself:
        return Plan(module, Strategy.NONE, (), (), (module.body,))
    if indirect is not None:
        return _projected(normal, sources, Blocking(indirect, "a document is read by way of the prolog"))
    work = Decomposition(
        normal, {source.variable: Path() for source in sources}, changing=changing, following=following
    )
    try:
        output = work.output(normal.body)
    except Blocking as blocking:
        return _projected(normal, sources, blocking)
    declared = replace(normal, prolog=(*normal.prolog, *work.converters.values()))
    return Plan(declared, Strategy.STREAM, sources, _passes(declared, work.units), output)


def _projected(module: ast.Module, sources: tuple[Source, ...], blocking: Blocking) -> Plan:
    """One scan of each document for what the query sees of it, and the query as it is."""
    assert module.body is not None
    seen = project(module.body, {source.variable: Path() for source in sources}, module=module)
    passes = tuple(Pass(source, (), seen.get(source.variable, ())) for source in sources)
    return Plan(module, Strategy.PROJECT, sources, passes, (module.body,), (blocking.expr,), (blocking.reason,))


def _passes(module: ast.Module, units: list[Unit]) -> tuple[Pass, ...]:
    """One scan for all units of a document that wait for equally many others."""
    level: dict[VarName, int] = {}
    for unit in units:  # a unit comes after those it needs
        level[unit.variable] = 1 + max((level[need] for need in unit.needs), default=0)
    made: dict[tuple[int, VarName], list[Unit]] = {}
    for unit in units:
        made.setdefault((level[unit.variable], unit.root), []).append(unit)
    passes = []
    for key in sorted(made, key=lambda key: key[0]):
        source = source_of(key[1])
        assert source is not None
        passes.append(Pass(source, tuple(made[key]), targets(module, made[key])))
    return tuple(passes)


def targets(module: ast.Module, units: list[Unit]) -> tuple[Target, ...]:
    """The targets of a scan for the units of one document."""
    found = []
    for unit in units:
        if unit.path is not None and unit.reduction == Reduce("count"):
            continue  # counted, not kept
        seen = project(seen_by(unit), {unit.root: Path()}, module=module, whole=reads_items(unit.reduction))
        found.append(seen.get(unit.root, ()))
    return merge(*found)
