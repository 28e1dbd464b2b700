"""Runs the tests of Kafka against a real broker, where Maven can be asked for it. Standard library only.

    .venv/bin/python tools/kafka.py [arguments of pytest]

Kafka's own server and Spark's connector come from Maven Central by ``mvn``, once, into the environment: about 55 MB.
Where they cannot be had nothing is run, which is said loudly and is no failure: exit code 0.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
JARS = Path(sys.prefix) / "kafka"
PATIENCE = 600
"""Seconds that Maven may take."""

KAFKA = "4.3.1"
PROJECT = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>xstreamcast</groupId><artifactId>broker</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{}</version></dependency>
  </dependencies>
</project>
"""


def connectors() -> Iterable[tuple[str, ...]]:
    """Sets of jars by which Spark reads topics: that of this Spark, then one of others that works with it."""
    others = "org.apache.commons:commons-pool2:2.12.0", f"org.apache.kafka:kafka-clients:{KAFKA}"
    spark = version("pyspark")
    for connector, tokens in ((spark, spark), ("4.2.0", "4.1.0-preview1")):
        yield (
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{connector}",
            f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{tokens}",
            *others,
        )


def maven(*arguments: str) -> str:
    """Ask Maven; what it says where that fails."""
    try:
        asked = subprocess.run(
            ["mvn", "--batch-mode", "--quiet", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no answer within {PATIENCE} s"
    if asked.returncode == 0:
        return ""
    return next((line for line in asked.stdout.splitlines() if "ERROR" in line), "mvn failed")


def load_broker(folder: Path) -> str:
    """Kafka's server with all that it needs; why not, if that cannot be."""
    project = folder.with_suffix(".pom.xml")
    project.write_text(PROJECT.format(KAFKA))
    goal = "dependency:copy-dependencies"
    return maven("-f", str(project), goal, "-DincludeScope=runtime", f"-DoutputDirectory={folder}")


def load_connector(folder: Path) -> str:
    """The first set of jars that can be had; why not, if there is none."""
    why = ""
    for jars in connectors():
        shutil.rmtree(folder, ignore_errors=True)
        for jar in jars:
            why = maven("dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={folder}")
            if why:
                break
        else:
            return ""
    return why


def load() -> str:
    """All jars, once; why not, if they cannot be had."""
    stamp = JARS / f"kafka-{KAFKA}-spark-{version('pyspark')}"
    if stamp.exists():
        return ""
    if shutil.which("mvn") is None:
        return "there is no mvn"
    shutil.rmtree(JARS, ignore_errors=True)
    JARS.mkdir(parents=True)
    print("Loading Kafka's server and Spark's connector: about 55 MB …", flush=True)
    why = load_broker(JARS / "broker") or load_connector(JARS / "connector")
    if not why:
        stamp.touch()
    return why


def main(arguments: list[str]) -> int:
    why = load()
    if why:
        line = "!" * 78
        print(line, f"NOT RUN: the tests of Kafka. Its jars could not be loaded: {why}", line, sep="\n", flush=True)
        return 0
    environment = {
        **os.environ,
        "XCAST_KAFKA_BROKER": str(JARS / "broker"),
        "XCAST_KAFKA_CONNECTOR": ",".join(map(str, sorted((JARS / "connector").glob("*.jar")))),
    }
    command = [sys.executable, "-m", "pytest", str(ROOT / "tests" / "kafka"), *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
