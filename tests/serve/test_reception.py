"""What a client has: numbers that are missing, cycles that are complete, repeats that are not handed on."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.serve.message import Header, message, parse_message
from xstreamcast.serve.reception import Reception


def live(*numbers: int, head: int, log: str = "L") -> Header:
    return Header("s", log, head, numbers, (4,) * len(numbers))


def cycle(numbers: list[int], at: int, of: int, head: int, turn: int = 1) -> Header:
    return Header("s", "L", head, tuple(numbers), (4,) * len(numbers), turn, at, of)


def take(reception: Reception, header: Header) -> list[int]:
    return [n for n, _ in reception.take(header, [b"<a/>"] * len(header.n))]


def test_what_has_come_is_not_handed_on_again() -> None:
    reception = Reception()
    assert take(reception, live(1, 2, head=2)) == [1, 2]
    assert take(reception, live(2, 3, head=3)) == [3]
    assert (reception.since, reception.repeats, reception.complete) == (3, 1, True)


def test_a_gap_keeps_the_place_to_resume_from() -> None:
    reception = Reception()
    take(reception, live(1, head=1))
    take(reception, live(3, 4, head=4))
    assert (reception.since, reception.missing, reception.complete) == (1, 1, False)
    take(reception, live(2, head=4))
    assert (reception.since, reception.complete) == (4, True)


def test_a_whole_cycle_makes_up_for_what_was_superseded() -> None:
    reception = Reception()
    take(reception, live(9, head=9))
    take(reception, cycle([2, 5], 0, 4, 9))
    assert not reception.complete
    assert take(reception, cycle([7, 9], 2, 4, 9)) == [7]
    assert (reception.since, reception.complete) == (9, True)


def test_parts_of_one_state_may_come_from_several_turns() -> None:
    reception = Reception()
    take(reception, cycle([1, 2], 0, 4, 9, 1))
    take(reception, cycle([8, 9], 2, 4, 9, 2))
    assert reception.complete


def test_parts_of_different_states_make_no_whole() -> None:
    reception = Reception()
    take(reception, cycle([1, 2], 0, 4, 9, 1))
    take(reception, cycle([8, 10], 2, 4, 10, 2))
    assert not reception.complete
    take(reception, cycle([1, 2], 0, 4, 9, 1))  # late
    assert not reception.complete
    take(reception, cycle([1, 2], 0, 4, 10, 3))
    assert reception.complete


def test_another_log_begins_anew() -> None:
    reception = Reception()
    take(reception, live(1, 2, head=2))
    assert take(reception, live(1, head=1, log="M")) == [1]
    assert (reception.log, reception.since, reception.head) == ("M", 1, 1)


def test_what_replaces_an_event_is_handed_on_every_time() -> None:
    reception = Reception()
    event = b'<stream:replace id="1" tsid="2" version="2" validTime="2003-01-01T00:00:00">x</stream:replace>'
    header = Header("s", "L", 1, (1,), (len(event),))
    assert reception.take(header, [event]) == reception.take(header, [event]) == [(1, event)]


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.integers(1, 40), st.integers(0, 10_000))
def test_in_any_order_with_any_repeats_everything_is_handed_on_once(count: int, seed: int) -> None:
    rng = random.Random(seed)
    numbers = list(range(1, count + 1)) * 2
    rng.shuffle(numbers)
    reception = Reception()
    handed = [n for number in numbers for n in take(reception, live(number, head=count))]
    assert sorted(handed) == list(range(1, count + 1))
    assert reception.complete


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.integers(1, 20), st.integers(0, 10_000))
def test_the_end_is_handed_on_last_in_whatever_order_messages_come(count: int, seed: int) -> None:
    numbers = list(range(1, count + 1)) * 2
    random.Random(seed).shuffle(numbers)
    reception = Reception()
    handed: list[int] = []
    for n in numbers:
        element = b"<stream:eos/>" if n == count else b"<a/>"
        handed += [one for one, _ in reception.take(live(n, head=count), [element])]
    assert handed[-1] == count
    assert sorted(handed) == list(range(1, count + 1))
    assert (reception.ended, reception.complete) == (count, True)


def test_the_end_waits_for_a_whole_cycle_of_a_stream_of_which_numbers_were_superseded() -> None:
    reception = Reception()
    assert reception.take(cycle([9], 0, 3, 9), [b"<stream:eos/>"]) == []
    assert [n for n, _ in reception.take(cycle([3, 5], 1, 3, 9), [b"<a/>", b"<b/>"])] == [3, 5, 9]


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"{}\n", b"[]\n", b"\xff\n", b'{"stream":"s"}\n', b"[" * 100_000 + b"\n",
        b'{"stream":"s","log":"l","head":1,"n":[1],"size":[2]}\nx',
        b'{"stream":"s","log":"l","head":-1,"n":[],"size":[]}\n',
        b'{"stream":"s","log":"l","head":1,"n":[true],"size":[1]}\nx',
        b'{"stream":1,"log":"l","head":1,"n":[],"size":[]}\n',
        b'{"stream":"s","log":"l","head":1,"n":[1,2],"size":[1]}\nx',
    ],
    ids=range(12),
)  # fmt: skip
def test_what_is_no_message_is_an_error(data: bytes) -> None:
    with pytest.raises(XStreamError) as fault:
        parse_message(data)
    assert fault.value.code == "XSC0104"


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536])
def test_a_frame_is_read_by_any_websocket_client(size: int) -> None:
    from xstreamcast.serve.message import frame

    made = frame(b"x" * size)
    length = made[1]
    at = 2 if length < 126 else 4 if length == 126 else 10
    assert made[0] == 0x82
    assert (length if at == 2 else int.from_bytes(made[2:at], "big")) == size == len(made) - at


def test_a_message_is_what_was_put_in() -> None:
    header = Header("credit", "ab", 9, (3, 4), (4, 4), 2, 10, 20)
    assert parse_message(message(header, [b"<a/>", b"<b/>"])) == (header, [b"<a/>", b"<b/>"])
