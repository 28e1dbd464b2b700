"""The values of a scanned tree as they are read from the input: UTF-8, side by side, not an object for each.

They become strings when somebody asks for one. Nodes that are only copied into an answer are written from here, many
at a time (Serialization 3.1 §5): the markup comes from the tree's columns, so it is what the serialiser would write of
them however the input spells it.
"""

from __future__ import annotations

from dataclasses import field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.model.names import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT, name_kind, name_local, name_uri
from xstreamcast.model.namespaces import XML
from xstreamcast.model.serialise_xml import ATTRIBUTE_ESCAPES, TEXT_ESCAPES
from xstreamcast.native.kernel import I32, I64, U8, inner, kernel
from xstreamcast.native.vector import Bytes, Longs, at8, base, put8
from xstreamcast.scan import spans
from xstreamcast.scan.spans import copied
from xstreamcast.scan.tree import value_column, value_modes

if TYPE_CHECKING:
    from xstreamcast.model.tree import Tree

_ESCAPE: Final = 6  # bytes of a reference for each byte that it stands for, at most: &quot;
_SPELT: Final = 8  # bytes of a table for the reference of one byte
_LEADS: Final = 255  # in place of a length: the first byte of a character that may need a reference
_ROOM: Final = 1 << 24  # bytes of markup that are aimed at, at a time
_REFUSED: Final = -1


# ------------------------------------------------------------------------------------------------------- the writer


@inner
def _escaped(b: Any, i: int, to: int, size: int, c: Any, j: int, room: int, lengths: Any, spelt: Any) -> int:
    """A value from ``b[i:to]``, with references where ``lengths`` says so, at ``c[j:]``; the position after it."""
    while True:
        p = i
        while p < to and lengths[at8(b, p)] == 0:
            p += 1
        j = copied(b, i, p, size, c, j, room)
        if p >= to:
            return j
        x = at8(b, p)
        i = p + 1
        if lengths[x] != _LEADS:
            for k in range(lengths[x]):
                put8(c, j, spelt[x * _SPELT + k])
                j += 1
        elif x == 0xC2 and at8(b, p + 1) < 0xA0:  # U+0080 to U+009F
            low = at8(b, p + 1) & 15
            put8(c, j, 38)
            put8(c, j + 1, 35)
            put8(c, j + 2, 120)
            put8(c, j + 3, 48 + (at8(b, p + 1) >> 4))
            put8(c, j + 4, low + (48 if low < 10 else 55))
            put8(c, j + 5, 59)
            j += 6
            i = p + 2
        elif x == 0xE2 and at8(b, p + 1) == 0x80 and at8(b, p + 2) == 0xA8:  # U+2028
            for k in range(_SPELT):
                put8(c, j, spelt[x * _SPELT + k])
                j += 1
            i = p + 3
        else:
            put8(c, j, x)
            j += 1


@kernel
def _write(
    tops: I64,
    kinds: U8,
    names: I32,
    ups: I32,
    sizes: I32,
    own: I64,
    values: U8,
    bounds: I64,
    tags: U8,
    starts: I64,
    stops: I64,
    after: U8,
    text_lengths: U8,
    text_spelt: U8,
    attribute_lengths: U8,
    attribute_spelt: U8,
    c: U8,
) -> int:
    """The markup of subtrees, each followed by ``after``; its size, or ``_REFUSED``."""
    room = c.shape[0]
    target = base(c)
    source = base(values)
    size = values.shape[0]
    spelling = base(tags)
    length = tags.shape[0]
    ending = base(after)
    j = 0
    for number in range(tops.shape[0]):
        top = tops[number]
        last = top + sizes[top]
        row = top
        while row <= last:
            kind = kinds[row]
            done = row
            name = names[row]
            if stops[name] < 0:
                return _REFUSED
            if kind == ELEMENT:
                put8(target, j, 60)
                j = copied(spelling, starts[name], stops[name], length, target, j + 1, room)
                end = row + sizes[row]
                row += 1
                while row <= end and kinds[row] == ATTRIBUTE:
                    name = names[row]
                    if stops[name] < 0:
                        return _REFUSED
                    put8(target, j, 32)
                    j = copied(spelling, starts[name], stops[name], length, target, j + 1, room)
                    put8(target, j, 61)
                    put8(target, j + 1, 34)
                    k = own[row]
                    begin, to = bounds[k], bounds[k + 1] - 1
                    j = _escaped(source, begin, to, size, target, j + 2, room, attribute_lengths, attribute_spelt)
                    put8(target, j, 34)
                    j += 1
                    row += 1
                if row <= end:
                    put8(target, j, 62)
                    j += 1
                    continue
                put8(target, j, 47)
                put8(target, j + 1, 62)
                j += 2
            else:
                k = own[row]
                begin, to = bounds[k], bounds[k + 1] - 1
                if kind == TEXT:
                    j = _escaped(source, begin, to, size, target, j, room, text_lengths, text_spelt)
                elif kind == COMMENT:
                    put8(target, j, 60)
                    put8(target, j + 1, 33)
                    put8(target, j + 2, 45)
                    put8(target, j + 3, 45)
                    j = copied(source, begin, to, size, target, j + 4, room)
                    put8(target, j, 45)
                    put8(target, j + 1, 45)
                    put8(target, j + 2, 62)
                    j += 3
                elif kind == PI:
                    put8(target, j, 60)
                    put8(target, j + 1, 63)
                    j = copied(spelling, starts[name], stops[name], length, target, j + 2, room)
                    if to > begin:
                        put8(target, j, 32)
                        j = copied(source, begin, to, size, target, j + 1, room)
                    put8(target, j, 63)
                    put8(target, j + 1, 62)
                    j += 2
                else:
                    return _REFUSED
                row += 1
            while done > top:
                done -= ups[done]
                if done + sizes[done] >= row:
                    break
                name = names[done]
                put8(target, j, 60)
                put8(target, j + 1, 47)
                j = copied(spelling, starts[name], stops[name], length, target, j + 2, room)
                put8(target, j, 62)
                j += 1
        j = copied(ending, 0, after.shape[0], after.shape[0], target, j, room)
    return j


