"""The log: only ever added to, numbered, read from any number; what a crash has torn is cut off, damage is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Fill, Remove
from xstreamcast.model.time import START
from xstreamcast.serve.log import StreamLog
from xstreamcast.serve.record import Entry, entry_of


def filler(number: int, size: int = 10) -> Entry:
    return entry_of(Fill(region=number, version=1, content=b"x" * size))


def regions(log: StreamLog, since: int = 0) -> list[int]:
    return [entry.region for entry in log.read(since)]


@pytest.fixture
def log(tmp_path: Path) -> StreamLog:
    made = StreamLog(tmp_path, segment=4000)
    for first in range(0, 1000, 10):
        made.append(filler(number) for number in range(first, first + 10))
    return made


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def test_records_are_numbered_from_one_over_all_segments(log: StreamLog, tmp_path: Path) -> None:
    assert log.head == 1000
    assert len(segments(tmp_path)) > 5
    assert [entry.n for entry in log.read()] == list(range(1, 1001))
    assert regions(log) == list(range(1000))


@pytest.mark.parametrize("since", [0, 1, 31, 32, 33, 500, 998, 999])
def test_since_n_is_everything_after_n(log: StreamLog, since: int) -> None:
    assert regions(log, since) == list(range(since, 1000))


def test_since_the_head_is_nothing(log: StreamLog) -> None:
    assert regions(log, 1000) == []
    assert [entry.n for entry in log.read(since=10, count=3)] == [11, 12, 13]
    assert len(list(log.read(since=10, size=1))) == 1


def test_a_record_is_fetched_by_its_place(log: StreamLog) -> None:
    places = {entry.n: where for entry, where in log.walk()}
    assert [log.fetch(places[n]).n for n in (1000, 1, 500)] == [1000, 1, 500]


def test_all_of_an_entry_is_kept(tmp_path: Path) -> None:
    log = StreamLog(tmp_path)
    full = Entry("replace", b"<x/>", 0, 7, 3, 9, 8, START, "d\u00fcr", "source\t17", b"<o/>", True)
    bare = entry_of(Remove(region=3))
    log.append([full, bare])
    log.close()
    kept = list(StreamLog(tmp_path).read())
    assert kept[0] == Entry("replace", b"<x/>", 1, 7, 3, 9, 8, START, "d\u00fcr", "source\t17", b"<o/>", False)
    assert (kept[1].tsid, kept[1].valid_time, kept[1].whole) == (None, None, True)


def test_opening_it_again_goes_on_with_the_same_identity(log: StreamLog, tmp_path: Path) -> None:
    identity = log.id
    log.close()
    again = StreamLog(tmp_path, segment=4000)
    assert (again.id, again.head, again.repaired) == (identity, 1000, 0)
    again.append([filler(1000)])
    assert regions(again, 999) == [999, 1000]


@pytest.mark.parametrize("torn", range(1, 60, 7))
def test_a_torn_record_at_the_end_is_cut_off(tmp_path: Path, torn: int) -> None:
    log = StreamLog(tmp_path)
    log.append([filler(0)])
    log.append([filler(1)])
    log.close()
    path = segments(tmp_path)[-1]
    os.truncate(path, path.stat().st_size - torn)
    again = StreamLog(tmp_path)
    assert again.repaired > 0
    assert regions(again) == [0]
    again.append([filler(5)])
    again.close()
    assert regions(StreamLog(tmp_path)) == [0, 5]


def test_garbage_at_the_end_is_cut_off(tmp_path: Path) -> None:
    log = StreamLog(tmp_path)
    log.append([filler(0)])
    log.close()
    with segments(tmp_path)[-1].open("ab") as file:
        file.write(b"\xc5REC" + os.urandom(200))
    assert regions(StreamLog(tmp_path)) == [0]


def test_what_was_written_as_one_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    log = StreamLog(tmp_path)
    log.append([filler(0)])
    log.append([filler(1), filler(2), filler(3)])
    log.close()
    path = segments(tmp_path)[-1]
    os.truncate(path, path.stat().st_size - 1)
    assert regions(StreamLog(tmp_path)) == [0]


def test_damage_in_the_middle_is_an_error_and_nothing_is_cut(log: StreamLog, tmp_path: Path) -> None:
    log.close()
    for path in (segments(tmp_path)[0], segments(tmp_path)[-1]):
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
        with pytest.raises(XStreamError, match="damaged"):
            StreamLog(tmp_path)
        data[100] ^= 1
        path.write_bytes(data)
    assert StreamLog(tmp_path, segment=4000).head == 1000


def test_a_segment_that_is_missing_is_an_error(log: StreamLog, tmp_path: Path) -> None:
    log.close()
    segments(tmp_path)[1].unlink()
    with pytest.raises(XStreamError, match="damaged"):
        StreamLog(tmp_path)


def test_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    from zlib import crc32

    StreamLog(tmp_path).close()
    path = segments(tmp_path)[0]
    data = bytearray(path.read_bytes())
    data[8] = 9
    data[-4:] = crc32(data[:-4]).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(XStreamError, match="format 9"):
        StreamLog(tmp_path)


def test_a_full_disk_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = StreamLog(tmp_path)
    log.append([filler(0)])
    written = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) > 40:
            return written(file, data[:40])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(XStreamError, match="No space left"):
            log.append([filler(1), filler(2)])
    log.append([filler(3)])
    assert regions(log) == [0, 3]
    log.close()
    assert regions(StreamLog(tmp_path)) == [0, 3]
