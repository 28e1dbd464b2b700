"""Which Spark this package works with.

>>> check("4.1.4")
>>> check("3.5.1")
Traceback (most recent call last):
  ...
xstreamcast.errors.WireError: XSC0088 Spark 3.5.1 is too old: 4.1 or newer is needed
  hint: pip install "pyspark>=4.1"; on a managed platform choose a run time with Spark 4.1 or newer
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST: Final = (4, 1)
"""The first Spark with Python operators over rows that have state."""
LIMITED: Final = (4, 2)
"""The first Spark that tells a Python source how much it may read."""


def number(version: str) -> tuple[int, int]:
    """The first two numbers of a version.

    >>> number("4.2.0-preview3"), number("4.1.0.dev0")
    ((4, 2), (4, 1))
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def check(version: str) -> None:
    """XSC0088: it is too old."""
    if number(version) < OLDEST:
        least = ".".join(map(str, OLDEST))
        hint = f'pip install "pyspark>={least}"; on a managed platform choose a run time with Spark {least} or newer'
        raise error("XSC0088", f"Spark {version} is too old: {least} or newer is needed", hint=hint)


def check_session(spark: SparkSession) -> None:
    """XSC0088: PySpark, or the Spark that it is a client of, is too old."""
    import pyspark

    check(pyspark.__version__)
    check(spark.version)
