"""Random changes to a list of elements with keys, and a query held against its evaluation from scratch after each."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from emission import Followed, told

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import Change, Fill, Hide, Remove, Replace, Show
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure
from xstreamcast.model.tree import Node
from xstreamcast.run.continuous.query import ContinuousQuery, continuous
from xstreamcast.run.query import Query, compile
from xstreamcast.run.streams import view_of

KEYS = ("1", "2", "2", "3", "01", "k")
NUMBERS = ("1", "2", "2", "3", "10")


def element(random: Random, keys: tuple[str, ...], hole: int | None = None) -> str:
    """An ``a`` or a ``b`` with keys x or y, a number v, and perhaps a hole for more of what is inside."""
    values = "".join(f"<v>{random.choice(NUMBERS)}</v>" for _ in range(random.choice((0, 1, 1, 2))))
    inner = "" if hole is None else f"<stream:hole id='{hole}'/>"
    if random.random() < 0.5:
        key = "".join(f"<x>{random.choice(keys)}</x>" for _ in range(random.choice((0, 1, 1, 1, 2))))
        return f"<a n='{random.choice(NUMBERS)}'>{key}{values}{inner}</a>"
    key = "".join(f"<y>{random.choice(keys)}</y>" for _ in range(random.choice((0, 1, 1, 1, 2))))
    return f"<b m='{random.choice(NUMBERS)}'>{key}{values}{inner}</b>"


def changes(seed: int, count: int, keys: tuple[str, ...] = NUMBERS) -> list[Change]:
    """A list whose elements come in holes, each with a hole inside: sent again, moved, removed, hidden and shown."""
    random = Random(seed)
    outer = list(range(1, 9))
    made: list[Change] = []
    for step in range(count):
        kind = random.random()
        hole = random.choice(outer)
        if step == 0 or kind < 0.12:
            random.shuffle(outer)
            holes = "".join(f"<stream:hole id='{k}'/>" for k in outer[: random.randint(4, 8)])
            made.append(Fill(region=0, content=f"<r>{holes}{element(random, keys)}</r>".encode()))
        elif kind < 0.55:
            several = "".join(element(random, keys, 10 * hole + n) for n in range(random.choice((0, 1, 1, 1, 2))))
            made.append(Replace(region=hole, content=several.encode()))
        elif kind < 0.8:
            inside = random.choice(("<v>2</v>", "<v>3</v><v>1</v>", "<x>2</x>", "<y>2</y>", ""))
            made.append(Replace(region=10 * hole + random.choice((0, 0, 1)), content=inside.encode()))
        elif kind < 0.88:
            made.append(Remove(region=hole))
        elif kind < 0.95:
            made.append(Hide(region=hole))
        else:
            made.append(Show(region=hole))
    return made


def _asked(query: Query, node: Node) -> list[Any]:
    return query(streams=lambda _: node, now="2003-11-30").items()


def hold(text: str, given: list[Change], structures: dict[str, Structure] | None = None) -> Followed:
    """T(q'(γ)) = q(T(γ)) after each change: of the answer, and of what has been told of it."""
    followed, materialiser, query = Followed(text, structures), Materialiser(), compile(text)
    for number, change in enumerate(given, 1):
        materialiser.apply(change)
        followed.feed(change)
        document = materialiser.text()
        node = view_of(document.encode(), "stream:s")
        expected = told(partial(_asked, query, node))
        where = f"{text}\nafter change {number}: {change}\nT: {document}\nwanted: {expected}"
        assert without_message(followed.answer) == without_message(expected), where
        assert without_message(followed.shown) == without_message(expected), where
    return followed


def without_message(shown: str) -> str:
    """Of an error, its code is what counts."""
    head, _, rest = shown.partition('<error xmlns="urn:xstreamcast:error" code="')
    return f"error {rest[:8]}" if rest and not head else shown


def hold_many(text: str, seed: int, count: int, names: str = "stu") -> ContinuousQuery:
    """The same of a query over several streams whose changes come in turns, by what it tells."""
    random = Random(seed)
    followed, sink, query = continuous(text), Materialiser(), compile(text)
    names = "".join(name for name in names if name in followed.streams)
    documents = {name: Materialiser() for name in names}
    waiting = {name: changes(10 * seed + number, count) for number, name in enumerate(names)}
    while any(waiting.values()):
        name = random.choice([name for name in names if waiting[name]])
        change = waiting[name].pop(0)
        documents[name].apply(change)
        for told_of_it in followed.feed(change, name):
            sink.apply(told_of_it)
        nodes = {name: view_of(known.text().encode(), f"stream:{name}") for name, known in documents.items()}
        expected = serialise(query(streams=nodes.__getitem__).items())
        assert followed.text() == expected, f"{text}\nafter {change} of {name}"
        assert sink.text() == expected, f"{text}\nafter {change} of {name}"
    return followed
