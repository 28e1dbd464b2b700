"""The words of the language by their part in it: highlighting and completion are made from this table.

No word is reserved: after ``/`` or ``@`` each is a name, and most are names wherever an operand is due.

>>> "satisfies" in CLAUSES, "following-sibling" in AXES, "covers" in OPERATORS
(True, True, False)
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import paths, prolog
from xstreamcast.lang.context import XCQL_FUNCTIONS
from xstreamcast.lang.parser import LEVELS
from xstreamcast.lang.types import RESERVED_FUNCTIONS

CONTROL: Final = tuple(sorted(paths.EXPRESSION_WORDS))
"""They look like function calls, and are none."""

CLAUSES: Final = (
    "allowing", "as", "ascending", "at", "by", "case", "catch", "collation", "count", "declare", "descending", "else",
    "empty", "encoding", "end", "every", "external", "for", "greatest", "group", "import", "in", "inherit", "lax",
    "least", "let", "module", "next", "no-inherit", "no-preserve", "of", "only", "order", "previous", "return",
    "satisfies", "schema", "sliding", "some", "stable", "start", "strict", "then", "try", "tumbling", "type", "version",
    "when", "where", "window", "xquery",
)  # fmt: skip
"""What begins or joins the parts of expressions and declarations."""

PROLOG: Final = tuple(
    sorted(
        prolog.DECLARED
        | {*prolog.DECIMAL_PROPERTIES}
        | {word for _, words in prolog.SETTERS.values() for word in words}
    )
)
"""What declarations declare, and what is chosen there."""

OPERATORS: Final = tuple(sorted(word for word in LEVELS if word.isalpha()))
TYPES: Final = tuple(sorted(RESERVED_FUNCTIONS - paths.EXPRESSION_WORDS))
AXES: Final = tuple(sorted(paths.AXES))
CONSTRUCTORS: Final = tuple(sorted(paths.CONSTRUCTORS))
MOMENTS: Final = ("last", "now", "start")
"""Inside ``?[ ]`` and ``#[ ]``."""
FUNCTIONS: Final = tuple(sorted(name for name, _ in XCQL_FUNCTIONS))
"""XCQL's own."""

KEYWORDS: Final = tuple(sorted({*CONTROL, *CLAUSES, *PROLOG, *CONSTRUCTORS}))
