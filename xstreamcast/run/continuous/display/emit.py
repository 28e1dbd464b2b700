"""The answer as a stream of changes: its parts are regions, and what a change makes different of them is told.

    T(output) = q(T(γ)), serialised, after every change

The root region has two holes: the answer, and the error that stands for it while there is one. The answer has a hole
for each part of the plan's output, an anchor without content; the items of a part are regions beside it, each inserted
``after`` the one before (:mod:`~xstreamcast.run.continuous.display.shelf`). Holes of what an item copies are regions in
it (:mod:`~xstreamcast.run.continuous.display.regions_told`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.change import ANSWER, ERROR, ROOT, Fill, Hide, Remove, Replace, Show
from xstreamcast.plan.algebra import Unit, in_parts
from xstreamcast.plan.result.shape import ERROR_NAMESPACE
from xstreamcast.run.continuous.arrive.share import Recomputed
from xstreamcast.run.continuous.display.frame import Framed, spliced
from xstreamcast.run.continuous.display.members import Members
from xstreamcast.run.continuous.display.shelf import Computed, Emitted, Numbers, Reads, Shelf
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.run.continuous.time.sealing import Sealing
from xstreamcast.scan.normalise import escape_text

if TYPE_CHECKING:
    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.columns.shelf import InColumns


class Output:
    """The answer of a query as a stream: :meth:`begin` once, then :meth:`changes` after each change.

    ``forwards``: holes of copied content are holes of the answer.
    """

    def __init__(self, journal: Journal | Recomputed | Columnar, forwards: bool = True) -> None:
        self.numbers = Numbers(ERROR + 1, forwards)
        self._take(journal)
        self.failure: XStreamError | None = None
        self._sealings: list[Sealing] = []
        self._turned: list[Emitted] = []
        self.error: str | None = None
        """The text of the error that has been told, while it is the answer."""

    def _take(self, journal: Journal | Recomputed | Columnar) -> None:
        """The parts of the answer are those of a query that is followed, or computed anew."""
        self.journal = journal
        self.shelves: list[Members | InColumns | Computed] = []
        for number, (part, code) in enumerate(zip(journal.plan.output, journal.rest, strict=True)):
            path, reads = f"{number:04}", self._reads(part)
            if isinstance(journal, Recomputed):
                self.shelves.append(Computed(path, self.numbers, journal, code, reads))
            elif isinstance(part, Unit):
                if in_parts(part.reduction):
                    self.shelves.append(journal.shelf(path, self.numbers, journal.place[part.variable]))
                else:
                    self.shelves.append(Computed(path, self.numbers, journal, code, reads))
            else:
                inside = spliced(part, journal, reads)
                self.shelves.append(
                    Framed(path, self.numbers, journal, code, reads, inside)
                    if inside
                    else Computed(path, self.numbers, journal, code, reads)
                )

    def _reads(self, part: Unit | ast.Expr) -> Reads:
        place = self.journal.place
        if isinstance(part, Unit):
            return (place[part.variable],)
        names = {ref.name.expanded for ref in descendants(part) if isinstance(ref, ast.VarRef)}
        return tuple([where for variable, where in place.items() if variable in names])

    def seal(self, associations: Mapping[str, Association]) -> None:
        """Let go of what is closed for good as soon as it has been told."""
        journal = self.journal
        if isinstance(journal, Journal):
            shelves = {shelf.where: shelf for shelf in self.shelves if isinstance(shelf, Members)}
            self._sealings = [Sealing(journal, name, associations[name], shelves) for name in journal.live]

    def turn(self, journal: Journal | Recomputed | Columnar) -> None:
        """The answer comes from somewhere else from now on."""
        self._take(journal)
        self._sealings = []
        _, (region, holes), *anchors = self._holes()
        anew = Replace(region=region, version=self.numbers.step, content=holes.encode())
        self._turned = [Emitted(anew, None)]
        self._turned += [Emitted(Fill(region=anchor, content=content.encode()), None) for anchor, content in anchors]

    def hand_over(self, journal: Journal | Recomputed | Columnar) -> None:
        """The answer comes from somewhere else from now on; what has been told of it stands."""
        told = self.shelves
        self._take(journal)
        if isinstance(journal, Recomputed) or not _are_alike(self.shelves, told):
            self.turn(journal)
            return
        for shelf, before in zip(self.shelves, told, strict=True):
            shelf.adopt(before)

    def begin(self) -> list[Emitted]:
        """The root, with its holes, and the answer as it is before anything has come."""
        return self._empty() + self.changes()

    def snapshot(self) -> list[Emitted]:
        """Everything that has been told, at once, for who comes later."""
        made = self._empty()
        for shelf in self.shelves:
            made += shelf.told()
        if self.error is not None:
            made.append(Emitted(Hide(region=ANSWER, version=self.numbers.step), None))
            made.append(Emitted(Replace(region=ERROR, version=self.numbers.step, content=self.error.encode()), None))
        return made

    @property
    def size(self) -> int:
        """How many items are shown."""
        return sum(shelf.count() for shelf in self.shelves)

    def _empty(self) -> list[Emitted]:
        return [Emitted(Fill(region=region, content=content.encode()), None) for region, content in self._holes()]

    def _holes(self) -> list[tuple[int, str]]:
        """The root, the answer, and what the regions of its parts stand beside."""
        holes = "".join([f'<stream:hole id="{shelf.anchor.region}"/>' for shelf in self.shelves])
        fills = [(ROOT, f'<stream:hole id="{ANSWER}"/><stream:hole id="{ERROR}"/>'), (ANSWER, holes)]
        return fills + [(anchor.region, "") for shelf in self.shelves for anchor in shelf.anchors()]

    def changes(self) -> list[Emitted]:
        """What is different since the last time; nothing if there is no net change."""
        self.numbers.step += 1
        try:
            self.journal.raise_failure()
            for shelf in self.shelves:
                shelf.look()
        except XStreamError as failure:
            self.failure = failure
            return self._fail(failure)
        ends = False
        made, self._turned = self._turned, []
        for shelf in self.shelves:
            shelf.follow()
            made += shelf.tell(ends)
            ends = shelf.last.said.ends if shelf.last is not shelf.anchor else ends
        self.journal.forget()
        for sealing in self._sealings:
            sealing.go_on()
        self.failure = None
        return made + self._recovered()

    def _fail(self, failure: XStreamError) -> list[Emitted]:
        """The answer is the error. What has changed besides is told when it is withdrawn."""
        told = error_text(failure)
        if told == self.error:
            return []
        made: list[Emitted] = []
        if self.error is None:
            made.append(Emitted(Hide(region=ANSWER, version=self.numbers.step), None))
        self.error = told
        return [*made, Emitted(Replace(region=ERROR, version=self.numbers.step, content=told.encode()), None)]

    def _recovered(self) -> list[Emitted]:
        if self.error is None:
            return []
        self.error = None
        gone = Emitted(Remove(region=ERROR, version=self.numbers.step), None)
        return [gone, Emitted(Show(region=ANSWER, version=self.numbers.step), None)]

    def text(self) -> str:
        """The answer as it has been told; raises the error that it is."""
        if self.failure is not None:
            raise self.failure
        ends, made = False, []
        for shelf in self.shelves:
            made.append(shelf.text(ends))
            ends = shelf.last.said.ends if shelf.last is not shelf.anchor else ends
        return "".join(made)

    def items(self) -> Iterator[tuple[str, str]]:
        """What is shown, in order: the label and the text of each region."""
        for shelf in self.shelves:
            yield from shelf.items()


def error_text(failure: XStreamError) -> str:
    """An error as an element of the output stream."""
    code, message = failure.code, escape_text(failure.message)
    return f'<error xmlns="{ERROR_NAMESPACE}" code="{code}">{message}</error>'


def _are_alike(some: Sequence[Shelf], others: Sequence[Shelf]) -> bool:
    """Whether the parts of an answer are the same, told by the same loops: not if the query has been planned anew."""

    def kind(shelf: Shelf) -> object:
        return list(shelf.inside) if isinstance(shelf, Framed) else isinstance(shelf, Computed)

    return [kind(one) for one in some] == [kind(one) for one in others]
