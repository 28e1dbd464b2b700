"""Object code as an image: bytes that run at any address, once the words that are addresses have been set.

What LLVM writes for a kernel is an ELF object whose sections refer to each other. They are put side by side here, once,
when the kernel is compiled; a process then maps the image and adds its address to some words of it, which takes no
time and no library. Where the object is of another kind (another processor, another system), there is no image, and
LLVM loads the object itself.
"""

from __future__ import annotations

import json
from struct import Struct, pack_into, unpack_from
from typing import Final, NamedTuple

_SECTION: Final = Struct("<IIQQQQIIQQ")
_SYMBOL: Final = Struct("<IBBHQQ")
_RELOCATION: Final = Struct("<QQq")
_X86_64: Final = 62
_ABSOLUTE, _RELATIVE, _CALL = 1, 2, 4  # the kinds of references that are known: R_X86_64_64, _PC32, _PLT32
_PROGRAM, _SYMBOLS, _RELOCATIONS = 1, 2, 4  # kinds of sections
_LOADED: Final = 2  # a section's flag
_WRITTEN: Final = 1
_UNDEFINED, _RESERVED = 0, 0xFF00  # a symbol's section
UNWINDING: Final = ".eh_frame"
"""How a debugger gets out of the code: not needed."""


class Image(NamedTuple):
    """Bytes, where to begin in them, the words that are places in them, and those that are functions outside."""

    code: bytes
    entry: int
    own: list[int]
    outside: dict[str, list[int]]

    def packed(self) -> bytes:
        """As it is kept: one line that describes it, and the bytes."""
        return json.dumps([self.entry, self.own, self.outside, len(self.code)]).encode() + b"\n" + self.code


def unpacked(kept: bytes) -> tuple[Image | None, bytes]:
    """An image as it was kept, if there is one, and the object behind it."""
    line, _, rest = kept.partition(b"\n")
    made = json.loads(line)
    if made is None:
        return None, rest
    entry, own, outside, size = made
    return Image(rest[:size], entry, own, outside), rest[size:]


def packed(code: bytes, entry: str) -> bytes:
    """Object code as it is kept: with an image of it, if it can have one."""
    made = image(code, entry)
    return (b"null\n" if made is None else made.packed()) + code


class _Object:
    """The parts of an ELF object."""

    def __init__(self, code: bytes) -> None:
        start, size, count, names = unpack_from("<Q10xHHH", code, 40)
        self.code = code
        self.sections = [_SECTION.unpack_from(code, start + k * size) for k in range(count)]
        self.names = self.sections[names][4]

    def name(self, section: int) -> str:
        return self.text(self.names + self.sections[section][0])

    def text(self, at: int) -> str:
        return self.code[at : self.code.index(b"\0", at)].decode()

    def entries(self, section: int, form: Struct) -> list[tuple[int, ...]]:
        at, size = self.sections[section][4:6]
        return list(form.iter_unpack(self.code[at : at + size]))


def image(code: bytes, entry: str) -> Image | None:
    """The image of an object that begins at a symbol; None if it has parts that are not known here."""
    if code[:6] != b"\x7fELF\x02\x01" or unpack_from("<H", code, 18)[0] != _X86_64:
        return None
    parts = _Object(code)
    laid: dict[int, int] = {}
    made = bytearray()
    for number, (_, kind, flags, _, at, size, _, _, align, _) in enumerate(parts.sections):
        if flags & _LOADED and parts.name(number) != UNWINDING and size:
            if kind != _PROGRAM or flags & _WRITTEN:
                return None
            made += bytes(-len(made) % max(align, 1))
            laid[number] = len(made)
            made += code[at : at + size]
    table = next(number for number, section in enumerate(parts.sections) if section[1] == _SYMBOLS)
    strings = parts.sections[parts.sections[table][6]][4]
    symbols = [
        (parts.text(strings + name), section, value) for name, _, _, section, value, _ in parts.entries(table, _SYMBOL)
    ]
    own: list[int] = []
    outside: dict[str, list[int]] = {}
    for number, section in enumerate(parts.sections):
        if section[1] != _RELOCATIONS or section[7] not in laid:
            continue
        for offset, info, addend in parts.entries(number, _RELOCATION):
            name, home, value = symbols[info >> 32]
            place = laid[section[7]] + offset
            kind = info & 0xFFFFFFFF
            if home in laid:
                target = laid[home] + value + addend
                if kind == _ABSOLUTE:
                    pack_into("<q", made, place, target)
                    own.append(place)
                elif kind in (_RELATIVE, _CALL):
                    pack_into("<i", made, place, target - place)
                else:
                    return None
            elif home == _UNDEFINED and kind == _ABSOLUTE and not addend:
                outside.setdefault(name, []).append(place)
            else:
                return None
    begin = next(laid[home] + value for name, home, value in symbols if name == entry and home < _RESERVED)
    return Image(bytes(made), begin, own, outside)
