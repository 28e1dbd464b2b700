"""The twenty XMark queries give Saxon's answers on an auction site of ours."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import saxonche
from lxml import etree

from xstreamcast.generate.xmark import document
from xstreamcast.model.tree import Node
from xstreamcast.run.query import query
from xstreamcast.scan.parse import parse

QUERIES = sorted((Path(__file__).parents[1] / "fixtures" / "xmark").glob("q*.xq"))


@cache
def site() -> bytes:
    return b"".join(document(0.002, 7))


@cache
def ours() -> Node:
    return parse(site())


@cache
def peer() -> tuple[Any, Any]:
    processor = saxonche.PySaxonProcessor(license=False)
    return processor, processor.parse_xml(xml_text=site().decode())


def canonical(answer: str) -> str:
    return str(etree.canonicalize(f"<answer>{re.sub(r'^<.xml [^>]*>', '', answer)}</answer>"))


def test_there_are_twenty_queries() -> None:
    assert len(QUERIES) == 20


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.stem))
def test_an_xmark_query_gives_what_saxon_gives(path: Path) -> None:
    text = path.read_text()
    processor, loaded = peer()
    engine = processor.new_xquery_processor()
    engine.set_context(xdm_item=loaded)
    expected = engine.run_query_to_string(query_text=text, lang="3.1") or ""
    assert canonical(query(text, context=ours()).xml()) == canonical(expected)
