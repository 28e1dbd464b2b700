"""``xcast generate``: a generator's document, streams, or both.

One document or one stream goes to a file (gzip where its name ends in ``.gz``, ``-`` is standard output). Several
go to a folder: ``document.xml``, ``structure.xml`` (or one per stream), and a file for each stream. With a rate,
changes appear in wall-clock time: a file grows change by change, and in a folder each stream is a directory of small
files in name order, each renamed into place when it is whole. A file that is written at a rate and interrupted is
closed where it stopped, and says so; any other unfinished file is removed.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final, cast

from xstreamcast.cli.options import Argument, Option
from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from xstreamcast.generate.generator import Generator
    from xstreamcast.model.change import Change

UPDATES: Final = 1000
"""Changes after the initial fragments, unless said otherwise."""

_TICK: Final = 0.1
"""In a growing directory, changes due within so many seconds share a file."""

Step = Callable[[int], None]
"""Hears how many bytes more have been written."""


def _list() -> None:
    from xstreamcast.generate import NAMES, find

    for name in NAMES:
        print(f"{name:<12} {find(name).summary}")


def generate_command(
    name: Annotated[str, Argument(metavar="NAME", help="What to generate; --list shows all.")],
    out: Annotated[str, Option("-o", "--out", metavar="OUT", help="A file, a folder, or - for stdout.")],
    factor: Annotated[float, Option(help="Size: the counts of factor 1, times this.")] = 1.0,
    seed: Annotated[int, Option(help="Equal seeds give equal bytes.")] = 1,
    updates: Annotated[int | None, Option(help=f"Changes after the initial fragments ({UPDATES} if left out).")] = None,
    rate: Annotated[float | None, Option(help="Changes per second of wall-clock time.")] = None,
    _: Annotated[bool, Option("--list", instead=_list, help="Show every generator and leave.")] = False,
) -> None:
    """Write one of the papers' documents or streams, at any size, the same for equal seeds.

    OUT is a file for one document or one stream, a folder for several; at a rate a folder's streams are directories
    that grow. Generators: xmark, dblp, credit, stock, commodities, currencies, packets, radar, traffic, satellite,
    microscope, items (--list says what they are).

    Examples:

      xcast generate xmark --factor 0.1 -o auction.xml

      xcast generate credit --updates 5000 -o credit.xml.gz

      xcast generate stock -o market/

      xcast generate packets --rate 50 -o live/

      xcast generate credit --factor 0.01 --rate 100 -o - | xcast materialise -
    """
    from xstreamcast.cli.terminal import progress_bar

    with progress_bar(f"generating {name}", None) as step:
        generate(name, out, factor=factor, seed=seed, updates=updates, rate=rate, step=step)


@dataclass(frozen=True, slots=True)
class _Job:
    """The order to write: a generator and its arguments."""

    made: Generator
    factor: float
    seed: int
    updates: int
    rate: float | None
    step: Step

    def document(self) -> Iterator[bytes]:
        """The document's chunks, each counted."""
        if self.made.document is not None:
            for chunk in self.made.document(self.factor, self.seed):
                yield chunk
                self.step(len(chunk))

    def changes(self) -> Iterator[tuple[str, Change]]:
        """The changes, each not before its time: the n-th is due n / rate seconds after the first."""
        if self.made.changes is None:
            return
        begin = time.monotonic()
        for number, (stream, change) in enumerate(self.made.changes(self.factor, self.seed, self.updates)):
            if self.rate is not None:
                wait = begin + number / self.rate - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
            yield stream, change
            self.step(len(getattr(change, "content", b"")))


def generate(
    name: str,
    out: str,
    *,
    factor: float = 1.0,
    seed: int = 1,
    updates: int | None = None,
    rate: float | None = None,
    step: Step = lambda _: None,
) -> None:
    """Write what a generator makes to a file or a folder."""
    from xstreamcast.generate import find

    made = find(name)
    _check(made, factor, updates, rate)
    job = _Job(made, factor, seed, UPDATES if updates is None else updates, rate, step)
    try:
        if not _is_folder(made, out):
            _write_file(job, out)
        elif rate is None:
            _write_folder(job, Path(out))
        else:
            _grow_folder(job, Path(out), rate)
    except (BrokenPipeError, XStreamError):
        raise
    except OSError as fault:
        where = fault.filename or out
        raise error("XSC0006", f"cannot write {where}: {fault.strerror}", hint="choose another place with -o") from None


def _check(made: Generator, factor: float, updates: int | None, rate: float | None) -> None:
    if not (math.isfinite(factor) and factor > 0):
        raise error("XSC0051", f"factor {factor:g}", hint="a number above 0, such as 0.1 or 10")
    if updates is not None and updates < 0:
        raise error("XSC0051", f"{updates} updates", hint="a whole number from 0 up")
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise error("XSC0051", f"rate {rate:g}", hint="changes per second, above 0")
    if made.changes is None and (updates is not None or rate is not None):
        option = "--updates" if updates is not None else "--rate"
        raise error("XSC0051", f"{made.name} is a stored document, {option} has no meaning for it", hint="leave it out")


