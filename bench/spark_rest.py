"""Stored documents on Spark: the same extraction with our source and with Spark's own XML source, in one session.

XMark 1 (one person's name), XMark 5 (a count with a condition) and rows of all items (id, location, quantity), on
documents of 12 MB, 116 MB and 1 GB, in ``local[1]`` and ``local[2]``. Spark's source has an explicit schema and one
task, so that the longest is not given to it twice. All is warm: each is run six times on the smallest document and once
on each of the others, then five times in turn with the others; the figure is the median of wall seconds. Where a
document may be cut is found anew in each run; "again" is a later query over the same file, where that is known.

RumbleDB runs the same queries once, on the smallest document, if ``RUMBLE`` names a Python that has it
(``pip install jsoniq``, in an environment of its own). PyPI's ``super-xml`` gives the rows of items if ``SUPERXML``
names a folder that it is installed to (``pip install --no-deps --target FOLDER super-xml``). The last table but one has
the rows that are found in a document of twenty thousand whose end tags have a blank before their ``>``, by the size of
a partition. The last is about groups, sorts and joins: a document of a million items with 790,000 locations, and XMark
8, 9 and 10.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import distributions, version
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import documents, spark_rest_groups
from bench.measure import progress, table

TIMES: Final = 5
WARM: Final = 6
LONGER: Final = 9
LIMIT: Final = 120  # seconds that RumbleDB may take
MASTERS: Final = ("local[1]", "local[2]")
OURS: Final = "xstreamcast"
AGAIN: Final = "xstreamcast, again"
SPARK: Final = "Spark's xml"
OTHER: Final = "super-xml"
RUMBLE: Final = "RumbleDB"
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

    from xstreamcast.spark.rest.at_rest import query
    from xstreamcast.spark.rest.indexing import forget_seams

    def ours(text: str) -> Any:
        return query(spark, text, context=document).collect()

    def anew(job: Job) -> Job:
        def run() -> Any:
            forget_seams()
            return job()

        return run

    def theirs(row: str, schema: str) -> Any:
        return spark.read.format("xml").option("rowTag", row).schema(schema).load(document)

    def rows(frame: Any) -> Any:
        """Take every row and column without keeping them; how many there are, and a sum that depends on all."""
        hashed = f.sum(f.hash("id", "location", "quantity").cast("long"))
        return tuple(frame.agg(f.count("*"), hashed).first())

    def our_items() -> Any:
        reading = spark.read.format("xstreamcast").option("record", "/site/regions/*/item")
        typed = reading.option("columns", json.dumps(_ITEMS)).schema("id string, location string, quantity long")
        return rows(typed.load(document))

    def their_items() -> Any:
        frame = theirs("item", "_id string, location string, quantity long")
        return rows(frame.withColumnRenamed("_id", "id"))

    person, auction = "_id string, name string", "price double"

    def first() -> Any:
        return [row.value for row in ours(_FIRST)]

    def fifth() -> Any:
        return int(ours(_FIFTH)[0].value)

    made: dict[tuple[str, str], Job] = {
        ("XMark 1", OURS): anew(first),
        ("XMark 1", AGAIN): first,
        ("XMark 1", SPARK): lambda: [row.name for row in theirs("person", person).where("_id = 'person0'").collect()],
        ("XMark 5", OURS): anew(fifth),
        ("XMark 5", AGAIN): fifth,
        ("XMark 5", SPARK): lambda: theirs("closed_auction", auction).where("price >= 40").count(),
        ("items", OURS): anew(our_items),
        ("items", AGAIN): our_items,
        ("items", SPARK): their_items,
    }
    if os.environ.get("SUPERXML"):
        columns, read = _super_xml(spark)
        made["items", OTHER] = lambda: rows(read(spark, document, "item", columns))
    return made


def _super_xml(spark: Any) -> tuple[list[Any], Any]:
    """The columns of items as super-xml has them, and what reads them."""
    sys.path.insert(0, os.environ["SUPERXML"])
    import superxml
    from superxml.datasource import SuperXmlSource

    spark.dataSource.register(SuperXmlSource)
    columns = [
        ("id", "attr", [], "id", "utf8"),
        ("location", "text", ["location"], "", "utf8"),
        ("quantity", "text", ["quantity"], "", "int64"),
    ]
    return columns, superxml.read


def _with_super_xml() -> bool:
    """Let the workers of Spark find super-xml; whether there is one."""
    path = os.environ.get("SUPERXML")
    if path:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))
    return bool(path)


def worker(master: str, *given: str) -> None:
    """Measure in one session, the smallest document first; a line of JSON: by document and case what each tool did."""
    from xstreamcast.spark import session

    _with_super_xml()
    settings: dict[str, Any] = {"spark.driver.memory": "4g"}
    spark = session("bench", master, **settings)
    found = []
    for number, document in enumerate(given):
        all_jobs = jobs(spark, document)
        once = master != MASTERS[-1] and number + 1 == len(given)  # of a tool that has one task whatever the cores
        by_case: Cases = {}
        for case in CASES:
            mine = {t: job for (of, t), job in all_jobs.items() if of == case and not (once and t in (SPARK, OTHER))}
            progress(f"{document} in {master}: {case}")
            by_case[case] = _in_turn(mine, WARM if number == 0 else 1)
        found.append(by_case)
    print(json.dumps(found), flush=True)
    spark.stop()


Cases = dict[str, dict[str, dict[str, Any]]]
"""By case and tool the seconds, and the answer or why there is none."""


def _in_turn(mine: dict[str, Job], warm: int) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    # One that fails takes the Python workers with it: it is not run in turn with the others, nor again.
    for some in ([tool for tool in mine if tool != OTHER], [tool for tool in mine if tool == OTHER]):
        taken: dict[str, list[float]] = {tool: [] for tool in some}
        for turn in range(warm + TIMES):
            for tool in list(some):
                began = time.perf_counter()
                try:
                    answer = mine[tool]()
                except Exception as failure:
                    if tool != OTHER:
                        raise
                    some.remove(tool)
                    answer = f"fails: {_told(failure)}"
                if turn >= warm or tool not in some:
                    taken[tool].append(time.perf_counter() - began)
                made[tool] = {"answer": answer}
        for tool, seconds in taken.items():
            made[tool]["seconds"] = median(seconds)
    return made


def _told(failure: Exception) -> str:
    """The last line that says what was wrong."""
    lines = [line for line in str(failure).splitlines() if "Error: " in line]
    return lines[-1].strip() if lines else type(failure).__name__


def run() -> None:
    """Print a table for each document, and one of the rows that are found."""
    medium = documents.xmark(1)
    given = [documents.xmark(0.1), medium, longer(medium, LONGER)]
    versions, rumble = _rumble(given[0])
    print(f"{versions}\n")
    found = [_measured(master, given) for master in MASTERS]
    for number, document in enumerate(given):
        print(f"{document.name}, {document.stat().st_size / 1e6:,.0f} MB\n")
        one, two = (of[number] for of in found)
        rows = []
        for case in CASES:
            theirs = two[case][SPARK]
            rows += [_row(case, tool, one[case].get(tool), did, theirs) for tool, did in two[case].items()]
            if number == 0 and case in rumble:
                seconds, told = rumble[case]
                rows.append((case, RUMBLE, "", f"{seconds:.2f}", f"{theirs['seconds'] / seconds:.2f}×", "", told))
        head = ("", "", *(f"{master}, s" for master in MASTERS), f"of {SPARK}", "by a second core", "same answer")
        table(head, rows)
        print()
    lines = subprocess.run([*_WORKER, "rows"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    head, *rows = json.loads(lines[-1])
    table(head, rows)
    print(f"\n{_in_partitions(medium)}\n")
    spark_rest_groups.run()


def _row(
    case: str, tool: str, one: dict[str, Any] | None, two: dict[str, Any], theirs: dict[str, Any]
) -> tuple[str, ...]:
    """What a tool did on one core and on two, beside Spark's source on two."""
    others = [did["answer"] for did in (one, two) if did and did["answer"] != theirs["answer"]]
    same = "yes" if not others else others[0] if isinstance(others[0], str) else f"no: {others[0]}"
    if same.startswith("fails"):
        return case, tool, "", "", "", "", same
    ratio = "" if tool == SPARK else f"{theirs['seconds'] / two['seconds']:.1f}×"
    cells = (f"{one['seconds']:.2f}", f"{one['seconds'] / two['seconds']:.2f}×") if one else ("", "")
    return case, tool, cells[0], f"{two['seconds']:.2f}", ratio, cells[1], same


