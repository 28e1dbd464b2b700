"""T2 and the temporal view: the document that what is known describes, and what is told about the rest."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from streams import WIRE, after, t, told

from xstreamcast.cast import contents
from xstreamcast.cast.materialise import Materialiser, View, materialise, pick, read_regions
from xstreamcast.errors import XStreamError
from xstreamcast.model import depth
from xstreamcast.model.change import After, Before, Change, Fill, Remove
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import parse_instant

checked = settings(max_examples=60, derandomize=True, deadline=None)


def at(time: str) -> View:
    return View(at=parse_instant(time))


def as_of(time: str) -> View:
    return View(now=parse_instant(time))


PLAIN = View(lifespans=False)

# -- the papers' examples ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", sorted(WIRE.glob("*.stream.xml")), ids=lambda path: str(path.name))
def test_the_papers_fragments_rebuild_as_the_papers_say(stream: Path) -> None:
    expected = stream.with_name(stream.name.replace(".stream.", ".document.")).read_text().strip()
    text, found = told(stream.read_bytes())
    assert text == expected
    assert [diagnostic for diagnostic in found if diagnostic.severity == "quarantine"] == []


def test_the_papers_fragments_rebuild_in_every_order() -> None:
    """DBPL'03 §2.1: disseminated by a server in any order."""
    lines = (WIRE / "webdb05-stock.stream.xml").read_text().splitlines()
    expected = (WIRE / "webdb05-stock.document.xml").read_text().strip()
    for order in itertools.permutations(lines):
        assert t("\n".join(order)) == expected


CREDIT = (WIRE / "sigmod04-credit.stream.xml").read_text()

# -- holes and namespaces ---------------------------------------------------------------------------------------------


def test_adjacent_text_across_region_borders_is_one_text_node() -> None:
    text = t(
        '<filler id="0"><a>x<hole id="1"/>y<hole id="2"/></a></filler>'
        '<filler id="1">-</filler><filler id="2">z</filler>'
    )
    assert etree.fromstring(text).xpath("/a/text()") == ["x-yz"]


def test_brackets_and_a_greater_than_sign_from_two_regions_do_not_make_the_document_malformed() -> None:
    """']]' and '>' are well-formed apart; ']]>' is not, in text (XML 1.0 §2.4)."""
    text = t('<filler id="0"><a>]]<hole id="1"/></a></filler><filler id="1">></filler>')
    assert etree.fromstring(text).text == "]]>"


def test_a_carriage_return_and_a_line_feed_from_two_regions_stay_two_line_breaks() -> None:
    """Either is a line break where it stands (XML 1.0 §2.11); side by side they would be one."""
    text = t('<filler id="0"><a>x\r<hole id="1"/></a></filler><filler id="1">\ny</filler>')
    assert etree.fromstring(text.encode()).text == "x\n\ny"


def test_a_filler_keeps_its_own_namespaces_whatever_is_around_its_hole() -> None:
    text = t(
        '<stream:filler id="0"><a xmlns="urn:a" xmlns:p="urn:p"><stream:hole id="1"/></a></stream:filler>'
        '<stream:filler id="1"><b/><p:c xmlns:p="urn:q"/><d xmlns="urn:a"/></stream:filler>'
    )
    names = [element.tag for element in etree.fromstring(text)]
    assert names == ["b", "{urn:q}c", "{urn:a}d"]


def test_a_filler_copied_to_two_places_means_the_same_in_both() -> None:
    text = t(
        '<stream:filler id="0"><a><x xmlns="urn:x"><stream:hole id="1"/></x><stream:hole id="1"/></a></stream:filler>'
        '<stream:filler id="1"><b><c xmlns="urn:c"><stream:hole id="2"/></c>'
        '</b></stream:filler><stream:filler id="2"><d/></stream:filler>'
    )
    assert [element.tag for element in etree.fromstring(text).iter()] == [
        "a",
        "{urn:x}x",
        "b",
        "{urn:c}c",
        "d",
        "b",
        "{urn:c}c",
        "d",
    ]


