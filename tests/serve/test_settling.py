"""What a server sends says what it was given, in any order and with losses, once the carousel has been round."""

from __future__ import annotations

import io
import random
import tempfile
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_streams import streams

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.generate import find
from xstreamcast.model.change import After, Before, Change, Eos, Fill, Freeze, Hide, Remove, Repeat, Replace, Show
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.serve.channel import Channel, Incoming, Taken
from xstreamcast.serve.record import Entry
from xstreamcast.wire.fragment import FragmentReader, read_stream

checked = settings(max_examples=50, derandomize=True, deadline=None)

TAGS = parse_structure(
    """<stream:structure><tag id="1" name="r"><tag id="2" name="a" type="filler" reuse="no"/>
    <tag id="3" name="e" type="event"/><tag id="4" name="v" type="temporal"/></tag></stream:structure>"""
)


def t(items: list[Change | Structure]) -> str:
    """T of what has come."""
    regions = Materialiser(None)
    for item in items:
        regions.apply(item)
    regions.finish()
    return regions.text()


def items_of(wires: list[bytes]) -> list[Change | Structure]:
    items = [arrival.item for wire in wires for arrival in FragmentReader([wire])]
    sound = [item for item in items if isinstance(item, Change | Structure)]
    assert sound == items, "nothing of it is put aside"
    return sound


