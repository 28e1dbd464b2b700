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
from collections.abc import Iterator
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


@contextmanager
def own_spark(app: str, master: str, folder: Path, **conf: Any) -> Iterator[SparkSession]:
    """A session, all of whose traces lie in a folder; ``conf`` as of `session`."""
    from xstreamcast.spark.session import session, shut_down

    scratch = folder / "spark"
    scratch.mkdir()

    def start() -> SparkSession:
        with _quiet_java(folder / "spark.log"):
            return session(app, master, log="OFF", scratch=scratch, **conf)  # what went wrong is told by the command

    def start_beside() -> SparkSession:
        with ThreadPoolExecutor(1) as beside:
            return beside.submit(start).result()

    with interruptible(), kept(start_beside, shut_down) as spark, _between_calls(spark):
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
