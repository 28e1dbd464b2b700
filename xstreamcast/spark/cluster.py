"""A standalone cluster on this machine: one master, some workers, each a process of its own, on the loopback only.

    python -m xstreamcast.spark.cluster                          # until Ctrl-C
    python -m xstreamcast.spark.cluster -- COMMAND … {master} …  # while a command runs

It is for trying things out and for tests; what runs on it runs on any cluster that Spark can start executors on.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, Self

from xstreamcast.errors import error
from xstreamcast.spark.session import LOOPBACK, SHORT_LIVED

_PATIENCE: Final = 120.0
"""Seconds that a process may take to begin."""
_PAUSE: Final = 0.1


class Cluster:
    """A master and its workers; they end when the block does."""

    def __init__(self, workers: int = 2, cores: int = 1, memory: str = "1g", folder: str | Path | None = None) -> None:
        self.workers, self.cores, self.memory = workers, cores, memory
        self._given = folder
        self._stack = ExitStack()
        self.master = ""
        """What ``session(master=…)`` and ``--master`` take."""
        self.processes: list[subprocess.Popen[bytes]] = []
        """The master, then the workers."""

    def __enter__(self) -> Self:
        folder = self._given or self._stack.enter_context(tempfile.TemporaryDirectory(prefix="xstreamcast-cluster-"))
        self.folder = Path(folder)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        self._launch("master", "--port", "0")  # any that is free, and is then its own
        self._wait("master", "I have been elected leader")
        self.master = self._wait("master", r"Starting Spark master at (spark://\S+)")[1]
        for number in range(1, self.workers + 1):
            work = self.folder / f"work-{number}"
            options = ("--cores", str(self.cores), "--memory", self.memory, "--work-dir", str(work))
            self._launch(f"worker-{number}", *options, self.master)
        for number in range(1, self.workers + 1):
            self._wait(f"worker-{number}", "Successfully registered with master")

    def _launch(self, name: str, *options: str) -> None:
        import pyspark

        from xstreamcast.spark.class_archive import class_path, java_options
        from xstreamcast.spark.home import home as spark_home
        from xstreamcast.spark.java import find_java

        home = spark_home() or Path(pyspark.__file__).parent
        kind = "master.Master" if name == "master" else "worker.Worker"
        settings = self.folder / "log4j2.properties"
        settings.write_text(_LOGGING)
        command = [
            str(find_java().home / "bin" / "java"), "-cp", class_path(home), "-Xmx512m",
            "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *java_options(),
            f"-Dlog4j2.configurationFile={settings.as_uri()}", f"org.apache.spark.deploy.{kind}",
            "--host", LOOPBACK, "--webui-port", "0", *options,
        ]  # fmt: skip
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_SCALA_VERSION": _scala_version(home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "JAVA_HOME": str(find_java().home),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
        }
        for variable in ("PYTHONPATH", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            environment.pop(variable, None)  # executors are to run what they were sent
        with self._log(name).open("wb") as log:
            made = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
        self.processes.append(made)

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _wait(self, name: str, words: str) -> re.Match[str]:
        """Until a process has said some words, given as a pattern."""
        process = self.processes[0 if name == "master" else int(name.partition("-")[2])]
        until = time.monotonic() + _PATIENCE
        while not (said := re.search(words, text := self._log(name).read_text(errors="replace"))):
            if process.poll() is not None or time.monotonic() > until:
                last = text.strip().splitlines()[-1:] or ["it said nothing"]
                raise error("XSC0067", f"the {name} did not start: {last[0]}", hint="is the machine very busy?")
            time.sleep(_PAUSE)
        return said

    def stop(self) -> None:
        """End all processes, the workers first: their executors go with them."""
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []
        self._stack.close()


_LOGGING: Final = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.console.type = Console
appender.console.name = stderr
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{1}
"""


def short_lived() -> dict[str, Any]:
    """:data:`~xstreamcast.spark.session.SHORT_LIVED`, for a cluster on this machine: executors too take the archive."""
    from xstreamcast.spark.class_archive import java_options

    executors = "spark.executor.extraJavaOptions"
    return {**SHORT_LIVED, executors: " ".join([SHORT_LIVED[executors], *[f'"{one}"' for one in java_options()]])}


def _scala_version(home: Path) -> str:
    """As the name of Spark's own archive has it; its start scripts would find that out for the executors."""
    (core, *_) = home.glob("jars/spark-core_*.jar")
    return core.name.removeprefix("spark-core_").partition("-")[0]


def main(arguments: Sequence[str]) -> int:
    """Start a cluster, and run a command on it or wait."""
    if arguments and arguments[0] != "--":
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Cluster() as cluster:
        print(f"xcast: one master and {cluster.workers} workers at {cluster.master}", file=sys.stderr, flush=True)
        if arguments:
            command = [part.replace("{master}", cluster.master) for part in arguments[1:]]
            return subprocess.run(command, check=False).returncode
        print(f"xcast query --engine spark --master {cluster.master} QUERY FILE\nCtrl-C ends it", file=sys.stderr)
        with suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
