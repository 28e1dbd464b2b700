"""The content of tags and between them: attributes, text, the bodies of comments, CDATA sections and PIs."""

from __future__ import annotations

from typing import Any

from xstreamcast.native.kernel import inner
from xstreamcast.native.vector import at8, at32, at64, hashed, put64
from xstreamcast.scan.layout import (
    A_FLAGS,
    A_FROM,
    A_NAME,
    A_START,
    A_TO,
    A_WORDS,
    ATTRIBUTES,
    BAD_CHARACTER,
    BAD_TARGET,
    BAD_TOKEN,
    BODY_NAME,
    CLEAN,
    COMMENT_DASHES,
    CONTEXT,
    CONTEXT_MASK,
    DECLARES,
    DOCTYPE,
    EMPTY,
    ERROR_AT,
    ESCAPED,
    EVENT,
    FIRST,
    HASH_MASK,
    IN_CDATA,
    IN_COMMENT,
    IN_PI,
    LESS_IN_VALUE,
    MODE,
    MORE,
    NEW_CONTEXT,
    NEW_DECLARATION,
    NEW_NAME,
    NEW_TARGET,
    PREFIXED,
    RESERVED,
    SECOND,
    SEEN,
    STATUS,
    TEXT_END_MARK,
    WIDE,
)
from xstreamcast.scan.token import (
    find_ascii,
    find_body,
    find_name,
    find_text,
    find_value,
    lookup,
    reference_end,
    skip_space,
)


@inner
def attributes(
    b: Any,
    q: int,
    n: int,
    context: int,
    regs: Any,
    scratch: Any,
    room: int,
    names: Any,
    arena: Any,
    table: Any,
    info: Any,
    context_keys: Any,
    context_values: Any,
) -> int:
    """The attributes of a start tag whose name ends at ``q``, into ``scratch``; the position after the tag.

    0: more input; ``EVENT - status``: Python must look; otherwise negative: an error at ``at64(regs, ERROR_AT)``.
    Declarations move the namespace context on: ``context -xmlns:p="uri"→ context'``, each found once, then a look-up.
    """
    count = 0
    while True:
        j = skip_space(b, q, n)
        if j >= n:
            return 0
        c = at8(b, j)
        put64(regs, ERROR_AT, j)
        if c == 62:
            put64(regs, EMPTY, 0)
            j += 1
            break
        if c == 47:
            if j + 1 >= n:
                return 0
            if at8(b, j + 1) != 62:
                return BAD_TOKEN
            put64(regs, EMPTY, 1)
            j += 2
            break
        e = find_name(b, j, n)
        if e >= n:
            return 0
        if j == q or e == j:
            return BAD_TOKEN
        name = lookup(b, j, n, e - j, at64(regs, HASH_MASK), names, arena, table)
        if name == 0:
            put64(regs, FIRST, j)
            put64(regs, SECOND, e)
            return EVENT - NEW_NAME
        v = skip_space(b, e, n)
        if v >= n:
            return 0
        if at8(b, v) != 61:
            put64(regs, ERROR_AT, v)
            return BAD_TOKEN
        v = skip_space(b, v + 1, n)
        if v >= n:
            return 0
        quote = at8(b, v)
        if quote != 34 and quote != 39:
            put64(regs, ERROR_AT, v)
            return BAD_TOKEN
        v += 1
        p = v
        flags = CLEAN
        while True:
            p = find_value(b, p, n, quote)
            if p >= n:
                return 0
            c = at8(b, p)
            if c == quote:
                break
            put64(regs, ERROR_AT, p)
            if c == 38:
                flags = ESCAPED
                r = reference_end(b, p, n)
                if r <= 0:
                    return r
                p = r
            elif c == 9 or c == 10 or c == 13:
                flags = ESCAPED
                p += 1
            elif c >= 128:
                p = find_ascii(b, p, n)
                if p < 0:
                    put64(regs, ERROR_AT, -1 - p)
                    return BAD_CHARACTER
                if p >= n or at8(b, p) >= 128:
                    return 0
            elif c == 60:
                return LESS_IN_VALUE
            else:
                return BAD_CHARACTER
        if count >= room:
            return EVENT - WIDE
        w = count * A_WORDS
        put64(scratch, w + A_NAME, name)
        put64(scratch, w + A_FROM, v)
        put64(scratch, w + A_TO, p)
        put64(scratch, w + A_FLAGS, flags)
        put64(scratch, w + A_START, j)
        count += 1
        q = p + 1
        if at32(info, name) & DECLARES:
            declaration = lookup(b, j, n, q - j, at64(regs, HASH_MASK), names, arena, table)
            if declaration == 0:
                put64(regs, FIRST, j)
                put64(regs, SECOND, q)
                return EVENT - NEW_DECLARATION
            key = (context << 32) + declaration
            k = hashed(key, 0, 0) & at64(regs, CONTEXT_MASK)
            while at64(context_keys, k) != key:
                if at64(context_keys, k) == 0:
                    put64(regs, FIRST, context)
                    put64(regs, SECOND, declaration)
                    return EVENT - NEW_CONTEXT
                k = (k + 1) & at64(regs, CONTEXT_MASK)
            context = at64(context_values, k)
    put64(regs, ATTRIBUTES, count)
    put64(regs, CONTEXT, context)
    return j


