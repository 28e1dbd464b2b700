"""What the tests of translation share: generated streams, and a query's answer by Saxon and by our own evaluator."""

from __future__ import annotations

import io
import random
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import saxonche

from xstreamcast.cast import fragment
from xstreamcast.generate import find
from xstreamcast.model.change import Change
from xstreamcast.model.structure import parse_structure
from xstreamcast.plan.translate.program import Strategy, translate
from xstreamcast.run.query import query
from xstreamcast.wire.fragment import FragmentWriter

FIXTURES = Path(__file__).parent / "fixtures"
SIZES = {"credit": (0.005, 138), "packets": (0.03, 0), "radar": (0.03, 0), "traffic": (0.06, 0)}
"""Factor and updates of each generator: small, and large enough that every query has an answer."""

Streams = dict[str, Path]


@lru_cache(maxsize=1)
def _processor() -> Any:
    return saxonche.PySaxonProcessor(license=False)


def by_saxon(program: str) -> str:
    """The answer of a standard XQuery program, serialised."""
    engine = _processor().new_xquery_processor()
    engine.set_query_content(program)
    engine.set_property("!omit-xml-declaration", "yes")
    answer: str | None = engine.run_query_to_string()
    return answer or ""


def translated(text: str, strategy: Strategy, streams: Streams, **options: Any) -> str:
    """The answer of a translation."""
    return by_saxon(translate(text, strategy, streams=streams, **options))


def evaluated(text: str, streams: Streams, now: str | None = None, **options: Any) -> str:
    """The answer of our own evaluator on the temporal views."""
    return query(text, streams={name: str(path) for name, path in streams.items()}, now=now, **options).xml()


def normal(answer: str) -> str:
    """An answer with its doubles rounded: sums of doubles agree within a few ulps only."""
    return re.sub(r"\d+\.\d{6,}(E-?\d+)?", lambda number: f"{float(number[0]):.9g}", answer)


def bag(answer: str) -> list[str]:
    """The parts of an answer without their order: elements, and the texts between them."""
    return sorted(re.findall(r"<[^>]*>|[^<>\s]+", answer))


def write_streams(folder: Path, name: str, shuffled: bool = False) -> Streams:
    """The streams of a generator as files; shuffled, with every order of arrival as likely as any other."""
    if name == "xmark":
        return {"auction": _auction(folder / "auction.xml", shuffled)}
    generator = find(name)
    assert generator.changes is not None
    factor, updates = SIZES[name]
    changes: dict[str, list[Change]] = {stream: [] for stream in generator.structures}
    for stream, change in generator.changes(factor, 7, updates):
        changes[stream].append(change)
    files = {}
    for stream, arrived in changes.items():
        if shuffled:
            random.Random(5).shuffle(arrived)
        files[stream] = folder / f"{stream}.xml"
        with open(files[stream], "wb") as out:
            writer = FragmentWriter(out, parse_structure(generator.structures[stream]))
            for change in arrived:
                writer.write(change)
            writer.close()
    return files


def _auction(path: Path, shuffled: bool) -> Path:
    from xstreamcast.cast.infer import infer_structure

    generator = find("xmark")
    assert generator.document is not None
    document = b"".join(generator.document(0.001, 3))
    tags = infer_structure([io.BytesIO(document)], ",".join(FRAGMENTED))
    with open(path, "wb") as out:
        fragment(io.BytesIO(document), out, tags, order="shuffle" if shuffled else "document", repeat=0.1)
    return path


FRAGMENTED = ("item", "person", "open_auction", "bidder", "closed_auction", "profile")
