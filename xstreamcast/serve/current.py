"""The current state of a stream, and how a change alters it: T1's bookkeeping without the contents.

Clients get changes in any order, some never, some again. So every change that goes out says all that its effect depends
on, and the effect of a set of changes depends on no order:

    version   of a region without time, and of a temporal version at one time: larger than all before it, from 0
    version 0 of an event that has none: an event is known by its time, its version and its content
    validTime of a removal that has none, where history is kept: the stream's now

A change that has no effect, because it was there before or is older than what is there, is not sent. What is current
is what the carousel repeats: fillers, tombstones, hidden and frozen regions, eos. Where a tag says ``reuse="no"``, a
region that had a hole and has none any more is not repeated: no later content will hold it, and who still shows it
gets the newer parent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final

from xstreamcast.errors import Place, error
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
from xstreamcast.model.structure import UNNAMED, Structure, Tag
from xstreamcast.model.time import START, Instant
from xstreamcast.serve.record import STRUCTURE, Entry, Where, entry_of
from xstreamcast.wire.content import Hole, parse_content

_HOLE: Final = re.compile(rb"""<[^\s<>:]+:hole\s[^<>]*?\bid=["'](\d+)""")
"""A hole, as far as can be seen without parsing: whoever is taken for one keeps something on the air, no more."""

Key = tuple[str | int | bytes | None, ...]
"""The key of a change: its letter, the document, the region, and what tells its versions and events apart."""

UNTIMED: Final = "u"
VERSION: Final = "t"
EVENT: Final = "e"
SEEN: Final = "h"
FROZEN: Final = "f"
END: Final = "z"


@dataclass(slots=True)
class Held:
    """The record that a key has now. ``digest`` is empty where there is no content."""

    n: int
    where: Where
    version: int | None
    given: int | None
    digest: bytes
    kind: str
    tsid: int | None
    holes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """A change as it is to be sent. ``drops``: the events it takes the place of."""

    key: Key
    entry: Entry
    digest: bytes = b""
    holes: tuple[int, ...] = ()
    drops: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class NoEffect:
    """A change that alters nothing: a repeat, or one that came too late; and why."""

    reason: str


