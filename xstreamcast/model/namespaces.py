"""The namespaces that have a meaning here, and the collations, which are named by URIs of the same kind."""

from __future__ import annotations

from typing import Final

XML: Final = "http://www.w3.org/XML/1998/namespace"
XMLNS: Final = "http://www.w3.org/2000/xmlns/"
XS: Final = "http://www.w3.org/2001/XMLSchema"
XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"
FN: Final = "http://www.w3.org/2005/xpath-functions"
MATH: Final = "http://www.w3.org/2005/xpath-functions/math"
MAP: Final = "http://www.w3.org/2005/xpath-functions/map"
ARRAY: Final = "http://www.w3.org/2005/xpath-functions/array"
ERR: Final = "http://www.w3.org/2005/xqt-errors"
OUTPUT: Final = "http://www.w3.org/2010/xslt-xquery-serialization"
LOCAL: Final = "http://www.w3.org/2005/xquery-local-functions"
XQUERY: Final = "http://www.w3.org/2012/xquery"
STREAM: Final = "urn:xstreamcast:stream"

PREFIXES: Final = {"fn": FN, "math": MATH, "map": MAP, "array": ARRAY, "xs": XS}
"""The prefixes that everybody knows, of functions and types."""

CODEPOINT: Final = "http://www.w3.org/2005/xpath-functions/collation/codepoint"
HTML_ASCII: Final = "http://www.w3.org/2005/xpath-functions/collation/html-ascii-case-insensitive"
UCA: Final = "http://www.w3.org/2013/collation/UCA"
