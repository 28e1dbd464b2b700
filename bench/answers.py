"""Comparing the answers of several tools: the same XML, whatever its spelling."""

from __future__ import annotations

import re
from pathlib import Path


def same(one: Path, other: Path) -> bool:
    """Whether two files hold the same answer."""
    ours, theirs = one.read_text(encoding="utf-8"), other.read_text(encoding="utf-8")
    return ours == theirs or normal(ours) == normal(theirs)


def normal(answer: str) -> str:
    """Canonical XML in one root; long fractions are rounded, for doubles agree within a few ulps only."""
    from lxml import etree

    declared = re.sub(r"^<\?xml [^>]*>\s*", "", answer)
    text = str(etree.canonicalize(f"<answer>{declared}</answer>"))
    return re.sub(r"\d+\.\d{6,}(E-?\d+)?", lambda number: f"{float(number[0]):.9g}", text).strip()
