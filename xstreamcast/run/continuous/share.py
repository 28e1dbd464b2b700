"""One association for several queries: each stream is read and taken in once, whoever looks at it.

An :class:`Association` is T1 of a stream. The live documents of the queries follow its table; a content that several
of them open is parsed once. A query that does not decompose reads T of it (:class:`Recomputed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from xstreamcast.cast.materialise import Materialiser, View, pick
from xstreamcast.model.change import ROOT, Change
from xstreamcast.plan.algebra import Plan, Strategy, Unit
from xstreamcast.run.streams import view_of

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling, Report
    from xstreamcast.errors import Place
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.structure import Structure
    from xstreamcast.model.time import Instant
    from xstreamcast.model.tree import Node, Tree
    from xstreamcast.run.continuous.engine import Number
    from xstreamcast.run.continuous.journal import Noted
    from xstreamcast.run.continuous.live import Live
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.query import Query


class Association(Materialiser):
    """The table of one stream and those who follow it.

    ``changed`` counts the changes taken in; ``named``: whether there are documents with names in it.
    """

    def __init__(self, structure: Structure | None, report: Report) -> None:
        super().__init__(structure, report)
        self.followers: list[Noted] = []
        self.trees: dict[int, tuple[Filling, Tree]] = {}
        self.changed = 0
        self.named = False
        self._view: tuple[tuple[int, Instant], Node] | None = None

    def change(self, change: Change, place: Place, inside: int) -> None:
        super().change(change, place, inside)
        self.changed += 1
        self.named |= bool(change.doc)
        self.trees.clear()
        for live in self.followers:
            live.now, live.structure = self.now, self.structure
            live.follow(change)

    def adopt(self, live: Noted) -> None:
        """A live document follows this table from now on, and begins with what is in it."""
        live.table, live.file, live.now, live.structure = self.table, self.file, self.now, self.structure
        live.report = self.report
        live.trees = self.trees
        self.followers.append(live)
        live.resync(ROOT)

    def leave(self, live: Live) -> None:
        """A live document follows no more."""
        self.followers = [other for other in self.followers if other is not live]

    def view(self, name: str, now: Instant) -> Node:
        """T as a document, as of a time; made once for those who ask for the same."""
        key = self.changed, now
        if self._view is None or self._view[0] != key:
            text = b"".join(self.document(pick(self.documents(), None), View(now=now)))
            self._view = key, view_of(text, f"stream:{name}")
        return self._view[1]


class Recomputed:
    """A query that is computed anew on T at every change: what nothing incremental is known for.

    It has the face of a :class:`~xstreamcast.run.continuous.journal.Journal` whose whole output is one part.
    """

    def __init__(self, query: Query, ask: Callable[[], list[Item]]) -> None:
        self.answer = ask
        """q(T(γ)), from scratch."""
        module = query.executable.program.module
        assert module.body is not None
        self.plan = Plan(module, Strategy.NONE, (), (), (module.body,))
        self.rest: list[Unit | Executable] = [query.executable]
        self.place: dict[tuple[str, str], Number] = {}
        self.stale: set[Number] = set()
        self.bound: set[Number] = set()
        self.redone = True

    def part(self, part: Unit | Executable, reads: Iterable[Number]) -> list[Item]:
        """The items of the only part."""
        return self.answer()

    def settle(self) -> None:
        """What has come makes the answer another, perhaps."""
        self.redone = True

    def raise_failure(self) -> None:
        """There are no members that could have failed."""

    def forget(self) -> None:
        """All has been dealt with."""
        self.redone = False
