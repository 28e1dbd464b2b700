"""Parts of tokens: where text, bodies, values and names end; characters, references, names and attributes checked.

All positions are indices into the buffer ``b`` of which ``n`` bytes are known. A function that needs more input says
so (it returns 0, or ``n``), and its token is read again when there is more. Arrays come as ``vector.base`` gives them.
"""

from __future__ import annotations

from typing import Any

from xstreamcast.native.kernel import I32, I64, U8, inlined, inner, kernel
from xstreamcast.native.vector import (
    at8,
    at32,
    at64,
    base,
    body_mask,
    byte_mask,
    first,
    hashed,
    low,
    name_mask,
    put32,
    tag_mask,
    text_mask,
    value_mask,
    word,
)
from xstreamcast.scan.layout import (
    BAD_REFERENCE,
    BAD_TOKEN,
    NAME_AT,
    NAME_FIRST,
    NAME_LAST,
    NAME_LENGTH,
    UNKNOWN_ENTITY,
)


@inlined
def find_text(b: Any, i: int, n: int) -> int:
    while i + 32 <= n:
        m = text_mask(b, i)
        if m != 0:
            return i + first(m)
        i += 32
    while i < n:
        c = at8(b, i)
        if c == 60 or c == 38 or c == 93 or c >= 128 or (c < 32 and c != 10 and c != 9):
            return i
        i += 1
    return i


@inner
def find_body(b: Any, i: int, n: int, stop: int) -> int:
    while i + 32 <= n:
        m = body_mask(b, i, stop)
        if m != 0:
            return i + first(m)
        i += 32
    while i < n:
        c = at8(b, i)
        if c == stop or c >= 128 or (c < 32 and c != 10 and c != 9):
            return i
        i += 1
    return i


@inner
def find_value(b: Any, i: int, n: int, quote: int) -> int:
    while i + 32 <= n:
        m = value_mask(b, i, quote)
        if m != 0:
            return i + first(m)
        i += 32
    while i < n:
        c = at8(b, i)
        if c == quote or c == 38 or c == 60 or c < 32 or c >= 128:
            return i
        i += 1
    return i


@inlined
def find_name(b: Any, i: int, n: int) -> int:
    while i + 32 <= n:
        m = name_mask(b, i)
        if m != 0:
            return i + first(m)
        i += 32
    while i < n:
        c = at8(b, i)
        if c <= 32 or c == 47 or (c >= 61 and c <= 63):
            return i
        i += 1
    return i


@inner
def find_tag(b: Any, i: int, n: int) -> int:
    while i + 32 <= n:
        m = tag_mask(b, i)
        if m != 0:
            return i + first(m)
        i += 32
    while i < n:
        c = at8(b, i)
        if c == 62 or c == 34 or c == 39:
            return i
        i += 1
    return i


@inner
def find_byte(b: Any, i: int, n: int, stop: int) -> int:
    while i + 32 <= n:
        m = byte_mask(b, i, stop)
        if m != 0:
            return i + first(m)
        i += 32
    while i < n and at8(b, i) != stop:
        i += 1
    return i


@inner
def skip_space(b: Any, i: int, n: int) -> int:
    while i < n:
        c = at8(b, i)
        if c != 32 and c != 10 and c != 9 and c != 13:
            return i
        i += 1
    return i


@inner
def find_ascii(b: Any, i: int, n: int) -> int:
    """Past characters of several bytes: the next ASCII byte, or the start of a character cut off by ``n``.

    ``-1 - i`` when the bytes at ``i`` are no XML character in UTF-8: overlong, surrogate, U+FFFE, U+FFFF, too large.
    """
    while i < n:
        c = at8(b, i)
        if c < 128:
            return i
        if c < 0xC2 or c > 0xF4:
            return -1 - i
        size = 2 if c < 0xE0 else (3 if c < 0xF0 else 4)
        if i + size > n:
            return i
        d = at8(b, i + 1)
        if d & 0xC0 != 0x80:
            return -1 - i
        if size > 2:
            e = at8(b, i + 2)
            if e & 0xC0 != 0x80:
                return -1 - i
            if (c == 0xE0 and d < 0xA0) or (c == 0xED and d > 0x9F) or (c == 0xEF and d == 0xBF and e > 0xBD):
                return -1 - i
            if size == 4 and (at8(b, i + 3) & 0xC0 != 0x80 or (c == 0xF0 and d < 0x90) or (c == 0xF4 and d > 0x8F)):
                return -1 - i
        i += size
    return i


