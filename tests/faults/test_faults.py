"""kill -9 in the middle of a micro-batch, of whoever has it: the batch is done again, nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from databases import rows
from motion_streams import FRAUD, GENERATORS, LIMITS, MAXED_OUT, embedded_answers, write_streams
from processes import DEADLINE, head, serving, waited

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.spark.cluster import Cluster
from xstreamcast.spark.motion.rows import item_of

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
FILES = 4


class Struck:
    """A feed, and a driver in a process of its own that works on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gates = folder / "gates"
        self.gates.mkdir()
        self.streams = write_streams(folder / "feed", FILES, {"credit": GENERATORS["credit"]})

    def run(self, master: str, source: str | None = None, spread: bool = False) -> int:
        """Run the driver to its end, whatever that is. ``source``: who has the feed, if not the files themselves."""
        more = ["spread"] if spread else []
        paths = [str(HERE), str(HERE.parent / "spark"), os.environ.get("PYTHONPATH", "")]
        package = str(Path(sys.modules["xstreamcast"].__file__ or "").parents[1])
        driver = subprocess.Popen(
            [
                sys.executable,
                str(HERE / "struck.py"),
                master,
                source or self.streams["credit"],
                str(self.folder),
                *more,
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([package, *paths]), "GATES": str(self.gates)},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return driver.wait(900)  # a deadline, no pace
        finally:
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.wait()

    def gate(self, version: int | str, who: str) -> None:
        """The batch with which the state, or that of an operator, becomes this version strikes whom it says."""
        (self.gates / str(version)).write_text(who)

    def struck(self) -> list[str]:
        """The batches that have struck, ``taken``, and those of them that were done ``again``."""
        return sorted(path.name for path in self.gates.iterdir() if path.suffix)

    def check(self, queries: dict[str, str] | None = None, folder: Path | None = None) -> None:
        """The answers are those of an undisturbed run; in the log each change stands once."""
        queries, folder = queries or {"maxed-out": MAXED_OUT, "fraud": FRAUD}, folder or self.folder
        expected = dict(zip(queries, embedded_answers(queries, self.streams, FILES)[-1], strict=True))
        assert all(expected.values())
        logged = [json.loads(line) for file in sorted((folder / "log").iterdir()) for line in file.open()]
        for name, answer in expected.items():
            mine = [row for row in logged if row["stream"] == name]
            changes = [row for row in mine if row["change"] != "structure"]
            assert [row["seq"] for row in changes] == list(range(1, len(changes) + 1))
            told = Materialiser()
            for row in mine:
                told.apply(item_of(row))
            assert told.text() == answer
            assert "".join(markup for (markup,) in rows(f"sqlite:///{folder}/table.db", name)) == answer


def test_a_worker_and_then_the_driver_are_killed(tmp_path: Path) -> None:
    struck = Struck(tmp_path)
    struck.gate(2, "worker")
    struck.gate(3, "driver")
    assert struck.run("local[2,4]") == -signal.SIGKILL
    assert struck.struck() == ["2.again", "2.taken", "3.taken"]
    assert struck.run("local[2,4]") == 0
    assert struck.struck() == ["2.again", "2.taken", "3.again", "3.taken"]
    struck.check()


def test_workers_and_the_driver_of_queries_in_buckets_are_killed(tmp_path: Path) -> None:
    struck = Struck(tmp_path)
    struck.gate("bucket-1-2", "worker")
    struck.gate("route-0-3", "worker")
    struck.gate("gather-0-3", "driver")
    assert struck.run("local[2,4]", spread=True) == -signal.SIGKILL
    again = ["bucket-1-2.again", "bucket-1-2.taken", "gather-0-3.taken", "route-0-3.again", "route-0-3.taken"]
    assert struck.struck() == again
    assert struck.run("local[2,4]", spread=True) == 0
    assert struck.struck() == sorted([*again, "gather-0-3.again"])
    for name, text in (("fraud", FRAUD), ("limits", LIMITS)):
        struck.check({name: text}, tmp_path / name)


def test_an_executor_and_then_a_worker_of_a_cluster_are_killed(tmp_path: Path) -> None:
    struck = Struck(tmp_path)
    struck.gate(2, "executor")
    struck.gate(3, "cluster worker")
    (tmp_path / "cluster").mkdir()
    with Cluster(workers=2, memory="600m", folder=tmp_path / "cluster") as cluster:
        assert struck.run(cluster.master) == 0
        gone = [process.poll() for process in cluster.processes]
        assert gone.count(-signal.SIGKILL) == 1
        assert gone.count(None) == 2, "the master and the other worker go on"
    assert struck.struck() == ["2.again", "2.taken", "3.again", "3.taken"]
    struck.check()


def test_the_driver_and_the_server_that_it_reads_are_killed_in_turn(tmp_path: Path, own_port: int) -> None:
    struck = Struck(tmp_path)
    arguments = ("--stream", f"credit={struck.streams['credit']}", "--sync", "always")
    struck.gate(2, "driver")
    with serving(tmp_path / "log-of-server", *arguments, port=own_port) as (server, port):
        source = f"xcast://127.0.0.1:{port}/credit"
        waited(lambda: head(port, "credit") > 100)  # all of the feed is in the log, with its structure
        assert struck.run("local[2,4]", source) == -signal.SIGKILL
        server.kill()
    struck.gate(3, "server")
    with serving(tmp_path / "log-of-server", *arguments, port=port) as (server, _):
        (struck.gates / "server").write_text(str(server.pid))
        struck.run("local[2,4]", source)  # it takes what it has planned, and then there is nobody to ask
        assert server.wait(DEADLINE) == -signal.SIGKILL
    with serving(tmp_path / "log-of-server", *arguments, port=port):
        assert struck.run("local[2,4]", source) == 0
    assert {"2.again", "2.taken", "3.taken"} <= {*struck.struck()}  # the third had been read, and need not be again
    struck.check()
