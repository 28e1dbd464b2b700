"""The answers of continuous queries on the driver: what the change rows of each micro-batch make of them.

An answer here has the face of :class:`~xstreamcast.run.continuous.query.ContinuousQuery` as far as who shows it looks,
so that the live view and the formats of ``xcast watch`` are the same for both engines.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError, error
from xstreamcast.model.change import ANSWER, ERROR, After, Change, ContentChange, Hide, Remove, Replace, Show, from_row
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.display.shelf import Emitted
from xstreamcast.spark.motion.rows import STRUCTURE

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.spark.motion.brought import Row


@dataclass(slots=True)
class Batch:
    """What one micro-batch did: change rows by the name of the query, pieces put aside, and how far it all is.

    Before the change rows may come one with the tag structure of the answer.
    """

    number: int
    rows: dict[str, list[Row]]
    put_aside: list[Row]
    progress: dict[str, Any] | None
    query_id: str = ""
    """What Spark calls the streaming query, as long as it goes on from its checkpoint."""

    @classmethod
    def of(cls, number: int, rows: Iterable[Row], query_id: str = "") -> Batch:
        """From the rows that a batch of the stateful operator gives."""
        made = cls(number, {}, [], None, query_id)
        for row in rows:
            if row["change"] == "progress":
                made.progress = json.loads(row["content"])
            elif row["change"] == "quarantine":
                made.put_aside.append(row)
            else:
                made.rows.setdefault(row["stream"], []).append(row)
        for mine in made.rows.values():
            mine.sort(key=lambda row: row["seq"])  # stable: a structure has the number of the change before it
        return made


_UNSEEN: Final = 1 << 16
"""So many changes of an answer wait at least, if nobody looks at it; to wait takes less than to be applied."""


class Regarded:
    """T of what has been told, brought about when somebody looks: only the last that a region said meanwhile counts."""

    def __init__(self) -> None:
        self._regions = Materialiser()
        self._unseen: list[Change] = []
        self._at: dict[int, int] = {}
        """Where the last that a region says is, if it may say something else instead."""

    def apply(self, change: Change) -> None:
        """A change that has been told."""
        at = self._at.get(change.region)
        plain = isinstance(change, After | Replace) and b"<stream:" not in change.content  # nothing stands in it
        if at is not None and plain and isinstance(change, Replace) and change.target is None:
            before = self._unseen[at]
            self._unseen[at] = replace(before, content=change.content) if isinstance(before, After) else change
            return
        if plain:
            self._at[change.region] = len(self._unseen)
        else:
            self._at.pop(change.region, None)
        self._unseen.append(change)
        if len(self._unseen) > max(_UNSEEN, 2 * len(self._regions.table)):
            self._look()

    def _look(self) -> None:
        unseen, self._unseen = self._unseen, []
        self._at.clear()
        for change in unseen:
            self._regions.apply(change)

    def text(self) -> str:
        """What all of it comes to."""
        self._look()
        return self._regions.text()


class Answer:
    """One answer, as it has been told."""

    def __init__(self, query: ContinuousQuery) -> None:
        self.query = query.query
        self.name = query.name
        self.modes = query.modes
        self.recomputed = ""
        self.waiting = 0
        self.structure: Structure | None = None
        self.failure: XStreamError | None = None
        self._first = query.at_first()
        self._regions = Regarded()
        self._begun = False
        self._labels: list[tuple[str, int]] = []
        self._items: dict[int, tuple[str, str]] = {}
        self._hidden = False
        self._error = b""
        self._rows: dict[int, Row] = {}

    def take(self, rows: Iterable[Row]) -> list[Emitted]:
        """Apply the change rows of a batch, and the structure that comes before them."""
        made = []
        self._rows = {}
        for row in rows:
            if row["change"] == STRUCTURE:
                self.structure = parse_structure(row["content"])
                continue
            change = from_row(row)
            self._apply(change, row["order"])
            made.append(Emitted(change, row["order"]))
            self._rows[id(change)] = row
        self.failure = _failure(self._error) if self._hidden else None
        return made

    def _apply(self, change: Change, order: str | None) -> None:
        self._begun = True
        self._regions.apply(change)
        if change.region == ANSWER and isinstance(change, Hide | Show):
            self._hidden = isinstance(change, Hide)
        elif change.region == ANSWER and isinstance(change, Replace):  # it is told anew: what was in it is gone
            self._labels.clear()
            self._items.clear()
        elif change.region == ERROR:
            self._error = change.content if isinstance(change, ContentChange) else b""
        elif order is not None:
            if isinstance(change, Remove):
                label, _ = self._items.pop(change.region)
                del self._labels[bisect_left(self._labels, (label, change.region))]
            elif isinstance(change, ContentChange):
                if isinstance(change, After):
                    insort(self._labels, (order, change.region))
                self._items[change.region] = order, change.content.decode()

    def told(self) -> str | XStreamError:
        """The answer as it has been told: its text, or the error that it is."""
        if not self._begun:
            return self._first
        return self.failure or self._regions.text()

    def text(self) -> str:
        """… its text; raises the error that it is."""
        told = self.told()
        if isinstance(told, XStreamError):
            raise told
        return told

    def at_first(self) -> str | XStreamError:
        """The answer before anything has come."""
        return self._first

    @property
    def shown(self) -> int:
        """How many regions the answer has."""
        return len(self._items)

    def items(self) -> Iterator[tuple[str, str]]:
        """What is shown, in order: labels and texts."""
        for label, region in self._labels:
            text = self._items[region][1]
            if "<stream:hole" not in text:  # an element around others, which come by themselves
                yield label, text

    def snapshot(self) -> list[Emitted]:
        """All that has been told of it and still holds, at once."""
        made = [
            Emitted(Replace(region=region, content=text.encode()), order)
            for region, (order, text) in self._items.items()
        ]
        if self._hidden:
            made += [Emitted(Replace(region=ERROR, content=self._error), None), Emitted(Hide(region=ANSWER), None)]
        return made

    def rows(self, emitted: Iterable[Emitted]) -> list[Row]:
        """The rows of changes that the last batch brought."""
        return [self._rows[id(one.change)] for one in emitted]


def _failure(content: bytes) -> XStreamError:
    from xml.etree.ElementTree import fromstring

    element = fromstring(content)
    return error(element.get("code", ""), element.text or "")


@dataclass(slots=True)
class Sizes:
    """How much of the streams is kept, as the live view asks for it."""

    table: range = range(0)
    kept: int = 0


@dataclass(slots=True)
class Answers:
    """All answers of a job. ``n``: how many changes have come; ``warnings``: what of the queries can match nothing."""

    queries: list[Answer]
    n: int = 0
    sizes: Sizes = field(default_factory=Sizes)
    ended: bool = False
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, inflow: Inflow) -> Answers:
        return cls([Answer(query) for query in inflow.queries])

    @property
    def associations(self) -> dict[str, Sizes]:
        """As of an :class:`~xstreamcast.run.continuous.arrive.inflow.Inflow`."""
        return {"": self.sizes}

    def begin(self, told: Iterable[list[Row]], n: int) -> None:
        """Go on from what has been told before, of each answer, by queries that were stopped."""
        self.n = n
        for answer, rows in zip(self.queries, told, strict=True):
            if rows:
                answer.take(rows)

    def take(self, batch: Batch) -> list[list[Emitted]]:
        """Apply a batch: what it tells of each answer."""
        made = [answer.take(batch.rows.get(answer.name, ())) for answer in self.queries]
        if batch.progress is not None:
            self.n = batch.progress["n"]
            self.ended = batch.progress["ended"]
            self.sizes = Sizes(range(batch.progress["regions"]), batch.progress["bytes"])
            for number, answer in enumerate(self.queries):
                answer.recomputed = batch.progress["recomputed"][number]
                answer.waiting = batch.progress["waiting"][number]
            self.warnings = batch.progress.get("warnings", [])
        return made