_WORKER: Final = (sys.executable, "-m", "bench.spark_rest")


def _measured(master: str, given: list[Path]) -> list[Cases]:
    ran = subprocess.run([*_WORKER, master, *map(str, given)], stdout=subprocess.PIPE, text=True, check=True)
    made: list[Cases] = json.loads(ran.stdout.splitlines()[-1])
    return made


def _rumble(document: Path) -> tuple[str, dict[str, tuple[float, str]]]:
    """The versions of all that is measured; seconds of RumbleDB by case, and its answer."""
    known = [f"Spark {version('pyspark')}"]
    folder = os.environ.get("SUPERXML")
    own = [each for each in distributions(path=[folder]) if each.name == OTHER] if folder else []
    known.append(f"{OTHER} {own[0].version}" if own else f"{OTHER} is not measured: SUPERXML names no folder with it")
    python = os.environ.get("RUMBLE")
    if not python:
        return "; ".join([*known, f"{RUMBLE} is not measured: RUMBLE names no Python that has it"]), {}
    from xstreamcast.spark.java import find_java

    progress(f"{document} with {RUMBLE}")
    script = Path(__file__).with_name("rumble.py")
    command = [python, str(script), MASTERS[1], str(document)]
    environment = {**os.environ, "JAVA_HOME": str(find_java().home), "PYTHONPATH": ""}
    made: dict[str, tuple[float, str]] = {}
    failed = ""
    with tempfile.TemporaryFile("w+") as out:
        try:
            ran = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, env=environment, timeout=LIMIT)
            if ran.returncode:
                failed = ", fails: " + next((line for line in ran.stderr.splitlines() if "Error" in line), "")[:200]
        except subprocess.TimeoutExpired:
            failed = f", stopped after {LIMIT} seconds"
        out.seek(0)
        told = [json.loads(line) for line in out if line.startswith("[")]
    for name, seconds, answer in told[1:]:
        made[name] = seconds, " ".join(answer)
    known.append(f"{RUMBLE} (jsoniq {told[0][0] if told else '–'}){failed}")
    return "; ".join(known), made


