"""T1: what a change does to what is known. One statement of the semantics per test."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import t, told

from xstreamcast.cast import regions as regions_module

checked = settings(max_examples=120, derandomize=True, deadline=None)

ROOT = '<filler id="0"><a><hole id="1"/></a></filler>'


def filler(content: str, version: int | None = None, region: int = 1, kind: str = "filler") -> str:
    mark = "" if version is None else f' version="{version}"'
    return f'<{kind} id="{region}"{mark}>{content}</{kind}>'


def remove(version: int | None = None, region: int = 1) -> str:
    mark = "" if version is None else f' version="{version}"'
    return f'<remove id="{region}"{mark}/>'


# -- versions, repeats, tombstones ------------------------------------------------------------------------------------


def test_hole_and_filler_commute() -> None:
    assert t(ROOT + filler("x")) == t(filler("x") + ROOT) == "<a>x</a>"


def test_an_older_version_has_no_effect() -> None:
    text, found = told(ROOT + filler("new", 2) + filler("old", 1))
    assert text == "<a>new</a>"
    assert found.codes == ["XSC0025"]


def test_a_newer_version_counts_without_a_word() -> None:
    assert told(ROOT + filler("old", 1) + filler("new", 2)) == ("<a>new</a>", [])


def test_of_one_version_the_last_to_arrive_counts() -> None:
    assert t(ROOT + filler("first", 3) + filler("second", 3, kind="replace")) == "<a>second</a>"


def test_without_versions_arrival_rules() -> None:
    assert t(ROOT + filler("first") + filler("second", kind="replace")) == "<a>second</a>"


@pytest.mark.parametrize(
    "changes",
    [(filler("one", 1), filler("two", 2, kind="replace"), remove(3), filler("four", 4)), (filler("one", 1), remove(2))],
)
def test_versioned_changes_commute(changes: tuple[str, ...]) -> None:
    results = {t(ROOT + "".join(order)) for order in itertools.permutations(changes)}
    assert len(results) == 1


def test_a_removal_leaves_a_tombstone() -> None:
    assert t(ROOT + filler("x", 1) + remove(2) + filler("x", 1)) == "<a></a>"
    assert t(ROOT + filler("x", 1) + remove(2) + filler("y", 3)) == "<a>y</a>"


def test_a_repeated_tombstone_has_no_further_effect() -> None:
    """A carousel repeats tombstones."""
    assert t(ROOT + filler("x", 1) + remove(2) + filler("y", 3) + remove(2)) == "<a>y</a>"


def test_a_remove_before_its_filler_has_no_effect_unless_versioned() -> None:
    text, found = told(ROOT + remove() + filler("x"))
    assert text == "<a>x</a>"
    assert found.codes == ["XSC0027"]
    assert t(ROOT + remove(2) + filler("x", 1)) == "<a></a>"


def test_the_same_content_again_is_a_repeat_without_a_word() -> None:
    assert told(ROOT + filler("x") + filler("x") + filler("x", kind="repeat")) == ("<a>x</a>", [])


def test_the_same_id_with_other_content_takes_the_newest_and_is_told() -> None:
    stream = ROOT + filler("x") + filler("y")
    text, found = told(stream)
    assert text == "<a>y</a>"
    assert [(d.code, d.place.offset) for d in found] == [("XSC0026", stream.rindex("<filler"))]


def test_a_repeat_without_a_known_filler_is_a_filler() -> None:
    assert t(ROOT + filler("x", kind="repeat")) == "<a>x</a>"


def test_a_repeat_with_a_newer_version_moves_the_version_on() -> None:
    assert t(ROOT + filler("x", 1) + filler("x", 5) + filler("y", 3)) == "<a>x</a>"


def test_an_unversioned_change_among_versioned_ones_does_not_let_older_ones_in() -> None:
    assert t(ROOT + filler("five", 5) + filler("plain") + filler("three", 3)) == "<a>plain</a>"
    assert t(ROOT + filler("five", 5) + remove() + filler("three", 3)) == "<a></a>"


def test_an_unversioned_update_among_versioned_ones_does_not_let_older_ones_in() -> None:
    root = (
        '<stream:filler id="0"><a><stream:hole id="1"/></a></stream:filler>'
        '<stream:filler id="1" version="5">five</stream:filler>'
    )
    update = '<stream:replace target="1" id="2">plain</stream:replace>'
    assert t(root + update + '<stream:filler id="1" version="3">three</stream:filler>') == "<a>plain</a>"


versioned = st.lists(
    st.tuples(st.sampled_from(["filler", "replace", "repeat", "remove"]), st.sampled_from("xyz")),
    min_size=1,
    max_size=5,
)


@checked
@given(versioned, st.randoms(use_true_random=False))
def test_the_newest_version_counts_in_every_order(kinds: list[tuple[str, str]], random: Random) -> None:
    changes = [remove(n) if kind == "remove" else filler(text, n, kind=kind) for n, (kind, text) in enumerate(kinds)]
    expected = "" if kinds[-1][0] == "remove" else kinds[-1][1]
    random.shuffle(changes)
    assert t(ROOT + "".join(changes)) == f"<a>{expected}</a>"


@checked
@given(versioned)
def test_without_versions_the_last_change_counts(kinds: list[tuple[str, str]]) -> None:
    changes = [remove() if kind == "remove" else filler(text, kind=kind) for kind, text in kinds]
    expected = "" if kinds[-1][0] == "remove" else kinds[-1][1]
    assert t(ROOT + "".join(changes)) == f"<a>{expected}</a>"


# -- removal and children ---------------------------------------------------------------------------------------------


def test_removal_unbinds_one_region_and_its_children_return_with_a_hole() -> None:
    stream = ROOT + filler('<b><hole id="2"/></b>') + filler("child", region=2)
    assert t(stream) == "<a><b>child</b></a>"
    assert t(stream + remove()) == "<a></a>"
    assert t(stream + remove() + filler('<c><hole id="2"/></c>')) == "<a><c>child</c></a>"


def test_a_child_may_come_while_its_parent_is_gone() -> None:
    stream = ROOT + filler('<b><hole id="2"/></b>') + remove() + filler("child", region=2)
    assert t(stream + filler('<b><hole id="2"/></b>', kind="repeat")) == "<a><b>child</b></a>"


def test_a_parent_sent_again_with_a_hole_more_or_fewer_inserts_or_deletes_a_child() -> None:
    """SIGMOD'04 §1."""

    def parent(*holes: int, version: int) -> str:
        return filler("<b>" + "".join(f'<hole id="{n}"/>' for n in holes) + "</b>", version)

    children = filler("x", region=2) + filler("y", region=3)
    more = ROOT + children + parent(2, version=1) + parent(2, 3, version=2)
    assert t(more) == "<a><b>xy</b></a>"
    assert t(more + parent(3, version=3)) == "<a><b>y</b></a>"
    assert t(more + parent(3, version=3) + parent(3, 2, version=4)) == "<a><b>yx</b></a>"


