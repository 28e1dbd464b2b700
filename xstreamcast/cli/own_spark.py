"""The Spark of a command: there while the command runs, gone with its Java process however the command ends.

A signal must not reach Python code that is in the middle of a call of Java: Py4J would leave half an answer in the
connection, which the next call takes for its own, and PySpark's own handler of Ctrl-C calls Java in that very moment,
over that very connection. So Spark is started beside the main thread, where it cannot take Ctrl-C over, and signals
wait for the end of the call that they interrupt.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.cli.interrupts import held, interruptible, kept, signals_wait

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE: Final = 0.5
"""Seconds after which the jobs of a call that a signal waits for are cancelled."""


class Starting:
    """A Spark that starts beside the main thread, which may do other things meanwhile."""

    def __init__(self, start: Callable[[], SparkSession]) -> None:
        self._beside = ThreadPoolExecutor(1)
        self._started = self._beside.submit(start)
        self._closed = False

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        """The session, waited for; Spark is gone when the block ends."""
        spark = self._started.result()
        try:
            with _between_calls(spark):
                yield spark
        finally:
            with held():
                self.close()

    def close(self) -> None:
        """Spark is gone afterwards, be it that its start has failed."""
        from xstreamcast.spark.session import shut_down

        if not self._closed:
            self._closed = True
            self._beside.shutdown()
            if self._started.exception() is None:
                shut_down(self._started.result())


@contextmanager
def starting_spark(app: str, master: str, folder: Path, **conf: Any) -> Iterator[Starting]:
    """A session that starts in the block, all of whose traces lie in a folder; ``conf`` as of `session`."""
    from xstreamcast.spark.session import session

    scratch = folder / "spark"
    scratch.mkdir()

    def start() -> SparkSession:
        with _quiet_java(folder / "spark.log"):
            return session(app, master, log="OFF", scratch=scratch, **conf)  # what went wrong is told by the command

    with interruptible(), kept(lambda: Starting(start), Starting.close) as starting:
        yield starting


@contextmanager
def own_spark(app: str, master: str, folder: Path, **conf: Any) -> Iterator[SparkSession]:
    """A session as of :func:`starting_spark`, waited for."""
    with starting_spark(app, master, folder, **conf) as starting, starting.session() as spark:
        yield spark


@contextmanager
def _between_calls(spark: SparkSession) -> Iterator[None]:
    """Let signals reach the main thread only when it is in no call of Java."""
    context: Any = spark.sparkContext
    client = context._gateway._gateway_client
    send = client.send_command

    come = SimpleQueue[bool]()  # whose `put` never waits, and may be interrupted by itself

    def send_command(*given: Any, **options: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return send(*given, **options)
        with held(meanwhile=lambda: come.put(True)):
            return send(*given, **options)

    def cancel() -> None:
        while come.get():
            sleep(_PATIENCE)
            if signals_wait():
                with suppress(Exception):  # Spark may be gone meanwhile
                    context.cancelAllJobs()

    client.send_command = send_command
    threading.Thread(target=cancel, daemon=True).start()
    try:
        yield
    finally:
        come.put(False)
        del client.send_command


@contextmanager
def _quiet_java(log: Path) -> Iterator[None]:
    """Let a Java process that is started here write its messages to a file; what goes wrong reaches us otherwise."""
    sys.stderr.flush()
    own, file = os.dup(2), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(file)
