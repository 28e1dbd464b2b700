"""The words of the tables that the kernel and Python share: statuses, registers, levels, rows, flags.

All tables are arrays of one integer type each, so that the kernel is compiled once. A *record* of a table is a fixed
number of words; ``R_START`` and its like are offsets within one.
"""

from __future__ import annotations

from typing import Final

# Errors: negative, so that a position or a status cannot be taken for one.
BAD_TOKEN: Final = -1
BAD_CHARACTER: Final = -2
BAD_REFERENCE: Final = -3
UNKNOWN_ENTITY: Final = -4
DUPLICATE: Final = -5
MISMATCH: Final = -6
JUNK: Final = -7
TEXT_END_MARK: Final = -8
COMMENT_DASHES: Final = -9
LESS_IN_VALUE: Final = -10
BAD_TARGET: Final = -11

# Why the kernel stopped: all is well, but Python must do something.
MORE: Final = 1  # more input
LIMIT: Final = 2  # the next token begins at or after the limit
FULL: Final = 3  # rows to take away
FULL_TREE: Final = 4  # tree columns to enlarge
DEEP: Final = 5  # stack to enlarge
WIDE: Final = 6  # scratch for attributes to enlarge
NEW_NAME: Final = 7  # FIRST, SECOND: where it stands
NEW_DECLARATION: Final = 8  # FIRST, SECOND: xmlns:p="uri", where it stands
NEW_CONTEXT: Final = 9  # FIRST: context, SECOND: declaration
NEW_ELEMENT: Final = 10  # FIRST: context, SECOND: name
NEW_ATTRIBUTE: Final = 11
NEW_TARGET: Final = 12  # SECOND: name
NEW_TRANSITION: Final = 13  # FIRST: state, SECOND: class
DOCTYPE: Final = 14
UNDERFLOW: Final = 15  # a range's guessed stack is used up
EVENT: Final = -100  # attributes() returns EVENT - status

# The kernel's registers, kept in one vector between calls.
(
    POS,  # where the next token, or the rest of a body, begins
    MODE,
    DEPTH,
    ROWS,  # rows written
    TREE_ROWS,
    RECORDS,  # records begun
    ROOT,  # 1 once the root element was seen
    TEXT,  # start of the open text node, or -1
    TEXT_FLAGS,
    BODY,  # '<' of the open comment, CDATA section or PI
    BODY_DATA,  # its first character
    BODY_NAME,  # qualified name of an open PI
    TAGS,  # start tags read, tried ones included: stamps attribute names
    FIRST,
    SECOND,
    ERROR_AT,
    HASH_MASK,
    CONTEXT_MASK,
    NAMES,  # stride of the tables by context and name,
    DENSE,  # their entries that have a place by that,
    PAIRS,  # and the mask of the hash of the others
    CLASSES,  # stride of the transition table
    ATTRIBUTES,  # what attributes() found
    EMPTY,
    CONTEXT,
    ELEMENTS,  # start tags accepted
    NESTED,  # records begun within a record
    STATUS,  # text_on() and body_on(): why they stopped
    SEEN,  # what they met: ESCAPED or 0
    PATIENCE,  # within a record the limit holds only from this position on
    MANY,  # 1 where root elements may follow each other
) = range(31)
REGISTERS: Final = 32

# Names: four words each in the name table, and flags.
NAME_FIRST, NAME_LAST, NAME_LENGTH, NAME_AT = 0, 1, 2, 3
DECLARES: Final = 1  # xmlns or xmlns:p
PREFIXED: Final = 2
RESERVED: Final = 4  # no PI may be called so

# What a value needs before it is its bytes.
CLEAN: Final = 0
MIXED: Final = 1  # elements, comments or PIs in it
ESCAPED: Final = 2  # references, CDATA, carriage returns; in attributes also tabs and line feeds
CHARS: Final = 4  # inner bookkeeping: the text has characters
NOTED: Final = 16  # inner bookkeeping: the element's attributes or declarations have rows that name its own
CONTENT_FLAGS: Final = MIXED | ESCAPED

# The scratch of attributes(): words per attribute.
A_NAME, A_FROM, A_TO, A_FLAGS, A_START, A_QUALIFIED, A_STATE, A_WORDS = range(8)

# MODE: between tokens, or within a body.
CONTENT, IN_COMMENT, IN_CDATA, IN_PI = 0, 1, 2, 3

# A level of the stack.
STATE, NAME, SCOPE, START, INNER, RECORD, ROW, FLAGS, LEVEL_WORDS = range(9)
UNKNOWN: Final = -1
"""The name of a level below a range's start: any end tag closes it, and is reported for checking."""

# A row of the output.
R_STATE, R_RECORD, R_START, R_FROM, R_TO, R_END, R_FLAGS, R_TREE, ROW_WORDS = range(9)
FLAG_BITS: Final = 8
"""R_FLAGS of an element: above these bits, the number of its namespace context."""
CLOSED: Final = -1
"""R_STATE of an end tag that closed an unknown level: R_FROM to R_TO is its name."""

# Flags of a state.
EMITS: Final = 1  # a row for each node
BEGINS_RECORD: Final = 2
GROWS_TREE: Final = 4  # a row of the tree columns for each node
SEES_ATTRIBUTES: Final = 8
SEES_TEXTS: Final = 16
SEES_MISC: Final = 32  # comments and PIs
SEES_ELEMENTS: Final = 64
PASSING: Final = 128  # wanted only for what may be below: with nothing there, its row of the tree goes again

# Classes of nodes without a name; those of names follow.
TEXT_CLASS, COMMENT_CLASS, DECLARATION_CLASS, FIRST_CLASS = 0, 1, 2, 3

# Kinds of the tree columns: those of model.names.
ELEMENT_KIND, ATTRIBUTE_KIND, TEXT_KIND, COMMENT_KIND, PI_KIND = 1, 2, 3, 4, 5
