"""A Spark session that stays on this machine: loopback only, the same Python, quiet.

>>> spark = session()                                          # doctest: +SKIP
>>> spark.read.format("xstreamcast").load("credit.xml")        # doctest: +SKIP
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.model.depth import DEFAULT, VARIABLE, deepest
from xstreamcast.spark.package import archive, executor_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK: Final = "127.0.0.1"

_LOGGING: Final = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.console.type = Console
appender.console.name = stderr
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex{{0}}
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = {level}
"""

DEFAULTS: Final = {
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # A few large micro-batches on a few cores: two hundred shuffle partitions are two hundred tasks of nothing.
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # The rows are fat: a fragment each.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
}

_LATE_COMPILING: Final = " ".join(
    [
        "-XX:Tier4InvocationThreshold=50000",
        "-XX:Tier4MinInvocationThreshold=6000",
        "-XX:Tier4CompileThreshold=150000",
        "-XX:Tier4BackEdgeThreshold=400000",
    ]
)
"""Java's optimising compiler takes on what is ten times as hot as by default: most of Spark's code runs some thousand
times, for which it never pays, and the compiler has the cores to itself while Spark starts."""
_SHORT_LIVED_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SHORT_LIVED: Final[dict[str, Any]] = {
    # What runs for a minute does not earn back an optimising compiler and a collector with threads of its own.
    "spark.driver.extraJavaOptions": _SHORT_LIVED_JAVA,
    "spark.executor.extraJavaOptions": _SHORT_LIVED_JAVA,
    "spark.sql.codegen.wholeStage": "false",
}
"""Settings for demos and tests: Spark starts and warms up in about half the time, and is slower later."""


def session(
    app: str = "xstreamcast",
    master: str = "local[2]",
    *,
    ui: bool = False,
    log: str = "ERROR",
    scratch: Path | None = None,
    **conf: Any,
) -> SparkSession:
    """The Spark session of this process, started when there is none; it knows the format ``xstreamcast``.

    ``conf`` are Spark's settings, ``**{"spark.sql.shuffle.partitions": "8"}``; they come before ours. With ``ui`` Spark
    picks a free port for its web pages. With a ``master`` that is not ``local[…]`` the executors are sent this package
    (:mod:`xstreamcast.spark.package`). ``scratch`` is a folder for all that Spark puts aside; without one that lies
    where the system keeps temporary files, and a Spark that is killed leaves it there.
    """
    if find_spec("pyspark") is None:
        raise error("XSC0061", "PySpark is not installed", hint='pip install "xstreamcast[spark]"')
    import pyspark
    from pyspark.sql import SparkSession

    from xstreamcast.spark import class_archive, register
    from xstreamcast.spark.versions import check

    check(pyspark.__version__)

    running = SparkSession.getActiveSession()
    if running is None:
        prepare_environment(master)
    builder = SparkSession.builder.appName(app).master(master)
    settings = {**DEFAULTS, **({"spark.ui.port": "0"} if ui else {"spark.ui.enabled": "false"})}
    java_options = ""
    if scratch is not None:
        settings |= {"spark.local.dir": str(scratch), "spark.sql.warehouse.dir": str(scratch / "warehouse")}
        java_options = f'"-Djava.io.tmpdir={scratch}"'
    if running is None and not master.startswith("local"):
        settings |= executor_settings(archive(scratch))
    if deepest() != DEFAULT:
        settings[f"spark.executorEnv.{VARIABLE}"] = str(deepest())
    settings |= conf
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _log_settings(log) as logging:
        if running is None:
            classes = " ".join(f'"{option}"' for option in class_archive.java_options())
            given = settings.get("spark.driver.extraJavaOptions", "")
            options = " ".join((logging, java_options, classes, _LATE_COMPILING, given))
            builder = builder.config("spark.driver.extraJavaOptions", options)
        spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel(log)
    register(spark)
    return spark


def shut_down(spark: SparkSession) -> None:
    """Stop Spark and its Java process, and wait until that is gone. A new session may be started afterwards."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    spark.stop()
    if gateway is not None:
        gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()  # Spark's Java process ends when the Python that started it lets go of this pipe
            process.wait()


@contextmanager
def _log_settings(level: str) -> Iterator[str]:
    """The Java option that keeps Spark quiet while it starts, before its log level can be set."""
    with tempfile.TemporaryDirectory(prefix="xstreamcast-") as folder:
        settings = Path(folder, "log4j2.properties")
        settings.write_text(_LOGGING.format(level=level.lower()))
        yield f"-Dlog4j2.configurationFile={settings.as_uri()}"


def prepare_environment(master: str) -> None:
    """What the Java process and the Python workers inherit."""
    from xstreamcast.spark.home import home
    from xstreamcast.spark.java import find_java

    os.environ["JAVA_HOME"] = str(find_java().home)
    if master.startswith(("local", "spark:")) and (found := home()):  # other clusters are sent archives from the home
        os.environ["SPARK_HOME"] = str(found)
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # The workers unpickle our classes by name, so they must find the package this process runs.
    package = str(Path(__file__).resolve().parents[2])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if package not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([package, *paths])
