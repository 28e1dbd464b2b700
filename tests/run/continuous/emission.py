"""A query followed change by change, and the document that its output stream describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.functions.registry import known_function
from xstreamcast.lang.link import parse
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.run.continuous.display.emit import Output, error_text
from xstreamcast.run.continuous.display.shelf import Emitted
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.run.library import moment_of
from xstreamcast.run.units import Evaluation


def told(answer: Callable[[], list[object]]) -> str:
    """An answer as text, or the error that it is as the output stream writes it."""
    try:
        return serialise(answer())
    except XStreamError as failure:
        return error_text(failure)


class Followed:
    """``shown``: T(output) so far; ``odd``: what T had to say about the output stream."""

    def __init__(self, text: str, structures: Mapping[str, Structure] | None = None) -> None:
        made = plan(parse(text, known_functions=known_function), streams=True, changing=True)
        self.journal = Journal(made, Evaluation(moment_of("2003-11-30"), {}, {}), structures or {})
        self.output = Output(self.journal)
        self.odd: list[Diagnostic] = []
        self.sink = Materialiser(None, self.odd.append)
        for emitted in self.output.begin():
            self.sink.apply(emitted.change)

    def feed(self, *changes: Change) -> list[Emitted]:
        self.journal.feed_many(changes, "s")
        made = self.output.changes()
        for emitted in made:
            self.sink.apply(emitted.change)
        return made

    @property
    def shown(self) -> str:
        return self.sink.text()

    @property
    def answer(self) -> str:
        return told(self.journal.answer)
