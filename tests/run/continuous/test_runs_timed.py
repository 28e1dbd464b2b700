"""Records in many fragments, with versions and events: a file brings them in at once, and the first touch opens one."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_runs import live_of

import xstreamcast
from xstreamcast.model.change import Fill
from xstreamcast.model.time import parse_instant
from xstreamcast.run.continuous.arrive import inflow

STRUCTURE = """<stream:structure><tag id="1" name="bank" type="snapshot"><tag id="2" name="account" type="temporal">
  <tag id="3" name="limit" type="temporal"/><tag id="4" name="charge" type="event">
  <tag id="5" name="status" type="temporal"/></tag></tag></tag></stream:structure>"""
MANY = 200
OVER = 'for $a in stream("s")//account where sum($a/charge[status = "paid"]/@sum) > $a/limit return $a/@id/string()'


@pytest.fixture(autouse=True)
def _by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(inflow.Inflow, "columns", False)


def filler(number: int, tag: int, content: str, day: int, version: int = 1) -> str:
    """A fragment that is valid from a day on."""
    valid = f'version="{version}" validTime="2003-11-{day:02}"'
    return f'<stream:filler id="{number}" tsid="{tag}" {valid}>{content}</stream:filler>'


def bank(accounts: range) -> str:
    """Accounts with two limits and two charges each; of every fifth one the paid charges are above both limits."""
    holes = "".join(f'<stream:hole id="{10 * n}" tsid="2"/>' for n in range(1, MANY + 1))
    wires = [f'<stream:filler id="0" tsid="1"><bank>{holes}</bank></stream:filler>'] if accounts.start == 1 else []
    for n in accounts:
        limit, charges, first, second = range(10 * n + 1, 10 * n + 5)
        own = f'<stream:hole id="{limit}" tsid="3"/><stream:hole id="{charges}" tsid="4"/>'
        wires += [
            filler(first, 5, "<status>paid</status>", 5),
            filler(10 * n, 2, f'<account id="{n}">{own}</account>', 1),
            filler(limit, 3, "<limit>100</limit>", 1),
            filler(
                charges, 4, f'<charge sum="{60 + 60 * (n % 5 == 0)}"><stream:hole id="{first}" tsid="5"/></charge>', 4
            ),
            filler(limit, 3, "<limit>110</limit>", 9),
            filler(charges, 4, f'<charge sum="30"><stream:hole id="{second}" tsid="5"/></charge>', 6, 2),
            filler(second, 5, "<status>open</status>", 6),
        ]
    return "\n".join(wires)


def loaded(text: str, tmp_path: Path, *parts: str) -> xstreamcast.ContinuousQuery:
    query = xstreamcast.continuous(text)
    for number, part in enumerate(parts):
        file = tmp_path / f"{number}.xml"
        file.write_text(STRUCTURE + part if number == 0 else part)
        query.load(str(file), "s")
    return query


def over(every: int, *others: int) -> str:
    return " ".join(map(str, sorted({*range(every, MANY + 1, every), *others})))


def test_all_accounts_stand_in_runs_with_what_is_in_them(tmp_path: Path) -> None:
    query = loaded(OVER, tmp_path, bank(range(1, MANY + 1)))
    live = live_of(query)
    assert query.text() == over(5)
    assert live.runs.standing == MANY
    assert live.walked == 1 + 7 * MANY, "the root, and each content once"
    assert query.state()["evaluated"] <= MANY + 1


def test_a_change_opens_the_account_that_it_is_about(tmp_path: Path) -> None:
    query = loaded(OVER, tmp_path, bank(range(1, MANY + 1)))
    before = query.state()["evaluated"]
    paid = parse_instant("2003-11-20")
    status = Fill(region=10 * 7 + 4, tsid=5, version=2, valid_time=paid, content=b"<status>paid</status>")
    raised = Fill(
        region=10 * 7 + 2,
        tsid=4,
        version=3,
        valid_time=paid,
        content=b'<charge sum="90"><status>paid</status></charge>',
    )
    query.feed(status, "s")
    assert query.text() == over(5)
    query.feed(raised, "s")
    assert query.text() == over(5, 7)
    live = live_of(query)
    assert (live.runs.standing, live.runs.opened) == (MANY - 1, 1)
    assert query.state()["evaluated"] - before <= 12, "what is in that account, and nothing else"


def test_what_another_file_brings_to_an_account_leaves_it_in_its_run(tmp_path: Path) -> None:
    more = [filler(10 * n + 4, 5, "<status>paid</status>", 12, 2) for n in range(1, MANY + 1)]
    paid = [filler(10 * n + 2, 4, '<charge sum="9"/>', 13, 3) for n in (3, 4)]
    query = loaded(OVER, tmp_path, bank(range(1, 90)), bank(range(90, MANY + 1)), "\n".join(more), "\n".join(paid))
    assert query.text() == over(5)
    assert live_of(query).runs.standing == MANY
    raised = loaded(OVER.replace("> $a/limit", ">= 90"), tmp_path, bank(range(1, MANY + 1)), "\n".join(more))
    assert raised.text() == " ".join(map(str, range(1, MANY + 1)))
    assert live_of(raised).runs.standing == MANY


def test_lifespans_are_those_of_the_document(tmp_path: Path) -> None:
    text = 'stream("s")//account[@id = "2"]/limit/concat(@vtFrom, "-", @vtTo, ":", .)'
    query = loaded(text, tmp_path, bank(range(1, MANY + 1)))
    assert live_of(query).runs.standing == MANY
    expected = "2003-11-01T00:00:00-2003-11-09T00:00:00:100 2003-11-09T00:00:00-now:110"
    assert query.text() == expected


def test_what_was_opened_before_and_stands_in_a_run_again_is_not_opened_without_need(tmp_path: Path) -> None:
    group = '<g><stream:hole id="2" tsid="3"/><stream:hole id="8" tsid="3"/></g>'
    wires = [
        '<stream:structure><tag id="1" name="r" type="snapshot"><tag id="2" name="g">',
        '<tag id="3" name="t" type="event"/></tag></tag></stream:structure>',
        '<stream:filler id="0" tsid="1" version="1"><r><stream:hole id="1" tsid="2"/></r></stream:filler>',
        filler(2, 3, "<t>1</t>", 4, 2),
        f'<stream:filler id="1" tsid="2" version="1">{group}</stream:filler>',
        filler(25, 3, "<t/>", 4, 3),
        '<stream:remove id="1" tsid="2" version="2"/>',
        filler(25, 3, "<t>q</t>", 5, 2),
        f'<stream:filler id="1" tsid="2" version="3">{group}</stream:filler>',
        filler(2, 3, "<t>y</t>", 6, 3),
    ]
    (tmp_path / "s.xml").write_text("".join(wires))
    query = xstreamcast.continuous('stream("s")//t[*]')
    query.load(str(tmp_path / "s.xml"), "s")
    assert query.text() == ""
    assert live_of(query).runs.standing == 2
