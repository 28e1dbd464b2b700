"""The page about Kafka, followed as it is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from broker import Broker
from databases import rows

PAGE = Path(__file__).parents[3] / "docs" / "kafka.md"


def test_the_code_of_the_page_says_what_the_page_says(
    broker: Broker, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    code = "".join(block for block in blocks if "spark.jars.packages" not in block)  # the session is there
    assert len(blocks) == 6
    assert "localhost:9092" in code
    monkeypatch.chdir(tmp_path)
    # Spark's own process stays in the folder that it was started in.
    here = code.replace("localhost:9092", broker.servers).replace('checkpoint="', f'checkpoint="{tmp_path}/')
    exec(compile(here, str(PAGE), "exec"), {"spark": spark})
    promised = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
    assert rows("sqlite:///answers.db", "rich") == [("ann", "70"), ("bob", "90")]
