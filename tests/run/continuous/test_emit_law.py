"""The law, from outside: fed change by change, the answer told is that of the query run from scratch on T(γ)."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from budget import MORE
from hypothesis import HealthCheck, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[2] / "plan"))

from random_streams import STRUCTURE, queries, streams

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.query import continuous
from xstreamcast.run.query import Query, compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at
from xstreamcast.wire.fragment import read_stream


def from_scratch(query: Query, t: Materialiser) -> str:
    node = view_of(t.text().encode(), "stream:s")
    try:
        return serialise(query(streams=lambda _: node, now=moment_at(t.now)).items())
    except XStreamError as failure:
        return f"error {failure.code}"


def check(stream: str, text: str) -> None:
    """T(q'(γ)) = q(T(γ)) at every prefix, with the event clock."""
    structure = parse_structure(STRUCTURE)
    query, sink = continuous(text), Materialiser()
    t, whole = Materialiser(structure), compile(text)
    query.feed(structure, "s")
    for arrival in read_stream(io.BytesIO(stream.encode())):
        if isinstance(arrival.item, Change):
            t.apply(arrival.item)
            for change in query.feed(arrival.item, "s"):
                sink.apply(change)
            told = query.told()
            expected = from_scratch(whole, t)
            if isinstance(told, XStreamError):
                assert f"error {told.code}" == expected
            else:
                assert told == expected
                assert sink.text() == told


@seed(11)
@settings(max_examples=24 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(streams(), queries())
def test_what_is_told_is_the_answer_at_every_prefix(stream: str, text: str) -> None:
    check(stream, text)
