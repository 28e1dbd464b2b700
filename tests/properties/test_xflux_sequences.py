"""XFlux's update sequences (ICDE'08 §III, §VI) and ours: T of what its operators emit is T of what ours do.

The paper's operators emit updates of their own: a count that is replaced, elements that are hidden when their predicate
fails, tuples put before or after others. They are written here as the changes they are, one group for each event that
comes in, and held against our answer after each.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

import pytest
from law_oracle import Followed

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import After, Before, Change, Fill, Hide, Replace, Show


def t(changes: Iterable[Change]) -> str:
    """T of an output: region 0 is the answer."""
    display = Materialiser()
    for change in changes:
        display.apply(change)
    return display.text()


def ours(text: str, *fed: Change) -> list[str]:
    """Our display after each change of ``s``."""
    followed = Followed(xstreamcast.continuous(text))
    shown = []
    for change in fed:
        followed.show(followed.query.feed(change, "s"))
        shown.append(followed.display.text())
    return shown


def root(holes: int) -> Fill:
    inside = "".join(f'<stream:hole id="{number}"/>' for number in range(1, holes + 1))
    return Fill(region=0, content=f"<r>{inside}</r>".encode())


def fill(region: int, content: str) -> Fill:
    return Fill(region=region, content=content.encode())


def test_updates_of_updates() -> None:
    """§III: sM(0,1) x, sR(1,2) y, sA(2,3) z, sB(1,3) w is w y z, by T and by a query that follows it."""
    changes: list[Change] = [
        fill(0, '<r><stream:mutable id="1">x</stream:mutable></r>'),
        Replace(target=1, region=2, content=b"y"),
        After(target=2, region=3, content=b"z"),
        Before(target=1, region=3, content=b"w"),
    ]
    assert ours('string(stream("s")/r)', *changes) == ["x", "y", "yz", "wyz"]
    assert [t(changes[:number]) for number in (1, 2, 3, 4)] == [f"<r>{text}</r>" for text in ("x", "y", "yz", "wyz")]


def test_a_count_is_replaced_at_every_event() -> None:
    """§III: sS gives sM(0, nid) 0; each text gives sR(nid, rid) with the new count."""
    new = count(1)
    nid = next(new)
    emitted: list[Change] = [fill(0, f'<stream:mutable id="{nid}">0</stream:mutable>')]
    theirs = [t(emitted)]
    for number in (1, 2, 3):
        emitted.append(Replace(target=nid, region=next(new), content=str(number).encode()))
        theirs.append(t(emitted))
    fed = [root(3), *[fill(region, f"<x>{text}</x>") for region, text in ((1, "a"), (2, "b"), (3, "c"))]]
    assert ours('count(stream("s")//text())', *fed) == theirs == ["0", "1", "2", "3"]


def test_a_count_over_two_regions_is_adjusted_when_the_first_becomes_three_texts() -> None:
    """§IV as printed gives both regions the same order, adjusts nobody, and answers 2."""
    three = Replace(target=1, region=3, content=b"<x>a</x><x>b</x><x>c</x>")
    fed = [root(2), fill(1, "<x>a</x>"), fill(2, "<x>d</x>"), three]
    assert ours('count(stream("s")//text())', *fed)[-1] == "4"


def test_concatenation_puts_the_left_before_the_right_whatever_comes_first() -> None:
    """§VI-A: [sM(2,1), sB(1,0), x of 0, y of 1, z of 0, w of 1]: what is of 0 stands before what is of 1."""
    theirs = t([fill(0, '<stream:mutable id="1">yw</stream:mutable>'), Before(target=1, region=2, content=b"xz")])
    query = xstreamcast.continuous('string-join((stream("zero")//text(), stream("one")//text()), "")')
    for name in ("zero", "one"):
        query.feed(root(2), name)
    for name, region, text in (("zero", 1, "x"), ("one", 1, "y"), ("zero", 2, "z"), ("one", 2, "w")):
        query.feed(fill(region, f"<t>{text}</t>"), name)
    assert query.text() == theirs == "xzyw"


AUTHORS = [
    {1: "Smith", 2: "Jones", 3: "Smith"},
    {1: "Smith", 2: "Smith", 3: "Smith"},
    {1: "Brown", 2: "Smith", 3: "Smith"},
    {1: "Brown", 2: "Jones", 3: "Stone"},
    {1: "Smith", 2: "Jones", 3: "Stone"},
]


def test_a_predicate_shows_and_hides_what_it_is_about() -> None:
    """§VI-B: every element of e1 is a mutable region, hidden when its outcome is 0, shown when it is not again."""
    book = "<book><t>{0}</t><author>{1}</author></book>"
    before = AUTHORS[0]
    regions = "".join(f'<stream:mutable id="{k}">{book.format(k, before[k])}</stream:mutable>' for k in before)
    emitted: list[Change] = [fill(0, regions), *[Hide(region=k) for k in before if before[k] != "Smith"]]
    fed: list[Change] = [root(3), *[fill(k, book.format(k, before[k])) for k in before]]
    theirs, at = [t(emitted)], [len(fed) - 1]
    for after in AUTHORS[1:]:
        for k in after:
            if after[k] != before[k]:
                emitted += [Replace(region=k, content=book.format(k, after[k]).encode())]
                emitted += [Show(region=k) if after[k] == "Smith" else Hide(region=k)]
                fed += [Replace(region=k, content=book.format(k, after[k]).encode())]
        theirs.append(t(emitted))
        at.append(len(fed) - 1)
        before = after
    shown = ours('stream("s")//book[author = "Smith"]', *fed)
    assert [shown[step] for step in at] == theirs


def test_all_elements_below_are_the_same_in_another_order() -> None:
    """§VI-C: of <a><b><c>x</c></b></a> the inner element is put before the outer one; ours is document order."""
    outer = fill(0, '<stream:mutable id="1"><b><c>x</c></b></stream:mutable>')
    assert t([outer, Before(target=1, region=2, content=b"<c>x</c>")]) == "<c>x</c><b><c>x</c></b>"
    assert ours('stream("s")/a//*', fill(0, "<a><b><c>x</c></b></a>")) == ["<b><c>x</c></b><c>x</c>"]


@pytest.mark.parametrize("keys", [(3, 1, 2), (5, 9, 1, 7), (1, 2, 3), (3, 2, 1)], ids=str)
def test_sorting_inserts_each_element_after_the_greatest_smaller_key(keys: tuple[int, ...]) -> None:
    """§VI-D: sA(mid, nid), where mid has the largest key that is smaller; an empty region begins."""
    emitted: list[Change] = [fill(0, '<stream:mutable id="100"/>')]
    regions, theirs = {-1: 100}, [t(emitted)]
    for number, key in enumerate(keys, 1):
        target = regions[max(known for known in regions if known < key)]
        emitted.append(After(target=target, region=100 + number, content=f"<x>{key}</x>".encode()))
        regions[key] = 100 + number
        theirs.append(t(emitted))
    fed = [root(len(keys)), *[fill(number, f"<x>{key}</x>") for number, key in enumerate(keys, 1)]]
    assert ours('for $x in stream("s")//x order by number($x) return $x', *fed) == theirs


@pytest.mark.parametrize(
    ("step", "shown"),
    [("ancestor::*", ["", "", "", "rac", "rac"]), ("..", ["", "", "", "c", "c"])],
    ids=["ancestors", "parent"],
)
def test_backward_steps_show_what_turns_out_to_be_above(step: str, shown: list[str]) -> None:
    """§VI-E: the elements of the cloned source, by //*, are regions that are hidden unless something is found below.

    They are told here by their names; ours come in document order.
    """
    names = {1: "r", 2: "a", 3: "c"}
    emitted: list[Change] = [fill(0, "".join(f'<stream:mutable id="{k}">{names[k]}</stream:mutable>' for k in names))]
    emitted += [Hide(region=k) for k in names]
    theirs, seen = [], ""
    for after in shown:
        emitted += [Show(region=k) for k in names if names[k] in after and names[k] not in seen]
        seen = after
        theirs.append(t(emitted))
    fed: list[Change] = [fill(0, '<r><stream:hole id="1"/></r>'), fill(1, '<a><stream:hole id="2"/></a>')]
    fed += [fill(2, '<c><stream:hole id="3"/></c>'), fill(3, "<b/>")]
    fed.append(Replace(region=3, content=b"<b>again</b>"))
    assert ours(f'string-join(stream("s")//b/{step}/name(), "")', *fed) == theirs == shown
