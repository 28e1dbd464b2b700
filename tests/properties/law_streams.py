"""Random streams for the law: tag structures of every kind, documents in fragments, and what happens to them after.

A :class:`Shape` is a tag structure, known to whoever writes the stream or the query. A stream of that shape is written
as changes: fragments with holes (also twice, in themselves, never filled), versions and events at times out of order,
repeats, replacements, removals, parents sent again with a hole more or fewer, regions that are hidden, shown,
frozen and have siblings put beside them. Then they are brought into some order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Literal

import law_contents
from law_case import Step

TagKind = Literal["snapshot", "filler", "temporal", "event", ""]

CONTAINERS = ("a", "b", "c", "g", "h")
LEAVES = ("k", "v", "t")
KEYS = ("1", "2", "3", "2", "x")
NUMBERS = ("1", "2", "3", "5", "10", "2.5", "7", "12", "0", "-4")
TEXTS = ("", "x", "y z", "1", "q<!--c-->", "&amp;<?p i?>w")
TIMES = tuple(f"2003-11-0{day}T{hour}" for day in range(1, 6) for hour in ("00:00:00", "09:30:00", "18:00:00"))
WIRE = "stream:"


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a shape. ``type``: as in structures; the empty one is none."""

    id: int
    name: str
    type: TagKind
    children: tuple[int, ...] = ()

    @property
    def timed(self) -> bool:
        return self.type in ("temporal", "event")

    @property
    def leaf(self) -> bool:
        return self.name in LEAVES


@dataclass(frozen=True, slots=True)
class Shape:
    """What a stream is like. ``declared``: it brings its structure, ``late`` after some changes; without one, nothing
    is timed. ``unnamed``: it has no root element of its own. ``dirty``: numbers are not always numbers."""

    tags: dict[int, Tag]
    declared: bool = True
    unnamed: bool = False
    late: bool = False
    dirty: bool = False

    @property
    def roots(self) -> tuple[int, ...]:
        return self.tags[1].children if self.unnamed else (1,)

    @property
    def timed(self) -> bool:
        return any(tag.timed for tag in self.tags.values())

    def below(self, tags: frozenset[int]) -> frozenset[int]:
        """The tags at any depth under some."""
        found: set[int] = set()
        waiting = list(tags)
        while waiting:
            new = set(self.tags[waiting.pop()].children) - found
            found |= new
            waiting += new
        return frozenset(found)

    def xml(self) -> str:
        """The structure as it is sent. A tag that stands in several places is written once, and then referred to."""
        written: set[int] = set()

        def tag(number: int) -> str:
            if number in written:
                return f'<tag ref="{number}"/>'
            written.add(number)
            it = self.tags[number]
            kind = f' type="{it.type}"' if it.type else ""
            inner = "".join(tag(child) for child in it.children)
            name = ' stream="s"' if self.unnamed and number == 1 else f' id="{number}" name="{it.name}"{kind}'
            return f"<tag{name}>{inner}</tag>"

        return f"<stream:structure>{tag(1)}</stream:structure>"


TYPES: dict[str, tuple[TagKind, ...]] = {
    "fragments": ("snapshot", "filler", "filler", ""),
    "temporal": ("snapshot", "filler", "temporal", "temporal", "event", "event", ""),
    "plain": ("",),
    "unnamed": ("filler", "snapshot", ""),
}
"""The kinds of shapes, with the types that their tags are drawn from."""


def draw_shape(r: Random) -> Shape:
    """A random shape: three levels of containers at most, with leaves; sometimes recursive."""
    kind = r.choices(list(TYPES), [5, 5, 4, 1])[0]
    types = TYPES[kind]
    tags: dict[int, Tag] = {}

    def make(name: str, level: int) -> int:
        number = len(tags) + 1
        own: TagKind = "snapshot" if level == 0 else r.choice(types)
        if level == 1 and kind == "unnamed":
            own = "filler"
        tags[number] = Tag(number, name, own)
        if name in LEAVES:
            return number
        children = [make(leaf, level + 1) for leaf in r.sample(LEAVES, r.randint(0 if level == 0 else 1, 2))]
        if kind == "unnamed" and level == 0:
            children = []
        count = (0, 0, 1) if level > 1 else (1, 1, 2)
        children += [make(inner, level + 1) for inner in r.sample(CONTAINERS, r.choice(count))]
        if level > 0 and r.random() < 0.08:
            above = [tag.id for tag in tags.values() if not tag.leaf and tag.id != 1]
            again = r.choice(above)
            if all(tags[child].name != tags[again].name for child in children):
                children.append(again)
        r.shuffle(children)
        tags[number] = Tag(number, name, own, tuple(children))
        return number

    make("r", 0)
    declared = kind != "plain" or r.random() < 0.2
    return Shape(tags, declared, kind == "unnamed", declared and r.random() < 0.06, r.random() < 0.08)


