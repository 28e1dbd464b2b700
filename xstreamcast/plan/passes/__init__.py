"""Rewrites of a query before it is decomposed into units: plain functions from module to module.

In comes a checked module, out comes an equal one (the same answer for every input) that has fewer forms.
:data:`PASSES` has the order, :func:`normalise` also those for streams that are followed. One file each:

* names and functions: :mod:`.variables` (all bindings made different), :mod:`.name_sources`, :mod:`.name_forests`,
  :mod:`.inline_functions`, :mod:`.inline_globals`, :mod:`.inline_lets` (vertical fusion), :mod:`.fold_recursion`
* paths: :mod:`.open_root`, :mod:`.outermost_ancestor`, :mod:`.spell_paths`, :mod:`.descend_once`,
  :mod:`.ancestors_to_paths`, :mod:`.parents_to_predicates`, :mod:`.siblings_to_positions`, :mod:`.order_to_marks`,
  :mod:`.gather_projections` (XCQL)
* loops: :mod:`.split_loops`, :mod:`.split_empty`, :mod:`.neighbours_to_windows`

What they ask: :mod:`.dependence` (what depends on documents), :mod:`.shapes` (what an expression is, by its form).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.plan.passes.ancestors_to_paths import ancestors_to_paths
from xstreamcast.plan.passes.descend_once import descend_once
from xstreamcast.plan.passes.fold_recursion import fold_recursion
from xstreamcast.plan.passes.gather_projections import gather_projections
from xstreamcast.plan.passes.inline_functions import inline_functions
from xstreamcast.plan.passes.inline_globals import inline_globals
from xstreamcast.plan.passes.inline_lets import inline_lets
from xstreamcast.plan.passes.name_forests import name_forests
from xstreamcast.plan.passes.name_sources import name_sources
from xstreamcast.plan.passes.neighbours_to_windows import neighbours_to_windows
from xstreamcast.plan.passes.open_root import open_root
from xstreamcast.plan.passes.order_to_marks import order_to_marks
from xstreamcast.plan.passes.outermost_ancestor import outermost_ancestor
from xstreamcast.plan.passes.parents_to_predicates import parents_to_predicates
from xstreamcast.plan.passes.siblings_to_positions import siblings_to_positions
from xstreamcast.plan.passes.spell_paths import spell_paths
from xstreamcast.plan.passes.split_empty import split_empty
from xstreamcast.plan.passes.split_loops import split_loops
from xstreamcast.plan.passes.variables import distinguish

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure

PASSES: Final[tuple[Callable[[ast.Module], ast.Module], ...]] = (
    gather_projections,
    distinguish,
    fold_recursion,
    name_sources,
    inline_functions,
    inline_globals,
    inline_lets,
    outermost_ancestor,
    open_root,
    split_loops,
)


@dataclass(frozen=True, slots=True)
class Streams:
    """Streams that are followed: which need not have one element at their top, and tag structures
    whose paths are spelled out."""

    forests: Collection[str] = ()
    structures: Mapping[str, Structure] = field(default_factory=dict)
    copies: bool = True
    """Whether a copy of a document will do where its node is the parent of an element, and marks for its order."""


def normalise(module: ast.Module, streams: Streams | None = None, many: Collection[str | None] = ()) -> ast.Module:
    """The module after all passes, and those for ``streams`` that are followed. ``many``: as ``plan`` has it."""
    for rewrite in PASSES:
        module = rewrite(module)
        if rewrite is name_sources:
            module = name_forests(module, (), many)
        if streams is not None and rewrite is name_sources:
            module = name_forests(module, streams.forests)
            module = spell_paths(order_to_marks(module) if streams.copies else module, streams.structures)
        if streams is not None and rewrite is inline_lets:
            module = descend_once(ancestors_to_paths(module))
            module = parents_to_predicates(module, streams.copies)
            module = siblings_to_positions(module)
            module = split_empty(neighbours_to_windows(module))
    return module
