"""Operators that are struck in the middle of a micro-batch: whoever a gate file names is killed, once, with -9.

The file ``<version>`` in the folder of the environment variable GATES says who; for operators of a spread query it is
``<operator>-<bucket>-<version>``. The blow falls when the batch has been evaluated and its state written, but nothing
is committed: the batch must be done again, and ``<version>.again`` tells that it was.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xstreamcast.spark.motion.association_buckets import BucketKeeper, Gatherer, Router
from xstreamcast.spark.motion.keeper import Keeper
from xstreamcast.spark.motion.state_log import read_head


class Gated(Keeper):
    """The stateful operator, with gates."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        yield from super().handleInputRows(key, rows, timerValues)
        head = read_head(self.store)
        assert head is not None
        strike(Path(os.environ["GATES"]), str(head.version))


class _Gates:
    """… of a spread query: each has a name."""

    called: str
    store: Any

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        above: Any = super()
        yield from above.handleInputRows(key, rows, timerValues)
        head = read_head(self.store)
        assert head is not None
        strike(Path(os.environ["GATES"]), f"{self.called}-{key[0]}-{head.version}")


class GatedRouter(_Gates, Router):
    called = "route"


class GatedBucket(_Gates, BucketKeeper):
    called = "bucket"


class GatedGatherer(_Gates, Gatherer):
    called = "gather"


def strike(gates: Path, version: str) -> None:
    """Kill whom the gate names. Who takes the file away is the only one that it strikes for."""
    taken = gates / f"{version}.taken"
    try:
        (gates / version).rename(taken)
    except FileNotFoundError:
        if taken.exists():
            (gates / f"{version}.again").touch()
        return
    java = parent(os.getppid())  # a worker's parent is PySpark's daemon, whose parent is the executor
    match taken.read_text():
        case "worker":
            os.kill(os.getpid(), signal.SIGKILL)
        case "executor":
            os.kill(java, signal.SIGKILL)
        case "cluster worker":
            os.kill(parent(java), signal.SIGKILL)  # who started the executor, which ends when it notices
        case "server":
            os.kill(int((gates / "server").read_text()), signal.SIGKILL)
            return  # the batch has been read, and goes on
        case "driver":
            os.kill(int(os.environ["DRIVER"]), signal.SIGKILL)
            os.kill(java, signal.SIGKILL)
    signal.pause()


def parent(process: int) -> int:
    """The parent of a process."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
