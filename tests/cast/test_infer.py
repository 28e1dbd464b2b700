"""Structures from documents and from document types, and which tags are proposed as fragments."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from xstreamcast.cast.infer import choose_fragments, dtd_structure, infer_structure
from xstreamcast.errors import XStreamError
from xstreamcast.model.structure import Structure, parse_structure, write_structure


def inferred(*documents: bytes, fragments: str | None = None) -> Structure:
    return infer_structure([io.BytesIO(document) for document in documents], fragments)


def paths(structure: Structure) -> dict[str, str | None]:
    return {structure.path(tsid): structure.tag(tsid).type for tsid in structure.tags}


def fragments_of(structure: Structure) -> set[str]:
    return {path for path, kind in paths(structure).items() if kind != "snapshot"}


# -- documents --------------------------------------------------------------------------------------------------------


def test_every_path_gets_a_tag_numbered_in_document_order() -> None:
    structure = inferred(b"<a><b><d/></b><c><d/></c></a>")
    assert [structure.path(n) for n in (1, 2, 3, 4, 5)] == ["/a", "/a/b", "/a/b/d", "/a/c", "/a/c/d"]


def test_several_documents_give_the_union_of_their_paths() -> None:
    structure = inferred(b"<a><b/></a>", b"<a><c><d/></c></a>", b"<a><b><e/></b></a>")
    assert set(paths(structure)) == {"/a", "/a/b", "/a/b/e", "/a/c", "/a/c/d"}


def test_documents_with_different_roots_have_no_common_structure() -> None:
    with pytest.raises(XStreamError, match=r"<z>.*<a>") as caught:
        inferred(b"<a/>", b"<z/>")
    assert caught.value.hint


def test_an_element_inside_one_of_the_same_name_is_that_tag_again() -> None:
    structure = inferred(b"<part><name/><part><part><name/></part></part></part>")
    assert len(structure.tags) == 2
    assert structure.tag(1).children == (2, 1)


def test_mutual_recursion_is_finite() -> None:
    structure = inferred(b"<a><b><a><b><a/></b></a></b></a>")
    assert {tag.name: tag.children for tag in structure.tags.values()} == {"a": (2,), "b": (1,)}


def test_two_thousand_levels_of_one_name_are_one_tag() -> None:
    assert len(inferred(b"<n>" * 2000 + b"</n>" * 2000).tags) == 1


def test_names_are_told_apart_by_namespace_and_keep_their_prefixes() -> None:
    structure = inferred(b'<a xmlns:p="urn:p"><p:b/><b/><b xmlns="urn:d"/></a>')
    assert [structure.tag(n).name for n in (2, 3, 4)] == ["{urn:p}b", "b", "{urn:d}b"]
    assert structure.path(2) == "/a/p:b"
    assert parse_structure(write_structure(structure)).tags == structure.tags


RECORD = b"<item><name>" + b"x" * 300 + b"</name></item>"


def test_repeated_elements_that_hold_elements_and_are_not_tiny_are_proposed() -> None:
    assert fragments_of(inferred(b"<a>" + RECORD * 3 + b"</a>")) == {"/a/item"}


@pytest.mark.parametrize(
    "document",
    [
        b"<a>" + RECORD + b"</a>",
        b"<a><i><n/></i><i><n/></i></a>",
        b"<a>" + b"<i>" * 1 + b"x" * 999 + b"</i><i>y</i></a>",
        b"<a/>",
    ],
    ids=["once", "tiny", "no elements inside", "nothing"],
)
def test_nothing_else_is_proposed(document: bytes) -> None:
    assert fragments_of(inferred(document)) == set()


def test_only_the_outermost_records_are_proposed() -> None:
    assert fragments_of(inferred(b"<a>" + (b"<group>" + RECORD * 2 + b"</group>") * 2 + b"</a>")) == {"/a/group"}


def test_elements_that_all_carry_lifespans_are_temporal_or_events() -> None:
    structure = inferred(
        b'<r><v vtFrom="2003-01-01T00:00:00" vtTo="now"/><e vtFrom="2003-01-01T00:00:00" vtTo="2003-01-01T00:00:00"/>'
        b'<w vtFrom="2003-01-01T00:00:00" vtTo="now"/><w/></r>'
    )
    assert paths(structure) == {"/r": "snapshot", "/r/v": "temporal", "/r/e": "event", "/r/w": "snapshot"}


@pytest.mark.parametrize("document", [b"", b"<a>", b"<a><b></a>", b"no xml"])
def test_what_is_no_document_is_refused_with_its_place(document: bytes) -> None:
    with pytest.raises(XStreamError) as caught:
        inferred(document)
    assert caught.value.code == "XSC0001"
    assert caught.value.place is not None


def test_nothing_to_infer_from_is_said() -> None:
    with pytest.raises(XStreamError, match="no document"):
        infer_structure([])


# -- choosing ---------------------------------------------------------------------------------------------------------

CREDIT = b"<accounts><account><customer/><creditLimit/><transaction><status/></transaction></account></accounts>"


def test_the_tags_named_are_fragments_and_no_others() -> None:
    structure = inferred(
        CREDIT, fragments="account, transaction:event,creditLimit:temporal,//status:temporal,customer:snapshot"
    )
    assert {tag.name: tag.type for tag in structure.tags.values()} == {
        "accounts": "snapshot", "account": "filler", "customer": "snapshot", "creditLimit": "temporal",
        "transaction": "event", "status": "temporal",
    }  # fmt: skip


def test_none_may_be_chosen() -> None:
    assert fragments_of(inferred(b"<a>" + RECORD * 3 + b"</a>", fragments="")) == set()


def test_a_name_chooses_the_tag_everywhere_and_a_path_in_one_place() -> None:
    document = b"<a><b><d/></b><c><d/></c></a>"
    assert fragments_of(inferred(document, fragments="d")) == {"/a/b/d", "/a/c/d"}
    assert fragments_of(inferred(document, fragments="/a/c/d")) == {"/a/c/d"}
    assert fragments_of(inferred(document, fragments="b/*:event")) == {"/a/b/d"}


def test_a_prefixed_name_may_be_chosen_with_a_type() -> None:
    structure = inferred(b'<a xmlns:p="urn:p"><p:b/></a>')
    assert choose_fragments(structure, "p:b:event").tag(2).type == "event"
    assert choose_fragments(structure, "p:b").tag(2).type == "filler"


def test_a_misspelled_tag_is_met_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(XStreamError, match="no tag 'acount'") as caught:
        inferred(CREDIT, fragments="acount")
    assert caught.value.code == "XSC0042"
    assert "did you mean account" in caught.value.hint


def test_a_tag_nothing_is_like_is_met_with_those_there_are() -> None:
    with pytest.raises(XStreamError) as caught:
        inferred(CREDIT, fragments="zzz")
    assert "transaction" in caught.value.hint


def test_a_misspelled_type_is_met_with_the_types_there_are() -> None:
    with pytest.raises(XStreamError) as caught:
        inferred(CREDIT, fragments="transaction:evnt")
    assert "event" in str(caught.value)


# -- document types ---------------------------------------------------------------------------------------------------

DTD = b"""<!-- a shop -->
<!ENTITY % items "item | offer">
<!ELEMENT shop (name, (%items;)*, note?)>
<!ELEMENT item (name, price)>  <!ELEMENT offer (item+, price)>
<!ELEMENT name (#PCDATA)> <!ELEMENT price (#PCDATA)> <!ELEMENT note (#PCDATA | name)*>
<!ATTLIST item id ID #REQUIRED>
<![INCLUDE[ <!ELEMENT extra EMPTY> ]]><![IGNORE[ <!ELEMENT never EMPTY> ]]>
"""


def test_a_document_type_gives_one_tag_per_name_with_parameter_entities_expanded() -> None:
    structure = dtd_structure(DTD, "shop.dtd")
    names = {tag.name: {structure.tag(child).name for child in tag.children} for tag in structure.tags.values()}
    assert names == {
        "shop": {"name", "item", "offer", "note"}, "item": {"name", "price"}, "offer": {"item", "price"},
        "name": set(), "price": set(), "note": {"name"},
    }  # fmt: skip
    assert structure.tag(structure.root).name == "shop"


def test_a_document_types_repeated_elements_that_hold_elements_are_proposed() -> None:
    structure = dtd_structure(DTD, "shop.dtd")
    assert {tag.name for tag in structure.tags.values() if tag.fragment} == {"item", "offer"}


def test_a_recursive_document_type_is_finite() -> None:
    structure = dtd_structure(b"<!ELEMENT part (name, part*)><!ELEMENT name (#PCDATA)>", "p.dtd")
    assert {tag.name for tag in structure.tags.values()} == {"part", "name"}
    assert parse_structure(write_structure(structure)).tags == structure.tags


def test_a_document_type_file_is_known_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "shop.dtd"
    file.write_bytes(DTD)
    assert infer_structure([str(file)], "item").expand("//item")
    document = tmp_path / "shop.xml"
    document.write_bytes(b"<shop/>")
    with pytest.raises(XStreamError, match="together"):
        infer_structure([str(file), str(document)])


@pytest.mark.parametrize(
    ("dtd", "code"),
    [(b"<!ELEMENT a", "XSC0001"), (b"<!ELEMENT a (b,>", "XSC0001"), (b"", "XSC0041"), (b"<!-- none -->", "XSC0041")],
)
def test_what_is_no_document_type_is_refused_with_its_name(dtd: bytes, code: str) -> None:
    with pytest.raises(XStreamError) as caught:
        dtd_structure(dtd, "x.dtd")
    assert caught.value.code == code
    assert caught.value.place is not None
    assert caught.value.place.source == "x.dtd"


def test_a_module_of_a_document_type_is_refused_by_name_not_fetched() -> None:
    with pytest.raises(XStreamError) as caught:
        dtd_structure(b'<!ENTITY % m SYSTEM "module.dtd"> %m; <!ELEMENT a (b)>', "x.dtd")
    assert caught.value.message == "external entity 'module.dtd'"


def test_a_structure_from_prefixed_declarations_can_be_written_and_read() -> None:
    declared = b'<!ATTLIST p:a xmlns:p CDATA #FIXED "urn:p">'
    structure = dtd_structure(b"<!ELEMENT p:a (p:b*)><!ELEMENT p:b EMPTY>" + declared, "p.dtd")
    assert structure.tag(1).name == "{urn:p}a"
    assert parse_structure(write_structure(structure)).tags == structure.tags


def test_a_prefix_the_document_type_does_not_explain_is_refused() -> None:
    with pytest.raises(XStreamError, match="prefix 'p'") as caught:
        dtd_structure(b"<!ELEMENT p:a (p:b*)><!ELEMENT p:b EMPTY>", "p.dtd")
    assert "ATTLIST" in caught.value.hint
