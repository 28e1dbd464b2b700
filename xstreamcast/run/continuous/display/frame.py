"""New elements around members: ``<alerts>{ for … }</alerts>`` is one region with a hole, its items are regions inside.

So a change among the items tells the item, not the whole element anew. The shell of the element is what the query's own
program makes of it when a unit's value is a hole instead of its items. That is exact where a unit stands by itself
between the braces; items that would reach into the element around (attributes, namespaces) make it one whole again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Unit, VarName
from xstreamcast.plan.decompose.splices import splices
from xstreamcast.run.continuous.display.shelf import Computed, Emitted, Numbers, Reads, Shelf, Shown
from xstreamcast.run.continuous.display.written import Written
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.run.continuous.related import Number
from xstreamcast.run.evaluate import Executable

if TYPE_CHECKING:
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.columns.shelf import InColumns
    from xstreamcast.run.continuous.display.members import Members

_DECLARED = f' xmlns:stream="{STREAM}"'


def spliced(part: ast.Expr, journal: Journal | Columnar, reads: Reads) -> dict[Number, VarName]:
    """The units of a part whose items stand by themselves in new elements, and nowhere else."""
    found = {}
    for where in reads:
        unit: Unit = journal.live[where[0]].route.units[where[1]]
        if splices(part, unit):
            found[where] = unit.variable
    return found


class Framed(Computed):
    """A part with members inside of new elements. ``whole``: it has turned out that it must be computed whole."""

    def __init__(
        self,
        path: str,
        numbers: Numbers,
        journal: Journal | Columnar,
        part: Unit | Executable,
        reads: Reads,
        inside: Mapping[Number, VarName],
    ) -> None:
        super().__init__(path, numbers, journal, part, tuple([where for where in reads if where not in inside]))
        self._journal = journal
        self._all = reads
        self.inside = {where: journal.shelf(f"{path}.{n}", numbers, where) for n, where in enumerate(inside)}
        self._variables = dict(inside)
        self._holes = {where: _hole(members.anchor.region) for where, members in self.inside.items()}
        self._filled: set[Number] = set()
        self.whole = False

    def look(self) -> None:
        self.pending = None
        if not self.whole:
            try:
                for members in self.inside.values():
                    members.look()
                    self.whole |= any("xmlns" in said.text for said in members.written())
            except XStreamError:  # attributes, or what cannot be written: the element tells which
                self.whole = True
        if not self.whole:
            filled = {where for where in self.inside if self._total(where)}
            if filled != self._filled:
                self._filled, self.fresh = filled, True
            if self.due():
                self.fresh = True
                self.pending = self.computed()
                self.whole = any("xmlns" in said.text for said in self.pending)
        if self.whole:
            if self.reads is not self._all:
                self.reads, self.fresh = self._all, True
            super().look()

    def adopt(self, other: Shelf) -> None:
        super().adopt(other)
        assert isinstance(other, Framed)
        for where, before in other.inside.items():
            self.inside[where].adopt(before)
            self._holes[where] = other._holes[where]
        self._filled = other._filled
        if other.whole:
            self.whole, self.reads = True, self._all

    def _total(self, where: Number) -> int:
        return self._journal.count(where)

    def computed(self) -> list[Written]:
        if self.whole:
            return super().computed()
        evaluation = self._journal.evaluation
        held: list[tuple[VarName, Any, Any]] = []
        for where, variable in self._variables.items():
            held.append((variable, evaluation.globals.get(variable), evaluation.given.get(variable)))
            value = [self._holes[where]] if where in self._filled else []
            evaluation.given[variable] = value
            evaluation.bind(variable, value)
        try:
            found = super().computed()
        finally:
            for variable, bound, given in held:
                evaluation.globals.pop(variable, None)
                evaluation.given.pop(variable, None)
                if bound is not None:
                    evaluation.globals[variable] = bound
                if given is not None:
                    evaluation.given[variable] = given
        return [Written(said.text.replace(_DECLARED, ""), said.begins, said.ends) for said in found]

    def follow(self) -> None:
        if self.whole:
            for members in self.inside.values():
                members.clear()
        else:
            for members in self.inside.values():
                members.follow()
            # Items that come to no text at all, not even a blank between two of them, leave an element empty.
            filled = {
                where
                for where, members in self.inside.items()
                if any(members.content(shown, False) for shown in members)
            }
            if filled != self._filled:
                self._filled = filled
                self.pending = self.computed()
        super().follow()

    def tell(self, ends: bool) -> Iterator[Emitted]:
        for members in self.inside.values():
            yield from members.tell(False)
        yield from super().tell(ends)

    def told(self) -> Iterator[Emitted]:
        for members in self.inside.values():
            yield from members.told()
        yield from super().told()

    def text(self, ends: bool) -> str:
        text = super().text(ends)
        for members in self.inside.values():
            text = text.replace(_written_hole(members), members.text(False))
        return text

    def _visible(self) -> list[Members | InColumns]:
        """Those inside whose hole is there: a condition may have taken it away."""
        around = super().text(False)
        return [members for members in self.inside.values() if _written_hole(members) in around]

    def count(self) -> int:
        return self.size if self.whole else sum(members.size for members in self._visible())

    def items(self) -> Iterator[tuple[str, str]]:
        if self.whole:
            yield from super().items()
        for members in self._visible():
            yield from members.items()

    def anchors(self) -> Iterator[Shown]:
        yield self.anchor
        for members in self.inside.values():
            yield members.anchor


def _written_hole(members: Members | InColumns) -> str:
    return f'<stream:hole id="{members.anchor.region}"/>'


def _hole(region: int) -> Node:
    builder = TreeBuilder()
    builder.start(STREAM, "hole", "stream")
    builder.namespace("stream", STREAM)
    builder.attribute("", "id", str(region))
    builder.end()
    return builder.finish().root
