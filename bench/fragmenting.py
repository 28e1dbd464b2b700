"""Cutting XMark documents into fragments and rebuilding them, beside lxml only parsing the same file.

Peak is that of anonymous memory: fragmenting must not need more for a larger document (of a rebuilt one the regions are
held, not their contents). ``python, numba`` is what loading them costs before any work; the rows below include it.
The second table is warm, in one process: fragments read per second of CPU time, from a file.
"""

from __future__ import annotations

import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from bench.documents import xmark
from bench.measure import measure, table

_LOADED = "import numpy; from numba import njit; njit(lambda x: x)"
_LXML = "import sys; from lxml import etree; etree.parse(sys.argv[1])"
_FRAGMENTS = "item,category,person,open_auction,bidder,closed_auction"


def run() -> None:
    """Print one table: a row per document and command."""
    xcast = [sys.executable, "-m", "xstreamcast"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        tags, stream, back = (str(Path(folder) / name) for name in ("tags.xml", "stream.xml", "back.xml"))
        for factor in (0.1, 1.0):
            document = str(xmark(factor))
            size = Path(document).stat().st_size
            commands = {
                f"lxml {version('lxml')} parse": [sys.executable, "-c", _LXML, document],
                f"python, numba {version('numba')}": [sys.executable, "-c", _LOADED],
                "xcast structure": [*xcast, "structure", document, "--fragment", _FRAGMENTS, "-o", tags],
                "xcast fragment, document order": [*xcast, "fragment", document, "--structure", tags, "-o", stream],
                "xcast fragment, shuffled": [
                    *xcast, "fragment", document, "--structure", tags, "--order", "shuffle", "-o", stream,
                ],
                "xcast materialise": [*xcast, "materialise", stream, "-o", back],
            }  # fmt: skip
            peer = 0.0
            for name, command in commands.items():
                cost = measure(command)
                peer = peer or cost.cpu
                cells = f"{size / 1e6:.1f}", name, f"{cost.cpu:.2f}", f"{cost.wall:.2f}", f"{cost.cpu / peer:.1f}×"
                rows.append((*cells, f"{size / 1e6 / cost.cpu:.0f}", f"{cost.megabytes:.0f}"))
        table(("MB", "command", "CPU s", "wall s", "of lxml's CPU", "MB/s", "peak MB"), rows)
        reading(stream)


def reading(stream: str) -> None:
    """Fragments per second: as batches of columns, as changes, and by the exact reader alone."""
    from xstreamcast.cast.reader import read_batches
    from xstreamcast.wire.fragment import Arrival, read_stream

    def batches() -> int:
        return sum(1 if isinstance(stretch, Arrival) else len(stretch) for stretch in read_batches(stream))

    def changes() -> int:
        stretches = read_batches(stream)
        return sum(1 if isinstance(found, Arrival) else sum(1 for _ in found.arrivals()) for found in stretches)

    def exactly() -> int:
        return sum(1 for _ in read_stream(stream))

    rows = []
    size = Path(stream).stat().st_size
    for name, read in (("batches of columns", batches), ("changes", changes), ("the exact reader", exactly)):
        batches()  # warm
        began = time.process_time()
        count = read()
        cpu = time.process_time() - began
        rows.append((name, f"{count:,}", f"{cpu:.2f}", f"{count / cpu:,.0f}", f"{size / 1e6 / cpu:.0f}"))
    print()
    table(("reading fragments as", "fragments", "CPU s", "fragments/s", "MB/s"), rows)