# -------------------------------------------------------------------------------------------------------- its tables


def _references(escapes: dict[int, str]) -> tuple[Bytes, Bytes]:
    """By byte: the length of the reference that is written for it, and that."""
    lengths, spelt = np.zeros(256, np.uint8), np.zeros(256 * _SPELT, np.uint8)
    for code, text in escapes.items():
        octet = chr(code).encode()[0]
        lengths[octet] = len(text) if code < 128 else _LEADS
        spelt[octet * _SPELT : octet * _SPELT + len(text)] = np.frombuffer(text.encode(), np.uint8)
    return lengths, spelt


class _Tags:
    """By number of a name: where it stands among all names as tags have them; those with a namespace do not."""

    def __init__(self) -> None:
        self.octets = np.zeros(32, np.uint8)
        self.starts, self.stops = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.longest = 0

    def columns(self) -> tuple[Bytes, Longs, Longs]:
        """The three tables, for all names that were met by now."""
        known, count = len(self.starts), len(name_local)
        if known < count:
            written = [_written(number) for number in range(known, count)]
            end = len(self.octets) - 32  # behind them, room for the copy's last stride
            stops = end + np.cumsum([len(tag or b"") for tag in written], dtype=np.int64)
            starts = np.concatenate([[end], stops[:-1]])
            self.octets = np.concatenate(
                [self.octets[:end], np.frombuffer(b"".join(tag or b"" for tag in written) + bytes(32), np.uint8)]
            )
            self.longest = max(self.longest, int((stops - starts).max()))
            self.stops = np.concatenate([self.stops, np.where([tag is None for tag in written], -1, stops)])
            self.starts = np.concatenate([self.starts, starts])
        return self.octets, self.starts, self.stops


def _written(name: int) -> bytes | None:
    if not name_uri[name]:
        return name_local[name].encode()
    if name_uri[name] == XML and name_kind[name] == ATTRIBUTE:
        return b"xml:" + name_local[name].encode()
    return None


_TABLES: Final = (*_references(TEXT_ESCAPES), *_references(ATTRIBUTE_ESCAPES))
_TAGS: Final = _Tags()
_GROWING: Final = Lock()


# --------------------------------------------------------------------------------------------------------- the values