@inner
def text_on(b: Any, p: int, n: int, regs: Any) -> int:
    """Text from a byte that is not plain text on: to the next ``<``, or where ``regs[STATUS]`` says why it stops."""
    status = 0
    seen = 0
    while True:
        p = find_text(b, p, n)
        if p >= n:
            status = MORE
            break
        c = at8(b, p)
        if c == 60:
            break
        put64(regs, ERROR_AT, p)
        if c == 38:
            r = reference_end(b, p, n)
            if r <= 0:
                status = r if r < 0 else MORE
                break
            p = r
            seen = ESCAPED
        elif c == 13:
            p += 1
            seen = ESCAPED
        elif c == 93:
            # three bytes decide; two that differ do so already
            if p + 1 >= n or (p + 2 >= n and at8(b, p + 1) == 93):
                status = MORE
                break
            if at8(b, p + 1) == 93 and at8(b, p + 2) == 62:
                status = TEXT_END_MARK
                break
            p += 1
        elif c >= 128:
            r = find_ascii(b, p, n)
            if r < 0:
                put64(regs, ERROR_AT, -1 - r)
                status = BAD_CHARACTER
                break
            p = r
            if p < n and at8(b, p) >= 128:
                status = MORE
                break
        else:
            status = BAD_CHARACTER
            break
    put64(regs, STATUS, status)
    put64(regs, SEEN, seen)
    return p


@inner
def body_begins(
    b: Any, p: int, n: int, depth: int, regs: Any, names: Any, arena: Any, table: Any, info: Any, targets_by: Any
) -> int:
    """``<!`` or ``<?`` at ``p``: where the body begins, of what ``regs[MODE]`` says, unless ``regs[STATUS]`` stops it.

    The target of a PI is in ``regs[BODY_NAME]``.
    """
    q = p + 4
    mode = IN_COMMENT
    status = 0
    if at8(b, p + 1) == 63:
        mode = IN_PI
        q = find_name(b, p + 2, n)
        if q + 1 >= n:
            status = MORE
        elif q == p + 2:
            status = BAD_TOKEN
        else:
            status = _target(b, p + 2, n, q, regs, names, arena, table, info, targets_by)
    elif p + 9 > n and at8(b, p + 2) != 45:
        status = MORE
    elif at8(b, p + 2) == 45:
        if p + 3 >= n:
            status = MORE
        elif at8(b, p + 3) != 45:
            status = BAD_TOKEN
    elif at8(b, p + 2) == 91:
        mode = IN_CDATA
        q = p + 9
        if not (
            at8(b, p + 3) == 67
            and at8(b, p + 4) == 68
            and at8(b, p + 5) == 65
            and at8(b, p + 6) == 84
            and at8(b, p + 7) == 65
            and at8(b, p + 8) == 91
            and depth > 0
        ):
            status = BAD_TOKEN
    else:
        status = DOCTYPE
    put64(regs, STATUS, status)
    put64(regs, MODE, mode)
    return q


@inner
def _target(
    b: Any, p: int, n: int, q: int, regs: Any, names: Any, arena: Any, table: Any, info: Any, targets_by: Any
) -> int:
    """The target of a PI, from ``p`` to ``q``: its label in ``regs[BODY_NAME]``; why it is none, or 0."""
    name = lookup(b, p, n, q - p, at64(regs, HASH_MASK), names, arena, table)
    if name == 0:
        put64(regs, FIRST, p)
        put64(regs, SECOND, q)
        return NEW_NAME
    if at32(info, name) & (PREFIXED | RESERVED):
        return BAD_TARGET
    c = at8(b, q)
    if not (c == 32 or c == 10 or c == 9 or c == 13 or (c == 63 and at8(b, q + 1) == 62)):
        return BAD_TOKEN
    label = at32(targets_by, name)
    if label < 0:
        put64(regs, SECOND, name)
        return NEW_TARGET
    put64(regs, BODY_NAME, label)
    return 0


@inner
def body_on(b: Any, i: int, n: int, mode: int, regs: Any) -> int:
    """The body of a comment, CDATA section or PI: where it closes, or where ``regs[STATUS]`` says why it stops."""
    stop = 45 if mode == IN_COMMENT else (93 if mode == IN_CDATA else 63)
    status = 0
    seen = 0
    while True:
        i = find_body(b, i, n, stop)
        if i >= n:
            status = MORE
            break
        c = at8(b, i)
        put64(regs, ERROR_AT, i)
        if c == stop:
            if i + 1 >= n:
                status = MORE
                break
            d = at8(b, i + 1)
            if mode == IN_PI:
                if d == 62:
                    break
            elif d == stop:
                if i + 2 >= n:
                    status = MORE
                    break
                if at8(b, i + 2) == 62:
                    break
                if mode == IN_COMMENT:
                    status = COMMENT_DASHES
                    break
            i += 1
        elif c == 13:
            seen = ESCAPED
            i += 1
        elif c >= 128:
            r = find_ascii(b, i, n)
            if r < 0:
                put64(regs, ERROR_AT, -1 - r)
                status = BAD_CHARACTER
                break
            i = r
            if i < n and at8(b, i) >= 128:
                status = MORE
                break
        else:
            status = BAD_CHARACTER
            break
    put64(regs, STATUS, status)
    put64(regs, SEEN, seen)
    return i
