"""Queries by the streaming route, forced: however small the document, and with any step."""

from __future__ import annotations

from io import BytesIO

from xstreamcast.errors import XStreamError
from xstreamcast.model.serialise import serialise
from xstreamcast.run.inputs import Scanning
from xstreamcast.run.library import moment_of
from xstreamcast.run.query import Query
from xstreamcast.run.single_pass import run

NOW = moment_of("2024-01-01")
STEPS = (1, 9, 100, 1 << 20)


def streamed(query: Query, xml: bytes, step: int, threads: int = 1) -> str | None:
    """The answer by the plan, or the code of an error; None if there is no plan."""
    code = query.plan()
    if code is None:
        return None
    inputs = {source: BytesIO(xml) for source in code.plan.sources}
    try:
        items = list(run(code, inputs, {}, NOW, scanning=Scanning(step=step, threads=threads)))
    except XStreamError as failure:
        return failure.code
    return serialise(items, method="adaptive")


def evaluated(query: Query, xml: bytes) -> str:
    """The answer by the evaluator on the tree."""
    try:
        return query(context=xml, docs={"d": xml}, now=NOW).serialise(method="adaptive")
    except XStreamError as failure:
        return failure.code
