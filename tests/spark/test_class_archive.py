"""Spark's classes that are kept: who starts Spark takes them, and nothing is different where there are none."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from xstreamcast.spark import class_archive
from xstreamcast.spark.class_archive import java_options, kept


def test_the_driver_takes_the_classes_if_they_are_there(spark: Any) -> None:
    java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    mapped = Path(f"/proc/{java}/maps").read_text()
    assert (str(kept()) in mapped) is kept().exists()


def test_each_java_and_each_environment_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = kept()
    assert here.is_relative_to(sys.prefix)
    other = tmp_path / "java"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "java").write_text("")
    (other / "bin" / "java").chmod(0o755)
    (other / "release").write_text('JAVA_VERSION="21.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(other))
    assert kept().parent == here.parent
    assert kept().name != here.name
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert kept().is_relative_to(tmp_path)
    assert java_options() == []
    kept().parent.mkdir(parents=True)
    kept().touch()
    assert java_options()[0] == f"-XX:SharedArchiveFile={kept()}"


def test_what_is_kept_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    def write(path: Path) -> None:
        os.makedirs(path.parent)
        path.touch(exist_ok=False)

    monkeypatch.setattr(class_archive, "write", write)
    for _ in range(2):
        assert class_archive.main() == 0
        assert capsys.readouterr().out == f"{kept()}\n"
