"""Update streams: sR, sB, sA, hide, show, freeze, as ICDE'08 §III has them; and against a plain model of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from budget import MORE
from hypothesis import example, given, settings
from hypothesis import strategies as st
from streams import Told, after, t

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import Place
from xstreamcast.model.change import After, Before, Change, Fill, Freeze, Hide, Replace, Show

checked = settings(max_examples=48 * MORE, derandomize=True, deadline=None)


@dataclass
class Updates:
    """A document <r>…</r> under updates; T at any moment, and what was told."""

    start: str = '<stream:mutable id="1">x</stream:mutable>'
    found: Told = field(default_factory=Told)

    def __post_init__(self) -> None:
        self.regions = Materialiser(None, self.found.append)
        self.regions.apply(Fill(region=0, content=f"<r>{self.start}</r>".encode()))

    def __call__(self, *changes: Change) -> str:
        for change in changes:
            self.regions.apply(change, Place("s", offset=7))
        return self.regions.text()[3:-4]


def sR(i: int, j: int, text: str = "") -> Replace:
    return Replace(target=i, region=j, content=text.encode())


def sB(i: int, j: int, text: str = "") -> Before:
    return Before(target=i, region=j, content=text.encode())


def sA(i: int, j: int, text: str = "") -> After:
    return After(target=i, region=j, content=text.encode())


def test_w_y_z() -> None:
    """ICDE'08 §III's example, whole: the id 3 is used twice."""
    r = Updates()
    assert r(sR(1, 2, "y")) == "y"
    assert r(sA(2, 3, "z")) == "yz"
    assert r(sB(1, 3, "w")) == "wyz"
    assert r.found == []


def test_a_reused_id_means_its_newest_region_and_the_older_stays_visible_but_closed() -> None:
    r = Updates()
    r(sR(1, 2, "y"), sA(2, 3, "z"), sB(1, 3, "w"))
    assert r(sR(3, 4, "W")) == "Wyz"


def test_replacing_makes_the_content_of_the_target_a_new_region() -> None:
    r = Updates()
    assert r(sR(1, 2, "y"), sR(2, 3, "z")) == "z"
    assert r(sR(1, 4, "v")) == "v"


def test_removing_is_replacing_by_nothing() -> None:
    assert Updates()(sR(1, 2, "")) == ""


def test_regions_nested_in_replaced_content_die_and_updates_to_them_are_told() -> None:
    r = Updates()
    r(sR(1, 2, "y"), sR(1, 3, "z"))
    assert r(sR(2, 4, "lost")) == "z"
    assert r.found.codes == ["XSC0029"]
    assert r.found[0].place == Place("s", offset=7)


@pytest.mark.parametrize(
    "change",
    [sB(2, 4, "x"), sA(2, 4, "x"), sR(2, 4, "x"), Hide(region=2), Show(region=2), Freeze(region=2)],
    ids=lambda change: change.kind,
)
def test_every_update_to_a_dead_region_is_told_and_has_no_effect(change: Change) -> None:
    r = Updates()
    r(sR(1, 2, "y"), sR(1, 3, "z"))
    assert r(change) == "z"
    assert len(r.found) == 1


def test_hiding_a_dead_region_does_not_bring_it_back_to_life() -> None:
    r = Updates()
    r(sR(1, 2, "y"), sR(1, 3, "z"), Hide(region=2))
    assert r(sR(2, 3, "lost"), sR(3, 4, "new")) == "new"


def test_dying_reaches_regions_at_any_depth() -> None:
    r = Updates(
        '<stream:mutable id="1">a<stream:mutable id="2">b<stream:mutable '
        'id="3">c</stream:mutable></stream:mutable></stream:mutable>'
    )
    r(sR(1, 4, "new"))
    assert r(sR(3, 5, "lost"), sR(2, 6, "lost")) == "new"
    assert r.found.codes == ["XSC0029", "XSC0029"]


def test_siblings_die_with_the_parent_they_stand_in() -> None:
    r = Updates('<stream:mutable id="1">a<stream:mutable id="2">b</stream:mutable></stream:mutable>')
    assert r(sA(2, 3, "c")) == "abc"
    assert r(sR(1, 4, "new")) == "new"
    assert r(sR(3, 5, "lost")) == "new"
    assert r.found.codes == ["XSC0029"]


def test_the_latest_sibling_comes_closest() -> None:
    r = Updates()
    assert r(sB(1, 2, "a"), sB(1, 3, "b"), sA(1, 4, "y"), sA(1, 5, "z")) == "abxzy"


def test_siblings_are_outside_and_survive_replacement_of_what_they_stand_beside() -> None:
    r = Updates()
    assert r(sB(1, 2, "a"), sA(1, 3, "z"), sR(1, 4, "new"), sR(1, 5, "newer")) == "anewerz"
    assert r(sR(2, 6, "A")) == "Anewerz"


def test_a_sibling_of_a_sibling_stands_beside_it() -> None:
    r = Updates()
    assert r(sA(1, 2, "b"), sA(2, 3, "c"), sB(2, 4, "a")) == "xabc"


def test_an_id_may_be_used_again_for_the_region_that_replaces_it() -> None:
    """sR(1, 1): a cascade under one id (ICDE'08 §III: an update id may be used multiple times)."""
    r = Updates()
    assert r(sR(1, 1, "y")) == "y"
    assert r(sR(1, 1, "z")) == "z"


def test_an_id_may_be_used_again_for_a_sibling() -> None:
    r = Updates()
    assert r(sA(1, 1, "y")) == "xy"
    assert r(sA(1, 1, "z"), sB(1, 1, "w")) == "xywz"


def test_a_frozen_region_takes_no_updates_and_that_is_told() -> None:
    r = Updates()
    r(sR(1, 2, "y"), Freeze(region=1))
    assert r(sR(1, 3, "no"), sA(1, 4, "no"), sB(1, 5, "no"), Hide(region=1)) == "y"
    assert r.found.codes == ["XSC0023"] * 4


def test_freezing_a_region_leaves_those_inside_and_around_it_open() -> None:
    r = Updates('<stream:mutable id="1">a<stream:mutable id="2">b</stream:mutable></stream:mutable>')
    assert r(Freeze(region=1), sR(2, 3, "c")) == "ac"
    r = Updates('<stream:mutable id="1">a<stream:mutable id="2">b</stream:mutable></stream:mutable>')
    assert r(Freeze(region=2), sR(1, 3, "c")) == "c"


def test_a_frozen_fragment_takes_no_filler_of_a_later_version() -> None:
    regions = Materialiser()
    for change in (
        Fill(region=0, content=b'<r><stream:hole id="1"/></r>'),
        Fill(region=1, version=2, content=b"two"),
        Freeze(region=1, version=2),
        Fill(region=1, version=3, content=b"three"),
    ):
        regions.apply(change)
    assert regions.text() == "<r>two</r>"


def test_a_hidden_region_is_out_of_sight_until_shown() -> None:
    r = Updates()
    assert r(Hide(region=1)) == ""
    assert r(Show(region=1)) == "x"


def test_hide_and_show_are_idempotent() -> None:
    r = Updates()
    assert r(Hide(region=1), Hide(region=1), Show(region=1)) == "x"
    assert r(Show(region=1), Show(region=1), Hide(region=1)) == ""


def test_a_region_is_visible_iff_no_enclosing_region_is_hidden() -> None:
    r = Updates('<stream:mutable id="1">a<stream:mutable id="2">b</stream:mutable></stream:mutable>')
    assert r(Hide(region=1), Hide(region=2)) == ""
    assert r(Show(region=2)) == ""
    assert r(Show(region=1)) == "ab"
    assert r(Hide(region=2)) == "a"


def test_updates_under_a_hidden_region_change_what_is_stored() -> None:
    r = Updates()
    assert r(Hide(region=1), sR(1, 2, "y"), sA(2, 3, "z")) == ""
    assert r(Show(region=1)) == "yz"


def test_siblings_of_a_hidden_region_stay_in_sight() -> None:
    assert Updates()(sB(1, 2, "a"), sA(1, 3, "z"), Hide(region=1)) == "az"


def test_a_filler_may_be_hidden() -> None:
    hidden = '<filler id="0"><a><hole id="1"/></a></filler><filler id="1">x</filler><hide id="1"/>'
    assert t(hidden) == "<a></a>"
    assert t(hidden + '<replace id="1">y</replace><show id="1"/>') == "<a>y</a>"


def test_the_root_may_be_hidden() -> None:
    assert after([Fill(region=0, content=b"<a/>"), Hide(region=0)]) == ""


def test_an_older_hide_has_no_effect() -> None:
    assert Updates()(Show(region=1, version=5), Hide(region=1, version=4)) == "x"


def test_an_update_to_a_region_nobody_has_spoken_of_is_told() -> None:
    r = Updates()
    assert r(sR(9, 2, "y"), sA(9, 3, "z")) == "x"
    assert r.found.codes == ["XSC0029", "XSC0029"]


# -- update streams against a plain model -----------------------------------------------------------------------------


@dataclass
class Node:
    """A region as the equations have it: items inside it, siblings beside it, three flags."""

    inside: list[str | Node]
    before: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)
    hidden: bool = False
    frozen: bool = False
    dead: bool = False

    def text(self) -> str:
        inner = "" if self.hidden else "".join(i if isinstance(i, str) else i.text() for i in self.inside)
        return "".join(n.text() for n in self.before) + inner + "".join(n.text() for n in self.after)

    def die(self) -> None:
        self.dead = True
        for node in [*self.before, *self.after, *(i for i in self.inside if isinstance(i, Node))]:
            node.die()


