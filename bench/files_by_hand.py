"""What people use now for files of the real world: ``python -m bench.files_by_hand TOOL INPUT FILE OUT``.

TOOL is lxml (iterparse, tuned: records are cleared and those before them dropped), pandas (``read_xml(iterparse=…)``),
pubmed_parser, or osmium. OUT's name says what is written: Parquet, CSV, TSV, JSON lines, an Arrow stream, or a table of
SQLite's.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import sqlite3
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.request import urlopen

from lxml import etree

FIELDS: Final = ("pmid", "journal", "title", "authors")
Row = tuple[Any, ...]
_BATCH: Final = 20_000


def main(tool: str, kind: str, path: str, out: str) -> None:
    rows = {"pandas": _pandas, "pubmed_parser": _pubmed_parser, "osmium": _osmium}.get(tool, _lxml)(kind, path)
    write(rows, fields_of(kind), Path(out))


def fields_of(kind: str) -> tuple[str, ...]:
    """The columns of an input's rows."""
    return {"osm": ("id", "name"), "dtd": ("key", "author", "title"), "many": ("number", "title")}.get(kind, FIELDS)


# ------------------------------------------------------------------------------------------------------------- lxml


def records(file: Any, tag: str, **options: Any) -> Iterator[Any]:
    """The elements with a tag, each whole, and gone when the next is asked for."""
    for _, element in etree.iterparse(file, tag=tag, **options):
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def _lxml(kind: str, path: str) -> Iterator[Row]:
    if kind == "osm":
        return _cafes(path)
    if kind == "dtd":
        listed = records(path, "article", load_dtd=True, resolve_entities=True)
        return ((one.get("key"), one.findtext("author"), one.findtext("title")) for one in listed)
    if kind == "many":
        patents = (records(document, "us-patent-grant") for document in _documents(path))
        return ((int(one.get("number")), one.findtext("title")) for one in chain.from_iterable(patents))
    return chain.from_iterable(map(_articles, _opened(kind, path)))


def _articles(file: Any) -> Iterator[Row]:
    for article in records(file, "PubmedArticle"):
        citation = article.find("MedlineCitation")
        inside = citation.find("Article")
        authors = [name.text for name in inside.findall("AuthorList/Author/LastName")]
        title = inside.findtext("ArticleTitle")
        yield int(citation.findtext("PMID")), inside.findtext("Journal/Title"), title, authors


def _opened(kind: str, path: str) -> Iterator[Any]:
    """The documents of a file, as what iterparse reads."""
    if kind in ("gz", "bz2"):
        with gzip.open(path) if kind == "gz" else bz2.open(path) as file:
            yield file
    elif kind == "zip":
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                with archive.open(name) as member:
                    yield member
    elif kind == "tar.gz":
        with tarfile.open(path) as archive:
            for each in archive:
                yield archive.extractfile(each)
    elif kind == "http":
        with urlopen(path) as answer:
            yield answer
    else:
        yield path


def _documents(path: str) -> Iterator[BinaryIO]:
    """The documents of a file that has several, each of which begins with its declaration."""
    lines: list[bytes] = []
    with open(path, "rb") as file:
        for line in file:
            if line.startswith(b"<?xml") and lines:
                yield BytesIO(b"".join(lines))
                lines = []
            lines.append(line)
    yield BytesIO(b"".join(lines))


def _cafes(path: str) -> Iterator[Row]:
    for node in records(path, "node"):
        tags = {tag.get("k"): tag.get("v") for tag in node.findall("tag")}
        if tags.get("amenity") == "cafe":
            yield int(node.get("id")), tags.get("name")


# ----------------------------------------------------------------------------------------------------------- others


def _pandas(kind: str, path: str) -> Iterator[Row]:
    import pandas

    wanted = ["PMID", "Title", "ArticleTitle", "LastName"]
    frame = pandas.read_xml(path, iterparse={"PubmedArticle": wanted}, names=["pmid", "journal", "title", "author"])
    # It has the first author only: lists are nothing that read_xml knows.
    for pmid, journal, title, author in frame.itertuples(index=False):
        yield int(pmid), journal, title, [author]


def _pubmed_parser(kind: str, path: str) -> Iterator[Row]:
    import pubmed_parser

    for article in pubmed_parser.parse_medline_xml(path, author_list=True):
        authors = [author["lastname"] for author in article["authors"]]
        yield int(article["pmid"]), article["journal"], article["title"], authors


def _osmium(kind: str, path: str) -> Iterator[Row]:
    import osmium

    found = osmium.FileProcessor(path, osmium.osm.NODE).with_filter(osmium.filter.TagFilter(("amenity", "cafe")))
    for node in found:
        yield node.id, node.tags.get("name")


# ---------------------------------------------------------------------------------------------------------- outputs


def write(rows: Iterable[Row], fields: tuple[str, ...], out: Path) -> None:
    """Rows as a file, some at a time."""
    kind = out.suffix[1:]
    if kind in ("csv", "tsv"):
        with out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="," if kind == "csv" else "\t")
            writer.writerow(fields)
            writer.writerows([json.dumps(v) if isinstance(v, list) else v for v in row] for row in rows)
    elif kind == "jsonl":
        with out.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(dict(zip(fields, row, strict=True)), ensure_ascii=False) + "\n")
    elif kind == "db":
        with sqlite3.connect(out) as database:
            database.execute(f"CREATE TABLE t ({', '.join(fields)}, PRIMARY KEY ({fields[0]}))")
            marks = ", ".join("?" * len(fields))
            database.executemany(
                f"INSERT OR REPLACE INTO t VALUES ({marks})",
                ([json.dumps(v) if isinstance(v, list) else v for v in row] for row in rows),
            )
    else:
        _write_arrow(iter(rows), fields, out)


def _write_arrow(rows: Iterator[Row], fields: tuple[str, ...], out: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    writer: Any = None
    while some := list(islice(rows, _BATCH)):
        made = pa.table(dict(zip(fields, map(list, zip(*some, strict=True)), strict=True)))
        if writer is None:
            new = parquet.ParquetWriter if out.suffix == ".parquet" else pa.ipc.new_file
            writer = new(str(out), made.schema)
        writer.write_table(made)
    if writer is not None:
        writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:5])