# ------------------------------------------------------------------------------------------------------- rows found


def found_rows() -> None:
    """A line of JSON: a table of the rows that each tool finds, by the size of a partition."""
    from xstreamcast.spark import session

    path = _with_super_xml()
    settings: dict[str, Any] = {"spark.driver.memory": "2g"}
    spark = session("bench", **settings)
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder, "items.xml")
        item = '<item id="i{0}"><location>L{0}</location><quantity>{1}</quantity></item >'
        document.write_text("<items>" + "".join(item.format(k, k % 9) for k in range(_THERE)) + "</items>")
        columns, read = _super_xml(spark) if path else ([], None)
        rows = []
        for size in _SIZES:
            reading = spark.read.format("xstreamcast").option("record", "/items/item").option("partitionBytes", size)
            ours = reading.option("columns", json.dumps(_ITEMS)).load(str(document)).count()
            theirs = read(spark, str(document), "item", columns, maxPartitionBytes=size).count() if read else "–"
            single = spark.read.format("xml").option("rowTag", "item").schema("_id string").load(str(document)).count()
            rows.append((f"{size:,}", f"{_THERE:,}", f"{ours:,}", f"{single:,}", f"{theirs:,}" if read else "–"))
    print(json.dumps([("bytes in a partition", "rows there", OURS, f"{SPARK}, one task", OTHER), *rows]))
    spark.stop()


def _in_partitions(document: Path) -> str:
    """Whether the rows of items are the same in whatever partitions: a sentence."""
    import pyarrow as pa

    from xstreamcast.spark.rest.document_reader import ColumnReader

    size, whole = document.stat().st_size, None
    for count in _PARTITIONS:
        options = {"path": str(document), "record": "/site/regions/*/item", "columns": json.dumps(_ITEMS)}
        reader = ColumnReader({**options, "offset": "true", "partitionBytes": str(-(-size // count))}, None, None)
        partitions = reader.partitions()
        rows = pa.Table.from_batches([batch for part in partitions for batch in reader.read(part)]).combine_chunks()
        whole = whole or rows
        if len(partitions) != count or not rows.equals(whole):
            return f"{document.name}: {len(partitions)} partitions give other rows than one"
    assert whole is not None
    return f"{document.name}: the {whole.num_rows:,} rows of items are the same in {_PARTITIONS} partitions."


_PARTITIONS: Final = (1, 2, 3, 5, 8, 13, 21, 34, 55, 64)
_THERE: Final = 20_000
_SIZES: Final = (10_000_000, 500_000, 200_000, 100_000)


if __name__ == "__main__":
    found_rows() if sys.argv[1] == "rows" else worker(*sys.argv[1:])
