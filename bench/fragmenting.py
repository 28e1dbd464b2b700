"""Cutting XMark documents into fragments and rebuilding them, beside lxml only parsing the same file.

Peak is that of anonymous memory: fragmenting must not need more for a larger document (a rebuilt one is held whole).
"""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from bench.documents import xmark
from bench.measure import measure, table

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