def test_a_hole_id_occurring_twice_copies_the_filler_to_each_place() -> None:
    stream = '<filler id="0"><a><hole id="1"/>-<hole id="1"/></a></filler>'
    assert t(stream + filler("<b/>")) == "<a><b/>-<b/></a>"


def test_the_root_may_be_replaced_and_removed() -> None:
    assert t(ROOT + filler("x") + '<replace id="0"><z><hole id="1"/></z></replace>') == "<z>x</z>"
    assert t(ROOT + filler("x") + '<remove id="0"/>') == ""


# -- the first element, inline fragments, structures ------------------------------------------------------------------

STRUCTURE = '<structure><tag id="1" name="a"><tag id="2" name="b" type="filler"/></tag></structure>'


def test_an_unwrapped_first_element_is_filler_0() -> None:
    """DBPL'03 §2.1, fragment 1."""
    assert (
        t('<a><stream:hole id="1" tsid="2"/></a><stream:filler id="1" tsid="2"><b/></stream:filler>' + STRUCTURE)
        == "<a><b/></a>"
    )


def test_a_tag_declared_as_a_fragment_may_come_inline_and_is_told() -> None:
    text, found = told(STRUCTURE + '<filler id="0" tsid="1"><a><b>inline</b></a></filler>')
    assert text == "<a><b>inline</b></a>"
    assert [(d.code, d.severity) for d in found] == [("XSC0024", "warning")]
    assert "/a/b" in found[0].message


def test_content_waits_for_a_structure_that_comes_late() -> None:
    stream = '<filler id="0" tsid="1"><a><hole id="1" tsid="2"/></a></filler><filler id="1" tsid="2"><b/></filler>'
    assert told(stream + STRUCTURE) == ("<a><b/></a>", [])


def test_a_structure_may_come_again() -> None:
    stream = '<filler id="0" tsid="1"><a><hole id="1" tsid="2"/></a></filler>'
    assert told(STRUCTURE + stream + STRUCTURE + '<filler id="1" tsid="2"><b/></filler>' + STRUCTURE) == (
        "<a><b/></a>",
        [],
    )


