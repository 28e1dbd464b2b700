"""A query in one of the modes *certain* and *optimistic*, followed in columns: it asks for open holes.

Where it asks from nodes, the trees of batches have marks (:mod:`open_holes`); where it asks from a document, variables
say whether there is one. When one of these says something else, all fragments are looked at again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.plan.modes.rewrite import ENDED
from xstreamcast.run.continuous.columns.engine import Columnar
from xstreamcast.run.continuous.columns.open_holes import OpenHoles
from xstreamcast.run.continuous.evaluate.marks import register
from xstreamcast.run.continuous.evaluate.modes import ends_of_windows
from xstreamcast.run.temporal import instant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from xstreamcast.model.structure import Structure
    from xstreamcast.model.time import Instant
    from xstreamcast.plan.algebra import Plan, VarName
    from xstreamcast.plan.modes.rewrite import Modes
    from xstreamcast.run.continuous.columns.engine import Dirty
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.run.units import Evaluation

register()


class ModalColumnar(Columnar):
    """A query of a mode over the tables of its streams."""

    def __init__(
        self,
        modes: Modes,
        plan: Plan,
        evaluation: Evaluation,
        structures: Mapping[str, Structure],
        tables: Mapping[str, RegionTable],
        forwards: bool,
    ) -> None:
        self.modes = modes
        self.answers: dict[VarName, bool] = {}
        self._ends = ends_of_windows(modes)
        self._again = False
        self.open_holes = {name: OpenHoles(table) for name, table in tables.items()}
        super().__init__(plan, evaluation, structures, tables, None, forwards)
        for name in self.tables:
            self.tables[name].ask_for_open_holes()
        self._ask()

    @property
    def waiting(self) -> int:
        return sum(holes.count(self.roles[name]) for name, holes in self.open_holes.items() if name in self.tables)

    def hear(self, is_over: Callable[[Iterable[str]], bool], watermark: Instant) -> None:
        """Which streams are at their end, and what comes no more: windows that end before it are complete."""
        for name, holes in self.open_holes.items():
            if not holes.ended and is_over((name,)):
                holes.ended = self._again = True
            self._again |= any(holes.clock.at <= end < watermark for end in self._ends)
            holes.clock.at = max(holes.clock.at, watermark)

    def follow(self, found: Mapping[str, Dirty], now: Instant) -> None:
        for name, (some, _, there) in found.items():
            if name in self.tables:
                self.open_holes[name].note(some[there])
        if self._ask() or self._again:
            self._again = False
            for where in self.units:
                self._look_again(where)
            self.redone = self.moved = True
        super().follow(found, now)

    def _ask(self) -> bool:
        """See what the variables say now; whether one says something else."""
        now, found = instant_of(self.evaluation.now), dict[Any, bool]()
        for name, (stream, way) in self.modes.asked:
            found[name] = stream in self.tables and self.open_holes[stream].waits(way, now)
        if self.modes.ended:
            found[ENDED] = all(holes.ended for name, holes in self.open_holes.items() if name in self.tables)
        differs = found != self.answers
        self.answers = found
        for name, answer in found.items() if differs else ():
            self.evaluation.given[name] = [answer]
            self.evaluation.bind(name, answer)
        return differs
