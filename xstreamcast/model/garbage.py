"""The collector of garbage, while much is made that is kept: to look through that would cost as much as making it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def not_collecting(settles: bool = False) -> Iterator[None]:
    """Look for no garbage meanwhile. ``settles``: what has been made is old afterwards, and not looked through soon."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if settles:
                settle()
            gc.enable()


def settle() -> None:
    """What has been made is old from now on. It is not for little: to see whether somebody has frozen things, all of
    those are counted."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
