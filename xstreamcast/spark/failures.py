"""Errors of a query that tasks meet, as they were raised there; Spark wraps them in what it knows of the task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from xstreamcast.errors import XStreamError, error

_RAISED: Final = re.compile(
    r"^xstreamcast\.errors\.\w+: (?P<code>[A-Z]{4}\d{4}|XSC\d{4}) (?P<rest>.*?)$(?P<more>(?:\n +.*$)*)", re.M
)


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise an error of ours that a task has met as what it is; others go on as they are."""
    try:
        yield
    except XStreamError:
        raise
    except Exception as failure:
        found = list(_RAISED.finditer(str(failure)))
        if not found:
            raise
        match = found[-1]
        more = [line for line in match["more"].splitlines() if line.strip()]
        hint = next((line.strip().removeprefix("hint: ") for line in more if line.strip().startswith("hint: ")), "")
        raise error(match["code"], match["rest"], hint=hint) from None
