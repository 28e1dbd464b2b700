"""Change rows that Spark writes as a stream are there once, in order, however often a batch is brought."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from motion_streams import write_stream
from test_stream_air import CHANGES, STRUCTURE, broadcasting

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, to_row
from xstreamcast.model.structure import write_structure
from xstreamcast.serve.client import parse_address, read
from xstreamcast.spark.motion.stream_writer import OPTIONS, writer_of
from xstreamcast.wire.fragment import read_stream

FILES = 3


class Goods:
    """A stream of some files, and who copies it: Spark, a file in each micro-batch."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        write_stream(folder / "goods", FILES, CHANGES, STRUCTURE)

    def frame(self) -> Any:
        read = self.spark.readStream.format("xstreamcast").option("maxFilesPerTrigger", "1")
        return read.option("partitionBytes", "2000").load(str(self.folder / "goods"))

    def copy(self, target: str, checkpoint: str = "checkpoint", frame: Any = None, **options: str) -> None:
        writing = (self.frame() if frame is None else frame).writeStream.format("xstreamcast").options(**options)
        query = writing.option("checkpointLocation", str(self.folder / checkpoint)).trigger(availableNow=True)
        query.start(target).awaitTermination()

    def lose_commit(self) -> None:
        """As if Spark had died between a sink's commit and its own: the last batch comes again."""
        for name in (f"{FILES - 1}", f".{FILES - 1}.crc"):
            (self.folder / "checkpoint" / "commits" / name).unlink(missing_ok=True)


@pytest.fixture
def goods(spark: Any, tmp_path: Path) -> Goods:
    return Goods(spark, tmp_path)


def changes_of(folder: Path) -> list[Change]:
    files = sorted(folder.glob("*.xml"))
    return [arrival.item for file in files for arrival in read_stream(file) if isinstance(arrival.item, Change)]


def document(items: Iterable[Any]) -> str:
    """T of changes."""
    made = Materialiser()
    for item in items:
        if isinstance(item, Change):
            made.apply(item)
    return made.text()


def test_a_folder_has_every_batch_once_and_belongs_to_its_checkpoint(goods: Goods, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    goods.copy(str(target))
    assert changes_of(target) == CHANGES
    assert [file.name for file in sorted(target.glob("*.xml"))] == [f"{number:010}.xml" for number in range(FILES)]
    assert write_structure(STRUCTURE, declare=False).encode() in (target / "0000000000.xml").read_bytes()
    before = {file.name: (file.read_bytes(), file.stat().st_ino) for file in target.iterdir()}

    goods.lose_commit()
    goods.copy(str(target))
    assert {file.name: (file.read_bytes(), file.stat().st_ino) for file in target.iterdir()} == before

    with pytest.raises(Exception, match="XSC0087"):
        goods.copy(str(target), "another")
    assert {file.name: (file.read_bytes(), file.stat().st_ino) for file in target.iterdir()} == before


def _failing_at(last: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What Spark's workers run, which do not know this module."""

    def fail(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows and max(batch.column("seq").to_pylist()) == last:
                raise ArithmeticError("the last change cannot be")
            yield batch

    return fail


def test_a_batch_that_fails_leaves_nothing(goods: Goods, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    frame = goods.frame()
    with pytest.raises(Exception, match="the last change cannot be"):
        goods.copy(str(target), frame=frame.mapInArrow(_failing_at(len(CHANGES)), frame.schema))
    names = [".xstreamcast-writer.json", *[f"{number:010}.xml" for number in range(FILES - 1)]]
    assert sorted(file.name for file in target.iterdir() if not file.name.endswith(".crc")) == names


def test_a_server_takes_every_batch_once(goods: Goods, tmp_path: Path) -> None:
    with broadcasting(tmp_path / "station") as (port, _):
        address = f"xcast://127.0.0.1:{port}/copy"
        goods.copy(address, token="secret")
        entries = read(parse_address(address), 0, 10_000).entries
        assert document(item for _, item in entries) == document(CHANGES)

        goods.lose_commit()
        others = goods.frame().selectExpr("stream", "seq", "region", "version + 1000 AS version", "x'41' AS content")
        goods.copy(address, frame=others, token="secret")  # by its number it is the batch that the server has
        assert read(parse_address(address), 0, 10_000).entries == entries


def schema(*names: str) -> Any:
    """Columns of change rows, made without a session."""
    from pyspark.sql.types import BinaryType, LongType, StringType, StructType

    kinds = {"stream": StringType(), "seq": LongType(), "region": LongType(), "content": BinaryType()}
    made = StructType()
    for name in names:
        made = made.add(name, kinds[name])
    return made


def test_rows_of_several_streams_are_refused_unless_one_is_named() -> None:
    from xstreamcast.spark.motion.rows import batch_of_rows

    batch = batch_of_rows([to_row(CHANGES[0], "one", 1), to_row(CHANGES[0], "two", 1)])
    made = []
    for options in ({}, {"stream": "two"}):
        writer = writer_of({"path": "nowhere", **options}, schema("stream", "seq", "region", "content"), False)
        message = writer.write(iter([batch]))
        writer.publish = lambda *told: made.append(told)  # type: ignore[method-assign]
        if options:
            writer.commit([None, message], 7)
        else:
            with pytest.raises(XStreamError, match="one, two"):
                writer.commit([message], 7)
    assert made == [("", 7, "two", [CHANGES[0]])]


@pytest.mark.parametrize(
    ("options", "columns", "overwrite", "code"),
    [
        ({"path": "x", "mode": "all"}, "seq region content", False, "XSC0065"),
        ({"path": "x"}, "seq region content", True, "XSC0065"),
        ({}, "seq region content", False, "XSC0065"),
        ({"path": "x"}, "region content", False, "XSC0068"),
    ],
)
def test_what_cannot_be_written_is_refused(options: dict[str, str], columns: str, overwrite: bool, code: str) -> None:
    assert "mode" not in OPTIONS
    with pytest.raises(XStreamError) as refused:
        writer_of(options, schema(*columns.split()), overwrite)
    assert refused.value.code == code
