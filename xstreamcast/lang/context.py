"""The static context: what a prolog can say about names and expressions (XQuery 3.1 §2.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from xstreamcast.dataclass import dataclass
from xstreamcast.model.namespaces import (
    ARRAY,
    CODEPOINT,
    ERR,
    FN,
    HTML_ASCII,
    LOCAL,
    MAP,
    MATH,
    STREAM,
    UCA,
    XML,
    XQUERY,
    XS,
    XSI,
)

PREDECLARED: Mapping[str, str] = {
    "xml": XML,
    "xs": XS,
    "xsi": XSI,
    "fn": FN,
    "math": MATH,
    "map": MAP,
    "array": ARRAY,
    "err": ERR,
    "local": LOCAL,
    "stream": STREAM,
}
"""Prefixes a query may use without declaring them."""

RESERVED = frozenset({XML, XS, XSI, FN, MATH, MAP, ARRAY, XQUERY})
"""Namespaces no user function or annotation may be in (XQST0045)."""

BUILTIN = frozenset({FN, XS, MATH, MAP, ARRAY, STREAM})
"""Namespaces whose functions come with the language."""

XCQL_FUNCTIONS = frozenset({("stream", 1), ("vtFrom", 1), ("vtTo", 1), ("now", 0)})
"""Functions of the STREAM namespace, which an unprefixed call reaches unless the query declares its own."""

COLLATIONS = frozenset({CODEPOINT, HTML_ASCII})


@dataclass(frozen=True, slots=True)
class DecimalFormat:
    """The characters of format-number (F&O 3.1 §4.7.1)."""

    decimal_separator: str = "."
    grouping_separator: str = ","
    exponent_separator: str = "e"
    infinity: str = "Infinity"
    minus_sign: str = "-"
    NaN: str = "NaN"
    percent: str = "%"
    per_mille: str = "\u2030"
    zero_digit: str = "0"
    digit: str = "#"
    pattern_separator: str = ";"


@dataclass(frozen=True, slots=True)
class StaticContext:
    """Given to the parser as the environment, and returned with the module's own declarations applied.

    ``decimal_formats`` is keyed by expanded name, None being the default format. ``options`` lists
    ``((uri, local), value)`` in order; ``variables`` names what the host binds beyond the query's own,
    ``collations`` those it knows besides the Unicode Collation Algorithm's.
    """

    namespaces: Mapping[str, str] = field(default_factory=lambda: dict(PREDECLARED))
    default_element_namespace: str = ""
    default_function_namespace: str = FN
    base_uri: str | None = None
    default_collation: str = CODEPOINT
    boundary_space: str = "strip"
    construction: str = "preserve"
    ordering: str = "ordered"
    empty_least: bool = True
    copy_preserve: bool = True
    copy_inherit: bool = True
    decimal_formats: Mapping[tuple[str, str] | None, DecimalFormat] = field(
        default_factory=lambda: {None: DecimalFormat()}
    )
    options: tuple[tuple[tuple[str, str], str], ...] = ()
    variables: frozenset[tuple[str, str]] = frozenset()
    collations: frozenset[str] = COLLATIONS

    def collation(self, uri: str) -> str | None:
        """The absolute URI of a collation, or None if nobody knows it."""
        if uri not in self.collations and not uri.startswith(UCA) and self.base_uri:
            from urllib.parse import urljoin

            uri = urljoin(self.base_uri, uri)
        return uri if uri in self.collations or uri.startswith(UCA) else None
