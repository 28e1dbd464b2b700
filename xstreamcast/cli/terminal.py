"""What the commands share: progress on a terminal, diagnostics on stderr, output files that are whole or not there."""

from __future__ import annotations

import gzip
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from xstreamcast.errors import error
from xstreamcast.model.diagnostic import Diagnostic

SHOWN = 20
"""So many diagnostics of one code are printed; the others are counted."""


class Diagnostics:
    """Prints diagnostics as they come, at most :data:`SHOWN` of a kind; ``close`` tells how many more there were."""

    def __init__(self, quiet: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self.last: dict[str, Diagnostic] = {}
        self.quiet = quiet

    def __call__(self, diagnostic: Diagnostic) -> None:
        code = diagnostic.code
        self.counts[code] += 1
        self.last[code] = diagnostic
        if self.counts[code] <= SHOWN and not (self.quiet and diagnostic.severity == "note"):
            print(diagnostic, file=sys.stderr)

    def close(self) -> None:
        """The counts of what was not printed."""
        for code, count in self.counts.items():
            if count > SHOWN:
                kind = self.last[code].severity
                print(f"{kind} {code}: {count - SHOWN:,} more like these", file=sys.stderr)


def file_size(path: str | Path) -> int | None:
    """The size of an ordinary file; None for a pipe or a compressed one, whose end cannot be foreseen."""
    try:
        if str(path) == "-" or str(path).endswith((".gz", ".bz2", ".xz")):
            return None
        return os.path.getsize(path)
    except OSError:
        return None


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar in bytes on a terminal's stderr; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def output(path: str | Path | None) -> Iterator[BinaryIO]:
    """Where results go: standard output for None or ``-``, or a file that appears when it is whole."""
    if path is None or str(path) == "-":
        try:
            yield cast(BinaryIO, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            # Who read our output has seen enough, and the interpreter must not complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        return
    final = Path(path)
    if final.is_dir():
        raise error("XSC0006", f"{final} is a folder", hint="name a file in it")
    partial = final.with_name(f".{final.name}.part")
    try:
        file = open(partial, "wb")  # noqa: SIM115 - closed below, on every way out
    except OSError as fault:
        raise error("XSC0006", f"cannot write {final}: {fault.strerror}", hint="does the folder exist?") from None
    try:
        with file:
            if final.name.endswith(".gz"):
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:  # the same bytes under any name
                    yield cast(BinaryIO, packed)
            else:
                yield file
        os.replace(partial, final)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
