"""Files as they are found, to tables as they are wanted: 100 MB each, a process for each run.

Every input goes to a Parquet file with its columns, and one input to every output; beside `xcast query` (`xcast feed`
for tables of databases) the scripts and packages that people use now (`bench/files_by_hand.py`): lxml's iterparse,
tuned; `pandas.read_xml`, which has no lists, so that its authors are one each; pubmed_parser, which reads .gz; osmium
for OSM; DuckDB's extension webbed, if it can be loaded. The number of rows is compared: ≠ is one that differs from
ours. Ratios are of CPU time.
"""

from __future__ import annotations

import bz2
import gzip
import json
import random
import shutil
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from bench import documents, pubmed
from bench.measure import Measured, measure, progress, table

MEGABYTES: Final = 100
_ARTICLES: Final = "/PubmedArticleSet/PubmedArticle"
_COLUMNS: Final = (
    "pmid=MedlineCitation/PMID as xs:integer, journal=MedlineCitation/Article/Journal/Title as xs:string, "
    "title=MedlineCitation/Article/ArticleTitle as xs:string, "
    "authors=MedlineCitation/Article/AuthorList/Author/LastName as xs:string*"
)
INPUTS: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "xml": (_ARTICLES, _COLUMNS, ()),
    "gz": (_ARTICLES, _COLUMNS, ()),
    "bz2": (_ARTICLES, _COLUMNS, ("--threads", "2")),
    "zip": (_ARTICLES, _COLUMNS, ()),
    "tar.gz": (_ARTICLES, _COLUMNS, ()),
    "http": (_ARTICLES, _COLUMNS, ("--allow-http",)),
    "many": ("/us-patent-grant", "number=@number as xs:integer, title=title as xs:string", ()),
    "dtd": ("/dblp/article", "key=@key as xs:string, author=author[1] as xs:string, title=title as xs:string", ()),
    "osm": (
        "/osm/node[tag[@k = 'amenity']/@v = 'cafe']",
        "id=@id as xs:integer, name=tag[@k = 'name']/@v as xs:string", (),
    ),
}  # fmt: skip
"""What is asked of each input: the records, the columns, and further options."""
OUTPUTS: Final = ("parquet", "arrow", "csv", "tsv", "jsonl", "db")
_PEERS: Final = {"xml": ("pandas", "webbed"), "gz": ("pubmed_parser",), "osm": ("osmium",)}


def run() -> None:
    """Print one table for the inputs and one for the outputs."""
    with tempfile.TemporaryDirectory(prefix="xstreamcast-files-") as name:
        folder = Path(name)
        progress("writing documents")
        inputs = write(folder, MEGABYTES * documents.scaled())
        print("Versions: " + ", ".join(f"{tool} {_version(tool)}" for tool in _TOOLS) + ".\n")
        with served(inputs["xml"].parent) as address:
            rows = [row for kind in INPUTS for row in _input(kind, inputs, address, folder)]
        table(["input → Parquet", "MB stored", "tool", "rows", "CPU s", "wall s", "MB/s", "memory, MB", "× ours"], rows)
        print()
        rows = [row for kind in OUTPUTS for row in _output(kind, inputs["xml"], folder)]
        table(["XML → output", "MB written", "tool", "rows", "CPU s", "wall s", "MB/s", "memory, MB", "× ours"], rows)


_TOOLS: Final = ("xstreamcast", "lxml", "pandas", "pubmed_parser", "osmium", "webbed")


def _version(tool: str) -> str:
    if tool == "webbed":
        return "is there" if _webbed() else "cannot be loaded here"
    try:
        return version(tool)
    except PackageNotFoundError:
        return "is not installed"


def _webbed() -> bool:
    import duckdb

    try:
        with duckdb.connect() as connection:
            connection.execute("INSTALL webbed FROM community")
            connection.execute("LOAD webbed")
    except duckdb.Error:
        return False
    return True


# ------------------------------------------------------------------------------------------------------------- runs


