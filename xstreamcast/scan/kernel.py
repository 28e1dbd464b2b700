"""The scan kernel: bytes through a path automaton to rows, tree columns and counts; well-formedness on the way.

One function, one loop, one token per turn. A token is accepted whole or not at all: whatever is rare (a name seen for
the first time, a namespace declaration, a state of the automaton not yet made, an array that is full, the end of the
input) stops the kernel *before* the token, Python deals with it, and the same token is read again. Comments, CDATA
sections and PIs may be long, so they are entered (``MODE``) and left on their own.

The automaton's state 0 is dead: nobody wants what is below. There the loop only checks and matches tags.
"""

from __future__ import annotations

from xstreamcast.native.kernel import I32, I64, U8, kernel
from xstreamcast.native.vector import at8, at32, at64, base, put32, put64
from xstreamcast.scan import layout as t
from xstreamcast.scan.content import attributes, body_begins, body_on, text_on
from xstreamcast.scan.rows import emit, grow
from xstreamcast.scan.token import find_name, find_text, is_name, lookup, meaning, skip_space


@kernel
def scan(
    b: U8,
    n: int,
    limit: int,
    regs: I64,
    stack: I64,
    scratch: I64,
    out: I64,
    kinds: U8,
    labels: I32,
    ups: I32,
    sizes: I32,
    froms: I64,
    tos: I64,
    needs: U8,
    names: I64,
    arena: U8,
    table: I32,
    info: I32,
    context_keys: I64,
    context_values: I64,
    elements_by: I32,
    attributes_by: I32,
    targets_by: I32,
    class_of: I32,
    same_as: I32,
    stamps: I64,
    transitions: I32,
    state_flags: I32,
    visits: I64,
) -> int:
    """Scan ``b`` up to ``n``, tokens that begin before ``limit``; why it stopped (``layout.py``: MORE …).

    ``regs``: registers between calls; ``stack``, ``out``: LEVEL_WORDS and ROW_WORDS each; ``kinds`` … ``needs``: the
    tree columns; ``names`` … ``stamps``: :class:`~xstreamcast.scan.symbols.Symbols`; the rest:
    :class:`~xstreamcast.scan.automaton.Automaton`.
    """
    most_rows = out.shape[0] // t.ROW_WORDS
    most_tree = kinds.shape[0]
    most_depth = stack.shape[0] // t.LEVEL_WORDS - 1
    room = scratch.shape[0] // t.A_WORDS
    b, regs, levels, scratch, out = base(b), base(regs), base(stack), base(scratch), base(out)
    kinds, labels, ups, sizes = base(kinds), base(labels), base(ups), base(sizes)
    froms, tos, needs = base(froms), base(tos), base(needs)
    names, arena, table, info = base(names), base(arena), base(table), base(info)
    context_keys, context_values = base(context_keys), base(context_values)
    elements_by, attributes_by, targets_by = base(elements_by), base(attributes_by), base(targets_by)
    class_of, same_as = base(class_of), base(same_as)
    stamps, transitions, state_flags, visits = base(stamps), base(transitions), base(state_flags), base(visits)
    i = at64(regs, t.POS)
    mode = at64(regs, t.MODE)
    depth = at64(regs, t.DEPTH)
    rows = at64(regs, t.ROWS)
    tree = at64(regs, t.TREE_ROWS)
    text = at64(regs, t.TEXT)
    text_flags = at64(regs, t.TEXT_FLAGS)
    hash_mask = at64(regs, t.HASH_MASK)
    stride = at64(regs, t.NAMES)
    dense = at64(regs, t.DENSE)
    pairs = at64(regs, t.PAIRS)
    classes = at64(regs, t.CLASSES)
    w = depth * t.LEVEL_WORDS
    state = at64(levels, w + t.STATE)
    context = at64(levels, w + t.SCOPE)
    record = at64(levels, w + t.RECORD)
    row = at64(levels, w + t.ROW)
    mine = at64(levels, w + t.FLAGS)  # what the open element's content has been so far
    sees = at32(state_flags, state)
    status = 0
    while True:
        # ------------------------------------------------------------------------------------ bodies
        if mode != t.CONTENT:
            i = body_on(b, i, n, mode, regs)
            status = at64(regs, t.STATUS)
            text_flags |= at64(regs, t.SEEN)
            if status != 0:
                break
            if mode == t.IN_CDATA:
                if i > at64(regs, t.BODY_DATA):
                    text_flags |= t.CHARS
                i += 3
                mode = t.CONTENT
                continue
            after = i + 2 if mode == t.IN_PI else i + 3
            if sees & t.SEES_MISC:
                if rows >= most_rows:
                    status = t.FULL
                    break
                if tree >= most_tree:
                    status = t.FULL_TREE
                    break
                label = t.COMMENT_KIND
                kind = t.COMMENT_KIND
                which = t.COMMENT_CLASS
                begin = at64(regs, t.BODY_DATA)
                if mode == t.IN_PI:
                    kind = t.PI_KIND
                    label = at64(regs, t.BODY_NAME)
                    which = at32(class_of, label)
                    begin = skip_space(b, begin, i)
                to = at32(transitions, state * classes + which)
                if to < 0:
                    put64(regs, t.FIRST, state)
                    put64(regs, t.SECOND, which)
                    status = t.NEW_TRANSITION
                    break
                put64(visits, to, at64(visits, to) + 1)
                wants = at32(state_flags, to)
                line = -1
                if wants & t.GROWS_TREE:
                    line = tree
                    grow(
                        kinds, labels, ups, sizes, froms, tos, needs, tree, row, kind, label,
                        begin, i, text_flags & t.ESCAPED,
                    )  # fmt: skip
                    tree += 1
                if wants & t.EMITS:
                    emit(out, rows, to, record, at64(regs, t.BODY), begin, i, after, text_flags & t.ESCAPED, line)
                    rows += 1
            text_flags = 0
            i = after
            mode = t.CONTENT
            continue
        # ------------------------------------------------------------------------------------ text
        p = i
        if p >= n:
            status = t.MORE
            break
        if at8(b, p) != 60:
            if depth == 0:
                p = skip_space(b, p, n)
                i = p
                if p >= n:
                    status = t.MORE
                    break
                if at8(b, p) != 60:
                    put64(regs, t.ERROR_AT, p)
                    status = t.JUNK
                    break
            else:
                if at8(b, p) == 10 and p + 1 < n and at8(b, p + 1) == 60:
                    p += 1  # a line feed between tags is the commonest of texts
                else:
                    p = find_text(b, p, n)
                if p >= n or at8(b, p) != 60:
                    p = text_on(b, p, n, regs)
                    status = at64(regs, t.STATUS)
                    mine |= at64(regs, t.SEEN)
                    text_flags |= at64(regs, t.SEEN)
                if p > i and sees & t.SEES_TEXTS:
                    text_flags |= t.CHARS
                    if text < 0:
                        text = i
                i = p
                if status != 0:
                    break
        # ------------------------------------------------------------------------------------ '<' at p
        if p + 2 >= n:
            status = t.MORE
            break
        c = at8(b, p + 1)
        if text_flags != 0 and not (c == 33 and at8(b, p + 2) == 91):
            if text >= 0 and text_flags & t.CHARS:
                if rows >= most_rows:
                    status = t.FULL
                    break
                if tree >= most_tree:
                    status = t.FULL_TREE
                    break
                to = at32(transitions, state * classes + t.TEXT_CLASS)
                put64(visits, to, at64(visits, to) + 1)
                wants = at32(state_flags, to)
                line = -1
                if wants & t.GROWS_TREE:
                    line = tree
                    grow(
                        kinds, labels, ups, sizes, froms, tos, needs, tree, row, t.TEXT_KIND, t.TEXT_KIND,
                        text, p, text_flags & t.ESCAPED,
                    )  # fmt: skip
                    tree += 1
                if wants & t.EMITS:
                    emit(out, rows, to, record, text, text, p, p, text_flags & t.ESCAPED, line)
                    rows += 1
            text = -1
            text_flags = 0
        if p >= limit and (record < 0 or p >= at64(regs, t.PATIENCE)) and not (c == 33 and at8(b, p + 2) == 91):
            # here a range ends and another may begin: no text is open, for a CDATA section would go on with it
            status = t.LIMIT
            break
        if c == 47:
            # -------------------------------------------------------------------------------- end tag
            put64(regs, t.ERROR_AT, p)
            if depth == 0:
                status = t.JUNK
                break
            w = depth * t.LEVEL_WORDS
            name = at64(levels, w + t.NAME)
            if name == t.UNKNOWN:
                if depth == 1:
                    status = t.UNDERFLOW
                    break
                if rows >= most_rows:
                    status = t.FULL
                    break
                q = find_name(b, p + 2, n)
            else:
                size = at64(names, name * 4 + t.NAME_LENGTH)
                q = p + 2 + size
                if q >= n:
                    status = t.MORE
                    break
                if not is_name(b, p + 2, n, size, name, names, arena):
                    status = t.MISMATCH
                    break
            name_end = q
            if q >= n:
                status = t.MORE
                break
            if at8(b, q) != 62:
                q = skip_space(b, q, n)
                if q >= n:
                    status = t.MORE
                    break
                if at8(b, q) != 62:
                    status = t.MISMATCH
                    break
            if name == t.UNKNOWN:
                emit(out, rows, t.CLOSED, record, p, p + 2, name_end, q + 1, 0, -1)
                rows += 1
            elif sees & t.PASSING and tree == row + 1 and mine & t.NOTED == 0:
                tree = row  # nothing is kept below: it was for nothing
                sees = 0
            elif sees & t.EMITS:
                if rows >= most_rows:
                    status = t.FULL
                    break
                line = row if sees & t.GROWS_TREE else -1
                start = at64(levels, w + t.START)
                begin = at64(levels, w + t.INNER)
                flags = (mine & t.CONTENT_FLAGS) | (context << t.FLAG_BITS)
                emit(out, rows, state, record, start, begin, p, q + 1, flags, line)
                rows += 1
            if sees & t.GROWS_TREE:
                put32(sizes, row, tree - row - 1)
            depth -= 1
            w -= t.LEVEL_WORDS
            state = at64(levels, w + t.STATE)
            context = at64(levels, w + t.SCOPE)
            record = at64(levels, w + t.RECORD)
            row = at64(levels, w + t.ROW)
            mine = at64(levels, w + t.FLAGS)
            sees = at32(state_flags, state)
            i = q + 1
            continue
        if c == 33 or c == 63:
            # -------------------------------------------------------------------------------- <! and <?
            put64(regs, t.ERROR_AT, p)
            q = body_begins(b, p, n, depth, regs, names, arena, table, info, targets_by)
            status = at64(regs, t.STATUS)
            if status != 0:
                break
            mode = at64(regs, t.MODE)
            put64(regs, t.BODY, p)
            put64(regs, t.BODY_DATA, q)
            i = q
            if mode == t.IN_CDATA:
                mine |= t.ESCAPED
                text_flags |= t.ESCAPED
                if text < 0 and sees & t.SEES_TEXTS:
                    text = p
            else:
                mine |= t.MIXED
            continue
        # ------------------------------------------------------------------------------------ start tag
        q = find_name(b, p + 1, n)
        if q >= n:
            status = t.MORE
            break
        put64(regs, t.ERROR_AT, p)
        if q == p + 1 or (depth == 0 and at64(regs, t.ROOT) == 1 and at64(regs, t.MANY) == 0):
            status = t.BAD_TOKEN if q == p + 1 else t.JUNK
            break
        name = lookup(b, p + 1, n, q - p - 1, hash_mask, names, arena, table)
        if name == 0:
            put64(regs, t.FIRST, p + 1)
            put64(regs, t.SECOND, q)
            status = t.NEW_NAME
            break
        count = 0
        empty = 0
        scope = context
        if at8(b, q) == 62:
            q += 1
        else:
            q = attributes(
                b, q, n, context, regs, scratch, room, names, arena, table, info, context_keys, context_values
            )
            if q <= 0:
                status = t.MORE if q == 0 else (t.EVENT - q if q <= t.EVENT else q)
                break
            count = at64(regs, t.ATTRIBUTES)
            empty = at64(regs, t.EMPTY)
            scope = at64(regs, t.CONTEXT)
        label = meaning(elements_by, scope, name, stride, dense, pairs)
        if label < 0:
            put64(regs, t.FIRST, scope)
            put64(regs, t.SECOND, name)
            status = t.NEW_ELEMENT
            break
        to = 0
        if sees & t.SEES_ELEMENTS:
            to = at32(transitions, state * classes + at32(class_of, label))
            if to < 0:
                put64(regs, t.FIRST, state)
                put64(regs, t.SECOND, at32(class_of, label))
                status = t.NEW_TRANSITION
                break
        wants = at32(state_flags, to)
        if count > 0:
            put64(regs, t.TAGS, at64(regs, t.TAGS) + 1)
            stamp = at64(regs, t.TAGS)
            for k in range(count):
                a = k * t.A_WORDS
                q_name = meaning(attributes_by, scope, at64(scratch, a + t.A_NAME), stride, dense, pairs)
                if q_name < 0:
                    put64(regs, t.FIRST, scope)
                    put64(regs, t.SECOND, at64(scratch, a + t.A_NAME))
                    status = t.NEW_ATTRIBUTE
                    break
                same = at32(same_as, q_name)
                if at64(stamps, same) == stamp:
                    put64(regs, t.ERROR_AT, at64(scratch, a + t.A_START))
                    status = t.DUPLICATE
                    break
                put64(stamps, same, stamp)
                put64(scratch, a + t.A_QUALIFIED, q_name)
                if wants & t.SEES_ATTRIBUTES:
                    put64(scratch, a + t.A_STATE, at32(transitions, to * classes + at32(class_of, q_name)))
                    if at64(scratch, a + t.A_STATE) < 0:
                        put64(regs, t.FIRST, to)
                        put64(regs, t.SECOND, at32(class_of, q_name))
                        status = t.NEW_TRANSITION
                        break
            if status != 0:
                break
        if depth >= most_depth:
            status = t.DEEP
            break
        inside = record
        line = row
        noted = 0
        if wants != 0:
            # Everything is known: from here on the token is accepted.
            if rows + count + 1 >= most_rows:
                status = t.FULL
                break
            if tree + count + 1 >= most_tree:
                status = t.FULL_TREE
                break
            if wants & t.BEGINS_RECORD:
                inside = at64(regs, t.RECORDS)
                put64(regs, t.RECORDS, at64(regs, t.RECORDS) + 1)
                if record >= 0:
                    put64(regs, t.NESTED, at64(regs, t.NESTED) + 1)
            if wants & t.GROWS_TREE:
                line = tree
                grow(
                    kinds, labels, ups, sizes, froms, tos, needs, tree, row, t.ELEMENT_KIND, label,
                    p, q, 0,
                )  # fmt: skip
                tree += 1
            if wants & t.SEES_ATTRIBUTES:
                for k in range(count):
                    a = k * t.A_WORDS
                    other = at64(scratch, a + t.A_STATE)
                    put64(visits, other, at64(visits, other) + 1)
                    theirs = at32(state_flags, other)
                    leaf = line
                    begin = at64(scratch, a + t.A_FROM)
                    z = at64(scratch, a + t.A_TO)
                    if theirs & t.GROWS_TREE:
                        leaf = tree
                        grow(
                            kinds, labels, ups, sizes, froms, tos, needs, tree, line,
                            t.ATTRIBUTE_KIND, at64(scratch, a + t.A_QUALIFIED), begin, z, at64(scratch, a + t.A_FLAGS),
                        )  # fmt: skip
                        tree += 1
                    if theirs & t.EMITS:
                        start = at64(scratch, a + t.A_START)
                        emit(out, rows, other, inside, start, begin, z, z + 1, at64(scratch, a + t.A_FLAGS), leaf)
                        rows += 1
                        noted = t.NOTED
        put64(visits, to, at64(visits, to) + 1)
        put64(regs, t.ELEMENTS, at64(regs, t.ELEMENTS) + 1)
        mine |= t.MIXED
        i = q
        if empty != 0:
            if wants & t.PASSING and noted == 0 and tree == line + 1:
                tree = line
                wants = 0
            if wants & t.GROWS_TREE:
                put32(sizes, line, tree - line - 1)
            if wants & t.EMITS:
                top = line if wants & t.GROWS_TREE else -1
                emit(out, rows, to, inside, p, q, q, q, scope << t.FLAG_BITS, top)
                rows += 1
            if depth == 0:
                put64(regs, t.ROOT, 1)
            continue
        if depth == 0:
            put64(regs, t.ROOT, 1)
        put64(levels, depth * t.LEVEL_WORDS + t.FLAGS, mine)
        depth += 1
        w = depth * t.LEVEL_WORDS
        put64(levels, w + t.STATE, to)
        put64(levels, w + t.NAME, name)
        put64(levels, w + t.SCOPE, scope)
        put64(levels, w + t.START, p)
        put64(levels, w + t.INNER, q)
        put64(levels, w + t.RECORD, inside)
        put64(levels, w + t.ROW, line)
        state = to
        context = scope
        record = inside
        row = line
        mine = noted
        sees = wants
    put64(levels, depth * t.LEVEL_WORDS + t.FLAGS, mine)
    put64(regs, t.POS, i)
    put64(regs, t.MODE, mode)
    put64(regs, t.DEPTH, depth)
    put64(regs, t.ROWS, rows)
    put64(regs, t.TREE_ROWS, tree)
    put64(regs, t.TEXT, text)
    put64(regs, t.TEXT_FLAGS, text_flags)
    return status