def test_a_structure_may_add() -> None:
    more = STRUCTURE.replace("</tag>", '<tag id="3" name="c" type="filler"/></tag>')
    stream = '<filler id="0" tsid="1"><a><hole id="1" tsid="3"/></a></filler><filler id="1" tsid="3"><c/></filler>'
    assert told(STRUCTURE + more + stream) == ("<a><c/></a>", [])


def test_a_changed_structure_is_an_error_and_the_earlier_one_stays() -> None:
    changed = STRUCTURE.replace('type="filler"', 'type="event"')
    stream = (
        STRUCTURE
        + changed
        + '<filler id="0" tsid="1"><a><hole id="1" tsid="2"/></a></filler><filler id="1" tsid="2"><b/></filler>'
    )
    text, found = told(stream)
    assert text == "<a><b/></a>"
    assert [(d.code, d.severity, d.place.offset) for d in found] == [("XSC0021", "quarantine", len(STRUCTURE))]


def test_an_unknown_tsid_is_put_aside_and_nothing_else_is_lost() -> None:
    stream = STRUCTURE + '<filler id="0" tsid="1"><a><hole id="1"/><hole id="2"/></a></filler>'
    bad, good = '<filler id="1" tsid="99"><x/></filler>', '<filler id="2" tsid="2"><b/></filler>'
    text, found = told(stream + bad + good)
    assert text == "<a><b/></a>"
    assert [(d.code, d.severity, d.place.offset) for d in found][:1] == [("XSC0022", "quarantine", len(stream))]
    assert "99" in found[0].message


def test_without_a_structure_what_waits_for_one_is_put_aside() -> None:
    text, found = told('<filler id="0" tsid="1"><a/></filler>')
    assert text == ""
    assert [(d.code, d.severity) for d in found] == [("XSC0020", "quarantine")]


def test_what_needs_no_structure_is_not_lost_because_something_else_waits_for_one() -> None:
    text, found = told(
        '<filler id="0"><a><hole id="1"/><hole id="2"/></a></filler>'
        '<filler id="1" tsid="2">x</filler><filler id="2">y</filler><eos/>'
    )
    assert text == "<a>y</a>"
    assert found.codes == ["XSC0020", "XSC0030"]


def test_waiting_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions_module, "WAITING_LIMIT", 2)
    stream = '<filler id="0" tsid="1"><a><hole id="1"/><hole id="2"/></a></filler>' + "".join(
        f'<filler id="{n}" tsid="2">{n}</filler>' for n in (1, 2)
    )
    text, found = told(stream + STRUCTURE)
    assert text == "<a>1</a>"
    assert [d.code for d in found if d.severity == "quarantine"] == ["XSC0020"]


# -- malformed changes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ("<filler id='1'><b></filler>", "XSC0001"),
        ("<filler id='1'>&nbsp;</filler>", "XSC0001"),
        ("<filler id='1'><p:b/></filler>", "XSC0001"),
        ("<filler id='1'><b x='1' x='2'/></filler>", "XSC0001"),
        ("<filler id='1'><hole id='x'/></filler>", "XSC0003"),
        ("<filler>no id</filler>", "XSC0003"),
        ("<filler id='one'>x</filler>", "XSC0003"),
        ("<filler id='-1'>x</filler>", "XSC0003"),
        ("<filler id='1' tsid='x'>x</filler>", "XSC0003"),
        ("<filler id='1' version='x'>x</filler>", "XSC0003"),
        ("<filler id='1' validTime='yesterday'>x</filler>", "XSC0010"),
        ("<filler id='1' id='2'>x</filler>", "XSC0001"),
        ("<before id='1'>x</before>", "XSC0003"),
    ],
)
def test_a_malformed_change_is_put_aside_with_its_place_and_nothing_else_is_lost(bad: str, code: str) -> None:
    head = '<filler id="0"><a><hole id="5"/></a></filler>\n'
    stream = head + bad + '\n<filler id="5">kept</filler>'
    text, found = told(stream)
    assert text == "<a>kept</a>"
    assert [(d.code, d.severity) for d in found] == [(code, "quarantine")]
    offset = found[0].place.offset
    assert offset is not None
    assert len(head) <= offset < len(head) + len(bad)
    assert found[0].excerpt.startswith(bad[:7]) or found[0].excerpt in bad


@pytest.mark.parametrize("form", ["", "stream:"])
def test_a_fault_in_content_is_placed_at_its_byte_in_the_stream(form: str) -> None:
    stream = (
        f'<{form}filler id="0"><a/></{form}filler><{form}filler id="1" '
        f'doc="a long name"><b><c></wrong></b></{form}filler>'
    )
    _, found = told(stream)
    assert [d.code for d in found] == ["XSC0001"]
    offset = found[0].place.offset
    assert offset is not None
    assert stream[offset:].startswith(("wrong", "</wrong"))