def _input(kind: str, inputs: dict[str, Path], address: str, folder: Path) -> Iterator[list[str]]:
    path = inputs["xml" if kind == "http" else kind]
    given = f"{address}/{path.name}" if kind == "http" else str(path)
    plain = (inputs["xml"] if kind in ("gz", "bz2", "zip", "tar.gz") else path).stat().st_size / 1e6
    ours = None
    for tool in ("xstreamcast", "lxml", *_PEERS.get(kind, ())):
        if _version(tool).startswith(("is not", "cannot")):
            continue
        progress(f"{kind}, {tool}")
        out = folder / f"{kind}-{tool}.parquet"
        cost = measure(command(tool, kind, given, out, inputs))
        found = rows_of(out)
        ours = ours or (cost, found)
        yield [kind, f"{path.stat().st_size / 1e6:.0f}", *_told(tool, cost, found, ours, plain)]


def _output(kind: str, path: Path, folder: Path) -> Iterator[list[str]]:
    ours = None
    for tool in ("xstreamcast", "lxml"):
        progress(f"{kind}, {tool}")
        out = folder / f"out-{tool}.{kind}"
        cost = measure(command(tool, "xml", str(path), out, {}))
        found = rows_of(out)
        ours = ours or (cost, found)
        size = f"{out.stat().st_size / 1e6:.1f}"
        name = "SQLite table" if kind == "db" else kind
        yield [name, size, *_told(tool, cost, found, ours, path.stat().st_size / 1e6)]


def _told(tool: str, cost: Measured, found: int, ours: tuple[Measured, int], megabytes: float) -> list[str]:
    mark = "" if found == ours[1] else " ≠"
    return [tool, f"{found:,}{mark}", f"{cost.cpu:.1f}", f"{cost.wall:.1f}", f"{megabytes / cost.wall:.0f}",
            f"{cost.megabytes:.0f}", f"{cost.cpu / ours[0].cpu:.1f}"]  # fmt: skip


def command(tool: str, kind: str, given: str, out: Path, inputs: dict[str, Path]) -> list[str]:
    """How a tool brings an input to an output."""
    if tool == "webbed":
        return [sys.executable, "-c", _WEBBED, given, str(out)]
    if tool != "xstreamcast":
        return [sys.executable, "-m", "bench.files_by_hand", tool, kind, given, str(out)]
    asked, columns, options = INPUTS[kind]
    start = [sys.executable, "-m", "xstreamcast"]
    if out.suffix == ".db":
        return [*start, "feed", asked, given, "--key", "MedlineCitation/PMID", "--state", f"{out}.state", "--table",
                f"sqlite:///{out}#t", "--table-key", "pmid", "--columns", columns]  # fmt: skip
    if kind == "dtd":
        options = ("--dtd", str(inputs["dtd"].with_suffix(".dtd")))
    return [*start, "query", asked, given, "--columns", columns, "-o", str(out), *options]


_WEBBED: Final = """
import sys, duckdb
connection = duckdb.connect()
connection.execute("LOAD webbed")
rows = f"SELECT * FROM read_xml('{sys.argv[1]}', record_element = 'PubmedArticle')"
connection.execute(f"COPY ({rows}) TO '{sys.argv[2]}'")
"""


def rows_of(out: Path) -> int:
    """How many rows a file has."""
    kind = out.suffix[1:]
    if kind == "parquet":
        from pyarrow import parquet

        return int(parquet.read_metadata(out).num_rows)
    if kind == "arrow":
        import pyarrow as pa

        with pa.memory_map(str(out)) as file:
            return sum(batch.num_rows for batch in _batches(file))
    if kind == "db":
        import sqlite3

        with sqlite3.connect(out) as database:
            ((count,),) = database.execute("SELECT count(*) FROM t")
            return int(count)
    with out.open(newline="", encoding="utf-8") as lines:
        if kind == "jsonl":
            return sum(bool(json.loads(line)) for line in lines)
        import csv

        return sum(1 for _ in csv.reader(lines, delimiter="," if kind == "csv" else "\t")) - 1


