"""bz2 files unpacked by several threads hold what one thread finds in them, and are as strictly checked."""

from __future__ import annotations

import bz2
import io
import random
from pathlib import Path

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.scan import blocks
from xstreamcast.scan.blocks import ParallelBz2


class _Slow(io.BytesIO):
    """A file that gives little at a time."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 0, 1000) if size and size > 0 else size)


def noise(size: int, seed: int = 7) -> bytes:
    return random.Random(seed).randbytes(size)


FILES = {
    "empty": bz2.compress(b""),
    "one block": bz2.compress(b"<a/>"),
    "many blocks": bz2.compress(noise(450_000), 1),
    "repeated": bz2.compress(b"<v>1</v>" * 700_000, 2),
    "streams": bz2.compress(noise(120_000), 1)
    + bz2.compress(b"")
    + bz2.compress(b"x" * 300_000, 9)
    + bz2.compress(b"z"),
    "behind it": bz2.compress(b"<a/>") + b"something else",
}


@pytest.mark.parametrize("packed", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_it_holds_what_one_thread_finds(packed: bytes, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = bz2.BZ2File(io.BytesIO(packed)).read()
    assert ParallelBz2(io.BytesIO(packed), threads).read() == expected
    assert ParallelBz2(_Slow(packed), threads).read() == expected
    monkeypatch.setattr(blocks, "_PIECE", 50)
    if len(packed) < 10_000:
        assert ParallelBz2(io.BytesIO(packed), threads).read() == expected


def test_what_is_cut_or_damaged_is_refused() -> None:
    packed = bz2.compress(noise(250_000), 1)
    for cut in (10, 1000, len(packed) // 2, len(packed) - 1):
        with pytest.raises((EOFError, OSError)):
            ParallelBz2(io.BytesIO(packed[:cut]), 2).read()
    for place in (5, 30, len(packed) // 2, len(packed) - 3):
        damaged = bytearray(packed)
        damaged[place] ^= 16
        with pytest.raises((EOFError, OSError)):
            ParallelBz2(io.BytesIO(bytes(damaged)), 2).read()


def test_a_mark_that_came_up_by_chance_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = bz2.compress(noise(250_000), 1)
    real = blocks._marks

    def more(data: bytes, base: int, looked: int, last: bool) -> list[tuple[int, int]]:
        found = real(data, base, looked, last)
        middle = 8 * 60_000 + 3
        chance = [(middle, blocks._BLOCK)] if 8 * base <= middle < 8 * (base + len(data)) and middle >= looked else []
        return sorted([*found, *chance])

    monkeypatch.setattr(blocks, "_marks", more)
    assert ParallelBz2(io.BytesIO(packed), 2).read() == noise(250_000)


def test_no_mark_is_lost_or_found_twice_wherever_reading_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = [noise(700, seed) for seed in range(3)]
    packed = b"".join(map(bz2.compress, contents))
    for size in range(60, 200, 3):
        monkeypatch.setattr(blocks, "_PIECE", size)
        assert ParallelBz2(io.BytesIO(packed), 1).read() == b"".join(contents)
        pieces = list(blocks.pieces(io.BytesIO(packed), 0, len(packed), 0))
        assert [piece.data for piece in pieces] == contents
        assert [*blocks.begins(io.BytesIO(packed), 8 * 40, 8 * len(packed))] == [each.begin for each in pieces[1:]]


def test_a_query_unpacks_by_as_many_threads_as_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.xml.bz2"
    values = b"".join(b"<v n='%d'>%d</v>" % (number % 97, number) for number in range(400_000))
    path.write_bytes(bz2.compress(b"<r>" + values + b"</r>"))
    used: list[int] = []
    begin = ParallelBz2.__init__

    def noted(self: ParallelBz2, file: io.BufferedReader, threads: int) -> None:
        used.append(threads)
        begin(self, file, threads)

    monkeypatch.setattr(ParallelBz2, "__init__", noted)
    assert query("sum(//v)", context=path, threads=3).to_list() == [sum(range(400_000))]
    assert used == [3]
    assert query("sum(//v)", context=path).to_list() == [sum(range(400_000))]
    assert used == [3]
    assert query("(//v)[3]/number()", context=path, threads=2).to_list() == [2]
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(XStreamError) as caught:
        query("sum(//v)", context=path, threads=2).to_list()
    assert (caught.value.code, caught.value.hint) == ("XSC0006", "is the file truncated?")
