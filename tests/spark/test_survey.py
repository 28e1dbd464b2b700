"""The survey of a stream that grows: what belongs to the next batch, what waits, and what cannot be."""

from __future__ import annotations

import gzip
import os
from itertools import pairwise
from pathlib import Path

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.spark.motion import survey as survey_module
from xstreamcast.spark.motion.position import Position
from xstreamcast.spark.motion.stream_files import StreamFiles, stream_name
from xstreamcast.spark.motion.survey import Limit, Plan, Segment, Survey, Torn, packed

ALL = Limit()


def filler(number: int, text: str = "x") -> bytes:
    return f'<stream:filler id="{number}">{text}</stream:filler>\n'.encode()


def fillers(*numbers: int) -> bytes:
    return b"".join(filler(number) for number in numbers)


def put(folder: Path, name: str, data: bytes) -> None:
    """A file appears as the contract says: whole, by a rename."""
    hidden = folder / f".{name}"
    hidden.write_bytes(data)
    os.replace(hidden, folder / name)


def survey_of(path: Path, *, wait: bool = True) -> Survey:
    return Survey(StreamFiles(str(path)), wait=wait)


def changes(plan: Plan) -> int:
    return plan.end.seq - plan.begin.seq


def test_a_growing_file_is_read_up_to_its_last_whole_fragment(tmp_path: Path) -> None:
    file = tmp_path / "s.xml"
    whole, half = fillers(0, 1), filler(2)[:20]
    file.write_bytes(whole + half)
    survey = survey_of(file)
    first = survey.advance(Position(), ALL)
    assert changes(first) == 2
    assert survey.advance(first.end, ALL).end == first.end
    file.write_bytes(whole + fillers(2, 3))
    assert changes(survey.advance(first.end, ALL)) == 2


def test_an_unfinished_fragment_is_quarantined_once_a_later_file_is_there(tmp_path: Path) -> None:
    put(tmp_path, "1.xml", fillers(0) + filler(1)[:20])
    survey = survey_of(tmp_path)
    first = survey.advance(Position(), ALL)
    assert (changes(first), len(first.tasks)) == (1, 1)
    put(tmp_path, "2.xml", fillers(2))
    second = survey.advance(first.end, ALL)
    torn, segment = second.tasks
    assert isinstance(torn, Torn)
    assert isinstance(torn.arrival.item, Diagnostic)
    assert isinstance(segment, Segment)
    assert segment.begin.file == "2.xml"


def test_a_file_that_is_closed_by_its_wrapper_has_no_tail(tmp_path: Path) -> None:
    put(tmp_path, "1.xml", b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">' + fillers(0))
    survey = survey_of(tmp_path)
    first = survey.advance(Position(), ALL)
    with (tmp_path / "1.xml").open("ab") as file:
        file.write(b"</stream:fragments>\n")
    assert survey.advance(first.end, ALL).tasks == ()
    put(tmp_path, "2.xml", fillers(1))
    assert len(survey.advance(first.end, ALL).tasks) == 1


def test_files_are_read_in_name_order_and_hidden_ones_are_not(tmp_path: Path) -> None:
    for name, number in (("b", 1), ("a", 0), ("c", 2)):
        put(tmp_path, name, fillers(number))
    (tmp_path / ".d").write_bytes(fillers(9))
    (tmp_path / "folder").mkdir()
    plan = survey_of(tmp_path).advance(Position(), ALL)
    assert [task.begin.file for task in plan.tasks] == ["a", "b", "c"]


def test_a_pattern_takes_only_what_matches(tmp_path: Path) -> None:
    put(tmp_path, "1.xml", fillers(0))
    put(tmp_path, "1.txt", b"notes")
    assert [file.name for file in StreamFiles(f"{tmp_path}/*.xml").listing()] == ["1.xml"]


def test_files_without_content_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "1", b"")
    put(tmp_path, "2", b"<!-- nothing -->")
    survey = survey_of(tmp_path)
    assert survey.advance(Position(), ALL).end == Position()
    put(tmp_path, "3", fillers(0))
    plan = survey.advance(Position(), ALL)
    assert (plan.end.file, plan.end.files, plan.end.seq) == ("3", 2, 1)


