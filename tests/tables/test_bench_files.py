"""The benchmark of files compares what is equal: every input and output has the rows of a script by hand."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from pyarrow import parquet

from bench import documents, files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def inputs(folder: Path) -> dict[str, Path]:
    return files.write(folder, 0.25)


@pytest.fixture(scope="module")
def address(inputs: dict[str, Path]) -> Iterator[str]:
    with files.served(inputs["xml"].parent) as url:
        yield url


@pytest.mark.parametrize("kind", files.INPUTS)
def test_an_input_has_the_rows_of_a_script_by_hand(
    kind: str, inputs: dict[str, Path], address: str, folder: Path
) -> None:
    given = f"{address}/{inputs['xml'].name}" if kind == "http" else str(inputs[kind])
    tables = []
    for tool in ("xstreamcast", "lxml"):
        out = folder / f"{kind}-{tool}.parquet"
        subprocess.run(files.command(tool, kind, given, out, inputs), check=True)
        tables.append(parquet.read_table(out).to_pylist())
        assert files.rows_of(out) == len(tables[-1]) > 10
    assert tables[0] == tables[1]


@pytest.mark.parametrize("kind", files.OUTPUTS)
def test_an_output_has_the_rows_of_a_script_by_hand(kind: str, inputs: dict[str, Path], folder: Path) -> None:
    made = [folder / f"out-{tool}.{kind}" for tool in ("xstreamcast", "lxml")]
    for tool, out in zip(("xstreamcast", "lxml"), made, strict=True):
        subprocess.run(files.command(tool, "xml", str(inputs["xml"]), out, inputs), check=True)
    assert files.rows_of(made[0]) == files.rows_of(made[1]) > 40
    if kind == "csv":
        ours, theirs = (list(csv.reader(path.open(encoding="utf-8", newline=""))) for path in made)
        assert [row[:3] for row in ours] == [row[:3] for row in theirs]


def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_scale", 0.002)
    monkeypatch.setattr(files, "_webbed", lambda: False)
    monkeypatch.setattr(files, "_PEERS", {"xml": ("pandas",)})
    files.run()
    told = capsys.readouterr().out
    assert told.count("\n| xml |") == 3
    assert "≠" not in told
    assert f"xstreamcast {version('xstreamcast')}" in told
