"""Random changes for T alone: no query is asked, so nothing need make sense.

Few ids, few versions, few times, and every kind of change, so that each meets what another has left behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from law_case import Step

TYPES = ("snapshot", "filler", "temporal", "event", "", "temporal", "event")
TIMES = (
    "2003-11-01", "2003-11-01T00:00:00Z", "2003-11-02T12:00:00", "2003-11-02T13:00:00+01:00", "start",
    "2003-11-03T00:00:00.5", "2003-11-03T00:00:00.25", "2003-11-04T09:30:00",
)  # fmt: skip
TEXTS = (
    "x", "1", " ", "a&amp;b", "&lt;", "&#x41;", "<![CDATA[<c>&]]>", "<![CDATA[]]>", "&#13;&#10;", "\t\n", "]]&gt;", "é",
    "<!--c-->", "<!---->", "<?p i?>", "<?q?>", "",
)  # fmt: skip
ATTRIBUTES = (
    ' n="1"', " m='\"'", ' n=" a  b&#9;&#10;c\n"', ' xml:space="preserve"', ' vtFrom="x"', ' p:n="1" xmlns:p="urn:p"',
    ' xmlns="urn:d"', ' xmlns=""', ' n="&lt;&amp;&gt;"', ' xml:lang="en"', ' xmlns:p="urn:q"', ' vtTo="now"',
)  # fmt: skip
NAMES = ("a", "b", "c", "d", "e")


@dataclass
class Changes:
    """Draws changes of one stream. ``typed``: it has a structure; ``versions``, ``updates``: how much of each there is;
    ``ids``: how many regions are spoken of."""

    r: Random
    typed: bool
    versions: float
    updates: float
    ids: int
    documents: tuple[str, ...]

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def structure(self) -> str:
        """Tag 1 is the root; the tags 2 to 6 below it are of any type, and may stand in each other."""
        types = [self.r.choice(TYPES) for _ in range(5)]
        tags = "".join(
            f'<tag id="{number}" name="{NAMES[number - 2]}"{f" type={chr(34)}{kind}{chr(34)}" if kind else ""}/>'
            for number, kind in enumerate(types, 2)
        )
        kind = self.r.choice(["snapshot", "snapshot", "temporal", "event"])
        root = f'<tag id="1" name="r" type="{kind}">' if self.chance(0.75) else '<tag stream="s">'
        return f"<stream:structure>{root}{tags}</tag></stream:structure>"

    def id(self) -> int:
        return self.r.randrange(self.ids)

    def mutable_id(self) -> int:
        """Regions inside contents; now and then with an id that holes have too."""
        return 10 + self.id()

    def content(self, depth: int = 0) -> str:
        return "".join(self.part(depth) for _ in range(self.r.choice([0, 1, 1, 1, 2, 3])))

    def part(self, depth: int) -> str:
        kind = self.r.random()
        if kind < 0.2 or depth > 3:
            return self.r.choice(TEXTS)
        if kind < 0.45:
            return f'<stream:hole id="{self.id()}"{self.tsid() if self.typed else ""}/>'
        if kind < 0.45 + self.updates / 2:
            return f'<stream:mutable id="{self.mutable_id()}">{self.content(depth + 1)}</stream:mutable>'
        name = self.r.choice(NAMES)
        chosen = self.r.choice(ATTRIBUTES) if self.chance(0.3) else ""
        return f"<{name}{chosen}>{self.content(depth + 1)}</{name}>"

    def tsid(self) -> str:
        return f' tsid="{self.r.randint(2, 6)}"'

    def doc(self) -> str:
        doc = self.r.choice(self.documents)
        return f' doc="{doc}"' if doc else ""

    def version(self) -> str:
        return f' version="{self.r.randint(0, 4)}"' if self.chance(self.versions) else ""

    def change(self) -> str:
        if self.chance(self.updates):
            return self.update()
        kind = self.r.choice(["filler", "filler", "filler", "repeat", "replace", "remove"])
        id_ = self.id()
        head = f'id="{id_}"{self.version()}{self.doc()}'
        if self.typed:
            head += ' tsid="1"' if id_ == 0 and self.chance(0.7) else "" if self.chance(0.1) else self.tsid()
            head += f' validTime="{self.r.choice(TIMES)}"' if self.chance(0.7) else ""
        inside = "" if kind == "remove" else self.content()
        if id_ == 0 and kind != "remove":
            inside = f"<r>{inside}{self.content()}{self.content()}</r>"
        return f"<stream:{kind} {head}>{inside}</stream:{kind}>"

    def update(self) -> str:
        target = self.mutable_id() if self.chance(0.7) else self.id()
        kind = self.r.choice(["replace", "before", "after", "hide", "show", "freeze", "remove", "replace", "hide"])
        if kind in ("replace", "before", "after"):
            head = f'target="{target}" id="{self.mutable_id()}"{self.doc()}'
            if kind == "replace":
                head += self.version()
            return f"<stream:{kind} {head}>{self.content(1)}</stream:{kind}>"
        return f'<stream:{kind} id="{target}"{self.version()}{self.doc()}/>'


def draw_changes(seed: int, most: int = 24) -> tuple[Step, ...]:
    """The changes of a seed; some of them come again, later."""
    r = Random(seed)
    typed = r.random() < 0.5
    documents = ("",) if r.random() < 0.9 else ("", "d") if r.random() < 0.5 else ("d",)
    drawn = Changes(r, typed, r.choice([0, 0, 0.5, 1]), r.choice([0, 0.2, 0.5]), r.choice([3, 4, 6]), documents)
    wires: list[str] = []
    for _ in range(r.randint(6, most)):
        again = [wire for wire in wires if r.random() < 0.3]
        wires.append(r.choice(again) if again and r.random() < 0.12 else drawn.change())
    if typed:
        wires.insert(0 if r.random() < 0.7 else r.randint(0, len(wires)), drawn.structure())
    if r.random() < 0.1:
        wires.insert(r.randint(0, len(wires)), "<stream:eos/>")
    return tuple(Step("s", wire) for wire in wires)
