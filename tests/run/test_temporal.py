"""XCQL on a temporal view: lifespans, projections, Allen's relations (SIGMOD'04 §2)."""

from __future__ import annotations

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.scan.parse import parse

VIEW = """<creditAccounts>
<account id="1" vtFrom="1998-10-10T12:20:22" vtTo="now"><customer>John</customer>
<creditLimit vtFrom="1998-10-10T12:20:22" vtTo="2001-04-23T23:11:08">2000</creditLimit>
<creditLimit vtFrom="2001-04-23T23:11:08" vtTo="now">5000</creditLimit>
<transaction id="t2" vtFrom="2003-10-23T12:23:34" vtTo="2003-10-23T12:23:34"><status
 vtFrom="2003-10-23T12:24:35" vtTo="now">charged</status><amount>38.20</amount></transaction>
<transaction id="t1" vtFrom="2003-09-10T14:30:12" vtTo="2003-09-10T14:30:12"><status
 vtFrom="2003-09-10T14:30:13" vtTo="2003-11-01T10:12:56">charged</status><status
 vtFrom="2003-11-01T10:12:56" vtTo="now">suspended</status><amount>1200</amount></transaction>
</account></creditAccounts>"""


def ask(text: str, now: str = "2003-12-01T00:00:00") -> list[object]:
    return query(f'declare variable $s := stream("credit"); {text}', streams={"credit": parse(VIEW)}, now=now).to_list()


LIMITS = [
    ("now", ["5000"]),
    ("2000-01-01", ["2000"]),
    ("2001-04-23T23:11:08", ["5000"]),  # at the instant of a change there is one version
    ("2001-04-23T23:11:07", ["2000"]),
    ("1990-01-01", []),
    ("start, now", ["2000", "5000"]),
    ("2000-01-01, 2002-01-01", ["2000", "5000"]),
    ("2002-01-01, 2000-01-01", []),
    ("now - P10Y, now - P3Y", ["2000"]),
]


@pytest.mark.parametrize(("interval", "values"), LIMITS)
def test_an_interval_projection_keeps_what_lives_in_it(interval: str, values: list[str]) -> None:
    assert ask(f"$s//creditLimit?[{interval}]/string()") == values


def test_lifespans_are_clipped_to_the_interval() -> None:
    text = "$s//creditLimit?[2000-01-01, 2002-01-01]/(@vtFrom || '/' || @vtTo)"
    assert ask(text) == [
        "2000-01-01T00:00:00/2001-04-23T23:11:08",
        "2001-04-23T23:11:08/2002-01-01T00:00:00",
    ]


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("2000-01-01, 2002-01-01", "2001-01-01, now", "2001-01-01, 2002-01-01"),
        ("2000-01-01, 2001-04-23T23:11:08", "2001-04-23T23:11:08", "2001-04-23T23:11:08"),
        ("start, 2001-04-23T23:11:07", "2001-04-23T23:11:07, now", "2001-04-23T23:11:07"),
    ],
)
def test_two_projections_are_the_projection_to_what_is_common(first: str, second: str, both: str) -> None:
    assert ask(f"$s//creditLimit?[{first}]?[{second}]/string()") == ask(f"$s//creditLimit?[{both}]/string()")


def test_snapshot_elements_stay_and_their_children_are_projected() -> None:
    assert ask("$s/creditAccounts?[2000-01-01]/account/creditLimit/string()") == ["2000"]
    assert ask("$s/creditAccounts?[1990-01-01]/count(*)") == [0]
    assert ask("$s//account?[now]/transaction") == []  # children are clipped: past events are lost
    assert ask("$s//account?[now]/customer/string()") == ["John"]


def test_other_items_pass_a_projection() -> None:
    assert ask("(1, 'a')?[now]") == [1, "a"]
    assert ask("($s//amount/text())?[1990-01-01]/string()") == ["38.20", "1200"]


@pytest.mark.parametrize(
    ("numbers", "ids"),
    [("1", ["t1"]), ("2", ["t2"]), ("last", ["t2"]), ("last - 1, last", ["t1", "t2"]), ("3", []), ("2, 1", [])],
)
def test_versions_are_numbered_by_time_over_the_whole_path(numbers: str, ids: list[str]) -> None:
    assert ask(f"$s//transaction#[{numbers}]/@id/string()") == ids


def test_a_snapshot_is_its_own_first_and_last_version() -> None:
    assert ask("$s//customer#[1]/string(), $s//customer#[last]/string()") == ["John", "John"]
    assert ask("$s//customer#[2]") == []


def test_a_version_shows_its_subtree_as_it_was_then() -> None:
    assert ask("$s//creditLimit#[1]/string()") == ["2000"]
    assert ask("for $t in $s//transaction return count($t/status#[last])") == [1, 1]


