"""Tag structures: read in the papers' forms, written, looked up, expanded; every fault named and placed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.model.structure import UNNAMED, Structure, Tag, TagType, parse_structure, write_structure

checked = settings(max_examples=80, derandomize=True, deadline=None)

CREDIT = """<stream:structure>
  <tag type="snapshot" id="1" name="creditAccounts">
    <tag type="temporal" id="2" name="account">
      <tag type="snapshot" id="3" name="customer"/>
      <tag type="temporal" id="4" name="creditLimit"/>
      <tag type="event" id="5" name="transaction">
        <tag type="snapshot" id="6" name="vendor"/>
        <tag type="temporal" id="7" name="status"/>
        <tag type="snapshot" id="8" name="amount"/>
      </tag></tag></tag>
</stream:structure>"""

PARTS = """<structure><tag id="1" name="parts"><tag id="2" name="part" type="filler"><tag id="3" name="name"/>
  <tag ref="2"/></tag></tag></structure>"""


# -- reading ----------------------------------------------------------------------------------------------------------


def test_the_papers_structure_is_read_with_its_types() -> None:
    credit = parse_structure(CREDIT)
    types = [credit.tag(tsid).type for tsid in range(1, 9)]
    assert types == ["snapshot", "temporal", "snapshot", "temporal", "event", "snapshot", "temporal", "snapshot"]
    assert credit.root == 1
    assert credit.child(2, "transaction") == 5
    assert credit.child(1, "transaction") is None


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ('type="snapshot"', "snapshot"),
        ('type="embedded"', "snapshot"),
        ('type="filler"', "filler"),
        ('type="temporal"', "temporal"),
        ('type="event"', "event"),
        ('filler="true"', "filler"),
        ('filler="false"', "snapshot"),
        ("", None),
    ],
)
def test_how_a_tag_travels_is_said_in_any_of_the_papers_ways(attributes: str, kind: str | None) -> None:
    structure = parse_structure(
        f'<structure><tag id="1" name="a"><tag id="2" name="b" {attributes}/></tag></structure>'
    )
    assert structure.tag(2).type == kind


@pytest.mark.parametrize(
    "text",
    [
        '<stream:structure><tag id="1" name="a"/></stream:structure>',
        '<stream:structure xmlns:stream="urn:xstreamcast:stream"><tag id="1" name="a"/></stream:structure>',
        '<structure><tag id="1" name="a"/></structure>',
        '<tagStructure><tag id="1" name="a"/></tagStructure>',
        '<tag id="1" name="a"/>',
        '<?xml version="1.0"?><!-- c --><structure><!-- d --><tag id="1" name="a"/></structure>',
    ],
)
def test_a_structure_is_known_in_every_wrapping(text: str) -> None:
    structure = parse_structure(text)
    assert (structure.root, structure.tag(1).name) == (1, "a")


def test_tags_without_a_named_root_are_children_of_the_document_node() -> None:
    """WebDB'05 §4.4: the stock stream has no root element."""
    named = parse_structure('<structure><tag><tag id="1" name="stock"/><tag id="2" name="index"/></tag></structure>')
    several = parse_structure('<structure><tag id="1" name="stock"/><tag id="2" name="index"/></structure>')
    for structure in (named, several):
        assert structure.unnamed
        assert structure.tag(UNNAMED).children == (1, 2)
        assert structure.path(1) == "/stock"


def test_a_reference_makes_a_structure_recursive() -> None:
    parts = parse_structure(PARTS)
    assert parts.tag(2).children == (3, 2)
    assert parts.parents[2] == (1, 2)
    assert parts.descendants([2]) == {2, 3}


def test_names_are_expanded_under_the_declarations_in_scope() -> None:
    structure = parse_structure(
        '<structure xmlns:p="urn:one"><tag id="1" name="p:a">'
        '<tag xmlns:p="urn:two" id="2" name="p:a"/></tag></structure>'
    )
    assert structure.tag(1).name == "{urn:one}a"
    assert structure.tag(2).name == "{urn:two}a"


