"""Holes of copied content, forwarded: regions of the answer's stream inside of an item, each told by itself.

A hole that is open when the item around it is told goes out as a hole of the answer (DBPL'03: fragments stay
fragments). What fills it later, replaces or removes it there, is a change of that region alone. Versions, events, and
what was put before or after another region are regions beside it, so that one more of them costs no more than itself.
What was in its place when it was told is part of the item; where a large item must be told again, all that it is sewn
together from becomes regions, so that this happens once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from xstreamcast.model.change import After, Change, Fill, Remove, Replace
from xstreamcast.run.continuous.display.labels import in_order
from xstreamcast.run.continuous.display.sewn import Cell, Filling, Key, Pieces

if TYPE_CHECKING:
    from xstreamcast.run.continuous.display.shelf import Numbers

LARGE: Final = 1024
"""Characters of an item, or a region in it, of which not all is told again for the sake of a part."""


class RegionTold:
    """A region in an item. ``number`` None: its hole has not been told; ``sent`` None: nor has anything in it.

    ``target``: of one that stands beside another, the region that it was put behind; ``beside``: those that stand
    beside this one, in order. It is an empty region then.
    """

    __slots__ = ("beside", "number", "sent", "target")

    def __init__(self, number: int | None = None, target: int | None = None) -> None:
        self.number = number
        self.target = target
        self.sent: str | None = None
        self.beside: dict[Key, RegionTold] = _NONE

    def change(self, content: str, step: int) -> Iterator[Change]:
        """What makes it hold this, if that is not so already."""
        assert self.number is not None
        if self.sent is None and self.target is not None:
            yield After(region=self.number, target=self.target, content=content.encode())
        elif content == (self.sent or ""):
            return
        elif self.sent is None:
            yield Fill(region=self.number, content=content.encode())
        elif content or self.target is not None:
            yield Replace(region=self.number, version=step, content=content.encode())
        else:
            yield Remove(region=self.number, version=step)
        self.sent = content

    def clear(self, step: int) -> Iterator[Change]:
        """Nothing stands beside it any more."""
        for one in self.beside.values():
            yield Remove(region=one.number or 0, version=step)
        self.beside = _NONE

    def withdraw(self, step: int) -> Iterator[Change]:
        """It is not there any more."""
        yield from self.clear(step)
        if self.sent:
            yield from self.change("", step)

    def told(self) -> Iterator[Change]:
        """It, and what stands beside it, as they have been told."""
        if self.number is not None and (self.sent or self.beside):
            yield Fill(region=self.number, content=(self.sent or "").encode())
            before = self.number
            for one in self.beside.values():
                assert one.number is not None
                yield After(region=one.number, target=before, content=(one.sent or "").encode())
                before = one.number


_NONE: Final[dict[Key, RegionTold]] = {}
"""Of most regions: never written to."""
Waiting = list[tuple[RegionTold, Filling | Cell]]
"""Regions whose holes are told, and what is to be in them."""


class RegionsTold:
    """The regions of one item. ``shell``: the item as it was last told, with its holes."""

    __slots__ = ("_seen", "numbers", "regions", "shell")

    def __init__(self, numbers: Numbers, shell: str | None) -> None:
        self.numbers = numbers
        self.regions: dict[Key, RegionTold] = {}
        self.shell = shell
        self._seen: set[Key] = set()

    def note(self, pieces: Pieces) -> None:
        """Remember what is open now: what will be filled there is told apart."""
        for piece in pieces:
            if not isinstance(piece, str):
                key = _key(piece)
                if piece.empty and key is not None:
                    self.regions.setdefault(key, RegionTold())
                self.note(piece.pieces)

    def tell(self, pieces: Pieces) -> tuple[str, list[Change]]:
        """The text of the item with holes, and the changes of the regions in it; those it has no more are removed."""
        step = self.numbers.step
        self.shell, waiting = self._container(self.shell, pieces)
        changes: list[Change] = []
        for region, piece in waiting:  # which grows meanwhile
            if _is_row(piece) and (piece.pieces or region.beside):
                waiting += self._row(region, piece.pieces, changes)
                continue
            if region.beside:
                changes += region.clear(step)
            content, inner = self._container(region.sent, piece.content)
            waiting += inner
            if isinstance(piece, Cell) and piece.empty:
                waiting += self._emptied(piece)
            if content != region.sent:
                changes += region.change(content, step)
        for key in [key for key in self.regions if key not in self._seen]:
            changes += self.regions.pop(key).withdraw(step)
        self._seen.clear()
        return self.shell, changes

    def _row(self, region: RegionTold, pieces: Pieces, changes: list[Change]) -> Waiting:
        """Fillings side by side in one hole: those that are in order as they stood stay where they are."""
        step = self.numbers.step
        assert region.number is not None
        if region.sent is None:
            changes.append(Fill(region=region.number, content=b""))
        elif region.sent or not region.beside:
            changes.append(Replace(region=region.number, version=step, content=b""))
        region.sent = ""
        places = {key: number for number, key in enumerate(region.beside)}
        known = [places[piece.key] for piece in pieces if isinstance(piece, Filling) and piece.key in places]
        stay = {known[number] for number in in_order(known)}
        for key, place in places.items():
            if place not in stay:
                changes.append(Remove(region=region.beside[key].number or 0, version=step))
        row: dict[Key, RegionTold] = {}
        waiting: Waiting = []
        before = region
        for piece in pieces:
            assert isinstance(piece, Filling)
            stays = places.get(piece.key) in stay
            before = region.beside[piece.key] if stays else RegionTold(self.numbers.region(), before.number)
            row[piece.key] = before
            waiting.append((before, piece))
        region.beside = row
        return waiting

    def _container(self, sent: str | None, pieces: Pieces) -> tuple[str, Waiting]:
        """The text of an item or a region, with holes, and what is in these."""
        waiting: Waiting = []
        if len(pieces) == 1 and isinstance(pieces[0], str):
            return pieces[0], waiting
        text = self._written(pieces, waiting, False)
        if sent and text != sent and len(text) >= LARGE:
            waiting = []
            text = self._written(pieces, waiting, True)
        return text, waiting

    def _written(self, pieces: Pieces, waiting: Waiting, apart: bool) -> str:
        """``apart``: all that fills holes is told apart."""
        out: list[str] = []
        for piece in pieces:
            if isinstance(piece, str):
                out.append(piece)
                continue
            key = _key(piece)
            region = None if key is None else self.regions.get(key)
            if key is not None and region is None and (piece.empty or (apart and isinstance(piece, Filling))):
                region = self.regions[key] = RegionTold()
            if key is not None and region is not None:
                self._seen.add(key)
                if region.number is None:
                    region.number = self.numbers.region()
                out.append(f'<stream:hole id="{region.number}"/>')
                waiting.append((region, piece))
            else:
                out.append(self._written(piece.content, waiting, apart))
                if isinstance(piece, Cell) and piece.empty:
                    waiting += self._emptied(piece)
        return "".join(out)

    def _emptied(self, cell: Cell) -> Waiting:
        """In an element with nothing in it there are no holes; those that it would have are remembered."""
        found: Waiting = []
        for piece in cell.pieces:
            assert isinstance(piece, Filling)
            region = self.regions.setdefault(piece.key, RegionTold())
            self._seen.add(piece.key)
            if region.sent or region.beside:
                found.append((region, piece))
        return found

    def told(self) -> Iterator[Change]:
        """All of them as they have been told."""
        for region in self.regions.values():
            yield from region.told()

    def withdraw(self) -> Iterator[Change]:
        """The item is gone."""
        for region in self.regions.values():
            yield from region.withdraw(self.numbers.step)


def _key(piece: Filling | Cell) -> Key | None:
    """What a piece is known by as a region of its own, if it can be one: the hole of several fillings is theirs."""
    return None if isinstance(piece, Filling) and piece.beside else piece.key


def _is_row(piece: Filling | Cell) -> bool:
    """Whether there is nothing in a hole but fillings side by side."""
    if isinstance(piece, Cell) or (piece.pieces and isinstance(piece.pieces[0], str)):
        return False
    return all(isinstance(one, Filling) and one.beside for one in piece.pieces)
