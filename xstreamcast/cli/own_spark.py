"""The Spark of a command: there while the command runs, gone with its Java process however the command ends.

A signal must not reach Python code that is in the middle of a call of Java: Py4J would leave half an answer in the
connection, which the next call takes for its own, and PySpark's own handler of Ctrl-C calls Java in that very moment,
over that very connection. So Spark is started beside the main thread, where it cannot take Ctrl-C over, and signals
wait for the end of the call that they interrupt.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command, and may be told it at any time."""
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

    with ThreadPoolExecutor(1) as beside:
        starting = beside.submit(start)
        try:
            spark = starting.result()
        except (KeyboardInterrupt, SystemExit):
            with undisturbed():
                if starting.exception() is None:
                    shut_down(starting.result())
            raise
    try:
        with _between_calls(spark):
            yield spark
    finally:
        with undisturbed():
            shut_down(spark)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A second Ctrl-C must not leave half of it behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _handled(dict.fromkeys(ENDING, signal.SIG_IGN)):
        yield


@contextmanager
def _between_calls(spark: SparkSession) -> Iterator[None]:
    """Let signals that Python handles reach the main thread only when it is in no call of Java."""
    context: Any = spark.sparkContext
    client = context._gateway._gateway_client
    send = client.send_command
    calls, waiting = 0, list[Callable[[], object]]()

    def send_command(*given: Any, **options: Any) -> Any:
        nonlocal calls
        if threading.current_thread() is not threading.main_thread():
            return send(*given, **options)
        calls += 1
        try:
            return send(*given, **options)
        finally:
            calls -= 1
            if waiting and not calls:
                waiting.pop()()

    def patient(handler: Callable[[int, Any], object]) -> Callable[[int, Any], None]:
        def handle(number: int, frame: Any) -> None:
            if not calls:
                handler(number, frame)
            elif not waiting:
                waiting.append(lambda: handler(number, frame))
                threading.Timer(_PATIENCE, cancel).start()

        return handle

    def cancel() -> None:
        if waiting:
            context.cancelAllJobs()

    handlers = {number: signal.getsignal(number) for number in ENDING}
    client.send_command = send_command
    try:
        with _handled({number: patient(handler) for number, handler in handlers.items() if callable(handler)}):
            yield
    finally:
        del client.send_command


@contextmanager
def _handled(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _quiet_java(log: Path) -> Iterator[None]:
    """Let a Java process that is started here write its messages to a file; what goes wrong reaches us otherwise."""
    sys.stderr.flush()
    kept, file = os.dup(2), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)
