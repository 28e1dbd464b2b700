"""Groups, sorts and distinct values of a million items in 787,000 groups, and XMark's joins and its sort.

Each query from the shell, start-up included, in a process of its own that writes its answer to a file: `xcast query`,
the same with `--memory 64MB`, and an lxml script as an expert would write it, with a dict or `sorted`
(`bench/cardinality_by_hand.py`, `bench/iterparse.py`). CPU seconds, and the peak of anonymous memory in MB. The answers
are compared: ≠ is one that differs. XMark's queries run in processes that have asked them of
a document of 10 MB before, as under *single_pass*.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from bench import peers
from bench.answers import same
from bench.cases import Case, find
from bench.documents import xmark
from bench.measure import Measured, measure, progress, table
from bench.peers import OURS
from bench.spark_rest_groups import items

LIMIT: Final = "64MB"
_LOOP: Final = "for $i in //item"
QUERIES: Final = {
    "count": f'{_LOOP} group by $l := $i/location return <l n="{{$l}}">{{ count($i) }}</l>',
    "sums": f"{_LOOP} group by $l := $i/location return <l>{{ sum($i/price), max($i/price) }}</l>",
    "by_text": f"{_LOOP} order by $i/location return $i",
    "ids_by_text": f"{_LOOP} order by $i/location return $i/@id/string()",
    "ids_by_number": f"{_LOOP} order by number($i/price) return $i/@id/string()",
    "distinct": "distinct-values(//item/location)",
}
"""By name of their scripts."""
_XMARK: Final = (8, 9, 10, 11, 12, 19)
_BOUNDED: Final = frozenset(QUERIES) - {"distinct"}


def run() -> None:
    """Print one table: a row per query."""
    rows = []
    document, auctions = items(), xmark(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for script, text in QUERIES.items():
            ours = [sys.executable, "-m", "xstreamcast", "query", text, str(document)]
            hand = [sys.executable, "-m", "bench.cardinality_by_hand", script, str(document)]
            bounded = [*ours, "--memory", LIMIT] if script in _BOUNDED else None
            rows.append([f"`{text}`", *_costs(folder, ours, bounded, hand)])
        for number in _XMARK:
            rows.append(_joined(find(f"xmark-{number}"), folder))
    tools = peers.tools()
    print(f"{document.stat().st_size / 1e6:.0f} MB of items, {auctions.stat().st_size / 1e6:.0f} MB of auctions.\n")
    table(
        ["query: CPU s, MB", f"{OURS} {tools[OURS]}", f"with --memory {LIMIT}", f"lxml {tools['lxml']} by hand"], rows
    )


def _costs(folder: Path, ours: list[str], bounded: list[str] | None, hand: list[str]) -> list[str]:
    progress(" ".join(ours[-2:]))
    answer, other = folder / "ours", folder / "other"
    cost = measure(ours, answer)
    cells = [_cell(cost), ""]
    if bounded is not None:
        cells[1] = _cell(measure(bounded, other)) + _differs(answer, other)
    by_hand = measure(hand, other)
    cells.append(f"{_cell(by_hand)} ({by_hand.cpu / cost.cpu:.1f}×){_differs(answer, other)}")
    return cells


def _joined(case: Case, folder: Path) -> list[str]:
    """A query of XMark, in processes that have run it on a small document before."""
    progress(case.name)
    cells = []
    for tool in (OURS, "lxml"):
        cost = peers.run(tool, case, case.warm(), case.document(), folder / tool)
        cells.append(cost.failure or f"{cost.cpu:.2f}, {cost.peak / 1e6:.0f}")
        if tool == OURS:
            ours = cost.cpu
        elif not cost.failure:
            differs = "" if same(folder / OURS, folder / tool) else " ≠"
            cells[-1] += f" ({cost.cpu / ours:.1f}×){differs}"
    return [case.name, cells[0], "", cells[1]]


def _cell(cost: Measured) -> str:
    return f"{cost.cpu:.2f}, {cost.megabytes:.0f}"


def _differs(answer: Path, other: Path) -> str:
    for path in (answer, other):
        path.write_bytes(path.read_bytes().rstrip(b"\n"))  # what ends a line on a terminal
    equal = answer.read_bytes() == other.read_bytes() or same(answer, other)
    return "" if equal else " ≠"