@inner
def reference_end(b: Any, i: int, n: int) -> int:
    """After the reference at ``i``: a character reference or one of the five; 0: more input; negative: an error."""
    j = i + 1
    if j >= n:
        return 0
    if at8(b, j) == 35:
        j += 1
        if j >= n:
            return 0
        radix = 10
        if at8(b, j) == 120:
            radix = 16
            j += 1
        number = 0
        start = j
        while True:
            if j >= n:
                return 0
            c = at8(b, j)
            if c == 59:
                break
            if c >= 48 and c <= 57:
                digit = c - 48
            elif radix == 16 and ((c >= 65 and c <= 70) or (c >= 97 and c <= 102)):
                digit = (c & 7) + 9
            else:
                return BAD_TOKEN
            number = number * radix + digit
            if number > 0x10FFFF:
                number = 0x110000
            j += 1
        if j == start:
            return BAD_TOKEN
        if (
            number > 0x10FFFF
            or (number < 32 and number != 9 and number != 10 and number != 13)
            or (number >= 0xD800 and number <= 0xDFFF)
            or number == 0xFFFE
            or number == 0xFFFF
        ):
            return BAD_REFERENCE
        return j + 1
    while True:
        if j >= n:
            return 0
        c = at8(b, j)
        if c == 59:
            break
        if c <= 32 or c == 38 or c == 60:
            return BAD_TOKEN
        j += 1
    size = j - i - 1
    c = at8(b, i + 1)
    if size == 2 and (c == 108 or c == 103) and at8(b, i + 2) == 116:
        return j + 1
    if size == 3 and c == 97 and at8(b, i + 2) == 109 and at8(b, i + 3) == 112:
        return j + 1
    if size == 4:
        if c == 97 and at8(b, i + 2) == 112 and at8(b, i + 3) == 111 and at8(b, i + 4) == 115:
            return j + 1
        if c == 113 and at8(b, i + 2) == 117 and at8(b, i + 3) == 111 and at8(b, i + 4) == 116:
            return j + 1
    return UNKNOWN_ENTITY


@inlined
def first_word(b: Any, i: int, n: int, size: int) -> int:
    """The first eight bytes of a name of ``size`` bytes; 0 after its end."""
    if i + 8 <= n:
        w = word(b, i)
        return low(w, size) if size < 8 else w
    w = at8(b, i) - at8(b, i)  # an int64 zero
    for k in range(min(size, 8)):
        c = at8(b, i + k)
        if k == 7 and c >= 128:
            c -= 256
        w += c << (8 * k)
    return w


@inlined
def is_name(b: Any, i: int, n: int, size: int, which: int, names: Any, arena: Any) -> bool:
    """Whether ``size`` bytes at ``i``, no more than there are, are the name ``which`` of that size."""
    if first_word(b, i, n, size) != at64(names, which * 4 + NAME_FIRST):
        return False
    if size > 8:
        if word(b, i + size - 8) != at64(names, which * 4 + NAME_LAST):
            return False
        if size > 16:
            o = at64(names, which * 4 + NAME_AT)
            for k in range(8, size - 8):
                if at8(b, i + k) != at8(arena, o + k):
                    return False
    return True


@inlined
def spread(b: Any, i: int, w: int, z: int, size: int) -> int:
    """The hash of the name at ``i``, of which all bytes count; ``w`` and ``z`` are its first and last words."""
    h = hashed(w, z, size)
    if size > 16:
        k = 8
        while k < size - 8:
            h = hashed(h, word(b, i + k), k)
            k += 8
    return h


@inlined
def lookup(b: Any, i: int, n: int, size: int, mask: int, names: Any, arena: Any, table: Any) -> int:
    """The number of the name that stands at ``i``, 0 when it is not known yet."""
    w = first_word(b, i, n, size)
    z = w
    if size > 8:
        z = word(b, i + size - 8)
    k = spread(b, i, w, z, size) & mask
    while True:
        which = at32(table, k)
        if which == 0:
            return which
        if (
            at64(names, which * 4) == w
            and at64(names, which * 4 + NAME_LENGTH) == size
            and at64(names, which * 4 + NAME_LAST) == z
            and (size <= 16 or is_name(b, i, n, size, which, names, arena))
        ):
            return which
        k = (k + 1) & mask


@inlined
def pair_hash(context: int, name: int) -> int:
    """Of a name in a context; the factors are odd, so that neither the names of one context nor one name of several
    meet."""
    return context * 0x9E3779B1 + name * 0x85EBCA6B


@inlined
def meaning(by: Any, context: int, name: int, stride: int, dense: int, mask: int) -> int:
    """The meaning of a name in a context, -1 when that is not known yet: by place, or from there on by hash.

    A slot of the hash has the context, the name, and the number that they stand for.
    """
    at = context * stride + name
    if at < dense:
        return at32(by, at)
    slot = pair_hash(context, name) & mask
    while True:
        at = dense + 3 * slot
        known = at32(by, at)
        if known < 0 or (known == context and at32(by, at + 1) == name):
            break
        slot = (slot + 1) & mask
    return known if known < 0 else at32(by, at + 2)


@kernel
def place_names(begin: int, end: int, names: I64, arena: U8, table: I32) -> None:
    """Put the names of some numbers, which are in ``names`` and ``arena``, where :func:`lookup` finds them."""
    mask = table.shape[0] - 1
    names, arena, table = base(names), base(arena), base(table)
    for number in range(begin, end):
        w = at64(names, number * 4)
        z = at64(names, number * 4 + NAME_LAST)
        k = spread(arena, at64(names, number * 4 + NAME_AT), w, z, at64(names, number * 4 + NAME_LENGTH)) & mask
        while at32(table, k) != 0:
            k = (k + 1) & mask
        put32(table, k, number)
