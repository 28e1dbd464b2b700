"""Every code of ours is described, and every description is of a code that is used."""

from __future__ import annotations

import re
from pathlib import Path

from xstreamcast.error_codes import CODES
from xstreamcast.errors import XStreamError, error

PACKAGE = Path(__file__).parents[1] / "xstreamcast"


def used() -> set[str]:
    """The codes that the product raises and reports; those of the table itself do not count."""
    sources = [path for path in PACKAGE.rglob("*.py") if path.name != "error_codes.py"]
    return {code for path in sources for code in re.findall(r'"(XSC\d{4})"', path.read_text(encoding="utf-8"))}


def test_what_is_used_is_described_and_what_is_described_is_used() -> None:
    assert len(CODES) > 70
    assert used() == set(CODES)


def test_a_description_is_a_sentence_and_says_what_helps() -> None:
    for code, described in CODES.items():
        assert described.meaning.endswith("."), code
        assert described.remedy, code
        assert isinstance(error(code, described.meaning), XStreamError)