def test_the_spelling_of_a_stream_is_that_of_its_first_file(tmp_path: Path) -> None:
    put(tmp_path, "1", fillers(0))
    put(tmp_path, "2", b'<filler id="5" tsid="1">data, not a change</filler>')
    survey = survey_of(tmp_path, wait=False)
    plan = survey.advance(Position(), ALL)
    assert changes(plan) == 1


@pytest.mark.parametrize("limit", [Limit(rows=3), Limit(size=3 * len(filler(0)) + 5), Limit(files=1)])
def test_a_limit_is_kept_and_nothing_is_lost(limit: Limit, tmp_path: Path) -> None:
    for name in range(4):
        put(tmp_path, f"{name}.xml", fillers(*range(10 * name, 10 * name + 3)))
    survey = survey_of(tmp_path)
    at, sizes = Position(), []
    while (plan := survey.advance(at, limit)).end != at:
        sizes.append(changes(plan))
        at = plan.end
    assert sizes == [3, 3, 3, 3]


def test_a_fragment_larger_than_the_limit_comes_alone(tmp_path: Path) -> None:
    put(tmp_path, "1", filler(0) + filler(1, "x" * 500) + filler(2))
    survey = survey_of(tmp_path)
    at, sizes = Position(), []
    while (plan := survey.advance(at, Limit(size=60))).end != at:
        sizes.append(changes(plan))
        at = plan.end
    assert sizes == [1, 1, 1]


def test_fewer_rows_than_the_least_wait(tmp_path: Path) -> None:
    put(tmp_path, "1", fillers(0))
    survey = survey_of(tmp_path)
    assert survey.advance(Position(), Limit(least_rows=2)).tasks == ()
    put(tmp_path, "2", fillers(1))
    assert changes(survey.advance(Position(), Limit(least_rows=2))) == 2


def test_beyond_the_horizon_nothing_is_seen(tmp_path: Path) -> None:
    put(tmp_path, "1", fillers(0))
    survey = survey_of(tmp_path)
    survey.set_horizon()
    put(tmp_path, "2", fillers(1))
    with (tmp_path / "1").open("ab") as file:
        file.write(fillers(7))
    plan = survey.advance(Position(), ALL)
    assert changes(plan) == 1
    assert survey.advance(plan.end, ALL).end == plan.end


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "s.xml"
    file.write_bytes(fillers(0, 1))
    at = survey_of(file).advance(Position(), ALL).end
    file.write_bytes(fillers(0))
    with pytest.raises(XStreamError, match=r"had \d+ bytes when it was read, now"):
        survey_of(file).advance(at, ALL)


def test_a_packed_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "s.xml.gz"
    file.write_bytes(gzip.compress(fillers(0, 1)))
    at = survey_of(file).advance(Position(), ALL).end
    file.write_bytes(gzip.compress(fillers(0)))
    with pytest.raises(XStreamError, match=r"had \d+ bytes when it was read, now"):
        survey_of(file).advance(at, ALL)


def test_a_file_that_vanishes_while_it_is_needed_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "1", fillers(0))
    put(tmp_path, "2", fillers(1))
    survey = survey_of(tmp_path)
    at = survey.advance(Position(), Limit(rows=1)).end
    (tmp_path / "1").unlink()
    survey.close()
    with pytest.raises(XStreamError, match="No such file") as caught:
        survey_of(tmp_path).advance(at, ALL)
    assert caught.value.place is not None
    assert caught.value.place.source.endswith("/1")


def test_files_left_behind_may_go(tmp_path: Path) -> None:
    put(tmp_path, "1", fillers(0))
    put(tmp_path, "2", fillers(1))
    at = survey_of(tmp_path).advance(Position(), ALL).end
    (tmp_path / "1").unlink()
    put(tmp_path, "3", fillers(2))
    assert changes(survey_of(tmp_path).advance(at, ALL)) == 1