@dataclass
class Held:
    """What was last put into a region: to be sent again, otherwise."""

    tag: int
    head: str
    parts: list[str]
    end: str
    version: int = 0
    sent: list[str] = field(default_factory=list)


class Writer:
    """Writes one stream of a shape. ``versions``: how much of it says its version; ``updates``: whether it is an
    update stream too; ``odd``: holes that stand twice, forests, texts, nothing; ``rich``: all kinds of nodes."""

    def __init__(self, r: Random, shape: Shape, rich: bool = False) -> None:
        self.r = r
        self.shape = shape
        self.regions: dict[int, Held] = {}
        self.open: dict[int, int] = {}  # regions that updates may name, with the tag they hold; 0: the text of a leaf
        self.changes: list[str] = []
        self.count = 0
        self.timed = shape.timed and shape.declared
        self.versions = r.choice([0.0, 0.0, 1.0, 1.0, 0.8])
        self.updates = r.random() < (0.2 if self.timed else 0.5)
        self.odd = r.random() < 0.3
        self.marked = r.random() < 0.25
        self.rich = rich

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def number(self) -> int:
        self.count += 1
        return self.count

    # ---------------------------------------------------------------------------------------------- content

    def text(self, tag: Tag) -> str:
        if self.shape.dirty and self.chance(0.2):
            return self.r.choice(["", "x", "NaN", "1e400", "INF"])
        if self.rich and self.chance(0.3):
            return self.r.choice(law_contents.NUMBERS if tag.name == "v" else law_contents.TEXTS)
        return self.r.choice({"k": KEYS, "v": NUMBERS, "t": TEXTS}[tag.name])

    def element(self, number: int, depth: int) -> str:
        held = self.make(number, depth)
        return held.head + "".join(held.parts) + held.end

    def make(self, number: int, depth: int) -> Held:
        """An element of a tag: its parts, the fragments below being sent on their own."""
        tag = self.shape.tags[number]
        attributes = "".join(f' {name}="{self.r.choice(KEYS)}"' for name in ("n", "m") if self.chance(0.35))
        if self.rich and self.chance(0.4):
            attributes = law_contents.attributes(self.r, attributes)
        head, end = f"<{tag.name}{attributes}>", f"</{tag.name}>"
        if tag.leaf:
            return Held(number, head, [self.mutable(self.text(tag), 0)], end)
        parts = []
        for child in tag.children:
            leaf = self.shape.tags[child].leaf
            most = 1 if leaf and not self.chance(0.15) else 4 if depth == 0 else 2
            least = 2 if depth == 0 and not leaf else 1 if depth == 1 or (leaf and self.chance(0.8)) else 0
            for _ in range(self.r.randint(min(least, most), most)):
                if depth < 5:
                    parts.append(self.child(child, depth + 1, tag.children))
        if self.odd and self.chance(0.15):
            parts.append(self.r.choice(["1", "w", "<!--c-->", "4" if self.shape.declared else "<u>4</u>"]))
        if self.marked and self.chance(0.3):
            parts.insert(self.r.randint(0, len(parts)), self.r.choice(["<?p i?>", "<?q?>", "<!--d-->", "<!---->", "z"]))
        for _ in range(self.r.choice([0, 0, 1, 2]) if self.rich else 0):
            parts.insert(self.r.randint(0, len(parts)), law_contents.piece(self.r, self.shape.declared))
        return Held(number, head, parts, end)

    def child(self, number: int, depth: int, siblings: tuple[int, ...]) -> str:
        """A child, inside or apart; ``siblings``: all that its parent may have."""
        tag = self.shape.tags[number]
        apart = tag.type not in ("snapshot", "") or (not tag.type and self.chance(0.5))
        if apart and not (self.odd and self.chance(0.06)):
            again = [
                region
                for region, held in self.regions.items()
                if region and (held.tag in siblings or not self.shape.declared)
            ]
            if self.odd and again and self.chance(0.08):  # a hole that stands twice, perhaps inside itself
                return self.hole(self.r.choice(again), number)
            if self.odd and self.chance(0.08):  # a hole of several tags
                return self.hole(self.fresh(self.r.choice(siblings), depth), number)
            return self.hole(self.fresh(number, depth), number)
        return self.mutable(self.element(number, depth), number)

    def mutable(self, content: str, tag: int) -> str:
        if self.updates and self.chance(0.3):
            region = self.number()
            self.open[region] = tag
            return f'<{WIRE}mutable id="{region}">{content}</{WIRE}mutable>'
        return content

    def hole(self, region: int, tag: int) -> str:
        tsid = f' tsid="{tag}"' if self.shape.declared else ""
        return f'<{WIRE}hole id="{region}"{tsid}/>'

    def fresh(self, number: int, depth: int) -> int:
        """A region, and its fillers: none, one, or for timed tags several."""
        region = self.number()
        most = 3 if self.shape.tags[number].timed else 1
        for _ in range(0 if self.chance(0.08) else self.r.randint(1, most)):
            self.fill(region, number, depth, "filler")
        return region

    # ---------------------------------------------------------------------------------------------- changes

    def head(self, region: int, number: int, *, timed: bool = True) -> str:
        """The attributes of a change to a region."""
        held, tag = self.regions.get(region), self.shape.tags[number]
        written = f'id="{region}"'
        if self.shape.declared and (region or not self.chance(0.2)):
            written += f' tsid="{number}"'
        if held is not None and self.chance(self.versions):
            held.version += 1
            written += f' version="{held.version}"'
        if timed and tag.timed and self.shape.declared:
            written += f' validTime="{self.r.choice(TIMES)}"'
        return written

    def fill(self, region: int, number: int, depth: int, kind: str) -> None:
        made = self.make(number, depth)
        if region in self.regions:
            made.version, made.sent = self.regions[region].version, self.regions[region].sent
        self.regions[region] = made
        self.send(region, kind)

    def send(self, region: int, kind: str) -> None:
        """Send what is now in a region."""
        held = self.regions[region]
        content = held.head + "".join(held.parts) + held.end
        if self.odd and self.chance(0.06):
            content = self.r.choice(["w", content + content, f"5{content}", ""])  # text, a forest, nothing
        wire = f"<{WIRE}{kind} {self.head(region, held.tag)}>{content}</{WIRE}{kind}>"
        held.sent.append(wire)
        self.changes.append(wire)

    def change(self) -> None:
        """Something happens to a region."""
        region = self.r.choice(list(self.regions))
        held = self.regions[region]
        depth = 0 if region == 0 else 2
        kinds = {"replace": 4, "parent": 4, "again": 2, "repeat": 2, "remove": 2, "update": 5 if self.updates else 0}
        if region == 0:  # what happens to the whole document happens seldom
            kinds |= {"replace": 1, "again": 0, "parent": 8}
        if self.timed and self.shape.tags[held.tag].timed:
            kinds["version"] = 6
        kind = self.r.choices(list(kinds), list(kinds.values()))[0]
        if kind == "update":
            self.update()
        elif kind == "remove":
            if region or self.chance(0.1):
                timed = self.chance(0.7)
                self.changes.append(f"<{WIRE}remove {self.head(region, held.tag, timed=timed)}/>")
        elif kind == "repeat":
            wire = self.r.choice(held.sent)
            self.changes.append(wire if self.chance(0.5) else self.renamed(wire))
        elif kind == "parent":
            self.rearrange(held, depth)
            self.send(region, self.r.choice(["filler", "replace"]))
        else:
            self.fill(region, held.tag, depth, "replace" if kind == "replace" else "filler")

    @staticmethod
    def renamed(wire: str) -> str:
        """A filler as a repeat."""
        old = f"{WIRE}filler"
        if not wire.startswith(f"<{old}"):
            return wire
        return f"<{WIRE}repeat" + wire[len(old) + 1 : -len(old) - 1] + f"{WIRE}repeat>"

    def rearrange(self, held: Held, depth: int) -> None:
        """A child fewer, one more, or in another order: inserting and deleting is sending the parent again."""
        tag, parts = self.shape.tags[held.tag], held.parts
        kind = self.r.choice(["fewer", "more", "order", "more"])
        if kind == "fewer" and parts:
            parts.pop(self.r.randrange(len(parts)))
        elif kind == "order":
            self.r.shuffle(parts)
        elif tag.children:
            new = self.child(self.r.choice(tag.children), depth + 1, tag.children)
            parts.insert(self.r.randint(0, len(parts)), new)

    def update(self) -> None:
        """An update of a region as XFlux has them; regions of fragments may be named too."""
        held = {region: held.tag for region, held in self.regions.items()}
        target = self.r.choice(list(held if self.chance(0.2) or not self.open else self.open))
        if target == 0 and self.chance(0.8):
            return
        kind = self.r.choice(["replace", "before", "after", "hide", "show", "hide", "show", "freeze", "remove"])
        if kind == "freeze" and self.chance(0.6):
            kind = "hide"
        if kind in ("replace", "before", "after"):
            tag = self.open.get(target, held.get(target, 0))
            if not self.shape.declared and self.chance(0.4):
                tag = self.r.choice(list(self.shape.tags))  # what no structure forbids
            region = self.number() if not self.chance(0.1) or not self.open else self.r.choice(list(self.open))
            content = self.mutable(self.element(tag, 4), tag) if tag else self.r.choice(["", *NUMBERS])
            self.open[region] = tag
            self.changes.append(f'<{WIRE}{kind} target="{target}" id="{region}">{content}</{WIRE}{kind}>')
        else:
            self.changes.append(f'<{WIRE}{kind} id="{target}"/>')

    # ---------------------------------------------------------------------------------------------- the stream

    def write(self, most: int) -> list[str]:
        """All of it, in some order of arrival; at most so many changes."""
        if self.shape.unnamed:
            for _ in range(self.r.randint(1, 3)):
                self.fresh(self.r.choice(self.shape.roots), 1)
            if not self.regions:
                self.fill(self.number(), self.shape.roots[0], 1, "filler")
        else:
            self.fill(0, 1, 0, "filler")
            self.changes.insert(0, self.changes.pop())
        first = min(len(self.changes), most)
        del self.changes[first:]
        while len(self.changes) < first + most // 2 or self.chance(0.7):
            self.change()
        changes = self.arrange(self.changes[: first + most], first)
        if self.chance(0.3):
            changes.append(f"<{WIRE}eos/>")
        if self.shape.declared:
            at = self.r.randint(0, len(changes)) if self.shape.late else 0
            changes.insert(at, self.shape.xml())
        return changes

    def arrange(self, changes: list[str], first: int) -> list[str]:
        """An order of arrival: as written; the document shuffled and then its changes; all shuffled; or disturbed."""
        kind = self.r.choice(["written", "document", "all", "disturbed"])
        if kind == "document":
            begun = changes[:first]
            self.r.shuffle(begun)
            return begun + changes[first:]
        if kind == "all":
            self.r.shuffle(changes)
        elif kind == "disturbed":
            for _ in range(3):
                at = self.r.randrange(len(changes))
                changes.insert(self.r.randint(0, len(changes) - 1), changes.pop(at))
        return changes


def draw_streams(r: Random, most: int = 18, rich: bool = False) -> tuple[dict[str, Shape], tuple[Step, ...]]:
    """One stream, ``s``, two, ``s`` and ``t``, or three, whose changes come as they may; with their shapes."""
    names = ["s", "t", "u"][: r.choices([1, 2, 3], [13, 6, 1])[0]]
    shapes: dict[str, Shape] = {}
    waiting: dict[str, list[str]] = {}
    for name in names:
        shapes[name] = draw_shape(r)
        writer = Writer(r, shapes[name], rich)
        waiting[name] = writer.write(most if len(names) == 1 else most * 2 // 3)
    if r.random() < 0.02:
        waiting["s"] = [
            wire.replace(' id="', ' doc="d" id="', 1) if "<tag" not in wire else wire for wire in waiting["s"]
        ]
    steps: list[Step] = []
    while any(waiting.values()):
        name = r.choice([name for name in names if waiting[name]])
        for _ in range(r.choice([1, 1, 2, 4])):
            if waiting[name]:
                steps.append(Step(name, waiting[name].pop(0)))
    return shapes, tuple(steps)
