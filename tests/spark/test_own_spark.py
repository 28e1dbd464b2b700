"""The Spark of a command may be interrupted at any moment, also in the middle of a call of Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import os, signal, sys, threading, time
from pathlib import Path
from xstreamcast.cli.own_spark import own_spark
from xstreamcast.spark.session import SHORT_LIVED

def when(ready, *then):
    def wait():
        while not ready():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        for call in then:
            call()
    threading.Thread(target=wait).start()

folder = Path(sys.argv[1])
"""

CALLS = """
with own_spark("calls", "local[2]", folder, **SHORT_LIVED) as spark:
    queue = spark._jvm.java.util.concurrent.LinkedTransferQueue()
    when(queue.hasWaitingConsumer, lambda: queue.put("an answer"))
    try:
        queue.take()
    except KeyboardInterrupt:
        print("interrupted, and its Spark has", spark.range(5).count(), "numbers")
    when(lambda: list(spark.sparkContext.statusTracker().getActiveJobsIds()))
    try:
        spark.range(10**14).selectExpr("sum(id % 7)").collect()
    except KeyboardInterrupt:
        print("interrupted, and its Spark has", spark.range(6).count(), "numbers")
"""

START = """
when((folder / "spark.log").exists)
try:
    with own_spark("start", "local[2]", folder, **SHORT_LIVED) as spark:
        time.sleep(600)
except KeyboardInterrupt:
    print("interrupted, and Spark is gone:", not list((folder / "spark").glob("blockmgr*")))
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CALLS, "interrupted, and its Spark has 5 numbers\ninterrupted, and its Spark has 6 numbers\n"),
        (START, "interrupted, and Spark is gone: True\n"),
    ],
    ids=["calls", "start"],
)
def test_an_interrupt_waits_for_the_end_of_a_call_of_java(tmp_path: Path, text: str, said: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", BEGIN + text, str(tmp_path)],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert (ran.returncode, ran.stdout) == (0, said)
