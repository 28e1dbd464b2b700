"""``explain()``: how a query will be run, what it keeps meanwhile, and why not in one pass if it needs more.

>>> from xstreamcast import explain
>>> explain("for $b in /site/open_auctions/open_auction return $b/bidder[1]/increase").verdict
'one pass; state: one open_auction at a time'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xstreamcast.plan.explain.words import count_passes, verdict

if TYPE_CHECKING:
    from xstreamcast.lang.ast import Module
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.plan.graph.verdict import Judgement
    from xstreamcast.plan.modes.rewrite import Emission, Modes
    from xstreamcast.plan.mutability import Fixed
    from xstreamcast.plan.operators import Operator


@dataclass(frozen=True, repr=False)
class Explanation:
    """What is known of a query before it runs. Shown as text, it is what ``xcast explain`` prints."""

    module: Module
    plan: Plan
    judgement: Judgement
    """The stream data-flow graph, its fusions and what VLDB'05's theorems say of it."""
    top: Operator | None
    """The operators, the answer's first; None if no document is scanned."""
    structures: Mapping[str, Structure]
    changing: Plan | None = None
    """How changes of its streams are followed; None if it reads none."""
    fixed: Fixed | None = None
    """The regions of its streams that are declared fixed."""
    modes: Modes | None = None
    """The emission mode in which they are followed, and what is not looked into in it."""

    @property
    def verdict(self) -> str:
        """In one line: how many passes, why more than one, and the most that is kept at any moment."""
        return verdict(self.plan, self.top)

    @property
    def passes(self) -> int:
        """How often a document is read; 0: none is."""
        return count_passes(self.plan)

    @property
    def steps(self) -> Mapping[str, Operator]:
        """The operators by their ids, s1, s2 …, from the answer to the inputs."""
        from xstreamcast.plan.operators import numbered

        return {} if self.top is None else {id: each for id, _, each in numbered(self.top)}

    @property
    def stream_structures(self) -> dict[str, Structure]:
        """The structures of the streams that it reads, by name."""
        sources = self.changing.sources if self.changing is not None else ()
        names = [source.uri or "" for source in sources if source.stream]
        known = {name: self.structures.get(name, self.structures.get("")) for name in names}
        return {name: structure for name, structure in known.items() if structure is not None}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Paths that no document of the given structures has."""
        from xstreamcast.plan.explain.structure import warnings

        return warnings(self)

    def dot(self) -> str:
        """The graph for Graphviz, before and after fusion."""
        from xstreamcast.plan.explain.dot import to_dot

        return to_dot(self.judgement.fused)

    def svg(self) -> str:
        """The operators as a picture, from the inputs to the answer."""
        from xstreamcast.plan.explain.picture import to_svg

        return to_svg(self)

    def __str__(self) -> str:
        from xstreamcast.plan.explain.text import to_text

        return to_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from xstreamcast.notebook.render import explanation_html

        return explanation_html(self)


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
    from xstreamcast.functions.registry import names
    from xstreamcast.lang.context import StaticContext
    from xstreamcast.lang.link import parse
    from xstreamcast.run.library import file_modules, known_function

    plain = frozenset(("", name) for name in variables)
    module = parse(
        text,
        source=source,
        static=StaticContext(base_uri=base_uri, variables=plain),
        known_functions=known_function,
        function_names=names,
        modules=file_modules,
        structures=structures,
    )
    return explain_module(module, structures, fixed, emit)


def explain_module(
    module: Module,
    structures: Mapping[str, Structure] | None = None,
    fixed: str | Iterable[str] | None = None,
    emit: Emission = "eager",
) -> Explanation:
    """Explain a query that has been through the static phase."""
    if module.body is None:
        message = "a library module is no query: it has no expression to run"
        raise module.source.fault("XPST0003", message, module.span, "import it into a query, and explain that")
    from xstreamcast.plan.decompose.plan import looks_everywhere, plan
    from xstreamcast.plan.graph.build import stream_graph
    from xstreamcast.plan.graph.verdict import judge
    from xstreamcast.plan.modes.rewrite import rewrite
    from xstreamcast.plan.mutability import fixed_of
    from xstreamcast.plan.operators import operators
    from xstreamcast.plan.passes.fold_recursion import fold_recursion
    from xstreamcast.run.streams import names_all_streams

    planned = plan(module, streams=True)
    judgement = judge(stream_graph(fold_recursion(module)))
    top, known = operators(planned), structures or {}
    if not any(source.stream for source in planned.sources) and names_all_streams(module):
        return Explanation(module, planned, judgement, top, known, None, fixed_of(fixed))
    modes = rewrite(module, emit)
    changing = plan(modes.module, streams=True, changing=True)
    if looks_everywhere(changing) and known:
        named = {source.uri or "": known.get(source.uri or "", known.get("")) for source in changing.sources}
        by_name = {name: structure for name, structure in named.items() if structure is not None}
        changing = plan(modes.module, streams=True, changing=True, structures=by_name)
    return Explanation(module, planned, judgement, top, known, changing, fixed_of(fixed), modes)
