"""Whether a text is the beginning of a query: then whoever types it is asked for another line.

>>> unfinished("for $x in (1, 2)"), unfinished("for $x in (1, 2) return $x"), unfinished("for $x of 1")
(True, False, False)
"""

from __future__ import annotations

from xstreamcast.errors import XStreamError
from xstreamcast.lang.lexical import unknown_character
from xstreamcast.lang.link import parse_syntax


def unfinished(text: str) -> bool:
    """Whether the only fault of a text is that it ends: something is due there, or open there."""
    try:
        parse_syntax(text)
    except XStreamError as fault:
        return fault.message.endswith((f"found {unknown_character('')}", "is not closed"))
    return False
