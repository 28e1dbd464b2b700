"""fragment, then materialise: the same document, canonically, in every order and for every document there can be."""

from __future__ import annotations

import io
import random
import re
from functools import cache

import pytest
from budget import MORE
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from streams import Told, canonical, canonical_by_lxml, well_formed

from xstreamcast.cast import ORDERS, Order, View, fragment, materialise
from xstreamcast.cast.fragmenter import Fragmenter
from xstreamcast.cast.infer import choose_fragments, infer_structure
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.wire.fragment import read_stream

checked = settings(
    max_examples=32 * MORE, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

STREAM = "urn:xstreamcast:stream"


def structure_of(document: bytes, fragments: str = "//*") -> Structure:
    return infer_structure([io.BytesIO(document)], fragments)


def stream_of(
    document: bytes, structure: Structure | None = None, order: Order = "document", seed: int = 0, repeat: float = 0.0
) -> bytes:
    out = io.BytesIO()
    fragment(io.BytesIO(document), out, structure, order=order, seed=seed, repeat=repeat)
    return out.getvalue()


def rebuilt(stream: bytes, *, lifespans: bool = True) -> bytes:
    found = Told()
    document = materialise(io.BytesIO(stream), view=View(lifespans=lifespans), report=found.append)
    assert found == []
    return document


def check(
    document: bytes, structure: Structure | None, order: Order = "shuffle", seed: int = 1, repeat: float = 0.3
) -> None:
    stream = stream_of(document, structure, order, seed, repeat)
    again = rebuilt(stream)
    assert canonical(again, rewrite_prefixes=True) == canonical(document, rewrite_prefixes=True)
    assert canonical_by_lxml(again) == canonical_by_lxml(document)
    assert well_formed(stream)


# -- nasty documents --------------------------------------------------------------------------------------------------

DEEP = b"<n>" * 2000 + b"bottom" + b"</n>" * 2000

NASTY: dict[str, bytes] = {
    "plain": b"<a><b>1</b><b>2</b><c/></a>",
    "only a root": b"<a/>",
    "text around every fragment": b"<a>x<b>y<c>z</c>y</b>x<b/>x</a>",
    "white space everywhere": b"<a >\n\t<b\n>\n <c\t/ >\n</b\n>\n</a >".replace(b"/ >", b"/>"),
    "comments and instructions around the root": b"<!--1--><?p 2?>\n<a><b/></a><?q?><!--3-->\n<!--4-->",
    "comments and instructions inside": b"<a><!--<b>--><b><?p <c/> ?></b><!----><?q?></a>",
    "sections": b"<a><b><![CDATA[<c>&amp;]]]]><![CDATA[>]]></b><![CDATA[]]></a>",
    "sections that speak of the stream": b'<a><b><![CDATA[</stream:filler><stream:filler id="1">]]>'
    b'</b><!--</stream:filler>--></a>',
    "default namespace": b'<a xmlns="urn:a"><b><c xmlns="urn:c"><b/></c></b><b xmlns=""><c/></b></a>',
    "prefixes": b'<p:a xmlns:p="urn:p" xmlns:q="urn:q" q:x="1"><q:b p:y="2"><c/></q:b><p:a/></p:a>',
    "prefixes redeclared": b'<p:a xmlns:p="urn:1"><p:b xmlns:p="urn:2"><p:b>'
    b'<p:c xmlns:p="urn:1"/></p:b></p:b><p:b/></p:a>',
    "prefixes declared and not used": b'<a xmlns:p="urn:p"><b><c xmlns:q="urn:q" t="p:x"/></b></a>',
    "two prefixes for one namespace": b'<p:a xmlns:p="urn:1" xmlns:q="urn:1"><q:b><p:b/></q:b></p:a>',
    "default and prefix for one namespace": b'<a xmlns="urn:1" xmlns:p="urn:1"><p:b><b p:x="1"/></p:b></a>',
    "the streams prefix bound elsewhere": b'<a xmlns:stream="urn:other"><stream:b stream:x="1">'
    b'<c/></stream:b><stream:b/></a>',
    "the streams prefix bound elsewhere deep inside": b'<a><b><c xmlns:stream="urn:other"><stream:b>'
    b'<c/></stream:b></c></b></a>',
    "a hole that is data": b'<a xmlns:stream="urn:other"><stream:hole id="1"/><hole id="1"/><b/></a>',
    "names of the wire that are data": b'<filler id="0"><hole id="1"/><remove id="1"/><eos/>'
    b'<structure><tag/></structure></filler>',
    "a wrapper that is data": b"<fragments><updates/><fragments/></fragments>",
    "a namespace with references in it": b'<a xmlns="urn:x?a=1&amp;b=\'2\'"><b x="1"/></a>',
    "prefixes like those made up": b'<ns2:a xmlns:ns2="urn:x"><b xmlns="urn:y"><c/></b></ns2:a>',
    "prefixes bound twice among siblings": b'<a><p:b xmlns:p="urn:1"/><p:b xmlns:p="urn:2"/><p:b xmlns:p="urn:1"/></a>',
    "xml attributes": b'<a xml:lang="en" xml:space="preserve"><b xml:lang="de"> <c xml:id="i"/> </b></a>',
    "attributes with brackets and line breaks": b"<a b='<>\"/>'>"
    b"<b x=\"a>b\n\tc&#10;&#13;&#9;&lt;\" y='/>'/></a>".replace(b"'<>", b"'>"),
    "attributes with spaces around their signs": b"<a x = '1'\n y\t=\n\"2\"><b z ='3' ></b ></a >",
    "carriage returns": b"<a>\r\n<b>\r\n</b>\r<c x='\r\n'/>&#13;</a>\r\n",
    "references": b"<a>&lt;b&gt;&#60;c&#x3e;<b>&amp;amp;</b>&apos;&quot;</a>",
    "empty and not quite empty": b"<a><b/><b></b><b> </b><b><!----></b></a>",
    "many scripts": "<λ><ß ü='€'>𝔘日本語</ß><日本>\u0085\u2028</日本></λ>".encode(),
    "a byte order mark": b"\xef\xbb\xbf<a><b/></a>",
    "a byte order mark and a declaration": b"\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?>\n<a><b/></a>",
    "utf-16 little-endian": '<?xml version="1.0" encoding="utf-16"?><a><b>é日𝔘</b></a>'.encode("utf-16"),
    "utf-16 big-endian": b"\xfe\xff" + '<?xml version="1.0" encoding="utf-16"?><a><b>é日𝔘</b></a>'.encode("utf-16-be"),
    "iso-8859-1": '<?xml version="1.0" encoding="ISO-8859-1"?><a é="ü"><b>ÿ</b></a>'.encode("latin-1"),
    "windows-1252": '<?xml version="1.0" encoding="windows-1252"?><a><b>€ “quoted”</b></a>'.encode("cp1252"),
    "entities": b'<!DOCTYPE a [<!ENTITY e "<b>in</b>text"><!ENTITY f "&e;&e;">]><a>&f;<b x="&#38;"/></a>',
    "attribute defaults": b'<!DOCTYPE a [<!ATTLIST b x CDATA "1" y NMTOKENS #IMPLIED z '
    b'CDATA #FIXED "2">]><a><b/><b x="3" y="  p   q "/></a>',
    "a namespace by default": b'<!DOCTYPE a [<!ATTLIST a xmlns CDATA #FIXED "urn:a">'
    b'<!ATTLIST b xmlns:p CDATA "urn:p">]><a><b><p:c xmlns:p="urn:p"/></b></a>',
    "a document type with brackets in its names": b'<!DOCTYPE a PUBLIC "-//x//" "a[b>c.dtd"><a><b/></a>',
    "a document type and everything else": b'<?xml version="1.0"?><!--1--><!DOCTYPE a [ <!ENTITY e "]]>"> ]>'
    b'<!--2--><a><b>]]&gt;</b></a><!--3-->',
    "recursion": b"<a><b><a><b><a/></b></a></b><b/></a>",
    "deep": DEEP,
}  # fmt: skip


@cache
def every_tag(name: str) -> Structure:
    return structure_of(NASTY[name])


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("order", ORDERS)
def test_a_nasty_document_with_every_element_a_fragment_comes_back(name: str, order: Order) -> None:
    check(NASTY[name], every_tag(name), order)
    if "prefixes for one" not in name:
        assert canonical(rebuilt(stream_of(NASTY[name], every_tag(name), order))) == canonical(NASTY[name])


def test_comments_inside_a_document_type_are_no_part_of_the_document() -> None:
    document = b"<!DOCTYPE a [<!--<a>--><?p >?>]><a><b/></a>"
    again = rebuilt(stream_of(document, structure_of(document)))
    assert canonical_by_lxml(again) == canonical_by_lxml(document) == b"<a><b></b></a>"


@pytest.mark.parametrize("name", [name for name in NASTY if name != "deep"])
def test_a_nasty_document_comes_back_under_the_structure_proposed_for_it(name: str) -> None:
    check(NASTY[name], None)


@pytest.mark.parametrize("seed", range(5))
def test_a_document_comes_back_for_every_seed(seed: int) -> None:
    document = b"<a>" + b"".join(b"<b i='%d'><c>%d</c></b>" % (n, n) for n in range(60)) + b"</a>"
    check(document, structure_of(document), "shuffle", seed, 0.5)


def test_a_document_whose_own_elements_are_called_stream_filler_comes_back() -> None:
    document = b'<a xmlns:stream="urn:other"><b/><stream:filler id="1" tsid="2">data<b/></stream:filler></a>'
    check(document, structure_of(document, "b"))


@pytest.mark.parametrize("chosen", ["b", "c", "b,c", "a", ""])
def test_which_tags_are_fragments_makes_no_difference(chosen: str) -> None:
    document = b"<a>1<b>2<c>3</c>4<d><c/></d></b>5<d><b/></d></a>"
    check(document, structure_of(document, chosen))


def test_one_large_fragment_comes_back_from_disk_too() -> None:
    text = b"x" * 100
    document = b"<a>" + b"".join(b"<b>" + text + b"</b>" for _ in range(30_000)) + b"<c/></a>"
    out = stream_of(document, structure_of(document, "c"), "shuffle", repeat=1.0)
    assert rebuilt(out) == document


def test_an_attribute_that_is_only_called_vtfrom_makes_nothing_temporal() -> None:
    document = b'<flights><flight vtFrom="LHR" vtTo="JFK"/><flight vtFrom="JFK" vtTo="LHR"/></flights>'
    check(document, None)


def test_a_document_with_half_a_lifespan_comes_back_under_the_structure_proposed_for_it() -> None:
    document = b'<a><b vtFrom="2003-01-01T00:00:00">1</b><b vtFrom="2003-01-02T00:00:00">2</b></a>'
    check(document, None)


# -- random documents -------------------------------------------------------------------------------------------------

NAMES = ["a", "b", "c", "p:a", "p:b", "q:a", "stream:a"]
URIS = ["urn:1", "urn:2", "urn:3"]
texts = st.sampled_from(
    [
        "",
        "t",
        " \n",
        "&lt;",
        "&#13;",
        "é",
        "<![CDATA[<b/>]]>",
        "<!--c-->",
        "<?p d?>",
        "]]&gt;",
        "<!--</stream:filler>-->",
    ]
)


@st.composite
def elements(draw: st.DrawFn, bound: frozenset[str] = frozenset(), depth: int = 0) -> str:
    """An element that declares the prefixes it needs, redeclares and undeclares at will."""
    name = draw(st.sampled_from(NAMES))
    prefix = name.partition(":")[0] if ":" in name else None
    declared = {
        p: draw(st.sampled_from(URIS)) for p in draw(st.lists(st.sampled_from(["p", "q", "stream", ""]), max_size=2))
    }
    if prefix is not None and prefix not in bound | declared.keys():
        declared[prefix] = draw(st.sampled_from(URIS))
    if "" in declared and draw(st.booleans()):
        declared[""] = ""
    inner = bound | (declared.keys() - {""})
    attributes = "".join(f' xmlns{":" if p else ""}{p}="{uri}"' for p, uri in declared.items())
    if draw(st.booleans()):
        attributes += draw(st.sampled_from([' x="1"', " y='>'", ' x = "a\n&#10;b"', ' xml:lang="en"']))
    if "p" in inner and draw(st.booleans()):
        attributes += ' p:z="1"'
    size = draw(st.integers(0, 3 if depth < 3 else 0))
    content = "".join(draw(texts) + draw(elements(inner, depth + 1)) for _ in range(size)) + draw(texts)
    if not content and draw(st.booleans()):
        return f"<{name}{attributes}/>"
    return f"<{name}{attributes}>{content}</{name}>"


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    misc = st.sampled_from(["", "", "<!--m-->", "<?m?>\n"])
    return f"{draw(misc)}{draw(elements())}{draw(misc)}".encode()


@checked
@given(documents(), st.sampled_from(ORDERS), st.integers(0, 3))
def test_a_random_document_with_every_element_a_fragment_comes_back(document: bytes, order: Order, seed: int) -> None:
    check(document, structure_of(document), order, seed)


@checked
@given(documents(), st.data())
def test_a_random_document_comes_back_under_a_random_structure(document: bytes, data: st.DataObject) -> None:
    structure = structure_of(document, "")
    kinds = st.sampled_from(["snapshot", "filler", "temporal", "event"])
    items = ",".join(
        f"{{{name[1:].partition('}')[0]}}}{name.partition('}')[2]}:{data.draw(kinds)}"
        if name.startswith("{")
        else f"{name}:{data.draw(kinds)}"
        for name in sorted({tag.name for tag in structure.tags.values() if tag.id != structure.root})
    )
    structure = choose_fragments(structure, items)
    stream = stream_of(document, structure, "shuffle", 3, 0.2)
    assert canonical_by_lxml(rebuilt(stream, lifespans=False)) == canonical_by_lxml(document)


@checked
@given(documents(), st.randoms(use_true_random=False))
def test_any_permutation_of_a_documents_fragments_is_the_document(document: bytes, order: random.Random) -> None:
    lines = stream_of(document, structure_of(document))
    head = re.match(rb"(?s).*?</\w+:structure>\n", lines)
    assert head is not None
    arrivals = [arrival for arrival in read_stream(io.BytesIO(lines)) if not isinstance(arrival.item, Structure)]
    pieces = [lines[arrival.place.offset or 0 : arrival.end] for arrival in arrivals]
    order.shuffle(pieces)
    stream = head[0] + b"".join(pieces) + lines.splitlines()[-1]
    assert len(stream) > len(head[0])
    assert canonical_by_lxml(rebuilt(stream)) == canonical_by_lxml(document)


@checked
@given(documents(), st.integers(1, 9))
def test_a_document_in_small_chunks_is_cut_like_one_in_a_piece(document: bytes, size: int) -> None:
    structure = structure_of(document)
    chunks = [document[at : at + size] for at in range(0, len(document), size)]
    slow = [(r.region, r.tsid, r.content) for r in Fragmenter(structure).records(chunks)]
    whole = [(r.region, r.tsid, r.content) for r in Fragmenter(structure).records([document])]
    assert slow == whole


# -- temporal views ---------------------------------------------------------------------------------------------------

TEMPORAL = parse_structure(
    '<structure><tag id="1" name="r"><tag id="2" name="v" type="temporal"><tag id="3" name="w" type="temporal"/></tag>'
    '<tag id="4" name="e" type="event"/></tag></structure>'
)


def day(n: int) -> str:
    return f"2003-01-{n:02}T00:00:00"


def span(begin: int, end: int | None) -> str:
    return f'vtFrom="{day(begin)}" vtTo="{day(end) if end else "now"}"'


@pytest.mark.parametrize(
    "view",
    [
        f"<v {span(1, 3)}>a</v><v {span(3, None)}>b</v>",
        f"<v {span(1, 3)}>a</v><v {span(3, 7)}>b</v>",
        f"<v {span(1, 3)}>a</v>\n<v {span(3, 7)}>b</v>\n",
        f"<v {span(1, 3)}>a</v><v {span(5, 7)}>a</v><v {span(5, None)}>c</v>",
        f"<v {span(1, None)}>a<w {span(1, 2)}>x</w><w {span(2, 4)}>y</w></v><v {span(1, None)}/>",
        f"<e {span(1, 1)}>a</e><e {span(2, 2)}>b</e><v {span(1, 2)}/><e {span(3, 3)}>c</e>",
        f"<e {span(5, 5)}>late first</e><e {span(2, 2)}>early last</e>",
        f'<v x=">" {span(1, 4)}/>t<v y="1" {span(4, 5)} z="2"/>',
        '<v vtFrom="start" vtTo="now">always</v>',
    ],
)
@pytest.mark.parametrize("order", ORDERS)
def test_a_temporal_view_comes_back_with_its_versions_ended_lives_and_events(view: str, order: Order) -> None:
    check(f"<r>{view}</r>".encode(), TEMPORAL, order)


def test_two_equal_events_at_one_instant_both_come_back() -> None:
    check(f"<r><e {span(1, 1)}>a</e><e {span(1, 1)}>a</e></r>".encode(), TEMPORAL)


@pytest.mark.parametrize("pair", ["ab", "ba"])
def test_two_events_at_one_instant_come_back_in_their_order(pair: str) -> None:
    check("<r>{}</r>".format("".join(f"<e {span(1, 1)}>{text}</e>" for text in pair)).encode(), TEMPORAL)


def test_a_temporal_root_comes_back() -> None:
    structure = parse_structure(
        '<structure><tag id="1" name="r" type="temporal"><tag id="2" name="b" type="filler"/></tag></structure>'
    )
    check(f"<r {span(1, None)}><b/></r>".encode(), structure)


def test_a_temporal_root_whose_life_has_ended_comes_back() -> None:
    structure = parse_structure(
        '<structure><tag id="1" name="r" type="temporal"><tag id="2" name="b" type="filler"/></tag></structure>'
    )
    check(f"<r {span(1, 5)}><b/></r>".encode(), structure)


@st.composite
def views(draw: st.DrawFn) -> str:
    """Runs of versions with and without gaps, ended or open, and events in any order at different times."""
    out = []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            out.append(
                "".join(f"<e {span(n, n)}>{n}</e>" for n in draw(st.lists(st.integers(1, 20), max_size=3, unique=True)))
            )
        else:
            cuts = sorted(draw(st.sets(st.integers(1, 20), min_size=1, max_size=4)))
            ends: list[int | None] = [*cuts[1:], draw(st.sampled_from([None, 25]))]
            inner = draw(st.sampled_from(["", "t", f"<w {span(3, 4)}>x</w>", f"<w {span(3, None)}/>"]))
            out.append("".join(f"<v {span(b, e)}>{inner}</v>" for b, e in zip(cuts, ends, strict=True)))
        out.append(draw(st.sampled_from(["\n", "t", "<!--c-->"])))
    return f"<r>{''.join(out)}</r>"


@checked
@given(views(), st.sampled_from(ORDERS), st.integers(0, 3))
@example(f"<r><v {span(1, 25)}></v><v {span(1, 25)}></v></r>", "shuffle", 0)
def test_a_random_temporal_view_comes_back(view: str, order: Order, seed: int) -> None:
    check(view.encode(), TEMPORAL, order, seed)
