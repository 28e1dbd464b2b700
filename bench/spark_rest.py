"""Stored documents on Spark: the same extraction with our source and with Spark's own XML source, in one session.

XMark 1 (one person's name), XMark 5 (a count with a condition) and rows of all items (id, location, quantity), on the
116 MB document and on one nine times as long, in ``local[1]`` and ``local[2]``. Spark's source has an explicit schema.
All is warm: each is run twice, then five times in turn with the others; the figure is the median of wall seconds. Seams
are found anew in each run. PyPI's ``super-xml`` runs beside them for the rows if ``SUPERXML`` names a folder that it is
installed to (``pip install --no-deps --target FOLDER super-xml``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import documents
from bench.measure import progress, table

TIMES: Final = 5
WARM: Final = 2
LONGER: Final = 9
MASTERS: Final = ("local[1]", "local[2]")
OURS: Final = "xstreamcast"
SPARK: Final = "Spark's xml"
OTHER: Final = "super-xml"
CASES: Final = ("XMark 1", "XMark 5", "items")

_FIRST: Final = 'for $b in /site/people/person[@id = "person0"] return $b/name/text()'
_FIFTH: Final = "count(for $i in /site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price)"
_ITEMS: Final = {"id": "@id as xs:string", "location": "location as xs:string", "quantity": "quantity as xs:long"}

Job = Callable[[], Any]
"""One run; what it gives is compared."""


def longer(document: Path, times: int) -> Path:
    """A document with the content of another so many times."""
    made = Path(tempfile.gettempdir()) / "xstreamcast-bench" / f"{document.stem}-x{times}.xml"
    made.parent.mkdir(exist_ok=True)
    if not made.exists():
        text = document.read_bytes()
        begin = text.index(b"<site>") + len(b"<site>")
        end = text.rindex(b"</site>")
        part = made.with_suffix(".part")
        with part.open("wb") as out:
            out.write(text[:begin])
            for _ in range(times):
                out.write(text[begin:end])
            out.write(text[end:])
        part.rename(made)
    return made


def jobs(spark: Any, document: str) -> dict[tuple[str, str], Job]:
    """What is measured, by case and tool."""
    from pyspark.sql import functions as f

    from xstreamcast.spark.at_rest import query
    from xstreamcast.spark.indexing import forget_seams

    def ours(text: str) -> Any:
        forget_seams()
        return query(spark, text, context=document).collect()

    def theirs(row: str, schema: str) -> Any:
        return spark.read.format("xml").option("rowTag", row).schema(schema).load(document)

    def rows(frame: Any) -> Any:
        """Take every row and column without keeping them; how many there are, and a sum that depends on all."""
        hashed = f.sum(f.hash("id", "location", "quantity").cast("long"))
        return tuple(frame.agg(f.count("*"), hashed).first())

    def our_items() -> Any:
        forget_seams()
        reading = spark.read.format("xstreamcast").option("record", "/site/regions/*/item")
        typed = reading.option("columns", json.dumps(_ITEMS)).schema("id string, location string, quantity long")
        return rows(typed.load(document))

    def their_items() -> Any:
        frame = theirs("item", "_id string, location string, quantity long")
        return rows(frame.withColumnRenamed("_id", "id"))

    person, auction = "_id string, name string", "price double"
    made: dict[tuple[str, str], Job] = {
        ("XMark 1", OURS): lambda: [row.value for row in ours(_FIRST)],
        ("XMark 1", SPARK): lambda: [row.name for row in theirs("person", person).where("_id = 'person0'").collect()],
        ("XMark 5", OURS): lambda: int(ours(_FIFTH)[0].value),
        ("XMark 5", SPARK): lambda: theirs("closed_auction", auction).where("price >= 40").count(),
        ("items", OURS): our_items,
        ("items", SPARK): their_items,
    }
    if os.environ.get("SUPERXML"):
        sys.path.insert(0, os.environ["SUPERXML"])
        import superxml
        from superxml.datasource import SuperXmlSource

        spark.dataSource.register(SuperXmlSource)
        columns = [
            ("id", "attr", [], "id", "utf8"),
            ("location", "text", ["location"], "", "utf8"),
            ("quantity", "text", ["quantity"], "", "int64"),
        ]
        made["items", OTHER] = lambda: rows(superxml.read(spark, document, "item", columns))
    return made


def worker(master: str, document: str) -> None:
    """Measure in one session; a line of JSON: the medians, and the answers."""
    from xstreamcast.spark import register, session

    path = os.environ.get("SUPERXML")
    if path:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))
    spark = session("bench", master, **{"spark.driver.memory": "4g"})
    register(spark)
    found: dict[str, dict[str, Any]] = {case: {} for case in CASES}
    all_jobs = jobs(spark, document)
    for case in CASES:
        mine = {tool: job for (of, tool), job in all_jobs.items() if of == case}
        taken: dict[str, list[float]] = {tool: [] for tool in mine}
        answers: dict[str, Any] = {}
        # One that fails takes the Python workers with it: it is not run in turn with the others.
        for some in ([tool for tool in mine if tool != OTHER], [tool for tool in mine if tool == OTHER]):
            for turn in range(WARM + TIMES):
                for tool in some:
                    began = time.perf_counter()
                    try:
                        answers[tool] = mine[tool]()
                    except Exception as failure:
                        if tool != OTHER:
                            raise
                        answers[tool] = f"fails: {_told(failure)}"
                    if turn >= WARM:
                        taken[tool].append(time.perf_counter() - began)
        progress(f"{master} {case} " + ", ".join(f"{tool} {median(each):.2f}" for tool, each in taken.items()))
        for tool, seconds in taken.items():
            same = answers[tool] == answers[SPARK]
            told = answers[tool] if isinstance(answers[tool], str) else f"no: {answers[tool]}"
            found[case][tool] = {"seconds": median(seconds), "same": "yes" if same else str(told)}
    print(json.dumps(found), flush=True)
    spark.stop()


def _told(failure: Exception) -> str:
    """The last line that says what was wrong."""
    lines = [line for line in str(failure).splitlines() if "Error: " in line]
    return lines[-1].strip() if lines else type(failure).__name__


def run() -> None:
    """Print a table for each document."""
    small = documents.xmark(1)
    for document in (small, longer(small, LONGER)):
        size = document.stat().st_size / 1e6
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for master in MASTERS:
            progress(f"{document.name} in {master}")
            command = [sys.executable, "-m", "bench.spark_rest", master, str(document)]
            ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found[master] = json.loads(ran.stdout.splitlines()[-1])
        print(f"{document.name}, {size:,.0f} MB\n")
        rows = []
        for case in CASES:
            for tool in found[MASTERS[0]][case]:
                one, two = (found[master][case][tool] for master in MASTERS)
                other = found[MASTERS[1]][case][SPARK]["seconds"]
                ratio = "" if tool == SPARK else f"{other / two['seconds']:.1f}×"
                same = two["same"] if one["same"] == "yes" else one["same"]
                rows.append(
                    (case, tool, f"{one['seconds']:.2f}", f"{two['seconds']:.2f}", ratio,
                     f"{one['seconds'] / two['seconds']:.2f}×", same)
                )  # fmt: skip
        head = ("", "", *(f"{master}, s" for master in MASTERS), f"of {SPARK}", "by a second core", "same answer")
        table(head, rows)
        print()


if __name__ == "__main__":
    worker(sys.argv[1], sys.argv[2])
