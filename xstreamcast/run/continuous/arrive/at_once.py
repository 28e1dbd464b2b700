"""T1 of many changes at once: those of a batch that just send something, and meet nothing they could collide with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from xstreamcast.cast.regions import Filling, Region, Regions
from xstreamcast.run.continuous.time.fixing import Fixing
from xstreamcast.wire.content import Opened

if TYPE_CHECKING:
    from xstreamcast.cast.batches import FragmentBatch
    from xstreamcast.model.structure import Tag
    from xstreamcast.model.time import Instant


class Sent(NamedTuple):
    """What has been taken in at one go: first fillings, and by region what has a time; ``anew``: the regions of those
    that met others that they collide with."""

    firsts: list[tuple[int, Filling]]
    timed: dict[int, list[Filling]]
    anew: set[int]


class AtOnce(Fixing):
    """A table of regions that takes in what is simple at one go."""

    def are_simple(self, batch: FragmentBatch, chosen: Sequence[int], timed: Collection[int]) -> list[bool]:
        """Which changes of a batch just send something: the first filling of a region, without a time, and all that is
        said of it; or a version or an event of one of the ``timed`` tags."""
        structure = self.structure
        if structure is None or batch.structure is not structure or self.waiting:
            return [False] * len(chosen)
        tags = [tsid for tsid, tag in structure.tags.items() if not tag.timed]
        regions, plain = batch.region[chosen].tolist(), batch.sent(chosen, tags, versions=False).tolist()
        table, said = self.table, Counter(regions) if len(set(regions)) < len(regions) else None
        firsts = [
            first and ("", number) not in table and (said is None or said[number] == 1)
            for first, number in zip(plain, regions, strict=True)
        ]
        if not timed:
            return firsts
        more = batch.sent(chosen, timed, versions=True).tolist()
        return [first or one for first, one in zip(firsts, more, strict=True)]

    def fill_simple(self, batch: FragmentBatch, chosen: Sequence[int]) -> Sent | None:
        """Take in changes of a batch at one go, which :meth:`are_simple`; None if there is no room in memory.

        It is what :meth:`apply_batch` comes to, without a change as an object.
        """
        size = int((batch.to[chosen] - batch.begin[chosen]).sum())
        if not (batch.held or self.kept + size < self.budget) or self.structure is None:
            return None
        table, held, tags = self.table, batch.held, self.structure.tags
        sent = Sent([], {}, set())
        for k, number, tsid, version, at, place, opened in batch.contents(chosen):
            tag = tags[tsid]
            filling = Filling(opened, b"", tsid, version, place, size=0 if held else opened.to)
            if not tag.timed:
                table["", number] = Region(number, filling)
                sent.firsts.append((number, filling))
            else:
                filling.valid_time = at
                sent.timed.setdefault(number, []).append(filling)
                if not self._comes(tag, number, filling, at):
                    sent.anew.add(number)
                    change, *_ = next(batch.arrivals([k]))
                    self.opened, self.scanned = opened, self.structure
                    Regions.change(self, change, place, 0)
                    self.opened = None
                    continue
            self.kept += filling.size
        self.now = max(self.now, batch.latest(chosen))
        return sent

    def _comes(self, tag: Tag, number: int, filling: Filling, at: Instant) -> bool:
        """Put a version or an event to what is known of a region, if there is nothing that it could collide with."""
        region = self.table.get(("", number))
        if region is None:
            region = self.table["", number] = Region(number)
        if region.frozen or region.replaced or not isinstance(filling.content, Opened):
            return False
        if tag.type == "temporal":
            if (tag.id, at) in region.versions:
                return False
            region.versions = region.versions or {}
            region.versions[tag.id, at] = filling
            return True
        content = filling.content
        said = blake2b(content.buffer[content.begin : content.to], digest_size=16).digest()
        event = tag.id, at, filling.version or 0, said
        if event in region.events:
            return False
        region.events = region.events or {}
        region.events[event] = filling
        return True