@dataclass(slots=True)
class Octets:
    """Values, each followed by a separator: ``joined[bounds[k] : bounds[k + 1] - 1]`` is the one of number k."""

    joined: Bytes
    bounds: Longs
    _numbers: Longs | None = field(default=None, repr=False)

    @staticmethod
    def of(joined: Bytes, ends: Longs) -> Octets:
        return Octets(joined, np.concatenate([np.zeros(1, np.int64), ends]))

    @staticmethod
    def none() -> Octets:
        return Octets.of(np.zeros(0, np.uint8), np.zeros(0, np.int64))

    @staticmethod
    def read(b: Bytes, kinds: Any, froms: Any, tos: Any, needs: Any) -> Octets:
        """The values of the rows that have one of their own (elements and documents have none)."""
        own = np.flatnonzero(kinds > ELEMENT)
        return Octets.of(*spans.gathered(b, froms[own], tos[own], value_modes(kinds[own], needs[own]), separated=True))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def before(self, count: int) -> Octets:
        """The first values."""
        return Octets(self.joined[: self.bounds[count]], self.bounds[: count + 1])

    def chosen(self, numbers: Longs) -> Octets:
        """Some of the values."""
        begins, ends = self.bounds[numbers], self.bounds[numbers + 1] - 1
        raw = np.full(len(numbers), spans.RAW, np.uint8)
        return Octets.of(*spans.gathered(self.joined, begins, ends, raw, separated=True))

    def followed_by(self, other: Octets) -> Octets:
        """These values and then others."""
        if not len(self):
            return other
        bounds = np.concatenate([self.bounds, other.bounds[1:] + self.bounds[-1]])
        return Octets(np.concatenate([self.joined, other.joined]), bounds)

    def strings(self) -> list[str]:
        """The values: decoded and cut up in two calls, whatever their number."""
        return str(self.joined[:-1].data, "utf-8").split("\0") if len(self) else []

    def column(self, tree: Tree) -> list[str | None]:
        """The value column of the tree whose values these are."""
        kinds, ups = np.frombuffer(tree.kind, np.uint8), np.frombuffer(tree.up, np.int32)
        return value_column(kinds, ups, np.frombuffer(tree.size, np.int32), self.strings())

    def values(self, tree: Tree, rows: list[int]) -> list[str | None]:
        """Some entries of that column."""
        kinds, ups = np.frombuffer(tree.kind, np.uint8), np.frombuffer(tree.up, np.int32)
        sizes, tops = np.frombuffer(tree.size, np.int32), np.array(rows, np.int64)
        numbers = self._own(kinds)
        size = sizes[tops]
        last = tops + size
        element = kinds[tops] == ELEMENT
        ends = (ups[last] == size) & (size > 0)  # the last row is a child or an attribute
        before = kinds[last - 1] == ATTRIBUTE
        text = element & ends & (kinds[last] == TEXT) & ((size == 1) | (before & (ups[last - 1] == size - 1)))
        places = np.where(text, last, tops)
        has = text | (kinds[tops] > ELEMENT)
        nothing = element & ((size == 0) | (ends & (kinds[last] == ATTRIBUTE)))
        made = np.empty(len(rows), object)
        made[nothing] = ""
        made[has] = self.chosen(numbers[places[has]]).strings()
        return made.tolist()

    def _own(self, kinds: Any) -> Longs:
        """How many values come before each row of the tree."""
        if self._numbers is None:
            self._numbers = np.concatenate([np.zeros(1, np.int64), np.cumsum(kinds > ELEMENT)])
        return self._numbers

    def markup(self, tree: Tree, rows: list[int], after: str = "") -> str | None:
        """The output of the xml method for some rows of the tree whose values these are, each followed by a text.

        None where it takes more than these columns: namespaces, or a node that cannot be written on its own.
        """
        return None if tree.namespaces else self._markup(tree, np.array(rows, np.int64), after.encode())

    def _markup(self, tree: Tree, tops: Longs, after: bytes) -> str | None:
        kinds, names = np.frombuffer(tree.kind, np.uint8), np.frombuffer(tree.name, np.int32)
        ups, sizes = np.frombuffer(tree.up, np.int32), np.frombuffer(tree.size, np.int32)
        numbers = self._own(kinds)
        with _GROWING:
            tags = _TAGS.columns()
            longest = _TAGS.longest
        ends = tops + sizes[tops] + 1
        size = int((self.bounds[numbers[ends]] - self.bounds[numbers[tops]]).sum()) * _ESCAPE
        room = size + int((ends - tops).sum()) * (2 * longest + 8) + len(tops) * len(after) + 32
        if room > _ROOM and len(tops) > 1:
            half = len(tops) // 2
            first = self._markup(tree, tops[:half], after)
            second = None if first is None else self._markup(tree, tops[half:], after)
            return None if first is None or second is None else first + second
        c = np.empty(room, np.uint8)
        ending = np.array(bytearray(after), np.uint8)
        made = _write(tops, kinds, names, ups, sizes, numbers, self.joined, self.bounds, *tags, ending, *_TABLES, c)
        return None if made == _REFUSED else str(c[:made].data, "utf-8")
