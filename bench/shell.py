"""End to end from the shell, start-up included: `xcast query`, the same by hand as an lxml script, saxonche in Python.

The counting and selecting queries, each in a process of its own that writes its answer to nowhere.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench import peers
from bench.cases import CASES, Case
from bench.measure import Measured, measure, table


def command(tool: str, case: Case, document: Path, folder: Path) -> list[str]:
    """What a user would type for a case."""
    if tool != peers.OURS:
        return [sys.executable, "-m", "bench.peers", "--script", tool, case.name, str(document)]
    text = folder / f"{case.name}.xq"
    text.write_text(case.query, encoding="utf-8")
    return [sys.executable, "-m", "xstreamcast", "query", "-f", str(text), str(document)]


def run() -> None:
    """Print one table: a row per query."""
    tools = [tool for tool in peers.tools() if tool in peers.WORKERS]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if case.selective:
                costs = {tool: measure(command(tool, case, case.document(), Path(folder))) for tool in tools}
                ours = costs[peers.OURS]
                rows.append([case.name, *(_cell(cost, ours) for cost in costs.values())])
    table(["query: CPU s / wall s", *(f"{tool} {peers.tools()[tool]}" for tool in tools)], rows)


def _cell(cost: Measured, ours: Measured) -> str:
    times = "" if cost is ours else f" ({cost.cpu / ours.cpu:.1f}×, {cost.wall / ours.wall:.1f}×)"
    return f"{cost.cpu:.2f} / {cost.wall:.2f}{times}"
