"""The first part of ``spark_motion``: how long it takes until there is a first answer, in a session that is there.

Each run has a process of its own, so that nothing of Spark's is warm but what starting a session warms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.measure import progress, table
from bench.spark_feed import QUERY, until, write_regions

RUNS: Final = 3
_REGIONS: Final = 1000


def run(runs: int = RUNS) -> None:
    """Print a table of the runs' median."""
    from xstreamcast.spark import class_archive

    found = []
    for number in range(runs):
        progress(f"spark_motion start {number + 1} of {runs}")
        told = subprocess.run([sys.executable, "-m", "bench.spark_start"], capture_output=True, check=True)
        found.append(json.loads(told.stdout.splitlines()[-1]))
    after_start, after_call, java, python = (median([one[name] for one in found]) for name in _MEASURED)
    head = ["first answer after start(), s", "after continuous(), s", "Java CPU s", "Python CPU s", "jobs by then",
            "class archive"]  # fmt: skip
    jobs = found[0]["jobs"]
    archive = "yes" if class_archive.kept().exists() else "no"
    table(head, [[f"{after_start:.1f}", f"{after_call:.1f}", f"{java:.1f}", f"{python:.1f}", f"{jobs}", archive]])
    print()


_MEASURED: Final = ("start", "call", "java", "python")


def once() -> dict[str, Any]:
    """What one start takes, in a new session; CPU times are those after the session was there."""
    from pyspark import SparkContext

    from xstreamcast.spark.session import session, shut_down

    with tempfile.TemporaryDirectory(prefix="xstreamcast-bench-") as folder:
        feed, scratch = Path(folder, "feed"), Path(folder, "spark")
        feed.mkdir()
        scratch.mkdir()
        write_regions(feed, _REGIONS, 1)
        spark = session("bench", scratch=scratch)
        try:
            from xstreamcast.spark.motion.continuous_query import continuous

            java: int = SparkContext._gateway.proc.pid
            before, driver = cpu(java), time.process_time()
            called, marks = time.perf_counter(), list[float]()
            motion = continuous(spark, QUERY, {"credit": str(feed)})
            started = time.perf_counter()
            running = motion.start(display=lambda _: marks.append(time.perf_counter()))
            until(running, lambda: bool(marks))
            after = cpu(java)
            jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(str(running.query.runId))
            running.stop()
            return {
                "start": marks[0] - started,
                "call": marks[0] - called,
                "java": after[0] - before[0],
                "python": after[1] - before[1] + time.process_time() - driver,
                "jobs": len(jobs),
            }
        finally:
            shut_down(spark)


def cpu(java: int) -> tuple[float, float]:
    """Seconds of the processor that a process has taken, and those that its descendants have."""
    own, parents = 0.0, dict[int, tuple[int, float]]()
    tick = os.sysconf("SC_CLK_TCK")
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                fields = (process / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            mine, ended = sum(map(int, fields[11:13])) / tick, sum(map(int, fields[13:15])) / tick
            if int(process.name) == java:
                own = mine
                parents[java] = -1, ended
            else:
                parents[int(process.name)] = int(fields[1]), mine + ended
    within = {java}
    for _ in range(3):  # Java, a daemon, its workers
        within |= {number for number, (parent, _) in parents.items() if parent in within}
    return own, sum(parents[number][1] for number in sorted(within))


if __name__ == "__main__":
    print(json.dumps(once()))
