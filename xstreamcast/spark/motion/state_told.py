"""What has been told of an answer, saved: a query that is made again from its saved state goes on where it was.

The items of an answer are regions with numbers and labels that whoever follows it knows. They depend on the order in
which things came; what they say does not. So it is enough to save the numbers and labels in the order of the answer,
and to give them to the items of the query that was made again, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from xstreamcast.model.change import ERROR, After, Remove, Replace
from xstreamcast.model.structure import write_structure
from xstreamcast.run.continuous.display.shelf import Emitted, Shelf
from xstreamcast.spark.motion.state_log import structure_row

if TYPE_CHECKING:
    from xstreamcast.run.continuous.display.emit import Output
    from xstreamcast.run.continuous.query import ContinuousQuery


@dataclass(frozen=True, slots=True)
class ShelfTold:
    """The regions of a part of the answer, in order; ``digest`` is that of what they hold."""

    anchor: int
    regions: list[int]
    labels: list[str]
    digest: str


@dataclass(frozen=True, slots=True)
class Told:
    """What has been told of one answer. ``last``: the highest number of a region; ``step``: the last version."""

    last: int
    step: int
    seq: int
    error: str | None
    shelves: list[ShelfTold]

    @classmethod
    def parse(cls, saved: dict[str, Any]) -> Told:
        """From plain data."""
        return cls(**{**saved, "shelves": [ShelfTold(**one) for one in saved["shelves"]]})


def told(query: ContinuousQuery) -> Told | None:
    """What has been told so far; None: nothing, not even that the answer is empty."""
    output = query.output
    if output is None:
        return None
    shelves = [
        ShelfTold(shelf.anchor.region, [one.region for one in shelf], [one.label for one in shelf], _digest(shelf))
        for shelf in _shelves(output)
    ]
    return Told(output.numbers.last, output.numbers.step, query.seq, output.error, shelves)


def told_rows(query: ContinuousQuery) -> list[dict[str, Any]]:
    """All that has been told, at once, as rows: the tag structure, and the changes that make up the answer.

    It is told to whoever comes later, not to those who follow: the query goes on with the number that it had.
    """
    if query.output is None:
        return []
    known = [] if query.structure is None else [structure_row(query.name, 0, write_structure(query.structure))]
    seq = query.seq
    rows = known + query.rows(query.output.snapshot())
    query.seq = seq
    return rows


def adopt(query: ContinuousQuery, saved: Told) -> list[Emitted] | None:
    """Let a query that was made again use the numbers and labels of what has been told.

    Gives what must be told so that it is true, which is nothing where the answer was no error: what is hidden behind
    one is withdrawn, unseen. None: the parts of the answer are others, and it cannot be.
    """
    output = query.output
    if output is None:
        return None
    shelves = list(_shelves(output))
    if len(shelves) != len(saved.shelves):
        return None
    inside = [shelf for outer in output.shelves for shelf in getattr(outer, "inside", {}).values()]
    if any(
        shelf.anchor.region != known.anchor
        for shelf, known in zip(shelves, saved.shelves, strict=True)
        if shelf in inside
    ):
        return None
    query.seq = saved.seq
    output.numbers.last = max(saved.last, output.numbers.last)
    output.numbers.step = saved.step + 1  # the version of what is told here, if anything is
    made: list[Emitted] = []
    for shelf, known in zip(shelves, saved.shelves, strict=True):
        made += _give(output, shelf, known)
    if output.error is not None and output.error != saved.error:
        made.append(Emitted(Replace(region=ERROR, version=output.numbers.step, content=output.error.encode()), None))
    if not made:
        output.numbers.step = saved.step
    return made


def _give(output: Output, shelf: Shelf, known: ShelfTold) -> Iterator[Emitted]:
    shelf.anchor.region = known.anchor
    items = list(shelf)
    if len(items) == len(known.regions) and _digest(shelf) == known.digest:
        for shown, region, label in zip(items, known.regions, known.labels, strict=True):
            shown.region, shown.label, shown.first = region, label, label
        return
    for region, label in zip(known.regions, known.labels, strict=True):
        yield Emitted(Remove(region=region, version=output.numbers.step), f"{shelf.path}.{label}")
    for shown in items:
        assert shown.before is not None
        shown.region = output.numbers.region()
        after = After(region=shown.region, target=shown.before.region, content=(shown.sent or "").encode())
        yield Emitted(after, shelf.order(shown))


def _shelves(output: Output) -> Iterator[Shelf]:
    """Every list of regions, the inner ones first."""
    for shelf in output.shelves:
        yield from getattr(shelf, "inside", {}).values()
        yield shelf


def _digest(shelf: Shelf) -> str:
    digest = blake2b(digest_size=16)
    for shown in shelf:
        digest.update(b"%d," % len(shown.sent or ""))
        digest.update((shown.sent or "").encode())
    return digest.hexdigest()
