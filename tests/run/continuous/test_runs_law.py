"""What a file brings stands in runs; whatever touches it afterwards, the answer is that of the query from scratch."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from budget import MORE

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.change import (
    After,
    Before,
    Change,
    Fill,
    Freeze,
    Hide,
    Remove,
    Repeat,
    Replace,
    Show,
)
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.run.continuous.arrive import inflow
from xstreamcast.run.continuous.evaluate import bulk
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.wire.fragment import FragmentWriter

STRUCTURE = """<stream:structure xmlns:stream="urn:xstreamcast:stream">
  <tag id="1" name="r" type="snapshot">
    <tag id="2" name="s" type="filler">
      <tag id="3" name="b" type="filler">
        <tag id="4" name="x" type="snapshot"/>
        <tag id="5" name="c" type="filler"><tag id="6" name="y" type="snapshot"/>
          <tag id="8" name="d" type="filler"><tag id="9" name="y" type="snapshot"/></tag></tag>
      </tag>
      <tag id="7" name="o" type="filler"/>
    </tag>
  </tag>
</stream:structure>"""
S = 'stream("s")'
QUERIES = (
    f"count({S}//b)",
    f"sum({S}//b/x)",
    f"avg({S}/r/s/b/x)",
    f"max({S}//x)",
    f"distinct-values({S}//b/x)",
    f"string-join({S}//b/x, '-')",
    f"exists({S}//b[x = '7'])",
    f"{S}//b[x > 3]/x",
    f"for $b in {S}//b where $b/x > 2 return <m>{{ $b/x, count($b/c) }}</m>",
    f"for $b in {S}//b where $b/x < 8 return $b/x * 2",
    f"{S}/r/s//y",
    f"{S}//b[c/y = 3]",
    f"{S}//s[@n = '1']/b/x",
    f"(count({S}//b), {S}//c/y, sum({S}//y))",
    f"for $b in {S}//b return <f>{{ $b/c[1]/y/text() }}</f>",
    f"<all>{{ {S}//b[x < 5]/x }}</all>",
    f"{S}//b/../@n",
    f"for $b in {S}//b order by number($b/x) return $b/x",
    f"count({S}//*)",
)


class Stream:
    """A document in fragments, and changes to it, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.r = Random(seed)
        self.next = 100
        self.sections = {number: [self._new() for _ in range(self.r.choice((1, 3, 40)))] for number in (1, 2, 3)}
        self.inner: dict[int, list[int]] = {}

    def _new(self) -> int:
        self.next += 1
        return self.next

    def root(self) -> Change:
        holes = "".join(f'<stream:hole id="{number}" tsid="2"/>' for number in self.sections)
        return Fill(region=0, content=f"<r>{holes}</r>".encode())

    def section(self, number: int, again: bool = False) -> Change:
        r, pieces = self.r, []
        for hole in self.sections[number]:
            pieces.append(f'<stream:hole id="{hole}" tsid="{7 if hole % 11 == 0 else 3}"/>')
            if r.random() < 0.1:
                pieces.append(r.choice(("text", "<b><x>5</x></b>", "<!-- c -->", "\n")))
        content = f'<s n="{number % 2}">{"".join(pieces)}</s>'.encode()
        return (
            Replace(region=number, tsid=2, content=content) if again else Fill(region=number, tsid=2, content=content)
        )

    def record(self) -> bytes:
        r = self.r
        holes = [self._new() for _ in range(r.choice((0, 0, 0, 1, 2)))]
        self.inner[self.next + 1000] = holes
        x = f"<x>{r.choice(('1', '2', '3', '5', '7', '9', '9', '12') + (('odd',) if r.random() < 0.02 else ()))}</x>"
        inside = "".join(f'<stream:hole id="{hole}" tsid="5"/>' for hole in holes)
        after = r.choice(("", "", "", "", "\n", "<!-- c -->", "t"))
        return f"<b>{x}{inside}</b>{after}".encode()

    def inside(self) -> bytes:
        return f"<c><y>{self.r.choice('1233')}</y></c>".encode()

    def filled(self, hole: int) -> list[Change]:
        if hole % 11 == 0:
            return [Fill(region=hole, tsid=7, content=b"<o/>")]
        self.inner.clear()
        made: list[Change] = [Fill(region=hole, tsid=3, content=self.record())]
        for inner in [one for some in self.inner.values() for one in some]:
            if self.r.random() < 0.7:
                made.append(Fill(region=inner, tsid=5, content=self.inside()))
            self.known_inner.append(inner)
        return made

    known_inner: list[int]

    def first(self) -> list[Change]:
        """What is in the file."""
        self.known_inner = []
        made = [self.root()]
        for number, holes in self.sections.items():
            made.append(self.section(number))
            for hole in holes:
                if self.r.random() < 0.85:
                    made += self.filled(hole)
        if self.r.random() < 0.5:
            self.r.shuffle(made)
        if self.r.random() < 0.5:
            made.insert(self.r.randrange(len(made)), self.change())
        return made

    def change(self) -> Change:
        """Something that touches what stands in a run, or around one."""
        r = self.r
        number = r.choice(list(self.sections))
        holes = self.sections[number]
        hole = r.choice(holes or [101])
        anyone = r.choice((hole, hole, hole, number, r.choice(self.known_inner or [hole])))
        kind = r.randrange(14)
        if kind == 0:
            return Replace(region=hole, tsid=3, content=self.record())
        if kind == 1:
            return Remove(region=anyone)
        if kind == 2:
            return Hide(region=anyone)
        if kind == 3:
            return Show(region=anyone)
        if kind == 4:
            return Freeze(region=hole)
        if kind in (5, 6):
            side = Before if kind == 5 else After
            content = b"<s><b><x>6</x></b></s>" if anyone < 100 else self.inside() if anyone != hole else self.record()
            return side(region=self._new(), target=anyone, content=content)
        if kind == 7:
            if holes and r.random() < 0.5:
                holes.remove(hole)
            else:
                r.shuffle(holes)
            return self.section(number, again=True)
        if kind == 8:  # the hole stands elsewhere, too, or moves
            self.sections[r.choice(list(self.sections))].append(hole)
            return self.section(r.choice(list(self.sections)), again=True)
        if kind == 9 and self.known_inner:
            return Replace(region=r.choice(self.known_inner), tsid=5, content=self.inside())
        if kind == 10 and self.known_inner:
            inner = r.choice(self.known_inner)
            content = f'<c><stream:hole id="{inner + 5000}" tsid="8"/><y>3</y></c>'.encode()
            return Fill(region=inner, tsid=5, content=content)
        if kind == 12 and self.known_inner:
            return Fill(region=r.choice(self.known_inner) + 5000, tsid=8, content=b"<d><y>3</y></d>")
        if kind == 11:
            return Repeat(region=hole, tsid=3, content=self.record())
        return Fill(region=hole, tsid=3, version=r.randrange(3), content=self.record())