def test_what_stands_one_after_the_other_is_not_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of very many items comes so: each behind the one before it, or before the one behind it."""
    monkeypatch.setattr(depth._Limit, "levels", 50)
    for kind in (After, Before):
        regions = Materialiser()
        regions.apply(Fill(region=0, content=b'<a><stream:hole id="1"/></a>'))
        regions.apply(Fill(region=1, content=b"<b>1</b>"))
        for k in range(2, 1000):
            regions.apply(kind(region=k, target=k - 1, content=b"<b>%d</b>" % k))
        items = [f"<b>{k}</b>" for k in range(1, 1000)]
        assert regions.text() == "<a>" + "".join(items if kind is After else reversed(items)) + "</a>"
    chained = Materialiser()
    for k in range(1000):
        chained.apply(Fill(region=k, content=b'<stream:hole id="%d"/>' % (k + 1)))
    with pytest.raises(XStreamError, match="XSC0007"):
        chained.text()


def test_the_wrappers_namespaces_count_for_every_fragment() -> None:
    text = t(
        '<s:fragments xmlns:s="urn:xstreamcast:stream" xmlns="urn:d" xmlns:p="urn:p">'
        '<s:filler id="0"><a><s:hole id="1"/></a></s:filler><s:filler id="1"><p:b/><c/></s:filler></s:fragments>'
    )
    assert [element.tag for element in etree.fromstring(text).iter()] == ["{urn:d}a", "{urn:p}b", "{urn:d}c"]


def test_siblings_inserted_by_updates_keep_their_namespaces() -> None:
    text = t(
        '<stream:filler id="0"><a xmlns="urn:a"><stream:mutable id="1"><m/></stream:mutable></a></stream:filler>'
        '<stream:after target="1" id="2"><n/></stream:after>'
        '<stream:replace target="1" id="3"><o xmlns="urn:o"/></stream:replace>'
    )
    assert [element.tag for element in etree.fromstring(text).iter()] == ["{urn:a}a", "{urn:o}o", "n"]


def test_an_update_interleaved_with_content_may_use_the_prefixes_around_it() -> None:
    text = t(
        '<stream:filler id="0"><a xmlns:p="urn:p"><stream:mutable id="1">x</stream:mutable>'
        '<stream:replace target="1" id="2"><p:b/></stream:replace></a></stream:filler>'
    )
    assert [element.tag for element in etree.fromstring(text).iter()] == ["a", "{urn:p}b"]


def test_before_the_root_arrives_the_document_is_empty() -> None:
    text, found = told('<filler id="1">x</filler>')
    assert text == ""
    assert found.codes == ["XSC0032"]


def test_two_thousand_regions_inside_each_other_are_rebuilt() -> None:
    depth = 2000
    stream = "".join(f'<filler id="{n}"><a><hole id="{n + 1}"/></a></filler>' for n in reversed(range(depth)))
    assert t(stream) == "<a>" * depth + "</a>" * depth


def test_content_beyond_the_memory_budget_is_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MEMORY_BUDGET", 10)
    expected = (WIRE / "sigmod04-credit.document.xml").read_text().strip()
    assert t(CREDIT) == expected


# -- what is told -----------------------------------------------------------------------------------------------------


def test_an_unfilled_hole_is_empty_and_told_with_the_place_of_its_fragment() -> None:
    stream = '  <filler id="0"><a>x<hole id="7"/>y</a></filler>'
    text, found = told(stream)
    assert text == "<a>xy</a>"
    assert [(d.code, d.place.offset) for d in found] == [("XSC0030", 2)]
    assert "7" in found[0].message


def test_a_filler_no_hole_holds_is_told_with_its_place() -> None:
    stream = '<filler id="0"><a/></filler>\n<filler id="7">lost</filler>'
    text, found = told(stream)
    assert text == "<a/>"
    assert [(d.code, d.place.offset) for d in found] == [("XSC0032", stream.index('<filler id="7"'))]


def test_a_filler_of_a_document_whose_root_never_came_is_told() -> None:
    text, found = told('<filler id="0"><a/></filler><filler id="7" doc="typo">lost</filler>')
    assert text == "<a/>"
    assert any("7" in d.message for d in found), "nothing is dropped without a diagnostic"


def test_a_hole_on_its_own_root_path_is_empty_and_told() -> None:
    text, found = told(
        '<filler id="0"><a><hole id="1"/></a></filler><filler id="1"><b><hole id="2"/></b></filler>'
        '<filler id="2"><c><hole id="1"/><hole id="0"/></c></filler>'
    )
    assert text == "<a><b><c></c></b></a>"
    assert found.codes == ["XSC0031", "XSC0031"]


def test_a_region_seen_twice_on_different_paths_is_no_cycle() -> None:
    text, found = told(
        '<filler id="0"><a><hole id="1"/><hole id="2"/></a></filler><filler id="1"><b><hole id="2"/></b></filler>'
        '<filler id="2"><c/></filler>'
    )
    assert text == "<a><b><c/></b><c/></a>"
    assert found == []


def test_a_file_cut_between_two_fragments_is_told() -> None:
    """Its root element is not closed and no end of stream came: it is not whole."""
    text, found = told('<fragments><filler id="0"><a><hole id="1"/></a></filler><filler id="1">x</filler>')
    assert text == "<a>x</a>"
    assert found != []


def test_an_untroubled_stream_says_nothing() -> None:
    assert told(CREDIT)[1] == []


# -- documents --------------------------------------------------------------------------------------------------------

TWO = (
    '<filler id="0" doc="a"><a><hole id="1"/></a></filler><filler id="0" doc="b"><b><hole id="1"/></b></filler>'
    '<filler id="1" doc="b">in b</filler><filler id="1" doc="a">in a</filler>'
)


def test_several_documents_in_one_stream_have_their_own_ids() -> None:
    assert (t(TWO, doc="a"), t(TWO, doc="b")) == ("<a>in a</a>", "<b>in b</b>")
    assert read_regions(io.BytesIO(TWO.encode())).documents() == ["a", "b"]


def test_which_document_is_meant_must_be_said_when_there_are_several() -> None:
    assert materialise(io.BytesIO(TWO.encode()), doc="b") == b"<b>in b</b>"
    with pytest.raises(XStreamError, match="2 documents") as caught:
        materialise(io.BytesIO(TWO.encode()))
    assert "a, b" in caught.value.hint
    with pytest.raises(XStreamError, match="no document 'c'"):
        pick(["a", "b"], "c")
    assert (pick([], None), pick(["a"], None)) == ("", "a")


def test_a_file_the_caller_opened_stays_open() -> None:
    file = io.BytesIO(b'<filler id="0"><a/></filler>')
    assert materialise(file) == b"<a/>"
    assert not file.closed


# -- streams without a named root -------------------------------------------------------------------------------------

STOCKS = '<structure><tag><tag id="1" name="stock"/><tag id="2" name="index"/></tag></structure>'


def test_without_a_named_root_fillers_come_in_the_order_of_their_ids() -> None:
    assert (
        t(
            STOCKS + '<filler id="9" tsid="1"><s>9</s></filler><filler id="7" tsid="2">'
            '<i/></filler><filler id="8" tsid="1"><s>8</s></filler>'
        )
        == "<i/><s>8</s><s>9</s>"
    )


def test_without_a_named_root_versions_come_before_ids() -> None:
    stream = (
        '<filler id="1" tsid="1" version="2"><s>1</s></filler><filler id="5" tsid="1" version="1"><s>5</s></filler>'
    )
    assert t(STOCKS + stream) == "<s>5</s><s>1</s>"


def test_without_a_named_root_a_removed_filler_is_gone() -> None:
    stream = (
        '<filler id="1" tsid="1"><s>1</s></filler><filler id="5" tsid="1"><s>5</s></filler><remove id="1" tsid="1"/>'
    )
    assert t(STOCKS + stream) == "<s>5</s>"


def test_without_a_named_root_a_filler_whose_content_becomes_another_region_stays_in_its_place() -> None:
    stream = '<filler id="1" tsid="1"><s>1</s></filler><filler id="5" tsid="1"><s>5</s></filler>'
    assert t(STOCKS + stream + '<replace target="1" id="9"><s>9</s></replace>') == "<s>9</s><s>5</s>"


# -- time -------------------------------------------------------------------------------------------------------------

TIMED = """<structure><tag id="1" name="r"><tag id="2" name="v" type="temporal"/><tag id="3" name="e" type="event"/>
<tag id="4" name="w" type="temporal"/></tag></structure><filler id="0" tsid="1"><r><hole id="1"/></r></filler>"""


def v(day: int, text: str, tsid: int = 2, more: str = "") -> str:
    name = {2: "v", 3: "e", 4: "w"}[tsid]
    return f'<filler id="1" tsid="{tsid}" validTime="2003-01-{day:02}T00:00:00"{more}><{name}>{text}</{name}></filler>'


def seen(stream: str, view: View | None = None) -> list[tuple[str, str, str]]:
    """(text, vtFrom, vtTo) of what is in the hole, days only."""

    def day(time: str | None) -> str:
        return "" if time is None else time[8:10] if time[4:5] == "-" else time

    root = etree.fromstring(t(TIMED + stream, view))
    return [(str(e.text or ""), day(e.get("vtFrom")), day(e.get("vtTo"))) for e in root]


def test_a_version_ends_where_the_next_begins_and_the_last_is_reported_as_now() -> None:
    assert seen(v(1, "a") + v(5, "b") + v(9, "c")) == [("a", "01", "05"), ("b", "05", "09"), ("c", "09", "now")]


def test_an_event_begins_and_ends_at_its_instant() -> None:
    assert seen(v(3, "a", 3) + v(1, "b", 3)) == [("b", "01", "01"), ("a", "03", "03")]


def test_versions_end_at_the_next_of_the_same_hole_and_tsid() -> None:
    """creditLimit and transaction may share a hole."""
    stream = v(1, "a") + v(2, "x", 4) + v(3, "e", 3) + v(5, "b")
    assert seen(stream) == [("a", "01", "05"), ("x", "02", "now"), ("e", "03", "03"), ("b", "05", "now")]


def test_fillers_of_one_hole_come_by_time_then_version() -> None:
    stream = v(3, "b", 3, ' version="2"') + v(3, "a", 3, ' version="1"') + v(1, "z", 3)
    assert [text for text, _, _ in seen(stream)] == ["z", "a", "b"]


def test_the_same_time_and_content_is_a_repeat() -> None:
    assert seen(v(1, "a") + v(1, "a")) == [("a", "01", "now")]
    assert seen(v(1, "a", 3) + v(1, "a", 3)) == [("a", "01", "01")]
    assert told(TIMED + v(1, "a") + v(1, "a"))[1] == []


def test_the_same_time_and_other_content_is_a_correction_of_a_version() -> None:
    assert seen(v(1, "a") + v(1, "b")) == [("b", "01", "now")]
    assert told(TIMED + v(1, "a") + v(1, "b"))[1].codes == ["XSC0026"]


def test_the_same_time_and_other_content_are_two_events() -> None:
    assert sorted(seen(v(1, "a", 3) + v(1, "b", 3))) == [("a", "01", "01"), ("b", "01", "01")]
    assert told(TIMED + v(1, "a", 3) + v(1, "b", 3))[1] == []


def test_two_identical_events_are_two_if_their_versions_differ() -> None:
    assert len(seen(v(1, "a", 3, ' version="1"') + v(1, "a", 3, ' version="2"'))) == 2


def test_equal_content_at_a_new_time_is_a_new_version() -> None:
    assert seen(v(1, "a") + v(5, "a")) == [("a", "01", "05"), ("a", "05", "now")]


def test_an_older_version_of_a_correction_has_no_effect() -> None:
    assert seen(v(1, "new", more=' version="2"') + v(1, "old", more=' version="1"')) == [("new", "01", "now")]


def test_a_replace_at_a_time_is_a_version_at_that_time() -> None:
    replace = v(5, "b").replace("filler", "replace")
    assert seen(v(1, "a") + replace) == [("a", "01", "05"), ("b", "05", "now")]


def test_a_remove_at_a_time_ends_a_life_there_and_erases_no_history() -> None:
    remove = '<remove id="1" tsid="2" validTime="2003-01-05T00:00:00"/>'
    assert seen(v(1, "a") + remove) == [("a", "01", "05")]
    assert seen(remove + v(1, "a")) == [("a", "01", "05")]
    assert seen(v(1, "a") + remove + v(9, "b")) == [("a", "01", "05"), ("b", "09", "now")]
    assert seen(v(1, "a") + remove, at("2003-01-04")) == [("a", "", "")]
    assert seen(v(1, "a") + remove, at("2003-01-05")) == []


def test_a_remove_of_one_tag_leaves_the_others_of_the_hole_alone() -> None:
    remove = '<remove id="1" tsid="2" validTime="2003-01-05T00:00:00"/>'
    assert seen(v(1, "a") + v(1, "x", 4) + remove) == [("a", "01", "05"), ("x", "01", "now")]


def test_a_remove_of_what_has_no_time_leaves_the_versions_and_events_of_the_hole_alone() -> None:
    untimed = '<filler id="1" tsid="1">x</filler>'
    for remove in ('<remove id="1" tsid="1"/>', '<remove id="1" tsid="1" validTime="2003-01-05T00:00:00"/>'):
        assert t(TIMED + untimed + v(1, "a") + v(1, "e", 3) + remove) == t(TIMED + v(1, "a") + v(1, "e", 3))


def test_a_remove_without_a_tag_ends_the_versions_of_the_hole_and_leaves_what_has_no_time() -> None:
    stream = '<filler id="1" tsid="1"><u/></filler>' + v(1, "a") + '<remove id="1" validTime="2003-01-05T00:00:00"/>'
    assert seen(stream) == [("", "", ""), ("a", "01", "05")]


@pytest.mark.parametrize("type_", ["temporal", "event"])
def test_the_root_has_its_tag_whether_it_is_named_or_not(type_: str) -> None:
    structure = f'<structure><tag id="1" name="r" type="{type_}"/></structure>'
    filler = '<filler id="0"{} validTime="2003-01-01T00:00:00"><r>{}</r></filler>'
    named = t(structure + filler.format(' tsid="1"', "a") + filler.format(' tsid="1"', "b"))
    assert t(structure + filler.format("", "a") + filler.format(' tsid="1"', "b")) == named
    assert t(structure + filler.format(' tsid="1"', "a") + filler.format("", "b")) == named


@pytest.mark.parametrize("tsid", [' tsid="3"', ""])
def test_an_event_is_not_removed_and_that_is_told(tsid: str) -> None:
    stream = v(1, "a", 3) + f'<remove id="1"{tsid} validTime="2003-01-05T00:00:00"/>'
    assert seen(stream) == [("a", "01", "01")]
    assert told(TIMED + stream)[1].codes == ["XSC0028"]


def test_what_begins_later_than_now_is_not_there_yet() -> None:
    stream = v(1, "a") + v(5, "b") + v(9, "e", 3)
    assert seen(stream, as_of("2003-01-04")) == [("a", "01", "now")]
    assert seen(stream, as_of("2003-01-05")) == [("a", "01", "05"), ("b", "05", "now")]
    assert seen(stream, as_of("2002-01-01")) == []


def test_now_is_the_largest_valid_time_seen() -> None:
    regions = Materialiser(parse_structure(TIMED[: TIMED.index("<filler")]))
    assert regions.now < parse_instant("0001-01-01")
    regions.apply(Fill(region=1, tsid=3, valid_time=parse_instant("2003-01-05"), content=b"<e/>"))
    regions.apply(Fill(region=1, tsid=3, valid_time=parse_instant("2003-01-02"), content=b"<e/>"))
    assert regions.now == parse_instant("2003-01-05")


def test_at_an_instant_one_version_is_alive() -> None:
    stream = v(1, "a") + v(5, "b") + v(3, "e", 3)
    days = {day: [text for text, _, _ in seen(stream, at(f"2003-01-{day:02}"))] for day in (1, 3, 4, 5, 20)}
    assert days == {1: ["a"], 3: ["a", "e"], 4: ["a"], 5: ["b"], 20: ["b"]}
    assert seen(stream, at("2002-12-31")) == []


def test_at_now_the_current_versions_are_alive() -> None:
    assert [text for text, _, _ in seen(v(1, "a") + v(5, "b"), at("now"))] == ["b"]


def test_lifespans_may_be_left_out() -> None:
    assert seen(v(1, "a") + v(5, "b"), PLAIN) == [("a", "", ""), ("b", "", "")]


def test_a_timed_filler_without_a_time_lives_from_the_start() -> None:
    assert seen('<filler id="1" tsid="2"><v>a</v></filler>' + v(5, "b")) == [("a", "start", "05"), ("b", "05", "now")]


def test_children_are_not_clipped_to_their_parents_version() -> None:
    """One transaction appears under each version of its account."""
    again = CREDIT + (
        '<filler id="10" tsid="2" validTime="2004-01-01T00:00:00"><account id="1234"><customer>Jane Smith</customer>'
        '<hole id="20" tsid="4"/><hole id="100" tsid="5"/></account></filler>'
    )
    root = etree.fromstring(t(again))
    assert [len(account.findall("transaction")) for account in root] == [2, 2]
    assert [len(account.findall("creditLimit")) for account in root] == [2, 2]


def test_every_top_element_of_a_timed_forest_carries_the_lifespan_and_text_none() -> None:
    stream = TIMED + '<filler id="1" tsid="2" validTime="2003-01-01T00:00:00">t<v/><v x="1"/><!--c--></filler>'
    span = 'vtFrom="2003-01-01T00:00:00" vtTo="now"'
    assert t(stream) == f'<r>t<v {span}/><v x="1" {span}/><!--c--></r>'


def test_a_lifespan_of_its_own_is_overwritten_but_no_other_attribute_is_touched() -> None:
    stream = TIMED + (
        '<filler id="1" tsid="2" validTime="2003-01-01T00:00:00">'
        '<v vtFrom="x" note="say vtTo=\'never\' " vtTo="y"/></filler>'
    )
    element = etree.fromstring(t(stream))[0]
    assert {str(key): str(value) for key, value in element.attrib.items()} == {
        "note": "say vtTo='never' ",
        "vtFrom": "2003-01-01T00:00:00",
        "vtTo": "now",
    }


days = st.integers(1, 9)
fillers = st.builds(v, days, st.sampled_from("abc"), st.sampled_from([2, 3, 4]))


@checked
@given(
    st.lists(fillers, max_size=6, unique_by=lambda filler: filler.split(">")[0] + filler[-4:]),
    st.randoms(use_true_random=False),
)
def test_the_temporal_view_does_not_depend_on_arrival(stream: list[str], random: Random) -> None:
    shuffled = list(stream)
    random.shuffle(shuffled)
    corrections = [filler.split(">")[0] for filler in stream if 'tsid="3"' not in filler]
    if len(set(corrections)) == len(corrections):  # a correction's content is that of the last to arrive
        assert seen("".join(shuffled)) == seen("".join(stream))


@checked
@given(st.dictionaries(days, st.sampled_from("abc"), min_size=1), st.integers(0, 10))
def test_the_view_at_an_instant_is_the_version_whose_lifespan_holds_it(versions: dict[int, str], day: int) -> None:
    stream = "".join(v(begin, text) for begin, text in versions.items())
    begun = [begin for begin in versions if begin <= day]
    time = f"2003-01-{day:02}" if day else "2002-12-31"
    assert [text for text, _, _ in seen(stream, at(time))] == ([versions[max(begun)]] if begun else [])


# -- permutations -----------------------------------------------------------------------------------------------------


@st.composite
def forests(draw: st.DrawFn) -> list[Change]:
    """The fragments of one document: every region's content holds the holes of its children, in any number."""
    size = draw(st.integers(1, 8))
    children: dict[int, list[int]] = {n: [] for n in range(size)}
    for n in range(1, size):
        children[draw(st.integers(0, n - 1))].append(n)
    for _ in range(draw(st.integers(0, 2))):  # a hole again, perhaps on its own root path
        children[draw(st.integers(0, size - 1))].append(draw(st.integers(0, size + 1)))
    made: list[Change] = []
    for n, below in children.items():
        inside = "".join(draw(st.sampled_from(["", "t", "<x/>"])) + f'<stream:hole id="{child}"/>' for child in below)
        content = inside if n and draw(st.booleans()) else f'<n i="{n}">{inside}</n>'
        made.append(Fill(region=n, content=content.encode()))
    made += [Remove(region=draw(st.integers(1, 20)), version=5) for _ in range(draw(st.integers(0, 1)))]
    return made


@checked
@given(forests(), st.randoms(use_true_random=False))
def test_hole_and_filler_commute(changes: list[Change], random: Random) -> None:
    shuffled = [*changes, *changes[: len(changes) // 2]]
    removed = {change.region for change in changes if isinstance(change, Remove)}
    shuffled = [change for change in shuffled if isinstance(change, Remove) or change.region not in removed]
    random.shuffle(shuffled)
    kept = [change for change in changes if isinstance(change, Remove) or change.region not in removed]
    assert after(shuffled) == after(kept)
