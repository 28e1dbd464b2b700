"""An :class:`Explanation`: how a query will be run, what it keeps meanwhile, why not in one pass if it needs more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xstreamcast.plan.explain.words import count_passes, verdict

if TYPE_CHECKING:
    from xstreamcast.lang.ast import Module
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.plan.decompose.columns import Columnar
    from xstreamcast.plan.graph.verdict import Judgement
    from xstreamcast.plan.modes.rewrite import Modes
    from xstreamcast.plan.mutability import Fixed
    from xstreamcast.plan.operators import Operator


@dataclass(frozen=True, repr=False)
class Explanation:
    """All that is known of a query before it runs. Shown as text, it is what ``xcast explain`` prints."""

    module: Module
    plan: Plan
    judgement: Judgement
    """The stream data-flow graph, its fusions and what VLDB'05's theorems say of it."""
    top: Operator | None
    """The operators, the answer's first; None if no document is scanned."""
    structures: Mapping[str, Structure]
    changing: Plan | None = None
    """How changes of its streams are followed; None if it reads none."""
    anew: str = ""
    """Why all of it is computed anew when a stream changes, if it is."""
    by_objects: str = ""
    """Why its streams are not followed in columns, if they are not."""
    fixed: Fixed | None = None
    """The regions of its streams that are declared fixed."""
    columns: tuple[Columnar, ...] = ()
    """The sorts and groups that are made of columns, if the document is large."""
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

    def why(self) -> str:
        """The theorems of VLDB'05 behind the verdict, and the stream data-flow graph that they are about."""
        from xstreamcast.plan.explain.text import to_reasons

        return to_reasons(self)

    def facts(self) -> dict[str, Any]:
        """The same for programs: what can be written as JSON."""
        from xstreamcast.plan.explain.facts import facts

        return facts(self)

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
        from xstreamcast.plan.explain.html import explanation_html

        return explanation_html(self)
