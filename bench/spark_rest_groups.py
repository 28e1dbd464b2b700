"""Groups, sorts and joins of stored documents on Spark: what they cost beside the embedded engine.

A part of :mod:`bench.spark_rest`. The first document has a million items of 790,000 locations; the second is XMark's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any, Final

from bench import documents
from bench.measure import progress, table

MASTER: Final = "local[2]"
_ITEMS: Final = 1_000_000
_CASES: Final = {
    "groups: count": 'for $i in //item group by $l := $i/location return <l n="{$l}">{ count($i) }</l>',
    "groups: sum, max": "for $i in //item group by $l := $i/location return <l>{ sum($i/price), max($i/price) }</l>",
    "order by number": "for $i in //item order by number($i/price) return $i/@id/string()",
    "order by text": "for $i in //item order by $i/location return $i",
}
_JOINS: Final = ("q08", "q09", "q10")
_XMARK: Final = Path(__file__).parents[1] / "tests" / "fixtures" / "xmark"


def items() -> Path:
    """The document of items, made once."""
    count = round(_ITEMS * documents.scaled())
    made = Path(tempfile.gettempdir()) / "xstreamcast-bench" / f"items-{count}.xml"
    made.parent.mkdir(exist_ok=True)
    if not made.exists():
        random, part = Random(1), made.with_suffix(".part")
        with part.open("w") as out:
            out.write("<site>")
            for k in range(count):
                place, price = random.randrange(2 * count), k % 1000 / 4
                out.write(f'<item id="i{k}"><location>L{place}</location><price>{price}</price></item>\n')
            out.write("</site>")
        part.rename(made)
    return made


def run() -> None:
    """Print a table."""
    asked = [(name, text, str(items())) for name, text in _CASES.items()]
    large = str(documents.xmark(1))
    asked += [(f"XMark {int(name[1:])}", (_XMARK / f"{name}.xq").read_text(), large) for name in _JOINS]
    given = json.dumps(asked)
    lines = []
    for engine in ("embedded", "spark"):
        progress(f"groups, sorts and joins, {engine}")
        command = [sys.executable, "-m", "bench.spark_rest_groups", engine]
        ran = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True)
        lines.append(json.loads(ran.stdout.splitlines()[-1]))
    rows = []
    for (name, *_), (cpu, count), (wall, worked, same) in zip(asked, *lines, strict=True):
        per_row = f"{worked / count * 1e6:.1f}"
        ratio = f"{worked / cpu:.1f}×"
        told = "yes" if same == count else "no"
        rows.append((name, f"{count:,}", f"{cpu:.1f}", f"{worked:.1f}", per_row, ratio, f"{wall:.1f}", told))
    print("Groups, sorts and joins; the CPU seconds of Spark are those of its Python workers.\n")
    head = ("", "items", "embedded, CPU s", f"{MASTER}, CPU s", "µs an item", "of embedded", "wall s", "as many")
    table(head, rows)


def _embedded(asked: list[tuple[str, str, str]]) -> None:
    from xstreamcast import query
    from xstreamcast.model.serialise import serialise

    found = []
    for _, text, document in asked:
        began = time.process_time()
        answer = list(query(text, context=Path(document)))
        serialise(answer, method="adaptive")
        found.append((time.process_time() - began, len(answer)))
    print(json.dumps(found))


def _on_spark(asked: list[tuple[str, str, str]]) -> None:
    from xstreamcast.spark import query, session

    settings: dict[str, Any] = {"spark.driver.memory": "4g"}
    spark = session("bench", MASTER, **settings)
    found = []
    for name, text, document in [asked[0], *asked]:  # the first once more: all is loaded then
        progress(f"{name} in {MASTER}")
        began, worked = time.perf_counter(), _worked()
        (row,) = query(spark, text, context=document).selectExpr("count(*) AS n", "sum(hash(value))").collect()
        found.append((time.perf_counter() - began, _worked() - worked, row.n))
    print(json.dumps(found[1:]), flush=True)
    spark.stop()


def _worked() -> float:
    """The CPU seconds of the Python workers below this process, of those that have ended as well."""
    found, parents = 0.0, {}
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                fields = (process / "stat").read_text().rpartition(") ")[2].split()
                daemon = b"pyspark.daemon" in (process / "cmdline").read_bytes()
            except OSError:
                continue
            parents[int(process.name)] = int(fields[1]), sum(map(int, fields[11:15])) if daemon else 0
    for number in parents:
        above = number
        while above in parents and above != os.getpid():
            above = parents[above][0]
        if above == os.getpid():
            found += parents[number][1]
    return found / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    read = json.loads(sys.stdin.read())
    _embedded(read) if sys.argv[1] == "embedded" else _on_spark(read)
