"""Members of archives are documents of their own: several tasks read them, and the answer is the embedded one."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from local_frames import LocalSpark
from rest_samples import said

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.at_rest import query as spread
from xstreamcast.spark.rest.files import documents
from xstreamcast.spark.rest.indexing import planned
from xstreamcast.spark.rest.shares import shares

MEMBERS = {
    f"part/{n}.xml": ("<r>" + "".join(f"<v n='{k}'>{k * n}</v>" for k in range(50)) + "</r>").encode() for n in range(6)
}
NAMES = ("a.zip", "a.tar", "a.tar.gz")


def archive(folder: Path, name: str) -> Path:
    path = folder / name
    if name.endswith("zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            for member, data in MEMBERS.items():
                zipped.writestr(member, data)
        return path
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for member, data in MEMBERS.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(gzip.compress(made.getvalue()) if name.endswith("gz") else made.getvalue())
    return path


@pytest.mark.parametrize("name", NAMES)
def test_members_are_shared_out_and_answers_are_the_embedded_ones(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path, name)
    found = documents(str(path))
    assert [len(planned(found, step)) for step in (500, 1700, 1 << 20)] == [6, 3, 1]
    for text in (
        "//v[@n = 7]/string()",
        "sum(//v)",
        "base-uri()",
        f"sum(collection('{path}')//v)",
        f"count(doc('{path}!part/3.xml')//v)",
        "for $v in collection()//v order by -number($v), base-uri($v) return $v/string()",
    ):
        spark: Any = LocalSpark()
        found_ = prepare(spark, text, context=path, partition_bytes=500).items()
        assert said(found_) == said(query(text, context=path)), text
    one = f"{path}!part/3.xml"
    assert list(shares(documents(one), 100))[1:] == ["  3.xml  1 task: a member of an archive is read as it comes"]


def test_a_damaged_member_is_told_as_by_the_embedded_engine(tmp_path: Path) -> None:
    path = archive(tmp_path, "a.zip")
    data = bytearray(path.read_bytes())
    data[data.index(b"part/4.xml") + 30] ^= 255
    path.write_bytes(data)
    told = []
    spark: Any = LocalSpark()
    for ask in (query, lambda text, context: prepare(spark, text, context=context, partition_bytes=500).items()):
        with pytest.raises(XStreamError) as caught:
            list(ask("count(//v)", context=f"{path}!part/4.xml"))
        told.append((caught.value.code, caught.value.hint, caught.value.place))
    assert told[0] == told[1]
    assert told[0][0] == "XSC0006"


def test_tasks_of_spark_read_members(spark: Any, tmp_path: Path) -> None:
    path = archive(tmp_path, "a.zip")
    frame = spread(spark, "sum(//v)", context=path, partition_bytes=1700)
    assert frame.rdd.getNumPartitions() == 3
    assert [float(row.value) for row in frame.collect()] == query("sum(//v)", context=path).values()
    reading = spark.read.format("xstreamcast").option("record", "//v").option("columns", '{"n": "@n", "v": "."}')
    rows = reading.option("partitionBytes", "1700").option("where", "@n > 48").option("file", "true").load(str(path))
    assert rows.rdd.getNumPartitions() == 3
    assert [(Path(row.file).name, row.n, row.v) for row in rows.collect()] == [
        (f"{n}.xml", 49, 49 * n) for n in range(6)
    ]