class Served:
    """A channel in a folder of its own, fed change by change."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.channel = Channel("s", Path(self.folder.name))

    def __call__(self, *items: Change | Structure) -> Taken:
        return self.channel.take("test", [Incoming(item) for item in items])

    @property
    def sent(self) -> list[Entry]:
        return list(self.channel.log.read())

    @property
    def cycle(self) -> list[bytes]:
        """What a cycle of the carousel repeats."""
        current = self.channel.current
        keys = current.repeated(self.channel.priorities)
        first = [current.structure_text] if current.structure is not None else []
        return first + [self.channel.log.fetch(current.table[key].where).wire for key in keys]

    def close(self) -> None:
        self.channel.close()
        self.folder.cleanup()

    def restart(self) -> None:
        self.channel.close()
        self.channel = Channel("s", Path(self.folder.name))


@pytest.fixture
def served() -> object:
    made = Served()
    yield made
    made.close()


def converges(items: list[Change | Structure], seed: int, prefixes: bool = False) -> None:
    rng = random.Random(seed)
    served = Served()
    try:
        given: list[Change | Structure] = []
        for number, item in enumerate(items):
            served(item)
            given.append(item)
            if number == len(items) // 2:
                served.restart()
            if prefixes or number == len(items) - 1:
                assert t(items_of([entry.wire for entry in served.sent])) == t(given)
        wires = [entry.wire for entry in served.sent if rng.random() < 0.6]
        wires += [wire for wire in wires if rng.random() < 0.3]
        rng.shuffle(wires)
        cycle = served.cycle
        assert t(items_of(cycle)) == t(given)
        rng.shuffle(cycle)
        assert t(items_of(wires + cycle)) == t(given)
        mixed = wires + cycle
        rng.shuffle(mixed)
        rng.shuffle(cycle)
        assert t(items_of(mixed + cycle)) == t(given)
    finally:
        served.close()


@checked
@given(streams(), st.integers(0, 1000))
def test_fragments_in_any_order_with_losses_and_a_cycle_of_the_carousel_say_the_same(text: str, seed: int) -> None:
    items = [arrival.item for arrival in read_stream(io.BytesIO(text.encode()))]
    # What replaces an event counts in the order of arrival in T; see the next test.
    converges([item for item in items if isinstance(item, Change | Structure) and not replaces_event(item)], seed)


def replaces_event(item: Change | Structure) -> bool:
    return isinstance(item, Replace) and item.tsid == 4


@pytest.mark.parametrize("versions", [(None, None), (1, 2), (2, None), (None, 2)])
def test_a_replaced_event_stays_replaced(versions: tuple[int | None, int | None]) -> None:
    event = Fill(region=1, tsid=3, valid_time=5_000_000, version=versions[0], content=b"<e>1</e>")
    other = Fill(region=1, tsid=3, valid_time=6_000_000, content=b"<e>2</e>")
    instead = Replace(region=1, tsid=3, valid_time=5_000_000, version=versions[1], content=b"<e>3</e>")
    root = Fill(region=0, tsid=1, content=b'<r><stream:hole id="1" tsid="3"/></r>')
    for seed in range(8):
        converges([TAGS, root, event, other, instead], seed)
    served = Served()
    served(TAGS, root, event, other, instead)
    assert served(event).without_effect == (versions == (1, 2))
    served.close()


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("credit", "credit"),
        ("commodities", "commodities"),
        ("packets", ""),
        ("stock", ""),
        ("traffic", ""),
        ("radar", ""),
    ],
)
def test_the_streams_of_the_papers_converge(name: str, stream: str) -> None:
    made = find(name)
    assert made.changes is not None
    chosen = stream or next(iter(made.structures))
    changes = [change for of, change in islice(made.changes(0.002, 4, 120), 400) if of == chosen]
    converges([parse_structure(made.structures[chosen]), *changes], 11)


few = st.integers(1, 5)
new = st.sampled_from([1, 2, 4, 5])  # 3 is the number of a hole
letters = st.sampled_from([b"p", b"q", b"<b/>", b'<c><stream:mutable id="2">m</stream:mutable></c>'])
updates = st.one_of(
    st.builds(Replace, target=few, region=new, content=letters),
    st.builds(Before, target=few, region=new, content=letters),
    st.builds(After, target=few, region=new, content=letters),
    st.builds(Replace, region=few, content=letters),
    st.builds(Fill, region=few, content=letters),
    st.builds(Repeat, region=few, content=letters),
    st.builds(Remove, region=few),
    st.builds(Hide, region=few),
    st.builds(Show, region=few),
    st.builds(Freeze, region=few),
)
NESTED = (
    b'<r><stream:mutable id="1">a<stream:mutable id="2">b</stream:mutable></stream:mutable><stream:hole id="3"/></r>'
)


@settings(checked, max_examples=120)
@given(st.lists(updates, max_size=12), st.integers(0, 1000))
def test_update_streams_go_out_as_fragments_that_say_the_same(changes: list[Change], seed: int) -> None:
    converges([Fill(region=0, content=NESTED), *changes], seed, prefixes=True)


def test_every_change_goes_out_with_a_version_and_a_repeat_does_not_go_out(served: Served) -> None:
    served(Fill(region=0, content=b"<r/>"))
    assert served(Fill(region=0, content=b"<r/>")).without_effect == 1
    assert served(Repeat(region=0, content=b"<r/>")).without_effect == 1
    served(
        Fill(region=0, content=b"<s/>"), Replace(region=0, version=9, content=b"<u/>"), Fill(region=0, content=b"<v/>")
    )
    assert [entry.version for entry in served.sent] == [0, 1, 9, 10]


def test_an_older_version_does_not_go_out_also_after_a_restart(served: Served) -> None:
    served(Fill(region=0, version=5, content=b"<r/>"), Fill(region=0, content=b"<s/>"))
    served.restart()
    assert served(Fill(region=0, version=4, content=b"<old/>")).without_effect == 1
    assert served(Fill(region=0, version=5, content=b"<new/>")).logged == 1
    assert [(entry.given, entry.version) for entry in served.sent] == [(5, 5), (5, 6), (5, 7)]


def test_a_removal_is_a_tombstone_that_the_carousel_repeats(served: Served) -> None:
    served(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'), Fill(region=1, content=b"x"), Remove(region=1))
    assert served.cycle[-1] == b'<stream:remove id="1" version="1"/>'
    assert served(Remove(region=1)).without_effect == 1
    assert served(Remove(region=2)).without_effect == 1


def test_a_removal_where_history_is_kept_says_when(served: Served) -> None:
    served(TAGS, Fill(region=1, tsid=4, valid_time=1000, content=b"<v>1</v>"), Remove(region=1))
    assert served.sent[-1].valid_time == 1000
    assert served.sent[-1].tsid == 4


def test_a_removal_of_what_has_no_time_leaves_the_history_of_its_hole(served: Served) -> None:
    served(TAGS, Fill(region=0, tsid=1, content=b'<r><stream:hole id="1"/></r>'))
    served(Fill(region=1, tsid=2, content=b"<a/>"), Fill(region=1, tsid=4, valid_time=3, content=b"<v/>"))
    served(Remove(region=1, tsid=2))
    assert "<a" not in t(items_of(served.cycle))
    assert 'vtTo="now"' in t(items_of(served.cycle))


def test_where_ids_are_not_reused_what_no_hole_holds_is_not_repeated(served: Served) -> None:
    parent = b"<r>%b</r>"
    hole = b'<stream:hole id="1" tsid="2"/>'
    served(TAGS, Fill(region=0, tsid=1, content=parent % hole), Fill(region=1, tsid=2, content=b"<a/>"))
    assert len(served.cycle) == 3
    served(Replace(region=0, tsid=1, content=parent % b""))
    assert len(served.cycle) == 2
    served.restart()
    assert len(served.cycle) == 2
    served(Replace(region=0, tsid=1, content=parent % hole))  # it was moved, not let go
    assert len(served.cycle) == 3


def test_eos_is_repeated_last_and_nothing_comes_after_it(served: Served) -> None:
    served(Fill(region=0, content=b"<r/>"), Eos())
    assert served.cycle[-1] == b"<stream:eos/>"
    assert [one.code for one in served(Fill(region=0, content=b"<s/>")).refused] == ["XSC0107"]
    assert served(Eos()).without_effect == 1


def test_what_comes_before_its_structure_waits_for_it(served: Served) -> None:
    assert served(Fill(region=1, tsid=2, content=b"<a/>"), Fill(region=0, tsid=1, content=b"<r/>")).waiting == 2
    assert served.sent == []
    assert served(TAGS).logged == 3
    assert [entry.kind for entry in served.sent] == ["structure", "fill", "fill"]


def test_a_structure_may_add_and_takes_nothing_back(served: Served) -> None:
    more = parse_structure('<structure><tag id="1" name="r"><tag id="9" name="z"/></tag></structure>')
    less = parse_structure('<structure><tag id="1" name="r"/></structure>')
    assert served(less, less).without_effect == 1
    assert served(more).logged == 1
    assert [one.code for one in served(less).refused] == ["XSC0021"]


def test_an_insertion_into_a_long_row_costs_a_page_not_the_row(served: Served) -> None:
    served(Fill(region=0, content=b'<r><stream:mutable id="1"/></r>'))
    last = 1
    for number in range(2, 1000):
        served(After(region=number, target=last, content=b"%d " % number))
        last = number
    sizes = [len(entry.wire) for entry in served.sent]
    assert max(sizes) < 64 * 50
    expected = "".join(f"{number} " for number in range(2, 1000))
    assert t(items_of(served.cycle)) == f"<r>{expected}</r>"


def test_something_beside_a_region_with_versions_in_time_is_refused(served: Served) -> None:
    served(TAGS, Fill(region=1, tsid=4, valid_time=1000, content=b"<v>1</v>"))
    assert [one.code for one in served(Before(region=9, target=1, content=b"x")).refused] == ["XSC0108"]
