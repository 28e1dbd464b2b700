"""Regular expressions for the words and tokens of queries, such as Python's ``re`` and the editors' Oniguruma read.

>>> import re
>>> [found.group() for found in re.finditer(CLAUSE, "for $for in /a/for order by $for/order return count($for)")]
['for', 'in', 'order', 'by', 'return']
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from xstreamcast.lang import words

NAME: Final = r"[^\W\d][\w.\-]*"
QNAME: Final = rf"{NAME}(?::{NAME})?"
VARIABLE: Final = rf"\$\s*(?:Q\{{[^{{}}]*\}})?{QNAME}"
NUMBER: Final = r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w])"
REFERENCE: Final = r"&(?:lt|gt|amp|quot|apos|#\d+|#x[0-9a-fA-F]+);"
MOMENT: Final = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:\d\d)?"
DURATION: Final = r"\bP(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?\b"
SYMBOL: Final = r"=>|:=|::|\|\||<<|>>|<=|>=|!=|//|\.\.|[-+*=<>!|/@?#%.]"
TAG: Final = rf"<(?={QNAME}(?:\s+{QNAME}\s*=|\s*/?>))"
"""The beginning of an element that is constructed: where the parser knows that an operand is due, this looks ahead."""

_BEFORE: Final = r"(?<![\w.\-/@$:])"

_FOLLOWED: Final = {
    "at": r"\s+[$\"']",
    "by": r"\s+\S",
    "case": r"\s+\S",
    "catch": rf"\s*(?:\*|{QNAME}|Q)",
    "collation": r"\s+[\"']",
    "count": r"\s+\$",
    "declare": r"\s+(?:%|[a-z])",
    "empty": r"\s+(?:greatest|least)\b",
    "encoding": r"\s+[\"']",
    "end": r"\s+(?:\$|at\b|previous\b|next\b|when\b)",
    "every": r"\s+\$",
    "for": r"\s+(?:\$|tumbling\b|sliding\b)",
    "group": r"\s+by\b",
    "import": r"\s+(?:module|schema)\b",
    "let": r"\s+\$",
    "module": r"\s+namespace\b",
    "next": r"\s+\$",
    "of": r"\s+\S",
    "only": r"\s+end\b",
    "order": r"\s+by\b",
    "previous": r"\s+\$",
    "schema": r"\s+(?:namespace|default|[\"'])",
    "sliding": r"\s+window\b",
    "some": r"\s+\$",
    "stable": r"\s+order\b",
    "start": r"\s+(?:\$|at\b|previous\b|next\b|when\b)",
    "try": r"\s*\{",
    "tumbling": r"\s+window\b",
    "version": r"\s+[\"']",
    "window": r"\s+\$",
    "xquery": r"\s+(?:version|encoding)\b",
}
"""What must come after a word that would else be the name of an element."""


def any_of(listed: Iterable[str]) -> str:
    """One of some words; longer ones first, as no word may end within another."""
    return "|".join(sorted(listed, key=lambda word: (-len(word), word)))


def _clause(word: str) -> str:
    return rf"{word}(?={_FOLLOWED[word]})" if word in _FOLLOWED else word


CLAUSE: Final = (
    rf"{_BEFORE}(?:{'|'.join(_clause(word) for word in sorted(words.CLAUSES, key=lambda one: (-len(one), one)))})"
    # ``in (1, 2)``, ``return (…)``: parentheses after a word of a clause are no call.
    rf"(?![\w.\-:])(?!(?:{any_of(('count', 'empty', 'type', 'version'))})\s*\()"
)
CONTROL: Final = rf"{_BEFORE}(?:{any_of(words.CONTROL)})(?=\s*\()"
DECLARED: Final = rf"(?:{any_of({*words.PROLOG, *words.CLAUSES, *words.TYPES, *words.CONSTRUCTORS})})(?![\w.\-:])"
"""After ``declare`` and ``import``."""
OPERATOR: Final = rf"(?<=[\s)\]}}\"'\d])(?:{any_of(words.OPERATORS)})(?=[\s$\"'<.@/+\-\d])"
TYPE: Final = rf"{_BEFORE.replace('/', '')}(?:{any_of(words.TYPES)})(?=\s*\()"
AXIS: Final = rf"(?:{any_of(words.AXES)})(?=\s*::)"
CONSTRUCTOR: Final = rf"{_BEFORE}(?:{any_of(words.CONSTRUCTORS)})(?=\s*\{{|\s+{QNAME}\s*\{{)"
FUNCTION: Final = rf"{_BEFORE}{QNAME}(?=\s*\(|#\d)"
OWN_FUNCTION: Final = rf"{_BEFORE}(?:{any_of(words.FUNCTIONS)})(?=\s*\()"
NOW: Final = rf"(?<![\w.\-/@$:])(?:{any_of(words.MOMENTS)})(?![\w.:(]|\s*/)"
