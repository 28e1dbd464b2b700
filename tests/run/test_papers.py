"""The queries of DBPL'03, WebDB'05, ICDE'08 and VLDB'05 on streams of fragments give Saxon's answers on T of them."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import saxonche
from lxml import etree

from xstreamcast.cast import fragment, infer_structure, materialise
from xstreamcast.generate import find
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.query import query
from xstreamcast.wire.fragment import FragmentWriter

PAPERS = Path(__file__).parents[1] / "fixtures" / "papers"
QUERIES = sorted(PAPERS.glob("*.xq"))

CHANGING = {"commodities": (0.03, 7, 60), "currencies": (0.2, 7, 30), "stock": (0.01, 7, 40)}
"""Factor, seed and updates of the generators of changes."""

STORED = {
    "xmark": ("auction", 0.001, 907, "item,person,open_auction,bidder,closed_auction"),
    "dblp": ("dblp", 0.0006, 499, "inproceedings,article,author"),
    "satellite": ("satellite", 0.016, 1, "pixel"),
    "microscope": ("microscope", 0.001, 1, "pixel"),
    "items": ("items", 0.0001, 1, "item"),
}
"""Stream, factor, seed and what is a fragment, for the generators of documents; the seeds are such that all queries
have answers. The satellite passes a second time after 10,000 pixels."""

NAMESPACES = 'declare namespace map = "http://www.w3.org/2005/xpath-functions/map";'
"""The prefix that our engine knows without a declaration and Saxon does not."""


@cache
def streams_of(source: str) -> Mapping[str, bytes]:
    """The fragment streams of a word in a query's first comment: a generator, or a stream written by hand."""
    if source in CHANGING:
        return changing(source)
    if source in STORED:
        name, *_ = STORED[source]
        return {name: stored(source)}
    return {source: (PAPERS / f"{source}.xml").read_bytes()}


def changing(source: str) -> Mapping[str, bytes]:
    generator = find(source)
    assert generator.changes is not None
    written = {name: io.BytesIO() for name in generator.structures}
    writers = {name: FragmentWriter(out, parse_structure(generator.structures[name])) for name, out in written.items()}
    for name, change in generator.changes(*CHANGING[source]):
        writers[name].write(change)
    for writer in writers.values():
        writer.close()
    return {name: out.getvalue() for name, out in written.items()}


def stored(source: str) -> bytes:
    """A document in fragments that come in any order, some of them twice."""
    _, factor, seed, fragments = STORED[source]
    generator = find(source)
    assert generator.document is not None
    document = b"".join(generator.document(factor, seed))
    out = io.BytesIO()
    structure = infer_structure([io.BytesIO(document)], fragments)
    fragment(io.BytesIO(document), out, structure, order="shuffle", seed=seed, repeat=0.1)
    return out.getvalue()


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """From a stream to the expression that reads T of it."""
    folder = tmp_path_factory.mktemp("views")

    @cache
    def written(source: str, name: str) -> str:
        document = materialise(io.BytesIO(streams_of(source)[name]))
        file = folder / f"{name}.xml"
        file.write_bytes(document)
        if is_document(document):
            return f'doc("{file.as_uri()}")'
        return f'parse-xml-fragment(unparsed-text("{file.as_uri()}"))'

    return written


def is_document(text: bytes) -> bool:
    """Whether there is one element at the top; a stream without a named root has several."""
    try:
        etree.fromstring(text)
    except etree.XMLSyntaxError:
        return False
    return True


@cache
def processor() -> Any:
    return saxonche.PySaxonProcessor(license=False)


def by_saxon(program: str) -> str:
    engine = processor().new_xquery_processor()
    return engine.run_query_to_string(query_text=NAMESPACES + program, lang="3.1") or ""


def canonical(answer: str) -> str:
    """An answer whose doubles are rounded, for they agree within a few ulps only."""
    text = str(etree.canonicalize(f"<answer>{re.sub(r'^<.xml [^>]*>', '', answer)}</answer>"))
    return re.sub(r"\d+\.\d{6,}(E-?\d+)?", lambda number: f"{float(number[0]):.9g}", text)


def sources(text: str) -> list[str]:
    """The data a query is about: the words before the first full stop."""
    found = re.match(r"\(: ([\w ]+)\. ", text)
    assert found is not None
    return found[1].split()


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.stem))
def test_a_papers_query_gives_what_saxon_gives(path: Path, view: Any) -> None:
    text = path.read_text(encoding="utf-8")
    streams: dict[str, bytes] = {}
    program = text
    for source in sources(text):
        for name, stream in streams_of(source).items():
            streams[name] = stream
            if f'stream("{name}")' in text:
                program = program.replace(f'stream("{name}")', view(source, name))
    expected = canonical(by_saxon(program))
    assert re.search(r">[^<]*[^<0\s][^<]*<", expected), "a query without an answer shows nothing"
    assert canonical(query(text, streams=streams).xml()) == expected


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.stem))
def test_a_papers_query_tells_what_was_printed_and_why_it_was_changed(path: Path) -> None:
    comment, _, rest = path.read_text(encoding="utf-8").partition(" :)\n")
    assert re.match(r"\(: [\w ]+\. (DBPL'03|WebDB'05|ICDE'08|VLDB'05) §", comment)
    assert comment.index("printed:") < comment.index("corrected because:")
    assert "stream(" in rest