def test_a_name_that_sorts_before_what_was_read_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "2", fillers(0))
    survey = survey_of(tmp_path)
    at = survey.advance(Position(), ALL).end
    put(tmp_path, "1", fillers(1))
    with pytest.raises(XStreamError, match="its name sorts before"):
        survey.advance(at, ALL)


def test_a_file_left_behind_that_grows_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "1", fillers(0))
    put(tmp_path, "2", fillers(1))
    survey = survey_of(tmp_path)
    at = survey.advance(Position(), ALL).end
    with (tmp_path / "1").open("ab") as file:
        file.write(fillers(5))
    put(tmp_path, "3", fillers(2))
    with pytest.raises(XStreamError, match="changed after later files were begun"):
        survey.advance(at, ALL)


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(XStreamError, match="No such file"):
        StreamFiles(str(tmp_path / "gone.xml")).listing()
    with pytest.raises(XStreamError, match="No such file"):
        StreamFiles(str(tmp_path / "gone" / "*.xml")).listing()


def test_a_replayed_batch_must_hold_what_it_held(tmp_path: Path) -> None:
    file = tmp_path / "s.xml"
    file.write_bytes(fillers(0, 1, 2))
    plan = survey_of(file).advance(Position(), ALL)
    assert survey_of(file).replay(plan.begin, plan.end) == plan
    file.write_bytes(fillers(0) + filler(1).replace(b"stream:filler", b"stream_filler") + fillers(2))
    with pytest.raises(XStreamError, match="as planned"):
        survey_of(file).replay(plan.begin, plan.end)


def test_what_had_to_be_decoded_travels_with_the_tasks_while_it_is_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "s.xml.gz"
    text = b"".join(filler(number, "x" * 90) for number in range(100))
    file.write_bytes(gzip.compress(text))
    monkeypatch.setattr(survey_module, "_GRAIN", 1000)
    plan = survey_of(file).advance(Position(), Limit(rows=40))
    (task,) = plan.tasks  # a run is not cut, a batch is
    assert isinstance(task, Segment)
    assert task.data == text[: plan.end.offset]

    monkeypatch.setattr(survey_module, "_CARRIED", 100)
    plan = survey_of(file).advance(Position(), ALL)
    assert [task.data for task in plan.tasks if isinstance(task, Segment)] == [None]


def segments(count: int, size: int, start: int | None = 0) -> tuple[Segment, ...]:
    ends = [Position("f", 0, number * size, number) for number in range(count + 1)]
    return tuple(Segment(begin, end, start) for begin, end in pairwise(ends))


def test_a_small_batch_is_one_task_and_a_large_one_several_of_similar_size() -> None:
    megabyte = 1 << 20
    assert len(packed(segments(10, 1000), 8 * megabyte)) == 1
    groups = packed(segments(16, megabyte), 8 * megabyte)
    assert [sum(task.size for task in group) for group in groups] == [4 * megabyte] * 4
    assert [len(group) for group in groups] == [1] * 4  # neighbours are one again
    assert len(packed(segments(100, megabyte), 8 * megabyte)) == 13


def test_a_file_that_workers_must_decode_is_not_split() -> None:
    (group,) = packed(segments(100, 1 << 20, start=None), 8 << 20)
    assert [task.size for task in group] == [100 << 20]


@pytest.mark.parametrize(
    ("path", "name"),
    [("/d/feed.xml", "feed"), ("feed.v1.xml.gz", "feed"), ("/d/feed/", "feed"), ("/d/feed/*.xml", "feed")],
)
def test_a_stream_is_named_after_its_file_or_folder(path: str, name: str) -> None:
    assert stream_name(path) == name


def test_a_position_of_another_format_is_refused() -> None:
    with pytest.raises(XStreamError, match="another format"):
        Position.parse({"format": 99, "file": "x"})