class Model:
    """ICDE'08 §III and docs/semantics.md, "Update streams", in the plainest way."""

    def __init__(self) -> None:
        self.two = Node(["b"])
        self.one = Node(["a", self.two])
        self.root = Node([self.one])
        self.newest = {1: self.one, 2: self.two}

    def apply(self, change: Change) -> None:
        target = self.newest.get(getattr(change, "target", change.region))
        if target is None or target.dead or target.frozen:
            return
        if isinstance(change, Hide | Show):
            target.hidden = isinstance(change, Hide)
        elif isinstance(change, Freeze):
            target.frozen = True
        elif isinstance(change, Replace | Before | After):
            node = Node([change.content.decode()])
            if isinstance(change, Replace):
                for item in target.inside:
                    if isinstance(item, Node):
                        item.die()
                target.inside = [node]
            elif isinstance(change, Before):
                target.before.append(node)
            else:
                target.after.insert(0, node)
            self.newest[change.region] = node


few = st.integers(1, 4)
updates = st.one_of(
    st.builds(sR, few, few, st.sampled_from("pqrst")),
    st.builds(sB, few, few, st.sampled_from("pqrst")),
    st.builds(sA, few, few, st.sampled_from("pqrst")),
    st.builds(Hide, region=few),
    st.builds(Show, region=few),
    st.builds(Freeze, region=few),
)
NESTED = '<stream:mutable id="1">a<stream:mutable id="2">b</stream:mutable></stream:mutable>'


