"""Streams at random over one structure without times, in fragments, with changes of every kind."""

from __future__ import annotations

import random
from collections.abc import Iterator

from xstreamcast.model.change import After, Before, Change, Fill, Freeze, Hide, Remove, Repeat, Replace, Show
from xstreamcast.model.structure import parse_structure

STRUCTURE = parse_structure("""<stream:structure xmlns:stream="urn:xstreamcast:stream">
  <tag id="1" name="r" type="snapshot">
    <tag id="2" name="section" type="filler">
      <tag id="3" name="b" type="filler">
        <tag id="4" name="x" type="snapshot"/>
        <tag id="5" name="y" type="filler"/>
      </tag>
      <tag id="6" name="o" type="filler"/>
    </tag>
  </tag>
</stream:structure>""")


class Drawn:
    """A stream at random: a document in fragments, and changes to what has come of it."""

    def __init__(self, draw: random.Random, shuffled: bool) -> None:
        self.draw = draw
        self.last = 0
        self.tags: dict[int, int] = {}
        self.firsts: list[Change] = []
        self._fill(0, None, 1)
        if shuffled:
            draw.shuffle(self.firsts)

    def _holes(self, tsid: int, most: int) -> str:
        made = ""
        for _ in range(self.draw.randrange(most + 1)):
            self.last += 1
            number = self.last
            self.tags[number] = tsid
            made += f'<stream:hole id="{number}" tsid="{tsid}"/>'
            if self.draw.random() < 0.9:
                self._fill(number, tsid, tsid)
        return made

    def _fill(self, number: int, tsid: int | None, tag: int) -> None:
        at = len(self.firsts)
        self.firsts.insert(at, Fill(region=number, tsid=tsid, content=self.content(tag).encode()))

    def content(self, tag: int) -> str:
        """An element of a tag, with holes."""
        number = self.draw.randrange(10)
        match tag:
            case 1:
                return f"<r>{self._holes(2, 4)}</r>"
            case 2:
                return f'<section n="{number}">{self._holes(3, 4)}{self._holes(6, 1)}</section>'
            case 3:
                return f"<b><x>{number}</x>{self._holes(5, 2)}</b>"
            case 5:
                return f"<y>{number}</y>"
        return f"<o>{number}</o>"

    def update(self) -> Change:
        """A change of something that is there, or not yet."""
        draw, number = self.draw, self.draw.randrange(self.last + 1)
        tsid = self.tags.get(number)
        match draw.randrange(8):
            case 0:
                return Remove(region=number)
            case 1:
                return Hide(region=number)
            case 2:
                return Show(region=number)
            case 3:
                return Freeze(region=number)
            case 4:
                return next((c for c in self.firsts if c.region == number), Hide(region=number))
            case 5:
                side, number = draw.choice((Before, After)), max(number, 1)  # beside the root, T has no root
                self.last += 1
                self.tags[self.last] = 3
                return side(region=self.last, target=number, content=b"<b><x>7</x></b>")
        kind = draw.choice((Replace, Fill, Repeat))
        return kind(region=number, tsid=tsid, content=self.content(tsid or 1).encode())

    def changes(self, updates: float) -> Iterator[Change]:
        """All that comes."""
        for change in self.firsts:
            yield change
            while self.draw.random() < updates:
                yield self.update()