def test_priorities_and_the_reuse_of_ids_are_read() -> None:
    structure = parse_structure(
        '<structure><tag id="1" name="a" priority="3" reuse="no"><tag id="2" name="b" reuse="yes"/></tag></structure>'
    )
    assert [(tag.priority, tag.reuse) for tag in structure.tags.values()].count((3, False)) == 1
    assert (structure.tag(2).priority, structure.tag(2).reuse) == (0, True)


def test_a_structure_may_nest_two_thousand_deep() -> None:
    depth = 2000
    opened = "".join(f'<tag id="{n}" name="n{n}">' for n in range(depth))
    structure = parse_structure(f"<structure>{opened}{'</tag>' * depth}</structure>")
    assert structure.path(depth - 1).count("/") == depth
    assert parse_structure(write_structure(structure)).tags == structure.tags


# -- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ('<structure>\n<tag id="1" name="a">\n<tag id="1" name="b"/></tag></structure>', "tag id 1 twice", "t:3:1"),
        ('<structure>\n <tag id="x" name="a"/></structure>', "id='x'", "t:2:2"),
        ('<structure>\n <tag id="-1" name="a"/></structure>', "id='-1'", "t:2:2"),
        ('<structure>\n <tag id="1_0" name="a"/></structure>', "id='1_0'", "t:2:2"),
        ('<structure>\n <tag id="٣" name="a"/></structure>', "id='٣'", "t:2:2"),
        ('<structure>\n <tag name="a"/></structure>', "no id", "t:2:2"),
        ('<structure><tag id="1" name="a">\n<tag id="2"/></tag></structure>', "tag 2 without a name", "t:2:1"),
        ('<structure>\n<tag id="1" name="a" type="soft"/></structure>', "type 'soft'", "t:2:1"),
        ('<structure>\n<tag id="1" name="p:a"/></structure>', "prefix 'p' is not declared", "t:2:1"),
        ('<structure>\n<tag id="1" name="a"><x/></tag></structure>', "<x> in a tag structure", "t:2:22"),
        ('<structure>\n<tag id="1" name="a"></structure>', "mismatched tag", "t:2:24"),
        ("<structure>\n</structure>", "empty", "t:1:1"),
        ("", "no element", "t:1:1"),
        ("<item/>", "<item>", "t:1:1"),
    ],
)
def test_a_fault_in_a_structure_is_named_and_placed(text: str, says: str, place: str) -> None:
    with pytest.raises(XStreamError) as caught:
        parse_structure(text, "t")
    assert says in caught.value.message
    assert str(caught.value.place) == place
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ('<structure><tag id="1" name="a">\n\n<tag ref="9"/></tag></structure>', "ref to 9", 3),
        (
            '<structure><tag id="1" name="a"><tag id="2" name="b"/>\n<tag id="3" name="b"/></tag></structure>',
            "twice",
            2,
        ),
    ],
)
def test_a_fault_between_two_tags_is_placed_too(text: str, says: str, line: int) -> None:
    with pytest.raises(XStreamError, match=says) as caught:
        parse_structure(text, "t")
    assert caught.value.place is not None
    assert caught.value.place.line == line


def test_an_unknown_tag_is_refused_by_its_id() -> None:
    with pytest.raises(XStreamError, match="no tag with id 99"):
        parse_structure(CREDIT).tag(99)


# -- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "tags"),
    [
        ("/creditAccounts", {1}),
        ("//account", {2}),
        ("account", {2}),
        ("/account", set()),
        ("/creditAccounts/account/*", {3, 4, 5}),
        ("//transaction/status", {7}),
        ("/creditAccounts//status", {7}),
        ("//*", {1, 2, 3, 4, 5, 6, 7, 8}),
        ("/*", {1}),
        ("/*/*", {2}),
        ("transaction//*", {6, 7, 8}),
        ("//nobody", set()),
    ],
)
def test_a_path_expands_to_the_tags_it_can_reach(path: str, tags: set[int]) -> None:
    assert parse_structure(CREDIT).expand(path) == tags


def test_paths_expand_through_recursion() -> None:
    parts = parse_structure(PARTS)
    assert parts.expand("/parts/part/part/part/name") == {3}
    assert parts.expand("/parts//part") == {2}


