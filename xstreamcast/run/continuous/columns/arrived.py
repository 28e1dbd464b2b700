"""Changes that have come to a stream, side by side: what they say of themselves as columns, and their contents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from xstreamcast.cast.automata import KINDS
from xstreamcast.cast.columns import CHANGE_WORDS, KIND, NO_TIME, NONE, REGION, TARGET, TIME, TSID, VERSION
from xstreamcast.errors import Place
from xstreamcast.model.change import Change, ContentChange

if TYPE_CHECKING:
    from xstreamcast.native.vector import Table

Waiting = tuple[Change, Place, int]
"""A change, where it was found, and how far its content is behind that."""
SENT: Final = np.array([issubclass(kind, ContentChange) for kind in KINDS])
"""The kinds of changes that have a content."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """``rows``: the columns of :mod:`xstreamcast.cast.columns` that do not tell of places in a text. ``one`` gives a
    change as an object. ``named``: some are of documents with names."""

    rows: Table
    contents: Sequence[bytes]
    one: Callable[[int], Waiting]
    named: bool = False
    first: int = 0

    @classmethod
    def of(cls, some: Sequence[Waiting]) -> Arrived:
        """Changes that are objects."""
        changes = [change for change, _, _ in some]
        rows = empty(len(some))
        rows[:, KIND] = [KINDS.index(type(change)) for change in changes]
        rows[:, REGION] = [change.region for change in changes]
        rows[:, TSID] = [NONE if change.tsid is None else change.tsid for change in changes]
        rows[:, VERSION] = [NONE if change.version is None else change.version for change in changes]
        targets = [getattr(change, "target", None) for change in changes]
        rows[:, TARGET] = [NONE if target is None else target for target in targets]
        rows[:, TIME] = [NO_TIME if change.valid_time is None else change.valid_time for change in changes]
        contents = [change.content if isinstance(change, ContentChange) else b"" for change in changes]
        return cls(rows, contents, some.__getitem__, any(change.doc for change in changes))

    @classmethod
    def told(cls, rows: Table, contents: Sequence[bytes]) -> Arrived:
        """Fillings and removals that a table knows of."""

        def one(k: int) -> Waiting:
            kind, region, tsid, version, time = rows[k, [KIND, REGION, TSID, VERSION, TIME]].tolist()
            content = {"content": contents[k]} if SENT[kind] else {}
            common = {"tsid": None if tsid == NONE else tsid, "version": None if version == NONE else version}
            at = None if time == NO_TIME else time
            return KINDS[kind](region=region, valid_time=at, **common, **content), Place(), 0

        return cls(rows, contents, one)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: int) -> Waiting:
        return self.one(self.first + k)

    def __iter__(self) -> Iterator[Waiting]:
        return map(self.one, range(self.first, self.first + len(self)))

    def part(self, begin: int, end: int) -> Arrived:
        """Some that follow one another."""
        return Arrived(self.rows[begin:end], self.contents[begin:end], self.one, self.named, self.first + begin)


def empty(count: int) -> Table:
    """Rows that say nothing yet."""
    return np.full((count, CHANGE_WORDS), NONE, np.int64)
