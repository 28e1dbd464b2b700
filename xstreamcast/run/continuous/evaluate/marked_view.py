"""A query in a mode that is computed anew at every change: on T as a tree, its open holes marked.

What cannot be followed by difference (streams without a root element of their own, a stored document beside the
streams) is three-valued all the same; it costs T at every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING

from xstreamcast.cast.materialise import pick
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.change import ROOT
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Plan, Strategy
from xstreamcast.plan.modes.rewrite import ENDED
from xstreamcast.plan.sources import sources_of
from xstreamcast.run.continuous.associate.mounts import HOLE, ID, MUTABLE, TSID, lifespan_attributes
from xstreamcast.run.continuous.evaluate.assemble import begin
from xstreamcast.run.continuous.evaluate.marks import (
    Mark,
    Watermark,
    mark_hole,
    mark_living,
    on_the_way,
    register,
    takes_more,
)
from xstreamcast.run.temporal import instant_of
from xstreamcast.run.units import Parts

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling, Region
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.time import Instant, Interval
    from xstreamcast.model.tree import Tree
    from xstreamcast.plan.modes.rewrite import Modes
    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.units import Evaluation

register()


def marked_view(stream: Association, now: Instant, watermark: Instant, at_end: bool) -> Node:
    """T of a stream at a time, with marks where a filler may come."""
    return _Marking(stream, now, watermark, at_end).document()


class _Marking:
    """One rendering of T as a tree."""

    def __init__(self, stream: Association, now: Instant, watermark: Instant, at_end: bool) -> None:
        self.stream = stream
        self.doc = pick(stream.documents(), None)
        self.now = now
        self.at_end = at_end
        self.clock = Watermark()
        self.clock.at = watermark
        self.builder = TreeBuilder()
        self.path: set[int] = set()  # of the regions around: a hole inside its own filler is empty

    def document(self) -> Node:
        builder, structure = self.builder, self.stream.structure
        builder.start_document()
        if structure is None or not structure.unnamed:
            root = None if structure is None else structure.root
            self.region(self.stream.table.get((self.doc, ROOT)), root)
            return builder.finish().root
        tops = structure.tops
        for tag in () if self.at_end else tops:
            mark_hole(builder.tree, builder.here, Mark(tag, structure, self.clock))
        found = []
        for (doc, number), region in self.stream.table.items():
            versions = [filling.version or 0 for filling in region.fillings() if filling.tsid in tops]
            if doc == self.doc and versions:
                found.append((min(versions), number, region))
        for _, _, region in sorted(found, key=itemgetter(0, 1)):
            self.region(region, next(filling.tsid for filling in region.fillings()))
        return builder.finish().root

    def region(self, region: Region | None, tsid: int | None, inline: bool = False) -> None:
        """What a hole holds, and a mark if it may come to hold more."""
        structure, builder = self.stream.structure, self.builder
        if region is not None and (region.hidden or id(region) in self.path):
            self.beside(region, before=True)
            self.beside(region, before=False)
            return
        tag = None if structure is None or tsid is None else structure.tags.get(tsid)
        more = not self.at_end and not inline and takes_more(region, tag)
        if more:
            mark_hole(builder.tree, builder.here, Mark(None if tag is None else tag.id, structure, self.clock))
        if region is None:
            return
        self.beside(region, before=True)
        self.path.add(id(region))
        for _, filling, lifespan in sorted(region.visible(self.now), key=itemgetter(0)):
            self.filling(filling, lifespan, more)
        self.path.discard(id(region))
        self.beside(region, before=False)

    def beside(self, region: Region, before: bool) -> None:
        for sibling in region.before if before else region.after:
            self.region(sibling, None, inline=True)

    def filling(self, filling: Filling, lifespan: Interval | None, more: bool) -> None:
        tree, base = self.stream.grove.tree(filling)
        self.children(tree, base, iter(filling.inline), lifespan, more)

    def children(self, tree: Tree, row: int, inline: Iterator[Region], lifespan: Interval | None, more: bool) -> None:
        builder = self.builder
        for child in tree.children(row):
            kind = tree.kind[child]
            if kind == TEXT:
                builder.text(tree.value[child] or "")
            elif kind != ELEMENT:
                builder.copy(Node((tree, child)))
            elif tree.name[child] == MUTABLE:
                self.region(next(inline), None, inline=True)
            elif tree.name[child] == HOLE:
                number, tsid = tree.attribute(child, ID), tree.attribute(child, TSID)
                region = self.stream.table.get((self.doc, int(number or 0)))
                self.region(region, None if tsid is None else int(tsid))
            else:
                self.element(tree, child, inline, lifespan, more)

    def element(self, tree: Tree, row: int, inline: Iterator[Region], lifespan: Interval | None, more: bool) -> None:
        builder = self.builder
        begin(builder, tree, row)
        at, end = row + 1, row + tree.size[row]
        while at <= end and tree.kind[at] == ATTRIBUTE:
            builder.put_attribute(tree.name[at], tree.value[at] or "", tree.prefix[at])
            at += 1
        if lifespan is not None:
            if more and lifespan.begin != lifespan.end:
                mark_living(builder.tree, builder.here)
            for name, prefix_id, value in lifespan_attributes(lifespan):
                builder.put_attribute(name, value, prefix_id)
        self.children(tree, row, inline, None, False)
        builder.end()


class Anew:
    """A rewritten query as one program over whole documents."""

    def __init__(self, modes: Modes) -> None:
        module = modes.module
        assert module.body is not None
        self.modes = modes
        self.sources = sources_of(module.body)
        made = Plan(module, Strategy.PROJECT, self.sources, (), (module.body,))
        self.program = Parts(made).compile(module.body)

    def answer(
        self, evaluation: Evaluation, views: Mapping[str, Node], stored: Callable[[str], Node], ended: bool
    ) -> list[Item]:
        """The answer on documents with marks; ``stored`` finds those that are no streams."""
        for source in self.sources:
            uri = source.uri or ""
            evaluation.bind(source.variable, views[uri] if source.stream else stored(uri))
        for name, (stream, way) in self.modes.asked:
            evaluation.given[name] = [on_the_way(views[stream], way, instant_of(evaluation.now))]
        if self.modes.ended:
            evaluation.given[ENDED] = [ended]
        return list(evaluation.run(self.program))