@pytest.mark.parametrize("path", ["p:item", "{urn:p}item", "//p:item", "/p:list/{urn:p}item"])
def test_a_step_may_be_a_qualified_name(path: str) -> None:
    structure = parse_structure(
        '<structure xmlns:p="urn:p"><tag id="1" name="p:list"><tag id="2" name="p:item"/></tag></structure>'
    )
    assert structure.expand(path) == {2}


@pytest.mark.parametrize("path", ["", "/", "a///b", "a/", "q:item"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(XStreamError) as caught:
        parse_structure(CREDIT).expand(path)
    assert caught.value.code == "XSC0005"


def test_every_tag_has_its_root_path() -> None:
    credit = parse_structure(CREDIT)
    assert credit.path(7) == "/creditAccounts/account/transaction/status"
    assert parse_structure(PARTS).path(3) == "/parts/part/name"


# -- changing ---------------------------------------------------------------------------------------------------------


def test_a_structure_may_add_but_not_take_back() -> None:
    older = parse_structure('<structure><tag id="1" name="a"><tag id="2" name="b" type="filler"/></tag></structure>')

    def adds(inner: str) -> bool:
        return parse_structure(f'<structure><tag id="1" name="a">{inner}</tag></structure>').only_adds_to(older)

    b = '<tag id="2" name="b" type="filler"/>'
    assert adds(b)
    assert adds(b + '<tag id="3" name="c"/>')
    assert adds('<tag id="2" name="b" type="filler"><tag id="3" name="c"/></tag>')
    assert not adds("")
    assert not adds('<tag id="2" name="c" type="filler"/>')
    assert not adds('<tag id="2" name="b" type="event"/>')
    assert not adds('<tag id="2" name="b" type="filler" reuse="no"/>')
    assert not adds('<tag id="3" name="b" type="filler"/>')
    assert not parse_structure('<structure><tag id="1" name="z"/></structure>').only_adds_to(older)


# -- writing ----------------------------------------------------------------------------------------------------------


@st.composite
def structures(draw: st.DrawFn) -> Structure:
    """Any graph of tags that a root reaches, with namespaces, types, priorities, and references upwards."""
    size = draw(st.integers(1, 8))
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=size, max_size=size, unique=True))
    uris = st.sampled_from(["", "", "{urn:x}", "{urn:y}", '{urn:"&<}'])
    children: dict[int, list[int]] = {n: [] for n in range(1, size + 1)}
    for n in range(2, size + 1):
        children[draw(st.integers(1, n - 1))].append(n)
    for _ in range(draw(st.integers(0, 3))):
        above, below = draw(st.integers(1, size)), draw(st.integers(1, size))
        if below not in children[above]:
            children[above].append(below)
    types: st.SearchStrategy[TagType | None] = st.sampled_from([None, "snapshot", "filler", "temporal", "event"])
    tags = {
        n: Tag(
            n, draw(uris) + names[n - 1], draw(types), tuple(children[n]), draw(st.integers(0, 2)), draw(st.booleans())
        )
        for n in children
    }
    prefixes = draw(
        st.dictionaries(st.sampled_from(["p", "q", "stream"]), st.sampled_from(["urn:x", "urn:y"]), max_size=3)
    )
    return Structure(tags, 1, draw(st.sampled_from(["", "credit"])), prefixes)


@checked
@given(structures())
def test_a_structure_survives_being_written_and_read(structure: Structure) -> None:
    again = parse_structure(write_structure(structure))
    assert again.tags == structure.tags
    assert (again.root, again.stream) == (structure.root, structure.stream)


def test_a_prefix_made_up_for_one_namespace_is_not_the_one_another_has() -> None:
    structure = Structure({1: Tag(1, "{urn:x}a", None, (2,)), 2: Tag(2, "{urn:y}b")}, 1, "", {"ns2": "urn:x"})
    assert parse_structure(write_structure(structure)).tags == structure.tags


def test_a_structure_without_a_named_root_survives_being_written_and_read() -> None:
    structure = parse_structure('<structure><tag stream="s"><tag id="1" name="a"/></tag></structure>')
    again = parse_structure(write_structure(structure))
    assert (again.tags, again.root, again.stream) == (structure.tags, UNNAMED, "s")
