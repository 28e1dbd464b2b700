"""Cases that once broke the law, shrunk."""

from __future__ import annotations

from pathlib import Path

import pytest
from law_case import from_json, regressions
from law_oracle import check


@pytest.mark.parametrize("file", regressions(), ids=lambda file: str(file.stem))
def test_what_once_broke_the_law_keeps_it(file: Path) -> None:
    check(from_json(file.read_text(encoding="utf-8")), saxon="always")
