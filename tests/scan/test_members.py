"""gz files of several members unpacked by several threads hold what one thread finds, and are as strictly checked."""

from __future__ import annotations

import gzip
import io
import random
import re
import zlib
from pathlib import Path

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.scan import members
from xstreamcast.scan.members import ParallelGzip


def noise(size: int, seed: int = 7) -> bytes:
    return random.Random(seed).randbytes(size)


def packed(*contents: bytes) -> bytes:
    return b"".join(gzip.compress(content, 1, mtime=0) for content in contents)


CHANCE = b"\x1f\x8b\x08\x00"
FILES = {
    "empty": packed(b""),
    "one member": packed(b"<a/>"),
    "a large member": packed(noise(900_000)),
    "many members": packed(*(noise(20_000, seed) for seed in range(120))),
    "members of all sizes": packed(*(noise(size, size) for size in (0, 1, 700_000, 3, 90_000, 400_000, 0, 5))),
    "beginnings by chance": packed(*(noise(50_000, n) + CHANCE * 40 + noise(50_000, n + 1) for n in range(20))),
    "one that holds much": packed(*(b"x" * 3_000_000 for _ in range(60)), noise(300_000)),
    "zeros behind it": packed(*(noise(100_000, seed) for seed in range(9))) + b"\0" * 500,
}


class _Watched(ParallelGzip):
    """It counts the stretches that threads have unpacked."""

    unpacked = 0

    def _next(self) -> bytes | None:
        data = super()._next()
        self.unpacked += data is not None
        return data


@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_it_holds_what_one_thread_finds(file: bytes, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = gzip.decompress(file)
    assert ParallelGzip(io.BytesIO(file), threads).read() == expected
    monkeypatch.setattr(members, "_PIECE", 1 << 12)
    monkeypatch.setattr(members, "_LEAST", 1 << 13)
    monkeypatch.setattr(members, "_LONGEST", 1 << 18)
    assert ParallelGzip(io.BytesIO(file), threads).read() == expected


def test_members_are_unpacked_by_threads_also_beyond_a_beginning_that_is_none() -> None:
    many = _Watched(io.BytesIO(FILES["many members"]), 2)
    many.read()
    assert many.unpacked > 5
    file = packed(*(noise(100_000, seed) for seed in range(30)))
    at = file.index(gzip.compress(noise(100_000, 10), 1, mtime=0)) + 40_000
    chance = _Watched(io.BytesIO(file), 2)
    real = members._BEGIN

    class Guessing:
        """Finds one beginning more, in the middle of a member."""

        def search(self, data: bytes, start: int) -> object:
            found = real.search(data, start)
            here = data.find(file[at : at + 30], start)
            if here >= 0 and (found is None or here < found.start()):
                return re.compile(re.escape(data[here : here + 30])).search(data, here)
            return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "_BEGIN", Guessing())
        assert chance.read() == gzip.decompress(file)
    assert chance.unpacked > 5
    assert chance._alone is not None, "the last stretch"


def test_what_is_cut_or_damaged_is_refused() -> None:
    file = FILES["many members"]
    for cut in (len(file) // 2 + 7, len(file) - 1):
        with pytest.raises((EOFError, OSError)):
            ParallelGzip(io.BytesIO(file[:cut]), 2).read()
    for place in (50, len(file) // 2, len(file) - 3):
        damaged = bytearray(file)
        damaged[place] ^= 16
        with pytest.raises((EOFError, OSError, zlib.error)):
            ParallelGzip(io.BytesIO(bytes(damaged)), 2).read()


def test_a_query_unpacks_members_by_as_many_threads_as_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.xml.gz"
    values = [b"".join(b"<v>%d</v>" % n for n in range(first, first + 4_000)) for first in range(0, 400_000, 4_000)]
    path.write_bytes(packed(b"<r>", *values, b"</r>"))
    used: list[int] = []
    begin = ParallelGzip.__init__

    def noted(self: ParallelGzip, file: io.BufferedReader, threads: int) -> None:
        used.append(threads)
        begin(self, file, threads)

    monkeypatch.setattr(ParallelGzip, "__init__", noted)
    assert query("sum(//v)", context=path, threads=3).to_list() == [sum(range(400_000))]
    assert used == [3]
    assert query("sum(//v)", context=path).to_list() == [sum(range(400_000))]
    assert used == [3]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(XStreamError) as caught:
        query("sum(//v)", context=path, threads=2).to_list()
    assert (caught.value.code, caught.value.hint) == ("XSC0006", "is the file truncated?")
