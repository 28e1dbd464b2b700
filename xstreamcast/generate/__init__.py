"""Generators: streams and documents of the papers' examples, at any size, in flat memory, the same for equal
seeds.

In come a name, a factor and a seed; out come changes, documents, structures. :mod:`.generator` says what one is,
:mod:`.draw`, :mod:`.words` and :mod:`.prose` are what they draw from. DBPL'03: :mod:`.commodities`,
:mod:`.currencies`; SIGMOD'04: :mod:`.credit`, :mod:`.packets`, :mod:`.radar`, :mod:`.traffic`; WebDB'05 and ICDE'08:
:mod:`.stock`, :mod:`.dblp`; VLDB'05: :mod:`.items`, :mod:`.microscope`, :mod:`.satellite`; and :mod:`.xmark`.

>>> credit = find("credit")
>>> [stream for stream in credit.structures]
['credit']
>>> from itertools import islice
>>> [change.kind for _, change in islice(credit.changes(0.001, 1, 0), 3)]
['fill', 'fill', 'fill']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import error

if TYPE_CHECKING:
    from xstreamcast.generate.generator import Generator

NAMES: Final = (
    "xmark", "dblp", "credit", "stock", "commodities", "currencies",
    "packets", "radar", "traffic", "satellite", "microscope", "items",
)  # fmt: skip
"""Every generator; each is the module of its name, loaded when asked for."""


def find(name: str) -> Generator:
    """The generator of a name."""
    if name not in NAMES:
        from difflib import get_close_matches

        close = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"one of {', '.join(NAMES)}"
        raise error("XSC0050", f"no generator named {name!r}", hint=hint)
    found: Generator = import_module(f"xstreamcast.generate.{name}").GENERATOR
    return found