def _batches(file: Any) -> Iterator[Any]:
    import pyarrow as pa

    try:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
    except pa.ArrowInvalid:
        file.seek(0)
        yield from pa.ipc.open_stream(file)


# ------------------------------------------------------------------------------------------------------------ inputs


def write(folder: Path, megabytes: float) -> dict[str, Path]:
    """The inputs, each of so many megabytes before it is packed; always the same."""
    (xml,) = pubmed.write(folder / "in", min(megabytes, 100), updates=0)[:1]
    made = {"xml": xml}
    for kind, opened in (("gz", partial(gzip.open, compresslevel=4)), ("bz2", bz2.open)):
        made[kind] = folder / f"packed.xml.{kind}"
        with xml.open("rb") as plain, opened(made[kind], "wb") as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
    made["zip"], made["tar.gz"] = folder / "packed.zip", folder / "packed.tar.gz"
    with zipfile.ZipFile(made["zip"], "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
        archive.write(xml, xml.name)
    with tarfile.open(made["tar.gz"], "w:gz", compresslevel=4) as packed:
        packed.add(xml, xml.name)
    made |= {kind: folder / f"{kind}.xml" for kind in ("many", "dtd", "osm")}
    _patents(made["many"], megabytes)
    _dblp(made["dtd"], megabytes)
    _osm(made["osm"], megabytes)
    return made


def _patents(path: Path, megabytes: float) -> None:
    claim = "<claim>A device with a thing that does something, as said before, and a second thing.</claim>\n" * 40
    with path.open("w", encoding="utf-8") as out:
        for number in range(max(int(megabytes * 1e6 / (len(claim) + 150)), 10)):
            out.write(
                '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE us-patent-grant [ ]>\n'
                f'<us-patent-grant number="{number}"><title>Device {number}</title>\n{claim}</us-patent-grant>\n'
            )


def _dblp(path: Path, megabytes: float) -> None:
    path.with_suffix(".dtd").write_text(
        '<!ENTITY uuml "&#252;"><!ENTITY eacute "&#233;"><!ELEMENT dblp (article)*>\n'
        "<!ATTLIST article key CDATA #REQUIRED mdate CDATA #IMPLIED>\n"
    )
    with path.open("w", encoding="utf-8") as out:
        out.write(f'<?xml version="1.0"?>\n<!DOCTYPE dblp SYSTEM "{path.with_suffix(".dtd").name}">\n<dblp>\n')
        for number in range(max(int(megabytes * 1e6 / 330), 10)):
            out.write(
                f'<article key="journals/x/{number}" mdate="2026-01-05">\n<author>J&uuml;rgen Caf&eacute; '
                f"{number % 9973}</author>\n<author>B. Other</author>\n<title>On the number {number} and what follows "
                f"from it.</title>\n<pages>{number % 500}-{number % 500 + 12}</pages>\n"
                f"<year>{1990 + number % 36}</year>\n<volume>{number % 60}</volume>\n"
                f"<journal>Journal {number % 300}</journal>\n<ee>https://doi.example/10.1000/{number}</ee>\n</article>\n"
            )
        out.write("</dblp>\n")


def _osm(path: Path, megabytes: float) -> None:
    draw = random.Random(5)
    with path.open("w", encoding="utf-8") as out:
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n<osm version="0.6" generator="bench">\n')
        for number in range(1, max(int(megabytes * 1e6 / 165), 10)):
            head = (
                f'<node id="{number}" version="1" timestamp="2026-01-05T08:00:00Z" changeset="{number // 50}" uid="7" '
                f'user="anna" lat="{draw.uniform(47, 55):.7f}" lon="{draw.uniform(6, 15):.7f}"'
            )
            if number % 20:
                out.write(head + "/>\n")
            else:
                kind = "cafe" if number % 60 == 0 else "bench"
                out.write(f'{head}>\n<tag k="amenity" v="{kind}"/>\n<tag k="name" v="Place {number}"/>\n</node>\n')
        out.write("</osm>\n")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """What was asked for is known."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A server on this machine that has the files of a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