@dataclass(slots=True)
class Current:
    """The table of what is current. :meth:`settle` says what a change becomes, :meth:`hold` that it has been logged."""

    structure: Structure | None = None
    structure_text: bytes = b""
    structure_n: int = 0
    structures: list[tuple[int, Where]] = field(default_factory=list)
    """The numbers of all structures there have been, and where they lie: what came before the last may need them."""
    table: dict[Key, Held] = field(default_factory=dict)
    now: Instant = START
    owned: set[tuple[str, int]] = field(default_factory=set)
    """Regions that the server has made, or placed: without a hole they are not repeated either."""
    timed: set[tuple[str, int]] = field(default_factory=set)
    """Regions that have versions in time, or events."""
    _versions: dict[tuple[str, int], set[int | None]] = field(default_factory=dict)
    _instants: dict[Key, dict[Key, None]] = field(default_factory=dict)
    _held: Counter[tuple[str, int]] = field(default_factory=Counter)
    _known: dict[tuple[str, int], int] = field(default_factory=dict)  # the largest version of each region

    @property
    def ended(self) -> bool:
        """Whether eos has come."""
        return (END,) in self.table

    # ------------------------------------------------------------------------------------------------- settling

    def settle_structure(self, structure: Structure, place: Place | None = None) -> Entry | NoEffect:
        """A structure may come again, and may add; it takes nothing back."""
        entry = entry_of(structure)
        if entry.wire == self.structure_text:
            return NoEffect("the structure again")
        if self.structure is not None and not structure.only_adds_to(self.structure):
            message = "a structure that takes back what an earlier one said"
            raise error("XSC0021", message, place, "it may only add tags; another stream may have another one")
        return entry

    def settle(self, change: Change, place: Place | None = None) -> list[Settled] | NoEffect:
        """The change with its version; raises what is wrong with it."""
        if self.ended:
            if isinstance(change, Eos):
                return NoEffect("eos again")
            raise error("XSC0107", "the stream has ended", place, "nothing comes after eos")
        tag = self.tag_of(change, place)
        match change:
            case Eos():
                return [Settled((END,), entry_of(Eos()))]
            case Before() | After() | Replace(target=int()):
                raise AssertionError("positions are fragments by now")
            case Freeze() | Hide() | Show():
                return self._mark(change)
            case _ if self._frozen(change):
                return NoEffect("the region is frozen")
            case Remove():
                return self._remove(change, tag)
            case ContentChange():
                return self._fill(change, tag, place)
        raise AssertionError(change.kind)

    def tag_of(self, change: Change, place: Place | None) -> Tag | None:
        """The tag of a change, where the structure says it; raises where it has none."""
        structure, tsid = self.structure, change.tsid
        if structure is None:
            if tsid is not None:
                hint = "send the structure first, or start with --structure"
                raise error("XSC0020", f"{change.kind} {change.region} with a tsid, and no structure", place, hint)
            return None
        if tsid is None:
            return structure.tag(structure.root) if change.region == ROOT and not structure.unnamed else None
        tag = structure.tags.get(tsid)
        if tag is None or tsid == UNNAMED:
            raise error("XSC0022", f"tsid {tsid} is not in the structure", place, "see the ids it declares")
        return tag

    def _frozen(self, change: Change) -> bool:
        return (FROZEN, change.doc, change.region) in self.table

    def _fill(self, change: ContentChange, tag: Tag | None, place: Place | None) -> list[Settled] | NoEffect:
        content = parse_content(
            change.content,
            structure=self.structure if tag is not None else None,
            tsid=tag.id if tag is not None else None,
            place=place or Place(),
        )
        holes = tuple(piece.region for piece in content.holes if isinstance(piece, Hole))
        digest = blake2b(change.content, digest_size=16).digest()
        at = START if change.valid_time is None else change.valid_time
        if tag is not None and tag.type == "event":
            return self._event(change, tag.id, at, digest, holes)
        key: Key = (UNTIMED, change.doc, change.region)
        if tag is not None and tag.type == "temporal":
            key = (VERSION, change.doc, change.region, tag.id, at)
        known = self.table.get(key)
        if known is not None and known.digest == digest and not _newer(change.version, known.given):
            return NoEffect("a repeat")
        if known is not None and older(change.version, known.given):
            return NoEffect("older than what is there")
        version = _next(change.version, known)
        sent = change if version == change.version else replace(change, version=version)
        return [Settled(key, entry_of(_as_filler(sent), _given(change, known)), digest, holes)]

    def _event(
        self, change: ContentChange, tsid: int, at: Instant, digest: bytes, holes: tuple[int, ...]
    ) -> list[Settled] | NoEffect:
        instant = (EVENT, change.doc, change.region, tsid, at)
        key: Key = (*instant, change.version or 0, digest)
        known = self.table.get(key)
        drops: tuple[Key, ...] = ()
        if isinstance(change, Replace):
            drops = self._replaced(instant, key, change.version)
            if known is not None and known.kind == change.kind and not drops:
                return NoEffect("a repeat")
        elif known is not None:
            return NoEffect("a repeat")
        elif any(
            held.kind == Replace.kind and older(change.version, held.given)
            for held in (self.table[event] for event in self._instants.get(instant, ()))
        ):
            return NoEffect("older than what replaced it")
        # What takes the place of others must not be older than they are, for who gets it after them.
        versions = [self.table[event].version or 0 for event in drops]
        sent = replace(change, version=max([change.version or 0, *versions]))
        if not isinstance(change, Replace):
            sent = _as_filler(sent)
        return [Settled(key, entry_of(sent, change.version), digest, holes, drops)]

    def _replaced(self, instant: Key, key: Key, version: int | None) -> tuple[Key, ...]:
        """The events of an instant that another one takes the place of."""
        events = [event for event in self._instants.get(instant, ()) if event != key]
        return tuple(event for event in events if not older(version, self.table[event].given))

    def _remove(self, change: Remove, tag: Tag | None) -> list[Settled] | NoEffect:
        where = change.doc, change.region
        tsids = self._versions.get(where, set())
        if tag is not None and tag.type == "event":
            return NoEffect("an event has happened; it is not removed")
        if tag.timed if tag is not None else tsids:
            at = self.now if change.valid_time is None else change.valid_time
            made = []
            for tsid in [tag.id] if tag is not None else sorted(tsids, key=str):
                key: Key = (VERSION, *where, tsid, at)
                known = self.table.get(key)
                if known is None or not (older(change.version, known.given) or _removes_again(change, known)):
                    sent = replace(change, tsid=tsid, valid_time=at, version=_next(change.version, known))
                    made.append(Settled(key, entry_of(sent, _given(change, known))))
            return made or NoEffect("older than what is there")
        key = (UNTIMED, *where)
        known = self.table.get(key)
        if known is None and change.version is None:
            return NoEffect("nothing to remove yet, and no version")
        if known is not None and (older(change.version, known.given) or _removes_again(change, known)):
            return NoEffect("older than what is there")
        sent = replace(change, version=_next(change.version, known))
        return [Settled(key, entry_of(sent, _given(change, known)))]

    def _mark(self, change: Change) -> list[Settled] | NoEffect:
        """Hidden, shown, frozen: flags that are ordered by versions of their own."""
        where = change.doc, change.region
        if change.version is None and where not in self._known:
            return NoEffect("the region is not there, and no version")
        key: Key = (FROZEN if isinstance(change, Freeze) else SEEN, *where)
        known = self.table.get(key)
        if self._frozen(change):
            return NoEffect("the region is frozen")
        if isinstance(change, Freeze):
            # What was sent before it still counts for who gets it later: its version is not larger than the freeze's.
            sent: Change = replace(change, version=max(change.version or 0, self._known.get(where, 0)))
        else:
            if known is not None and older(change.version, known.given):
                return NoEffect("older than what is there")
            if known.kind == change.kind if known is not None else isinstance(change, Show):
                return NoEffect("it is so already")
            sent = replace(change, version=_next(change.version, known))
        return [Settled(key, entry_of(sent, _given(change, known)))]

    def knows(self, where: tuple[str, int]) -> bool:
        """Whether anything has been said of a region."""
        return where in self._known

    def numbers(self) -> Iterator[int]:
        """The regions that have been spoken of, or have had holes."""
        yield from (number for _, number in self._known)
        yield from (number for _, number in self._held)

    # ------------------------------------------------------------------------------------------------- holding

    def hold_structure(self, structure: Structure, entry: Entry, at: Where) -> None:
        """A structure has been logged."""
        self.structure, self.structure_text, self.structure_n = structure, entry.wire, entry.n
        self.structures.append((entry.n, at))

    def moved(self, key: Key | None, before: Where, after: Where) -> None:
        """A record lies elsewhere now, because of a compaction. Without a key it is a structure."""
        if key is None:
            self.structures = [(n, after if where == before else where) for n, where in self.structures]
            return
        held = self.table.get(key)
        if held is not None and held.where == before:
            held.where = after

    def books(self) -> dict[str, Any]:
        """The facts that :meth:`replay` cannot know from the records that count."""
        released = sorted(where for where, count in self._held.items() if count == 0)
        return {"now": self.now, "owned": sorted(self.owned), "released": released}

    def restore(self, books: dict[str, Any]) -> None:
        """The books as they were, before the records that count are replayed."""
        self.now = books["now"]
        self.owned = {(doc, region) for doc, region in books["owned"]}
        for doc, region in books["released"]:
            self._held[doc, region] = 0

    def hold(self, settled: Settled, entry: Entry, at: Where) -> None:
        """The change has been logged."""
        for key in settled.drops:
            self._let_go(key)
        key = settled.key
        self._let_go(key)
        self.table[key] = Held(
            entry.n, at, entry.version, entry.given, settled.digest, entry.kind, entry.tsid, settled.holes
        )
        for hole in settled.holes:
            self._held[entry.doc, hole] += 1
        if key[0] == EVENT:
            self._instants.setdefault(key[:5], {})[key] = None
        if key[0] == VERSION:
            self._versions.setdefault((entry.doc, entry.region), set()).add(entry.tsid)
        where = entry.doc, entry.region
        self._known[where] = max(self._known.get(where, 0), entry.version or 0)
        if key[0] in (VERSION, EVENT):
            self.timed.add(where)
        if entry.valid_time is not None and entry.valid_time > self.now:
            self.now = entry.valid_time

    def _let_go(self, key: Key) -> None:
        held = self.table.pop(key, None)
        if held is not None:
            if key[0] == EVENT:
                self._instants[key[:5]].pop(key, None)
            for hole in held.holes:
                self._held[str(key[1]), hole] -= 1

    def replay(self, entry: Entry, where: Where) -> None:
        """A record of the log, at a restart: it was settled when it was written."""
        if entry.kind == STRUCTURE:
            from xstreamcast.model.structure import parse_structure

            self.hold_structure(parse_structure(entry.wire), entry, where)
            return
        key, digest = self._replayed_key(entry), b""
        holes: tuple[int, ...] = ()
        drops: tuple[Key, ...] = ()
        if entry.kind in _BRINGING:
            content = entry.wire[entry.wire.index(b">") + 1 : entry.wire.rindex(b"<")]
            digest = blake2b(content, digest_size=16).digest()
            holes = tuple(int(number) for number in _HOLE.findall(content)) if b":hole" in content else ()
            if key[0] == EVENT:
                key = (*key, entry.given or 0, digest)
                if entry.kind == Replace.kind:
                    drops = self._replaced(key[:5], key, entry.given)
        self.hold(Settled(key, entry, digest, holes, drops), entry, where)

    def _replayed_key(self, entry: Entry) -> Key:
        where = entry.doc, entry.region
        if entry.kind == Eos.kind:
            return (END,)
        if entry.kind == Freeze.kind:
            return (FROZEN, *where)
        if entry.kind in (Hide.kind, Show.kind):
            return (SEEN, *where)
        structure = self.structure
        tag = structure.tags.get(entry.tsid) if structure is not None and entry.tsid is not None else None
        if tag is None and structure is not None and entry.region == ROOT and not structure.unnamed:
            tag = structure.tag(structure.root)
        at = START if entry.valid_time is None else entry.valid_time
        if tag is not None and tag.type == "event":
            return (EVENT, *where, entry.tsid, at)
        if (tag is not None and tag.type == "temporal") or (
            entry.kind == Remove.kind and entry.valid_time is not None and where in self._versions
        ):
            return (VERSION, *where, entry.tsid, at)
        return (UNTIMED, *where)

    # ------------------------------------------------------------------------------------------------- repeating

    def repeated(self, priorities: Mapping[int, int], items: Sequence[tuple[Key, Held]] | None = None) -> list[Key]:
        """The records that a cycle of the carousel repeats: by priority, then in the order of the log; eos last.

        ``items`` is a copy of the table, for a thread to look at.
        """
        tags = self.structure.tags if self.structure is not None else {}
        keys = []
        for key, held in self.table.items() if items is None else items:
            tag = tags.get(held.tsid) if held.tsid is not None else None
            where = (str(key[1]), int(str(key[2]))) if len(key) > 1 else ("", -1)
            once = where in self.owned or (tag is not None and not tag.reuse)
            if once and self._held.get(where, 1) == 0:  # counted, and none left: the holes it had are gone
                continue
            keys.append((key[0] == END, -priorities.get(held.tsid if held.tsid is not None else -1, 0), held.n, key))
        keys.sort(key=lambda entry: entry[:3])
        return [key for _, _, _, key in keys]


_BRINGING: Final = frozenset({Fill.kind, Repeat.kind, Replace.kind})


def _as_filler(change: ContentChange) -> ContentChange:
    """A repeat that brings something new is a filler."""
    if isinstance(change, Repeat):
        return Fill(
            region=change.region, doc=change.doc, tsid=change.tsid, version=change.version,
            valid_time=change.valid_time, content=change.content,
        )  # fmt: skip
    return change


def older(version: int | None, known: int | None) -> bool:
    """Whether a source's version is older than the one that is known; what has none is not."""
    return version is not None and known is not None and version < known


def _newer(version: int | None, known: int | None) -> bool:
    return version is not None and (known is None or version > known)


def _removes_again(change: Remove, known: Held) -> bool:
    return known.kind == Remove.kind and not _newer(change.version, known.given)


def _next(given: int | None, known: Held | None) -> int:
    """The version that goes out: what the source says, but larger than what went out before."""
    return max(given or 0, 0 if known is None else (known.version or 0) + 1)


def _given(change: Change, known: Held | None) -> int | None:
    """The source's version; without one among others it counts as of the version it found."""
    return change.version if change.version is not None or known is None else known.given
