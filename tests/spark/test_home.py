"""Spark's home: its Python processes import PySpark as it is installed, compiled, and not an archive of sources."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from xstreamcast.spark.home import home, home_path


def test_workers_import_what_is_compiled(spark: Any) -> None:
    assert os.environ["SPARK_HOME"] == str(home())

    def imported(_: int) -> tuple[str, str]:
        """What a worker has imported: where from, and where it lies compiled."""
        import pyspark.daemon as module

        return str(module.__file__), str(module.__cached__)

    ((source, compiled),) = spark.sparkContext.parallelize([0], 1).map(imported).collect()
    assert Path(source).resolve() == Path(pyspark.__file__).parent / "daemon.py"
    assert Path(compiled).exists()


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment without a home of Spark's."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def test_a_home_is_made_once_and_all_that_spark_looks_for_is_there(nowhere: Path) -> None:
    made = home()
    assert made is not None
    assert made == home_path() == home()
    assert made.is_relative_to(nowhere)
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    assert (made / "bin" / "spark-submit").exists()
    assert list((made / "jars").glob("spark-core_*.jar"))
    installed = Path(pyspark.__file__).parent
    archives = {path.name for path in (installed / "python" / "lib").iterdir()}
    assert {path.name for path in (made / "python" / "lib").iterdir()} == archives
    paths = os.pathsep.join(str(made / "python" / "lib" / name) for name in sorted(archives))
    ask = "import py4j, pyspark; print(py4j.__file__, pyspark.__file__)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", ask], env={"PYTHONPATH": paths}, capture_output=True, text=True, check=True
    )
    assert all(name.startswith(str(made)) for name in done.stdout.split())


def test_a_home_that_is_given_is_left_as_it_is(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(nowhere / "mine"))
    (nowhere / "mine").mkdir()
    assert home() == nowhere / "mine"
    assert not list((nowhere / "mine").iterdir())


def test_where_no_home_can_be_made_spark_finds_its_own(nowhere: Path) -> None:
    (nowhere / "share").write_text("no folder")
    assert home() is None
