"""Peak of anonymous memory of `xcast query` on a document and on one ten times its size: a process for each.

The counting and selecting queries of ours; for comparison, one of them with the other tools.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench import peers
from bench.cases import CASES, Case, find
from bench.measure import measure, table
from bench.shell import command

COMPARED = "xmark-5"


def run() -> None:
    """Print one table: a row per query and tool."""
    wanted = [(peers.OURS, case) for case in CASES if case.selective]
    wanted += [(tool, find(COMPARED)) for tool in peers.tools() if tool in peers.WORKERS and tool != peers.OURS]
    small, large = (find(COMPARED).document(factor).stat().st_size / 1e6 for factor in (0.1, 1.0))
    rows = [[case.name, tool, *_row(tool, case)] for tool, case in wanted]
    table(["query", "tool", f"MB, document of {small:.1f} MB", f"MB, document of {large:.0f} MB", "growth, MB"], rows)


def _row(tool: str, case: Case) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        peaks = [measure(command(tool, case, case.document(factor), Path(folder))).megabytes for factor in (0.1, 1.0)]
    return [f"{peaks[0]:.1f}", f"{peaks[1]:.1f}", f"{peaks[1] - peaks[0]:+.1f}"]
