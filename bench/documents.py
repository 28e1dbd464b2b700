"""The documents the benchmarks run on: made once, kept in a temporary folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_scale = 1.0


def scale(by: float) -> None:
    """Make every document smaller or larger than the benchmarks ask for; ``--quick`` is a tenth."""
    global _scale
    _scale = by


def scaled() -> float:
    """What :func:`scale` has set."""
    return _scale


def xmark(factor: float) -> Path:
    """An XMark document: the reference one if ``XMARK`` names a folder that has it, else one of ours."""
    given = Path(os.environ.get("XMARK", "")) / f"xmark-f{factor * _scale:g}.xml"
    if os.environ.get("XMARK") and given.exists():
        return given
    return generated("xmark", factor)


def generated(name: str, factor: float) -> Path:
    """What ``xcast generate NAME`` makes at a factor, with its default seed."""
    factor *= _scale
    folder = Path(tempfile.gettempdir()) / "xstreamcast-bench"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-f{factor:g}.xml"
    if not path.exists():
        from xstreamcast.cli.generate import generate

        generate(name, str(path), factor=factor)
    return path
