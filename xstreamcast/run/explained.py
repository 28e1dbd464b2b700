"""``explain()``: how a query will be run, what it keeps meanwhile, and why not in one pass if it needs more.

What it says of changes is asked of the engine that would follow them: the plan is that which would run.

>>> explain("for $b in /site/open_auctions/open_auction return $b/bidder[1]/increase").verdict
'one pass; state: one open_auction at a time'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from xstreamcast.plan.algebra import Strategy
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.plan.explain.explanation import Explanation
from xstreamcast.plan.graph.build import stream_graph
from xstreamcast.plan.graph.verdict import judge
from xstreamcast.plan.mutability import fixed_of
from xstreamcast.plan.operators import operators
from xstreamcast.plan.passes.fold_recursion import fold_recursion
from xstreamcast.run.by_columns import columnar_plan
from xstreamcast.run.query import compile
from xstreamcast.run.streams import names_all_streams

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.modes.rewrite import Emission


def explain(
    text: str,
    *,
    structures: Mapping[str, Structure] | None = None,
    variables: Iterable[str] = (),
    base_uri: str | None = None,
    source: str = "query",
    fixed: str | Iterable[str] | None = None,
    emit: Emission = "eager",
) -> Explanation:
    """Explain a query without running it.

    ``structures`` are tag structures by the name of their stream, "" for the documents and all other streams.
    ``variables`` names those that will be given although the query does not declare them. ``fixed``: the tags whose
    regions will be declared fixed, ``emit``: the emission mode (:func:`xstreamcast.continuous`).

    >>> explain("count(//item)").passes
    1
    """
    query = compile(text, base_uri=base_uri, variables=tuple(variables), structures=structures, source=source)
    module, known = query.executable.program.module, structures or {}
    planned = plan(module, streams=True)
    judgement = judge(stream_graph(fold_recursion(module)))
    top, declared = operators(planned), fixed_of(fixed)
    columns = None if any(one.stream for one in planned.sources) else columnar_plan(module)
    by_columns = () if columns is None or planned.strategy is not Strategy.PROJECT else tuple(columns[1].values())
    if not any(one.stream for one in planned.sources) and names_all_streams(module):
        return Explanation(module, planned, judgement, top, known, None, fixed=declared, columns=by_columns)
    from xstreamcast.run.continuous.query import continuous_many

    given = dict.fromkeys(variables, ())
    inflow = continuous_many([text], structures=known, variables=given, emit=emit, fixed=fixed, base_uri=base_uri)
    changing, anew = inflow.queries[0].foreseen()
    modes = inflow.queries[0].modes
    return Explanation(
        module,
        planned,
        judgement,
        top,
        known,
        changing,
        anew,
        inflow.by_objects,
        fixed=declared,
        columns=by_columns,
        modes=modes,
    )
