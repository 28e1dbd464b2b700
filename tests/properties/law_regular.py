"""Regular cases of the law: streams as those send them who know their tag structure, and queries over these.

The structure comes first, every fragment is one element of its tag, and changes are fills, repeats, replacements and
removals, in batches. So queries are followed in columns, which the odd streams of :mod:`law_streams` leave at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from law_case import Case, Step
from law_oracle import Scratch
from law_queries import Grammar, draw_query
from law_streams import CONTAINERS, LEAVES, Shape, Tag, TagKind, Writer
from law_wide import draw_wide

import xstreamcast
from xstreamcast.model.structure import Structure, parse_structure, write_structure

_TSID = re.compile(r'tsid="(\d+)"')
FRAGMENTS: tuple[tuple[TagKind, ...], ...] = (
    ("filler",),
    ("filler", "filler", "temporal"),
    ("temporal", "event", "filler"),
    ("event",),
)
"""What the containers of a stream may be."""
BATCHES = (1, 1, 7, 7, 20, 1000)
DULL = ("", "0", '""', "false()", "NaN", "<all/>")


class Regular(Writer):
    """Writes what fits its structure, and nothing that only update streams have."""

    def __init__(self, r: Random, shape: Shape) -> None:
        super().__init__(r, shape)
        self.updates = self.odd = self.marked = False


class Followable(Grammar):
    """Queries of the forms that columns follow, mostly."""

    def query(self) -> str:
        shapes: dict[Callable[[], str], int] = {
            self.selection: 3, self.aggregate: 3, self.loop: 5, self.join: 5, self.grouped: 5, self.sorted: 5,
            self.nested: 5, self.constructed: 4, self.keyed: 3, self.outer: 2, self.around: 1, self.chosen: 2,
        }  # fmt: skip
        if self.temporal:
            shapes[self.coincident] = 3
        return self.r.choices(list(shapes), list(shapes.values()))[0]()


def draw_regular_shape(r: Random) -> Shape:
    """Two or three levels of containers, each name once, with leaves, of which some are fragments; the outermost may
    have no element around them."""
    kinds = r.choice(FRAGMENTS)
    tags: dict[int, Tag] = {}
    names = r.sample(CONTAINERS, len(CONTAINERS))

    def make(name: str, level: int) -> int:
        number = len(tags) + 1
        leaf = name in LEAVES
        kind: TagKind = "snapshot" if level == 0 or (leaf and r.random() < 0.7) else r.choice(kinds)
        tags[number] = Tag(number, name, kind)
        if leaf:
            return number
        children = [make(one, level + 1) for one in r.sample(LEAVES, 0 if level == 0 else r.randint(1, 3))]
        for _ in range(1 if level == 0 else r.choice([0, 1, 1, 2]) if level < 3 else 0):
            if names:
                children.append(make(names.pop(), level + 1))
        r.shuffle(children)
        tags[number] = Tag(number, name, kind, tuple(children))
        return number

    make("r", 0)
    return Shape(tags, dirty=r.random() < 0.05, unnamed=r.random() < 0.2)


def as_they_turn_up(wires: list[str]) -> Iterator[str]:
    """A stream whose structure, the first of these, is announced tag by tag, as a feed announces what records hold."""
    whole = parse_structure(wires[0])
    known: set[int] = {whole.root, *whole.tops}
    yield _announced(whole, known)
    for wire in wires[1:]:
        used = {int(number) for number in _TSID.findall(wire)} & set(whole.tags)
        inside = whole.descendants(used | set(whole.tops))
        used |= {tsid for tsid in inside if f"<{whole.tags[tsid].name}" in wire}
        waiting = sorted(used)
        while waiting:
            waiting += [parent for parent in whole.parents[waiting.pop()] if parent not in used]
            used.update(waiting)
        if not used <= known:
            known |= used
            yield _announced(whole, known)
        yield wire


def _announced(whole: Structure, known: set[int]) -> str:
    """The tags that are known so far, of a structure that grows."""
    tags = {
        tsid: replace(tag, children=tuple([child for child in tag.children if child in known]))
        for tsid, tag in whole.tags.items()
        if tsid in known
    }
    return write_structure(replace(whole, tags=tags, grows=True))


def draw_regular(seed: int, most: int = 16) -> Case:
    """The regular case of a seed; ``most``: about a third of the changes after the document."""
    r = Random(seed)
    names = ["s", "t"][: r.choice([1, 1, 1, 2])]
    shapes = {name: draw_regular_shape(r) for name in names}
    steps: list[Step] = []
    for name, shape in shapes.items():
        wires = [wire for wire in Regular(r, shape).write(most * 3) if "<stream:eos" not in wire]
        if r.random() < 0.25:
            wires = list(as_they_turn_up(wires))
        steps += [Step(name, wire) for wire in wires]
    if len(names) > 1:
        first = [step for step in steps if "<stream:structure" in step.wire]
        rest = [step for step in steps if "<stream:structure" not in step.wire]
        if r.random() < 0.5:
            r.shuffle(rest)
        steps = first + rest
    return Case(_followable(r, shapes, steps), tuple(steps), together=r.choice(BATCHES)).heard()


def _followable(r: Random, shapes: dict[str, Shape], steps: list[Step]) -> str:
    """A query that is followed in columns at the start and says something in the end, if one is found soon."""
    structures = {step.stream: step.items()[0] for step in steps if "<stream:structure" in step.wire}
    text = ""
    for _ in range(8):
        kind = r.random()
        text = (
            Followable(r, shapes).query()
            if kind < 0.7
            else draw_query(r, shapes)
            if kind < 0.9
            else draw_wide(r, shapes)
        )
        used = {name: one for name, one in structures.items() if f'"{name}"' in text}
        if len(text) > 500 or not used:
            continue
        query = xstreamcast.continuous(text, structures=used)  # type: ignore[arg-type]  # all are structures
        query.inflow.begin()
        if query.engine is None:
            continue
        scratch = Scratch(text, "event")
        for step in steps:
            scratch.take(step)
        if scratch.answer().adaptive not in DULL:
            break
    return text
