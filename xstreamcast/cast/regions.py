"""T1 of DBPL'03 §2.3: changes → the environment ζ, which binds every region to what is known of it.

    T(γ) = T2(T1(γ, ∅))[0]

T1 is more than the paper's six lines, because it says what the papers leave open: versions, repeats, tombstones, events
and versions of one hole, regions inside regions, reuse of ids, frozen and dead ones (``docs/semantics.md``). T2 is in
:mod:`xstreamcast.cast.materialise`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from xstreamcast.cast.contents import Contents
from xstreamcast.cast.region import Filling, Grown, OnDisk, Region, Replacing
from xstreamcast.errors import Place, XStreamError
from xstreamcast.model.change import (
    ROOT,
    After,
    Before,
    Change,
    ContentChange,
    Eos,
    Fill,
    Freeze,
    Hide,
    Remove,
    Repeat,
    Replace,
    Show,
)
from xstreamcast.model.diagnostic import Diagnostic, Severity, excerpt
from xstreamcast.model.garbage import not_collecting
from xstreamcast.model.structure import UNNAMED, Structure, Tag
from xstreamcast.model.time import START, Instant
from xstreamcast.wire.content import Content, Mutable, Opened, parse_content

if TYPE_CHECKING:
    from xstreamcast.cast.batches import FragmentBatch

__all__ = ["Filling", "Grown", "OnDisk", "Region", "Regions", "Report"]

WAITING_LIMIT: Final = 100_000
"""So many changes may wait for their structure; later ones are quarantined."""


def _older(version: int | None, known: int | None) -> bool:
    """Changes to one region are ordered by (version, arrival); without versions arrival rules."""
    return version is not None and known is not None and version < known


Report = Callable[[Diagnostic], None]


class Regions(Contents):
    """The environment ζ of one stream: ``apply`` is T1, one change at a time."""

    def __init__(self, structure: Structure | None = None, report: Report = lambda _: None) -> None:
        super().__init__()
        self.structure = structure
        self.report = report
        self.table: dict[tuple[str, int], Region] = {}
        self.now: Instant = START
        self.ended = False
        self.opened: Opened | None = None  # the content of the change being taken in, if a scan has read it
        self.scanned: Structure | None = None  # the structure that scan knew
        self.waiting: list[tuple[Change, Place, int]] = []
        self.awaited: set[tuple[str, int]] = set()  # the regions of what waits

    # -- what comes -------------------------------------------------------------------------------------------------

    def apply_batch(self, batch: FragmentBatch, chosen: Sequence[int] | None = None) -> None:
        """Take in the changes of a batch, or the chosen ones: their contents have been read, holes and all."""
        watched = batch.watched if batch.structure is not None else frozenset()
        with not_collecting():
            order = range(len(batch)) if chosen is None else chosen
            for k, (change, place, inside, _, opened) in zip(order, batch.arrivals(chosen), strict=True):
                if opened is not None and (change.tsid is None or change.tsid in watched) and k not in batch.inline:
                    self.opened, self.scanned = opened, batch.structure
                self.apply(change, place, inside)
                self.opened = None

    def apply(self, item: Change | Structure | Diagnostic, place: Place | None = None, inside: int = 0) -> None:
        """Take in what a stream brought. A fault concerns the change it is in and nothing else.

        ``inside`` is how far the change's content lies behind its place.
        """
        place = place or Place()
        if isinstance(item, Diagnostic):
            self.report(item)
        elif isinstance(item, Structure):
            self.take_structure(item, place)
        elif self.structure is None and (item.tsid is not None or self.follows_waiting(item)):
            if len(self.waiting) < WAITING_LIMIT:
                self.waiting.append((item, place, inside))
                self.awaited.add((item.doc, item.region))
            else:
                self.diagnose("XSC0020", "quarantine", "no structure has come", place, item)
        else:
            self.attempt(item, place, inside)

    def attempt(self, change: Change, place: Place, inside: int) -> None:
        try:
            self.change(change, place, inside)
        except XStreamError as fault:
            self.diagnose(fault.code, "quarantine", fault.message, fault.place or place, change)

    def follows_waiting(self, change: Change) -> bool:
        """A change that needs no structure itself waits behind one of the same region that does."""
        regions = {change.region, getattr(change, "target", None)} if self.awaited else ()
        return not isinstance(change, Eos) and any((change.doc, region) in self.awaited for region in regions)

    def finish(self) -> None:
        """The input is at its end: what still waits for a structure is put aside."""
        for change, place, inside in self.release():
            if change.tsid is None:
                self.attempt(change, place, inside)
            else:
                self.diagnose("XSC0020", "quarantine", "no structure came (give one with --structure)", place, change)

    def release(self) -> list[tuple[Change, Place, int]]:
        waiting, self.waiting = self.waiting, []
        self.awaited.clear()
        return waiting

    def take_structure(self, structure: Structure, place: Place) -> None:
        if self.structure is None or structure.only_adds_to(self.structure):
            self.structure = structure
            for change, where, inside in self.release():
                self.attempt(change, where, inside)
        else:
            message = "a structure that takes back what an earlier one said; the earlier one stays"
            self.report(Diagnostic("XSC0021", "quarantine", message, place))

    def diagnose(self, code: str, severity: Severity, message: str, place: Place, change: Change) -> None:
        text = f"{change.kind} {change.region}" + (f" of {change.doc!r}" if change.doc else "") + f": {message}"
        content = excerpt(change.content) if isinstance(change, ContentChange) and severity != "note" else ""
        self.report(Diagnostic(code, severity, text, place, content))

    # -- one change -------------------------------------------------------------------------------------------------

    def change(self, change: Change, place: Place, inside: int) -> None:
        tag = self.tag_of(change, place)
        if tag is None and change.tsid is not None:
            return
        match change:
            case Eos():
                self.ended = True
            case Before() | After():
                self.beside(change, place, inside)
            case Replace(target=int(target)):
                self.replace_target(change, target, place, inside)
            case ContentChange():
                self.fill(change, tag, place, inside)
            case Remove():
                self.remove(change, tag, place)
            case Hide() | Show():
                self.hide(change, place)
            case Freeze():
                self.freeze(change, place)
        if change.valid_time is not None and change.valid_time > self.now:
            self.now = change.valid_time

    def tag_of(self, change: Change, place: Place) -> Tag | None:
        if self.structure is None:
            return None
        tsid = change.tsid
        if tsid is None:
            root = self.root_tsid(change.region)
            return None if root is None else self.structure.tag(root)
        tag = self.structure.tags.get(tsid)
        if tag is None or tsid == UNNAMED:
            self.diagnose("XSC0022", "quarantine", f"tsid {tsid} is not in the structure", place, change)
            return None
        return tag

    def root_tsid(self, region: int) -> int | None:
        """The tag of a change that names none: the root's, if it is of the root region."""
        structure = self.structure
        return None if region != ROOT or structure is None or structure.unnamed else structure.root

    def region(self, change: Change) -> Region:
        key = change.doc, change.region
        region = self.table.get(key)
        if region is None:
            region = self.table[key] = Region(change.region)
        return region

    def closed(self, region: Region, change: Change, place: Place) -> bool:
        """Whether a region is frozen to this change; one sent with an earlier version than the freeze still counts."""
        if not region.frozen or (
            change.version is not None and region.frozen_version is not None and change.version <= region.frozen_version
        ):
            return False
        self.diagnose("XSC0023", "note", "the region is frozen; no effect", place, change)
        return True

    def parse(self, change: ContentChange, tag: Tag | None, place: Place, inside: int) -> Content | Opened:
        if self.opened is not None and (tag is None or self.scanned is self.structure):
            return self.opened
        structure = self.structure if tag is not None else None
        tsid = tag.id if tag is not None else None
        within = Place(place.source, offset=None if place.offset is None else place.offset + inside)
        content = parse_content(change.content, structure=structure, tsid=tsid, place=within)
        for inline in content.inline:
            path = self.structure.path(inline) if self.structure else inline
            self.diagnose("XSC0024", "warning", f"{path} came inline, not as a fragment; taken", place, change)
        return content

    def pieces(self, change: ContentChange, place: Place, inside: int) -> Content:
        """The content of an update, to be put into another one."""
        content = self.parse(change, None, place, inside)
        return content.content() if isinstance(content, Opened) else content

    def filling(self, change: ContentChange, content: Content | Opened, place: Place) -> Filling:
        inline = self.bind(change.doc, content, place) if isinstance(content, Content) else ()
        kept: Content | Opened | OnDisk = content
        digest, size = b"", 0
        if isinstance(content, Content):
            digest = blake2b(change.content, digest_size=16).digest()
        if not isinstance(content, Opened) or isinstance(content.buffer, bytes):  # not in a file anyway
            size = len(change.content)
            if self.kept + size > self.budget and not inline:
                kept = self.spill(change.content, content._replace(buffer=b"") if isinstance(content, Opened) else None)
                size = 0
            self.kept += size
        made = Replacing if isinstance(change, Replace) else Filling
        return made(kept, digest, change.tsid, change.version, place, change.valid_time, inline, size=size)

    def bind(self, doc: str, content: Content, place: Place) -> tuple[Region, ...]:
        """Bind the mutable regions that lie in a content: each is a new region, and its id means the newest one."""
        regions = []
        for piece in content.pieces:
            if isinstance(piece, Mutable):
                region = self.table[doc, piece.region] = Region(piece.region)
                inner = self.bind(doc, piece.content, place)
                region.current = Filling(piece.content, b"", piece.tsid, None, place, inline=inner)
                region.current.native = piece.scope or {}
                regions.append(region)
        return tuple(regions)

    def kill(self, doc: str, filling: Filling | None) -> None:
        """Regions inside content that is gone are dead; the fillers of its holes are not: they may be held again."""
        self.unkeep(filling)
        if filling is None or not filling.inline:
            return
        dying = list(filling.inline)
        while dying:
            region = dying.pop()
            region.dead = True
            if self.table.get((doc, region.id)) is region:
                del self.table[doc, region.id]
            dying += [*region.before, *region.after]
            for held in region.fillings():
                self.unkeep(held)
                dying += held.inline

    # -- fragments --------------------------------------------------------------------------------------------------

    def fill(self, change: ContentChange, tag: Tag | None, place: Place, inside: int) -> None:
        content = self.parse(change, tag, place, inside)
        region = self.region(change)
        if self.closed(region, change, place):
            return
        if tag is not None and tag.type == "event":
            self.fill_event(region, change, tag.id, content, place)
        elif tag is not None and tag.type == "temporal":
            self.fill_version(region, change, tag.id, content, place)
        else:
            self.fill_untimed(region, change, content, place)

    def superseded(self, known: Filling | None, change: ContentChange, place: Place) -> bool:
        """Whether a known filling already says what a change says, or says something newer."""
        if known is None:
            return False
        if _older(change.version, known.version):
            self.diagnose("XSC0025", "note", f"older than version {known.version}; no effect", place, change)
            return True
        if known.content is not None and self.says(known, change.content):
            if change.version is not None:
                known.version = change.version
            return True
        sent_again = isinstance(change, Fill | Repeat) and (change.version is None or change.version == known.version)
        if sent_again and known.content is not None:
            what = "a correction" if known.valid_time is not None else "the id again with other content"
            self.diagnose("XSC0026", "warning", f"{what}; the newest is taken", place, change)
        return False

    def fill_untimed(self, region: Region, change: ContentChange, content: Content | Opened, place: Place) -> None:
        if not self.superseded(region.current, change, place):
            self.kill(change.doc, region.current)
            # Sent without a version among versioned ones, it counts as of the version it found.
            found = region.current.version if region.current is not None else None
            region.current = self.filling(change, content, place)
            if change.version is None:
                region.current.version = found

    def fill_version(
        self, region: Region, change: ContentChange, tsid: int, content: Content | Opened, place: Place
    ) -> None:
        """A temporal version: same time, other content is a correction; equal content at a new time a new version."""
        valid_from = START if change.valid_time is None else change.valid_time
        key = tsid, valid_from
        known = region.versions.get(key)
        if not self.superseded(known, change, place):
            self.kill(change.doc, known)
            filling = self.filling(change, content, place)
            filling.valid_time = valid_from
            if change.version is None and known is not None:
                filling.version = known.version
            region.versions = region.versions or {}
            region.versions[key] = filling

    def fill_event(
        self, region: Region, change: ContentChange, tsid: int, content: Content | Opened, place: Place
    ) -> None:
        """An event: all are kept; the same one at the same instant is a repeat, unless its version differs.

        A replacement comes instead of those at its instant that are not newer, be it that they come later.
        """
        at = START if change.valid_time is None else change.valid_time
        known = []
        if region.replaced or isinstance(change, Replace):
            known = [(key, one) for key, one in region.events.items() if key[:2] == (tsid, at)]
            region.replaced = True
        for _, one in known:
            if isinstance(one, Replacing) and _older(change.version, one.version):
                self.diagnose("XSC0025", "note", f"older than version {one.version}; no effect", place, change)
                return
        found: int | None = None
        for key, one in known if isinstance(change, Replace) else ():
            if not _older(change.version, one.version):
                found = max(found or 0, one.version) if one.version is not None else found
                self.kill(change.doc, region.events.pop(key))
        event = tsid, at, change.version or 0, blake2b(change.content, digest_size=16).digest()
        if event not in region.events:
            filling = self.filling(change, content, place)
            filling.valid_time = at
            if change.version is None:
                filling.version = found
            region.events = region.events or {}
            region.events[event] = filling

    def remove(self, change: Change, tag: Tag | None, place: Place) -> None:
        """D(m): unbinds m only. Its children stay known, and return if a hole with their id does."""
        region = self.table.get((change.doc, change.region))
        timed = tag is not None and tag.timed
        if region is None and change.version is None and not (timed and change.valid_time is not None):
            self.diagnose("XSC0027", "note", "nothing to remove yet; no effect without a version", place, change)
            return
        region = self.region(change)
        if self.closed(region, change, place):
            return
        known = region.current
        tsid = change.tsid if change.tsid is not None or known is None else known.tsid
        ending = Filling(None, b"", tsid, change.version, place)
        if timed or (tag is None and (region.versions or region.events)):
            self.end_life(region, change, tag, ending, place)
        elif known is not None and _older(change.version, known.version):
            self.diagnose("XSC0025", "note", f"older than version {known.version}; no effect", place, change)
        else:
            self.kill(change.doc, known)
            if change.version is None and known is not None:
                ending.version = known.version
            region.current = ending

    def end_life(self, region: Region, change: Change, tag: Tag | None, ending: Filling, place: Place) -> None:
        """History is never erased: a removal at t is a version of nothing from t on. Without a time, from now on."""
        if tag is not None and tag.type == "event":
            self.diagnose("XSC0028", "note", "an event has happened; it is not removed", place, change)
            return
        at = self.now if change.valid_time is None else change.valid_time
        tsids = [tag.id] if tag is not None else list(dict.fromkeys(tsid for tsid, _ in region.versions))
        if not tsids:
            self.diagnose("XSC0028", "note", "an event has happened; it is not removed", place, change)
        for tsid in tsids:
            known = region.versions.get((tsid, at))
            if known is None or not _older(change.version, known.version):
                self.kill(change.doc, known)
                version = known.version if change.version is None and known is not None else change.version
                region.versions = region.versions or {}
                region.versions[tsid, at] = replace(ending, valid_time=at, version=version)

    # -- update streams ---------------------------------------------------------------------------------------------

    def target(self, change: Change, target: int, place: Place) -> Region | None:
        region = self.table.get((change.doc, target))
        if region is None:
            self.diagnose("XSC0029", "note", f"region {target} is not there, or dead; no effect", place, change)
            return None
        return None if self.closed(region, change, place) else region

    def replace_target(self, change: Replace, target: int, place: Place, inside: int) -> None:
        """sR(i, j): the content of i becomes region j; the regions in its old content die."""
        inner = self.pieces(change, place, inside)
        region = self.target(change, target, place)
        if region is None:
            return
        if region.current is not None and _older(change.version, region.current.version):
            self.diagnose("XSC0025", "note", "older than what is there; no effect", place, change)
            return
        self.kill(change.doc, region.current)
        before = region.current
        region.current = self.filling(change, Content((Mutable(change.region, change.tsid, None, inner),)), place)
        if before is not None:
            region.current.tsid = before.tsid  # it is still the filler of that tag
            if change.version is None:
                region.current.version = before.version

    def beside(self, change: Before | After, place: Place, inside: int) -> None:
        """sB/sA(i, j): a sibling outside i, the latest closest; it survives changes of i and dies with i's parent."""
        inner = self.pieces(change, place, inside)
        region = self.target(change, change.target, place)
        if region is None:
            return
        wrapped = Content((Mutable(change.region, change.tsid, None, inner),))
        (sibling,) = self.bind(change.doc, wrapped, place)
        if sibling.current is not None:
            sibling.current.native = None
        if isinstance(change, Before):
            region.before = (*region.before, sibling)
        else:
            region.after = (sibling, *region.after)

    def unknown(self, change: Change, place: Place) -> bool:
        """Whether a region has not come, or is dead, and the change does not say as of which version it counts."""
        if change.version is not None or (change.doc, change.region) in self.table:
            return False
        self.diagnose("XSC0029", "note", f"region {change.region} is not there, or dead; no effect", place, change)
        return True

    def hide(self, change: Hide | Show, place: Place) -> None:
        """An idempotent flag; updates under a hidden region change what is stored."""
        if self.unknown(change, place):
            return
        region = self.region(change)
        if self.closed(region, change, place):
            return
        if _older(change.version, region.hidden_version):
            self.diagnose("XSC0025", "note", "older than what is there; no effect", place, change)
            return
        region.hidden = isinstance(change, Hide)
        region.hidden_version = change.version if change.version is not None else region.hidden_version

    def freeze(self, change: Freeze, place: Place) -> None:
        """Closed for good. Before the region has come it has no effect, unless it says as of which version.

        Of several freezes the one of the earliest version counts: the others found the region closed.
        """
        if self.unknown(change, place):
            return
        region = self.region(change)
        if not region.frozen or _older(change.version, region.frozen_version):
            region.frozen, region.frozen_version = True, change.version
