"""A query followed in a mode, held against the three-valued reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kleene import Kleene
from kleene_documents import Marked

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.functions.registry import known_function
from xstreamcast.lang.link import parse
from xstreamcast.model.atomic import Item
from xstreamcast.model.change import Change, Eos
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import START
from xstreamcast.plan.algebra import Strategy
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.plan.modes.rewrite import Emission, rewrite
from xstreamcast.run.continuous.arrive.share import Association
from xstreamcast.run.continuous.evaluate import marked_view
from xstreamcast.run.continuous.evaluate.modes import Modal
from xstreamcast.run.library import moment_of
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.units import Evaluation

NOW = "2003-11-30"


def engine(text: str, emission: Emission, structures: Mapping[str, Structure] | None = None) -> Modal | None:
    """The query in a mode; None if it cannot be followed by difference."""
    modes = rewrite(parse(text, known_functions=known_function), emission)
    made = plan(modes.module, streams=True, changing=True)
    if made.strategy is Strategy.NONE:
        return None
    return Modal(modes, made, Evaluation(moment_of(NOW), {}, {}), structures or {})


def shown(answer: Callable[[], list[Any]]) -> str:
    try:
        return serialise(answer())
    except XStreamError as failure:
        return f"error {failure.code}"


class Reference:
    """T with its open holes, change by change."""

    def __init__(self, text: str, structure: Structure | None = None) -> None:
        self.regions = Materialiser(structure)
        body = parse(text, known_functions=known_function).body
        assert body is not None
        self.body = body
        self.query = compile(text)

    def apply(self, change: Change) -> None:
        self.regions.apply(change)

    def answer(self, emission: Emission) -> str:
        tree = Marked(self.regions, self.regions.ended).document()
        logic = Kleene({"s": tree}, {"s": self.regions.structure})
        return logic.certain(self.body) if emission == "certain" else logic.guess(self.body)

    def eager(self) -> str:
        node = view_of(self.regions.text().encode(), "stream:s")
        return shown(lambda: list(self.query(streams=lambda _: node, now=NOW)))


class Anew:
    """The same on T as a tree, at every change."""

    def __init__(self, text: str, emission: Emission, structure: Structure | None) -> None:
        self.stream = Association(structure, lambda _: None)
        self.stream.keeps_all = True
        self.query = marked_view.Anew(rewrite(parse(text, known_functions=known_function), emission))

    def feed(self, change: Change, stream: str) -> None:
        self.stream.apply(change)

    def answer(self) -> list[Item]:
        view = marked_view.marked_view(self.stream, self.stream.now, START, self.stream.ended)
        evaluation = Evaluation(moment_of(NOW), {}, {})
        return self.query.answer(evaluation, {"s": view}, lambda uri: view, self.stream.ended)


def check(
    text: str,
    changes: Iterable[Change],
    emission: Emission,
    structure: Structure | None = None,
    anew: bool = False,
) -> None:
    """The law of a mode: at every prefix what the reference says, and at the end what the query itself gives."""
    structures = {} if structure is None else {"s": structure}
    followed = Anew(text, emission, structure) if anew else engine(text, emission, structures)
    if followed is None:
        return
    reference = Reference(text, structure)
    for number, change in enumerate([*changes, Eos()], 1):
        followed.feed(change, "s")
        reference.apply(change)
        where = f"{emission}: {text}\nafter change {number}: {change}\nT: {reference.regions.text()}"
        try:
            expected = reference.answer(emission)
        except ValueError:  # an empty text compared with a number: who meets it first is not laid down
            continue
        told = shown(followed.answer)
        if told not in ("error FORG0001", "error XPTY0004"):
            assert told == expected, where
    final, told = reference.eager(), shown(followed.answer)
    if not final.startswith("error") and not told.startswith("error"):
        assert told == final, f"{emission}: {text}\nat the end\nT: {reference.regions.text()}"