def agree(changes: list[Change]) -> None:
    model, r = Model(), Updates(NESTED)
    for change in changes:
        target = getattr(change, "target", change.region)
        if target not in model.newest:
            continue  # an update comes after its region: ICDE'08 §III
        model.apply(change)
        assert r(change) == model.root.text()


def fresh(changes: list[Change]) -> list[Change]:
    """The same updates, but no id is used twice."""
    numbers = itertools.count(3)
    newest = {1: 1, 2: 2}
    made: list[Change] = []
    for change in changes:
        target = newest.get(getattr(change, "target", change.region))
        if target is None:
            continue
        if isinstance(change, Replace | Before | After):
            number = next(numbers)
            newest[change.region] = number
            made.append(type(change)(target=target, region=number, content=change.content))
        elif isinstance(change, Hide | Show | Freeze):
            made.append(type(change)(region=target))
    return made


@settings(checked, max_examples=80 * MORE)
@given(st.lists(updates, max_size=10))
def test_updates_agree_with_the_plain_model_at_every_prefix(changes: list[Change]) -> None:
    agree(fresh(changes))


@settings(checked, max_examples=80 * MORE)
@given(st.lists(updates, max_size=10))
@example([sR(1, 1, "p")])
@example([sA(1, 1, "p")])
def test_updates_with_reused_ids_agree_with_the_plain_model_at_every_prefix(changes: list[Change]) -> None:
    agree(changes)
