"""Documents on an object store: a real server that speaks S3 (moto's), through pyarrow."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest
from local_frames import LocalSpark
from moto.server import ThreadedMotoServer
from pyarrow import fs
from rest_samples import said

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.files import documents

SMALL = b"<r>" + b"".join(b"<v n='%d'>%d</v>" % (n, n) for n in range(200)) + b"</r>"
QUERIES = (
    "sum(//v)",
    "//v[@n = 7]/number()",
    "for $v in //v order by -number($v) return $v/string()",
    "count(collection())",
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def store(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> fs.S3FileSystem:
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1",
                        "AWS_EC2_METADATA_DISABLED": "true"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    made = fs.S3FileSystem(access_key="test", secret_key="test", endpoint_override=endpoint, scheme="http",
                           region="us-east-1", allow_bucket_creation=True)  # fmt: skip
    made.create_dir("bucket")
    for name, data in {"a/1.xml": SMALL, "a/2.xml.gz": gzip.compress(SMALL, mtime=0), "a/_part": b"<", "big.xml": SMALL,
                       "a/deep/3.xml": b"<r><v n='7'>1</v></r>"}.items():  # fmt: skip
        with made.open_output_stream(f"bucket/{name}", compression=None) as out:
            out.write(data)
    return made


def uri(path: str, endpoint: str) -> str:
    return f"s3://bucket/{path}?endpoint_override={endpoint}&scheme=http&region=us-east-1"


def test_files_folders_and_patterns_are_listed(store: fs.S3FileSystem, endpoint: str) -> None:
    def names(path: str) -> list[str]:
        return [each.path.partition("?")[0] for each in documents(uri(path, endpoint))]

    assert names("a/1.xml") == ["s3://bucket/a/1.xml"]
    assert names("a") == ["s3://bucket/a/1.xml", "s3://bucket/a/2.xml.gz", "s3://bucket/a/deep/3.xml"]
    assert names("a/*.xml") == ["s3://bucket/a/1.xml"]
    assert names("a/?.xml*") == ["s3://bucket/a/1.xml", "s3://bucket/a/2.xml.gz"]
    with pytest.raises(XStreamError) as caught:
        documents(uri("none.xml", endpoint))
    assert caught.value.code == "XSC0006"


@pytest.mark.parametrize("text", QUERIES)
def test_spark_answers_as_if_they_were_here(store: fs.S3FileSystem, endpoint: str, text: str) -> None:
    spark: Any = LocalSpark()
    here = [SMALL.decode(), SMALL.decode(), "<r><v n='7'>1</v></r>"]
    expected = said(query(text, context=here))
    for step in (500, 1 << 20):
        assert said(prepare(spark, text, context=uri("a", endpoint), partition_bytes=step).items()) == expected
    if "collection" not in text:
        one = said(query(text, context=SMALL))
        for step in (300, 1 << 20):  # ranges of one object are read by themselves
            assert said(prepare(spark, text, context=uri("big.xml", endpoint), partition_bytes=step).items()) == one


def test_an_object_that_is_written_anew_is_told(store: fs.S3FileSystem, endpoint: str) -> None:
    spark: Any = LocalSpark()
    spread = prepare(spark, "//v/number()", context=uri("big.xml", endpoint), partition_bytes=300)
    with store.open_output_stream("bucket/big.xml") as out:
        out.write(SMALL.replace(b"<v n='0'>0</v>", b""))
    with pytest.raises(XStreamError) as caught:
        list(spread.items())
    assert caught.value.code == "XSC0063"


def test_what_pyarrow_opens_is_a_document(store: fs.S3FileSystem) -> None:
    for name in ("a/1.xml", "a/2.xml.gz"):
        for opened in (store.open_input_file, store.open_input_stream):
            options = {"compression": None} if opened == store.open_input_stream else {}
            assert query("sum(//v)", context=opened(f"bucket/{name}", **options)).to_list() == [sum(range(200))]
    with store.open_output_stream("bucket/large.xml") as out:
        out.write(b"<r>" + b"<v>1</v>" * 700_000 + b"</r>")
    assert query("count(//v)", context=store.open_input_file("bucket/large.xml")).to_list() == [700_000]
    twice = "let $n := count(//v) return (//v)[$n]/number()"
    assert query(twice, context=store.open_input_file("bucket/large.xml")).to_list() == [1]
    assert query("count(doc('x')//v)", docs={"x": store.open_input_stream("bucket/large.xml")}).to_list() == [700_000]
