"""Rewrites of a query before it is decomposed into units: plain functions from module to module, in this order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.plan.passes.fold_recursion import fold_recursion
from xstreamcast.plan.passes.gather_projections import gather_projections
from xstreamcast.plan.passes.inline_functions import inline_functions
from xstreamcast.plan.passes.inline_globals import inline_globals
from xstreamcast.plan.passes.inline_lets import inline_lets
from xstreamcast.plan.passes.name_sources import name_sources
from xstreamcast.plan.passes.open_root import open_root
from xstreamcast.plan.passes.outermost_ancestor import outermost_ancestor
from xstreamcast.plan.passes.split_loops import split_loops
from xstreamcast.plan.passes.variables import distinguish

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


def normalise(module: ast.Module) -> ast.Module:
    """The module after all passes."""
    for rewrite in PASSES:
        module = rewrite(module)
    return module
