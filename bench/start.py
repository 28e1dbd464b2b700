"""Start-up, from the shell: `xcast --version`, a tiny file, and `xcast query 'count(//item)'` on 116 MB.

Beside them scripts of a few lines that count the same: lxml's iterparse with `tag=` and clearing of siblings, and
saxonche. Each command is run seven times, in turn with the others; the figure is the median of CPU seconds, and of wall
seconds. Modules are compiled before, as they are where a wheel is installed; the kernels' code is on disk.

The second table has small documents in a process that has asked the query of them before: milliseconds of CPU from the
file to the answer, medians of seven.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

import xstreamcast
from bench import peers
from bench.cases import find
from bench.documents import xmark
from bench.measure import table

TIMES: Final = 7
TINY: Final = "<r><item>1</item><item>2</item></r>"
QUERY: Final = "count(//item)"

LXML: Final = """
import sys
from lxml import etree
found = 0
for _, item in etree.iterparse(sys.argv[1], tag="item"):
    found += 1
    item.clear()
    while item.getprevious() is not None:
        del item.getparent()[0]
print(found)
"""

SAXON: Final = f"""
import sys
import saxonche
processor = saxonche.PySaxonProcessor(license=False)
engine = processor.new_xquery_processor()
engine.set_context(xdm_item=processor.parse_xml(xml_file_name=sys.argv[1]))
print(engine.run_query_to_string(query_text={QUERY!r}))
"""


SMALL: Final = ("xmark-1", "xmark-5", "xmark-20", "vldb05-satellite")
FACTORS: Final = (0.0025, 0.01, 0.02, 0.035)


def commands(tiny: Path, large: Path) -> dict[tuple[str, str], list[str]]:
    """(row, tool) → what is typed."""
    ours = [sys.executable, "-m", "xstreamcast"]
    typed = {("xcast --version", peers.OURS): [*ours, "--version"]}
    for row, document in (("a tiny file", tiny), (f"{large.stat().st_size / 1e6:.0f} MB", large)):
        typed[row, peers.OURS] = [*ours, "query", QUERY, str(document)]
        typed[row, "lxml"] = [sys.executable, "-c", LXML, str(document)]
        typed[row, "saxonche"] = [sys.executable, "-c", SAXON, str(document)]
    return typed


def cost(command: list[str]) -> tuple[float, float, str]:
    """CPU seconds, wall seconds, and the last word of what was printed."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.read()
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    if code:
        sys.exit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began, told.split()[-1].rpartition(">")[2]


def small() -> None:
    """Print a table of small documents: a row for each query and size."""
    rows = []
    for case in map(find, SMALL):
        for factor in FACTORS:
            document = case.document(factor)
            spent = {}
            for tool, parts in peers.WORKERS.items():
                peers.once(parts, case, str(document))
                spent[tool] = 1e3 * median(peers.once(parts, case, str(document))[0].cpu for _ in range(TIMES))
            ours = spent[peers.OURS]
            cells = [f"{cost:.1f}" + (f" ({cost / ours:.1f}×)" if cost is not ours else "") for cost in spent.values()]
            rows.append([case.name, f"{document.stat().st_size / 1e6:.2f}", *cells])
    table(["query", "MB", *(f"{tool} {peers.tools()[tool]}, ms" for tool in peers.WORKERS)], rows)


def run() -> None:
    """Print two tables: start-up, and small documents."""
    compileall.compile_dir(Path(xstreamcast.__file__).parent, quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.xml"
        tiny.write_text(TINY, encoding="utf-8")
        typed = commands(tiny, xmark(1.0))
        runs = [{of: cost(command) for of, command in typed.items()} for _ in range(TIMES)]
    rows = []
    for row in dict.fromkeys(row for row, _ in typed):
        tools = [tool for of, tool in typed if of == row]
        if len({runs[0][row, tool][2] for tool in tools}) > 1:
            sys.exit(f"{row}: the answers differ")
        spent = {
            tool: (median(run[row, tool][0] for run in runs), median(run[row, tool][1] for run in runs))
            for tool in tools
        }
        cells = [f"{spent[peers.OURS][0]:.3f} / {spent[peers.OURS][1]:.2f}"]
        for tool in tools[1:]:
            cpu, wall = spent[tool]
            cells.append(f"{cpu:.3f} / {wall:.2f} ({cpu / spent[peers.OURS][0]:.1f}×)")
        rows.append([row, *cells, *[""] * (3 - len(cells))])
    table(["CPU s / wall s", *(f"{tool} {peers.tools()[tool]}" for tool in peers.WORKERS)], rows)
    print()
    small()
