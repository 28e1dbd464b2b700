"""How deep a document may be: elements within elements, in the holes of fragments too. One limit for all that is read.

Deeper than a few dozen levels no document is that people use; a few kilobytes, compressed, may have millions, and each
costs memory as long as it is open. What is deeper than the limit is XSC0007 where it becomes so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from xstreamcast.errors import Place, XStreamError, error

DEFAULT: Final = 10_000
VARIABLE: Final = "XCAST_MAX_DEPTH"
"""The variable of the environment that tells processes which a command or Spark starts."""


class _Limit:
    levels = DEFAULT


def deepest() -> int:
    """The levels of elements that a document may have."""
    return _Limit.levels


def limit_depth(levels: int) -> int:
    """Documents may be so deep from now on, in this process and in those that it starts; the limit before."""
    if levels < 1:
        raise ValueError(f"a document has one level at least, not {levels}")
    before, _Limit.levels = _Limit.levels, levels
    os.environ[VARIABLE] = str(levels)
    return before


def too_deep(place: Place | None = None, within: str = "") -> XStreamError:
    """XSC0007."""
    message = f"more than {deepest()} elements within each other{within}"
    return error("XSC0007", message, place, "if that is meant: --max-depth, or limit_depth() in Python")


Work = Iterator["Work"]
"""Some work, which gives the work that is to be done before it goes on: the depth of a document is not Python's."""


def work_off(work: Work) -> None:
    """Do some work, and all that is to be done for it."""
    stack = [work]
    while stack:
        for more in stack[-1]:
            stack.append(more)
            break
        else:
            stack.pop()


if os.environ.get(VARIABLE, "").isdecimal() and int(os.environ[VARIABLE]):
    limit_depth(int(os.environ[VARIABLE]))