def _is_folder(made: Generator, out: str) -> bool:
    """Whether OUT is a folder: it is one, ends in a slash, or the result is several and the name is no file's."""
    if out != "-" and (out.endswith(("/", os.sep)) or Path(out).is_dir()):
        return True
    names_a_file = out == "-" or bool(Path(out).suffix)
    if len(made.structures) > 1 and names_a_file:
        streams = ", ".join(made.structures)
        raise error("XSC0051", f"{made.name} makes several streams: {streams}", hint=f"give a folder: -o {made.name}/")
    return bool(made.structures) and not names_a_file


def _write_file(job: _Job, out: str) -> None:
    """The document, or the only stream: its structure, then change after change."""
    from xstreamcast.cli.terminal import output
    from xstreamcast.model.structure import parse_structure
    from xstreamcast.wire.fragment import FragmentWriter

    opened: AbstractContextManager[BinaryIO] = output(out) if job.rate is None or out == "-" else _followed(Path(out))
    with opened as file:
        if job.made.changes is None:
            file.writelines(job.document())
            return
        (structure,) = job.made.structures.values()
        writer = FragmentWriter(file, parse_structure(structure))
        written = 0
        try:
            for _, change in job.changes():
                writer.write(change)
                written += 1
                if job.rate is not None:
                    file.flush()
        except KeyboardInterrupt:
            file.write(f"<!-- interrupted after {written} changes -->\n".encode())
            writer.close()
            raise
        writer.close()


@contextmanager
def _followed(path: Path) -> Iterator[BinaryIO]:
    """A file that readers may follow while it is written, so it has its name from the start."""
    with path.open("wb") as file:
        if path.suffix == ".gz":
            import gzip

            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            yield file


def _write_context(job: _Job, folder: Path) -> None:
    """The document and the structures, which stand beside the streams."""
    from xstreamcast.cli.terminal import output
    from xstreamcast.model.structure import parse_structure, write_structure

    folder.mkdir(parents=True, exist_ok=True)
    if job.made.document is not None:
        with output(folder / "document.xml") as file:
            file.writelines(job.document())
    for stream, structure in job.made.structures.items():
        name = "structure.xml" if len(job.made.structures) == 1 else f"structure-{stream}.xml"
        with output(folder / name) as file:
            file.write(write_structure(parse_structure(structure)).encode() + b"\n")


def _write_folder(job: _Job, folder: Path) -> None:
    from xstreamcast.cli.terminal import output
    from xstreamcast.model.structure import parse_structure
    from xstreamcast.wire.fragment import FragmentWriter

    _write_context(job, folder)
    with ExitStack() as stack:
        writers = {
            stream: FragmentWriter(stack.enter_context(output(folder / f"{stream}.xml")), parse_structure(structure))
            for stream, structure in job.made.structures.items()
        }
        for stream, change in job.changes():
            writers[stream].write(change)
        for writer in writers.values():
            writer.close()


class _GrowingDirectory:
    """A stream as files that appear whole, in name order = arrival order; the first one holds the structure."""

    def __init__(self, folder: Path, structure: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise error("XSC0006", f"{folder} is not empty", hint="a stream that grows begins in an empty directory")
        self.folder = folder
        self.structure: str | None = structure
        self.number = 0
        self.changes: list[Change] = []
        self.due = 0.0

    def add(self, change: Change) -> None:
        if not self.changes:
            self.due = time.monotonic() + _TICK
        self.changes.append(change)

    def publish(self) -> None:
        """The gathered changes become a file."""
        from xstreamcast.cli.terminal import output
        from xstreamcast.model.structure import parse_structure
        from xstreamcast.wire.fragment import FragmentWriter

        if not self.changes and self.structure is None:
            return
        with output(self.folder / f"{self.number:012}.xml") as file:
            writer = FragmentWriter(file, parse_structure(self.structure) if self.structure is not None else None)
            for change in self.changes:
                writer.write(change)
            writer.close()
        self.number += 1
        self.changes, self.structure = [], None


def _grow_folder(job: _Job, folder: Path, rate: float) -> None:
    directories = {
        stream: _GrowingDirectory(folder / stream, structure) for stream, structure in job.made.structures.items()
    }
    _write_context(job, folder)
    for directory in directories.values():
        directory.publish()
    try:
        for stream, change in job.changes():
            directories[stream].add(change)
            now = time.monotonic()
            for directory in directories.values():
                # At a low rate each change has a file of its own, at once.
                if directory.changes and (now >= directory.due or rate <= 1 / _TICK):
                    directory.publish()
    finally:
        # Interrupted or not, what has been sent is whole.
        for directory in directories.values():
            directory.publish()
    if sys.stderr.isatty():
        print(f"{sum(directory.number for directory in directories.values()):,} files", file=sys.stderr)
