"""Names and texts as they are written: quoted, escaped."""

from __future__ import annotations

from xstreamcast.lang.lexical import match_ncname


def escape(text: str) -> str:
    """Ampersands and carriage returns as references."""
    return text.replace("&", "&amp;").replace("\r", "&#13;")


def braced(uri: str) -> str:
    """``Q{uri}``."""
    inside = escape(uri).replace("{", "&#123;").replace("}", "&#125;")
    return f"Q{{{inside}}}"


def quote(text: str) -> str:
    """A string literal."""
    return '"' + escape(text).replace('"', '""') + '"'


def match_whole_ncname(text: str) -> bool:
    """Whether a text can be written as a name; beyond ASCII it is quoted, which is always right."""
    found = match_ncname(text)
    return found is not None and found.end() == len(text) and text.isascii()


def collated(uri: str | None) -> str:
    """`` collation "uri"`` or nothing."""
    return f" collation {quote(uri)}" if uri is not None else ""