def test_lifespans_begin_and_end() -> None:
    text = "vtFrom($s//creditLimit[1]), vtTo($s//creditLimit[1]), vtTo($s//creditLimit[2])"
    assert [str(value) for value in ask(text)] == [
        "1998-10-10 12:20:22+00:00",
        "2001-04-23 23:11:08+00:00",
        "2003-12-01 00:00:00+00:00",
    ]
    # of what is not timed: the hull of the children; of a leaf: from start to now
    assert ask("vtTo($s//customer) = now(), vtFrom($s/*) = vtFrom($s//account)") == [True, True]
    assert ask("vtFrom($s//zip)") == []


@pytest.mark.parametrize(
    ("comparison", "holds"),
    [
        ("$s//creditLimit[1] meets $s//creditLimit[2]", True),
        ("$s//creditLimit[2] metBy $s//creditLimit[1]", True),
        ("$s//creditLimit[1] overlaps $s//creditLimit[2]", False),
        ("$s//transaction[2] before $s//transaction[1]", True),
        ("$s//transaction[1] during $s//account", True),
        ("xs:dateTime('2000-01-01T00:00:00Z') during $s//creditLimit[1]", True),
        ("$s//creditLimit[1] before [xs:dateTime('2003-01-01T00:00:00'), now()]", True),
        ("() before $s//account", False),
    ],
)
def test_intervals_compare_by_allens_relations(comparison: str, holds: bool) -> None:
    assert ask(comparison) == [holds]


def test_the_example_of_the_maxed_out_account() -> None:
    text = """for $a in $s//account
        where sum($a/transaction?[2003-09-01, 2003-12-01][status = "charged"]/amount) >= $a/creditLimit?[now] * 0.2
        return $a/@id/string()"""
    assert ask(text) == ["1"]
    assert ask(text.replace("2003-09-01", "2003-10-01")) == []


def test_now_is_the_largest_time_of_the_streams_unless_it_is_given() -> None:
    stream = (
        '<fragments><structure><tag id="1" name="a" type="snapshot"><tag id="2" name="p" type="temporal"/></tag>'
        '</structure><filler id="0" tsid="1"><a><hole id="1" tsid="2"/></a></filler>'
        '<filler id="1" tsid="2" validTime="2003-01-01T00:00:00"><p>1</p></filler>'
        '<filler id="1" tsid="2" validTime="2004-01-01T00:00:00"><p>2</p></filler></fragments>'
    )
    text = 'stream("s")//p?[now]/string(), string(now())'
    assert query(text, streams={"s": stream}).to_list() == ["2", "2004-01-01T00:00:00Z"]
    assert query(text, streams={"s": stream}, now="2003-06-01").to_list() == ["1", "2003-06-01T00:00:00Z"]


def test_a_lifespan_is_of_one_element() -> None:
    with pytest.raises(XStreamError) as caught:
        ask("vtFrom($s//creditLimit)")
    assert caught.value.code == "XPTY0004"


def test_a_copy_of_a_projection_remembers_that_its_end_is_closed() -> None:
    """e?[a,b]?[b] = e?[b], also when e?[a,b] went into a new element in between: copies keep lifespans."""
    clipped = "$s//creditLimit?[1999-01-01, 2000-01-01]"
    assert ask(f"<x>{{ {clipped} }}</x>?[2000-01-01]/creditLimit/string()") == ["2000"]
    twice = f"let $x := <x>{{ {clipped} }}</x> return <y>{{ $x }}</y>?[2000-01-01]/x/creditLimit/string()"
    assert ask(twice) == ["2000"]


def test_a_text_that_is_no_time_is_an_invalid_value() -> None:
    with pytest.raises(XStreamError, match="not a time") as caught:
        ask('$s//creditLimit?["yesterday"]')
    assert caught.value.code == "FORG0001"


def test_temporal_functions_are_values() -> None:
    limits = "$s//creditLimit"
    assert ask(f"for-each({limits}, vtFrom#1)") == ask(f"{limits} ! vtFrom(.)")
    assert ask(f"{limits} ! vtTo(?)(.)") == ask(f"{limits} ! vtTo(.)")
    assert ask("now#0()") == ask("now()")
    assert ask('stream#1("credit") is $s, stream(?)("credit") is $s') == [True, True]
    assert ask("vtFrom#1(())") == []
    with pytest.raises(XStreamError, match="XPTY0004"):
        ask(f"vtFrom#1({limits})")


def test_temporal_functions_have_a_namespace() -> None:
    assert ask("stream:now() eq now(), function-name(vtFrom#1) eq xs:QName('stream:vtFrom')") == [True, True]
    with pytest.raises(XStreamError, match="XPST0017"):
        ask("fn:now()")
