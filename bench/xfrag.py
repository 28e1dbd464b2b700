"""WebDB'05 §6, figure 5: its three queries over an XMark document of factor 0.2 (23 MB, as in the paper) in fragments.

In document order, shuffled, and with parents taken for granted (``--assume rooted``); beside Saxon on the whole
document. Both times are from the file to the texts of the answer, warm. The paper's XFrag needed 2 MB for the first
query and at most 10 MB for the others, Qizx 60 MB, and XFrag took twice as long as Qizx. What XFrag had put out it
could forget, for nothing was replaced or removed there. The same is said here for the memory (``--fixed '*'``), in a
run of its own: the plot shows how that of the process grows while the stream is read. The content stays in the file.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.documents import xmark
from bench.measure import anonymous, progress, table
from bench.plots import Lines, Plot
from bench.streams import fragments

if TYPE_CHECKING:
    from xstreamcast import ContinuousQuery
    from xstreamcast.cast import Order

FACTOR: Final = 0.2
QUERIES: Final = {
    "1": "/site/open_auctions//increase",
    "2": '/site/open_auctions/open_auction[initial > "10"]/bidder',
    "3": '/site/open_auctions/open_auction/bidder[increase > "200"]',
}
WAYS: Final[dict[str, tuple[Order, str | None]]] = {
    "document order": ("document", None),
    "shuffled": ("shuffle", None),
    "rooted": ("document", "rooted"),
}


def run() -> list[Plot]:
    """Print the table of times and memory, and plot the memory along the stream."""
    document = str(xmark(FACTOR))
    rows, panels = [], {}
    for name, path in QUERIES.items():
        progress(f"xfrag {name}")
        peer, answer = _saxon(path, document)
        lines: dict[str, tuple[list[float], list[float]]] = {}
        for way, (order, assume) in WAYS.items():
            progress(f"xfrag {name} {way}")
            told = process(str(fragments(FACTOR, order)), path, assume)
            lines[way] = told["along"], told["held"]
            same = "yes" if told["length"] == len(answer) else f"no: {told['length']} instead of {len(answer)}"
            counts = f"{told['opened']:,}", f"{told['skipped']:,}", f"{told['peak']:.0f}"
            rows.append((name, way, f"{told['cpu']:.2f}", f"{peer:.2f}", f"{peer / told['cpu']:.1f}×", *counts, same))
        panels[f"query {name}"] = lines
    names = ("query", "fragments", "CPU s", "Saxon's", "times as fast", "opened", "skipped", "MB more", "same answer")
    table(names, rows)
    return [Lines("xfrag-memory.svg", "Memory while the fragments are read", "MB", "fragments", panels)]


def _saxon(path: str, document: str) -> tuple[float, str]:
    """The best of two: seconds to parse a document and to ask it, and the answer."""
    from bench.peers import saxon as processor

    best, answer = 1e9, ""
    for _ in range(2):
        began = time.process_time()
        engine: Any = processor().new_xquery_processor()
        engine.set_context(xdm_item=processor().parse_xml(xml_file_name=document))
        answer = engine.run_query_to_string(query_text=f"string-join({path}, '|')", lang="3.1") or ""
        best = min(best, time.process_time() - began)
    return best, answer.split("?>", 1)[-1]


def process(stream: str, path: str, assume: str | None) -> dict[str, Any]:
    """A run in a process of its own, warm, whose memory nothing else is in."""
    import json

    command = [sys.executable, "-m", "bench.xfrag", stream, path, assume or ""]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told


def main() -> None:
    """A worker's whole life: once to warm up, once for the time, once for the memory."""
    import json

    from xstreamcast import continuous_many

    stream, path, assume = sys.argv[1], sys.argv[2], sys.argv[3] or None
    status = Path("/proc/self/status")
    told: dict[str, Any] = {}
    for turn in range(3):
        inflow = continuous_many([f'stream("s"){path}'], assume=assume, fixed="*" if turn == 2 else None)
        (query,) = inflow.queries
        along: list[int] = []
        held: list[float] = []
        gc.collect()
        base = anonymous(status)

        def note(
            done: int,
            along: list[int] = along,
            held: list[float] = held,
            base: int = base,
            query: ContinuousQuery = query,
        ) -> None:
            query.take()
            along.append(done)
            held.append((anonymous(status) - base) / 1e6)

        began = time.process_time()
        if turn == 2:
            inflow.load(stream, "s", note)
        else:
            inflow.load(stream, "s")
        if turn == 1:
            told = {"length": len("|".join(node.string for node in query.answer().items()))}
            told["cpu"] = time.process_time() - began
            counts = query.state()["streams"]["s"]
            told |= {"opened": counts["opened"], "skipped": counts["skipped"]}
        elif turn == 2:
            told |= {"along": along, "held": held, "peak": max(held, default=0.0)}
        del inflow, query
    print(json.dumps(told))


if __name__ == "__main__":
    main()
