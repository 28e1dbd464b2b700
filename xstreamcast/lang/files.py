"""Query files: bytes → text, by byte order mark, version declaration, or as UTF-8."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from xstreamcast.errors import Place, error, file_error

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_search_declared = re.compile(
    rb"""^\s*xquery\s+(?:version\s*(?:"[^"]*"|'[^']*')\s*)?encoding\s*["']([A-Za-z][A-Za-z0-9._\-]*)["']"""
).search


def read_query(path: Path) -> str:
    """The text of a query file; XQST0087 if its encoding is unknown, or not the one it says."""
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise file_error(fault, path, "a query can also be given as it is, without -f") from None
    declared = _search_declared(data)
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    encoding = encoding or (declared.group(1).decode("ascii") if declared else "utf-8")
    try:
        return data.decode(encoding)
    except LookupError:
        hint = "declare one that Python knows, or write the query in UTF-8"
        raise error("XQST0087", f"the encoding {encoding} is not known", Place(str(path)), hint) from None
    except UnicodeDecodeError as fault:
        place = Place(str(path), data.count(b"\n", 0, fault.start) + 1)
        hint = 'say which encoding it has: xquery version "3.1" encoding "…";'
        raise error("XQST0087", f"the query is not {encoding.upper()}", place, hint) from None
