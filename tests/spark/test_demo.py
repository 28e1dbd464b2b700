"""The demo ends by itself with the truth, and leaves nothing behind, also when it is interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from xstreamcast.cli.demo import Rebuilder, Scene, Sender, play, verdict
from xstreamcast.model.change import Eos, Fill
from xstreamcast.model.fragment import read_stream

RUN = "import typer; from xstreamcast.cli.demo import demo_command; typer.run(demo_command)"


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *options],
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_of(session: int) -> list[str]:
    """What still runs in a session of processes, by name."""
    listed = subprocess.run(["ps", "-eo", "sess=,stat=,args="], capture_output=True, text=True, check=True).stdout
    running = (line.split(None, 2) for line in listed.splitlines())
    return [args for number, state, args in running if number == str(session) and not state.startswith("Z")]


@pytest.mark.spark
def test_control_c_ends_the_demo_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    with start(tmp_path, "--factor", "0.02", "--seconds", "600") as demo:
        assert demo.stdout is not None
        said = ""
        for line in demo.stdout:
            said += line
            if line.startswith("batch"):
                os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to all of them
                break
        said += demo.stdout.read()
    assert demo.returncode == 130, said
    assert "Traceback" not in said
    assert processes_of(demo.pid) == []
    assert [path.name for path in tmp_path.iterdir() if "xstreamcast" in path.name] == []


def test_the_demo_rebuilds_the_document_and_says_so(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, console = Scene.of(0.02, 1), Console(width=200)
    rebuilder, sender = play(scene, spark, tmp_path, 1.0, console, live=False)
    assert verdict(scene, rebuilder, sender, console, 1.0)
    said = capsys.readouterr().out
    assert re.search(r"batch +\d+: .* 100\.0% of the elements, +0 holes open", said)
    assert "The rebuilt document equals the original" in said


class Batch:
    """What the rebuilder needs of a DataFrame."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def toArrow(self) -> Any:
        return self.rows


def test_a_document_that_lacks_a_fragment_is_not_the_original(capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa

    from xstreamcast.model.change import to_row
    from xstreamcast.model.structure import parse_structure
    from xstreamcast.spark.rows import batch_of_rows

    scene = Scene.of(0.01, 1)
    seen: list[float] = []
    rebuilder = Rebuilder(scene, lambda progress: seen.append(progress.elements / scene.elements))
    rebuilder.regions.apply(parse_structure(scene.structure))
    rows = [to_row(change, "credit", seq) for seq, change in enumerate(scene.changes, 1)]
    missing = next(index for index, change in enumerate(scene.changes) if change.tsid == 5)
    sender = Sender(scene, Path(), 1.0)

    rebuilder.take(Batch(pa.Table.from_batches([batch_of_rows(rows[:missing] + rows[missing + 1 :])])), 0)
    assert rebuilder.ended.is_set()
    assert not verdict(scene, rebuilder, sender, Console(), 1.0)
    assert "DIFFERS" in capsys.readouterr().out

    rebuilder.take(Batch(pa.Table.from_batches([batch_of_rows([rows[missing]])])), 1)
    assert seen[0] < seen[1] == 1.0
    assert verdict(scene, rebuilder, sender, Console(), 1.0)


def test_the_sender_writes_every_fragment_once_in_files_that_appear_whole(tmp_path: Path) -> None:
    scene = Scene.of(0.01, 1)
    sender = Sender(scene, tmp_path, 0.5)
    sender.run()
    files = sorted(tmp_path.iterdir())
    assert len(files) == sender.files == 2
    found = [arrival.item for file in files for arrival in read_stream(file)]
    assert found[1:] == scene.changes
    assert isinstance(scene.changes[0], Fill)
    assert scene.changes[0].region == 0
    assert isinstance(scene.changes[-1], Eos)
    regions = [change.region for change in scene.changes]
    assert regions != sorted(regions)
