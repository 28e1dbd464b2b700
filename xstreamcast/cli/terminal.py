"""What the commands share: progress on a terminal, diagnostics on stderr, output files that are whole or not there."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import UnsupportedOperation
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from xstreamcast.cli.interrupts import Owed
from xstreamcast.errors import DocumentWarning, error
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.findings import Findings

if TYPE_CHECKING:
    from rich.progress import Progress

SHOWN = 20
"""So many diagnostics of one code are printed; the others are counted."""


class Diagnostics:
    """Prints diagnostics as they come, at most :data:`SHOWN` of a kind; ``close`` tells how many more there were."""

    def __init__(self, quiet: bool = False) -> None:
        self.findings = Findings(self._show)
        self.quiet = quiet

    def __call__(self, diagnostic: Diagnostic) -> None:
        self.findings(diagnostic)

    def _show(self, diagnostic: Diagnostic) -> None:
        count = self.findings.counts[diagnostic.severity, diagnostic.code]
        if count <= SHOWN and not (self.quiet and diagnostic.severity == "note"):
            sys.stderr.write(f"{diagnostic}\n")  # at once: who interrupts it begins a line

    def close(self) -> None:
        """The counts of what was not printed."""
        for (severity, code), count in self.findings.counts.items():
            if count > SHOWN:
                print(f"{severity} {code}: {count - SHOWN:,} more like these", file=sys.stderr)


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
    with _bytes_bar() as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)


class ScanProgress:
    """How far a scan is, in bytes and MB/s, on a terminal's stderr: from its second second on, and while nothing is
    written to the same terminal."""

    AFTER: Final = 1.0

    def __init__(self, label: str, total: int | None) -> None:
        self.label = label
        self.total = total
        self.shared = sys.stdout.isatty()
        self._since: float | None = None
        self._bar: Progress | None = None

    def __call__(self, done: int) -> None:
        """So many bytes of the input are read."""
        if self._bar is None:
            now = monotonic()
            if self._since is None:
                self._since = now
            if now - self._since < self.AFTER:
                return
            self._bar = _bytes_bar()
            self._bar.add_task(self.label, total=self.total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done)

    def hide(self) -> None:
        """Something is about to be written."""
        if self.shared:
            self.close()
            self._since = monotonic()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def scan_progress(label: str, total: int | None) -> ScanProgress | None:
    """The progress of a scan, where there is a terminal to show it on."""
    return ScanProgress(label, total) if sys.stderr.isatty() else None


def _bytes_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)


@contextmanager
def readers_may_leave() -> Iterator[None]:
    """Who reads our output may have seen enough (``| head``): that is no fault, and we are done."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        sys.exit(0)


def abandon_stdout() -> None:
    """What is still to be written goes nowhere: the interpreter must not complain at exit."""
    with suppress(UnsupportedOperation):  # it is no file of the system's: nobody will complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def output(path: str | Path | None) -> Iterator[BinaryIO]:
    """Where results go: standard output for None or ``-``, or a file that appears when it is whole."""
    if path is None or str(path) == "-":
        yield cast(BinaryIO, sys.stdout.buffer)
        return
    final = Path(path)
    if final.is_dir():
        raise error("XSC0006", f"{final} is a folder", hint="name a file in it")
    # A device, a pipe or a link is written to where it is: a file in its place would take it away.
    in_place = final.is_symlink() or (final.exists() and not final.is_file())
    partial = final if in_place else final.with_name(f".{final.name}.part")
    gone = Owed(lambda: None if in_place else _remove(partial))
    try:
        with _opened(partial, final) as file:
            if final.name.endswith(".gz"):
                import gzip

                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:  # the same bytes under any name
                    yield cast(BinaryIO, packed)
            else:
                yield file
        if not in_place:
            os.replace(partial, final)
    finally:
        gone()


def _remove(partial: Path) -> None:
    with suppress(OSError):  # it could not be made in the first place, or is whole
        partial.unlink()


def _opened(partial: Path, final: Path) -> BinaryIO:
    try:
        return open(partial, "wb")
    except OSError as fault:
        raise error("XSC0006", f"cannot write {final}: {fault.strerror}", hint="does the folder exist?") from None


@contextmanager
def warnings_told() -> Iterator[None]:
    """What may not be meant of a document is told on standard error, as other warnings are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DocumentWarning)
        warnings.showwarning = lambda message, *_: print(f"xcast: warning: {message}", file=sys.stderr)
        yield