def written(changes: list[Change], file: Path, structure: Structure | None = None) -> None:
    out = io.BytesIO()
    writer = FragmentWriter(out, structure or parse_structure(STRUCTURE))
    for change in changes:
        writer.write(change)
    writer.close()
    file.write_bytes(out.getvalue())


class Held:
    """A query over a file and what comes after it, beside T and the query run from scratch."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.compiled = compile(text)
        self.query = xstreamcast.continuous(text)
        self.known = Materialiser(parse_structure(STRUCTURE))
        self.display = Materialiser()

    def show(self, changes: list[Change]) -> None:
        for change in changes:
            self.display.apply(change)

    def check(self, about: object) -> None:
        document = self.known.text()
        node = view_of(document.encode(), "stream:s")
        expected = _told(lambda: self.compiled(streams=lambda _: node).items())
        where = f"{self.text}\nafter {about}\nT: {document}\nwanted: {expected}"
        assert _told(lambda: self.query.answer().items()) == expected, where
        shown = self.display.text()
        assert shown == expected or (expected.startswith("error ") and expected[6:] in shown), (
            f"{where}\nshown: {shown}"
        )


def _told(ask: Callable[[], Iterable[Item]]) -> str:
    try:
        return serialise(ask())
    except XStreamError as failure:
        return f"error {failure.code}"


@pytest.mark.parametrize("seed", range(18 * MORE))
def test_what_touches_a_run_changes_the_answer_as_if_there_were_none(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(bulk, "TOGETHER", 300)
    stream = Stream(seed)
    first = stream.first()
    written(first, tmp_path / "s.xml")
    changes = [stream.change() for _ in range(12)]
    for text in QUERIES[seed % 3 :: 3]:
        held = Held(text)
        held.query.inflow.load(str(tmp_path / "s.xml"), "s", telling=seed % 2 == 0)
        held.show([emitted.change for emitted in held.query.take()])
        for change in first:
            held.known.apply(change)
        held.check("the file")
        for change in changes:
            held.known.apply(change)
            held.show(held.query.feed(change, "s"))
            held.check(change)
