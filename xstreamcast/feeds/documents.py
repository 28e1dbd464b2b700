"""The documents of a feed: files, folders and archives of them, and those that appear there later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from xstreamcast.errors import XStreamError
from xstreamcast.feeds.feed import Feed
from xstreamcast.run.stored import in_archives, opened

POLL: Final = 0.5
"""Seconds between two looks for further documents."""


def documents(
    feed: Feed, sources: Sequence[str], follow: bool, until_idle: float | None, poll: float = POLL
) -> Iterator[str | None]:
    """What is to be read, in the order of the sources, of a folder in that of its names, of an archive in its own.

    None: nothing, for a while.
    """
    last = monotonic()
    while True:
        for source in sources:
            path = Path(source)
            if source == "-":
                yield source
                continue
            for file in _found(path, follow):
                if _is_new(feed, file):
                    yield str(file)
                    last = monotonic()
        if not follow or (until_idle is not None and monotonic() - last >= until_idle):
            return
        yield None
        sleep(poll)


def _found(path: Path, follow: bool) -> Iterator[Path]:
    """The documents that are there now."""
    if not path.exists():
        yield from in_archives(path) or ()
        return
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if not file.name.startswith(".") and file.is_file():
            try:
                yield from opened([file])
            except XStreamError:
                if not follow:
                    raise
                yield file  # an archive that is damaged: reading it tells


def _is_new(feed: Feed, file: Path) -> bool:
    try:
        return not feed.has_read(file) and not feed.has_refused(file)
    except FileNotFoundError:  # somebody clears away what has been read
        return False
