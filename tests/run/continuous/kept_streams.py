"""What a query in a mode says of a stream from which nothing is ever let go of."""

from __future__ import annotations

from xstreamcast.cast.materialise import View
from xstreamcast.functions.registry import known_function
from xstreamcast.lang.link import parse
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import START, Instant
from xstreamcast.plan.modes.rewrite import Emission, rewrite
from xstreamcast.run.continuous.arrive.share import Association
from xstreamcast.run.continuous.evaluate.marked_view import Anew, marked_view
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at
from xstreamcast.run.units import Evaluation


class Kept:
    """The same on T with its open holes, from which nothing is ever let go of."""

    def __init__(self, text: str, emission: Emission, structure: Structure) -> None:
        self.stream = Association(structure, lambda _: None)
        self.stream.keeps_all = True
        self.query = Anew(rewrite(parse(text, known_functions=known_function), emission))
        self.whole = compile(text)

    def answer(self, now: Instant) -> str:
        if self.stream.ended:
            node = view_of(self.stream.text(view=View(now=now)).encode(), "stream:s")
            return serialise(self.whole(streams=lambda _: node, now=moment_at(now)).items())
        view = marked_view(self.stream, now, START, False)
        return serialise(self.query.answer(Evaluation(moment_at(now), {}, {}), {"s": view}, lambda _: view, False))
