"""q(T(γ)) from scratch: what a query is asked for before anything has come, and where no difference can be followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xstreamcast.plan.algebra import Plan, Strategy
from xstreamcast.run.library import Library
from xstreamcast.run.query import Query
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at
from xstreamcast.run.units import Evaluation

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.time import Instant
    from xstreamcast.model.tree import Node
    from xstreamcast.plan.modes.rewrite import Modes
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.continuous.evaluate.marked_view import Anew


class FromScratch:
    """A query with its variables and documents, over streams as they stand."""

    def __init__(
        self, query: Query, modes: Modes, inflow: Inflow, variables: Mapping[str, Any], docs: Mapping[str, Any]
    ) -> None:
        self.query = query
        self.modes = modes
        self.inflow = inflow
        self._variables = variables
        self._docs = docs
        self._anew: Anew | None = None

    def evaluation(self, now: Instant) -> Evaluation:
        """What the parts of the query are evaluated with."""
        library = Library(self.query.executable.program.static.base_uri, self._docs)
        doors = {"documents": library.document, "resources": library.text}
        return Evaluation(moment_at(now), self.query.given(self._variables), doors)

    def of_nothing(self) -> list[Item]:
        """The answer before anything has come."""
        return self.query.ask(streams=_nothing, docs=self._docs, variables=self._variables).items()

    def answer(self, plan: Plan, associations: Mapping[str, Association], now: Instant) -> list[Item]:
        """The answer, in the mode of the query."""
        over = self.modes.emission == "eager" or self.inflow.is_over(associations or self.inflow.associations)
        if not over and plan.strategy is not Strategy.NONE:
            return self._with_open_holes(associations, now)
        # What is not looked into is not certain, and judged as it stands on trial.
        return [] if not over and self.modes.emission == "certain" else self._as_it_stands(now)

    def _as_it_stands(self, now: Instant) -> list[Item]:
        def view(stream: str) -> Node:
            """T(γ) of a stream."""
            return self.inflow.association(stream).view(stream, now)

        return self.query.ask(streams=view, docs=self._docs, variables=self._variables, now=moment_at(now)).items()

    def _with_open_holes(self, associations: Mapping[str, Association], now: Instant) -> list[Item]:
        from xstreamcast.run.continuous.evaluate.marked_view import Anew, marked_view

        if self._anew is None:
            self._anew = Anew(self.modes)
        inflow, evaluation = self.inflow, self.evaluation(now)
        views = {
            name: marked_view(one, now, inflow.watermark, inflow.is_over([name])) for name, one in associations.items()
        }
        return self._anew.answer(evaluation, views, evaluation.doors["documents"], ended=False)


def _nothing(stream: str) -> Node:
    """T of a stream of which nothing has come."""
    return view_of(b"", f"stream:{stream}")
