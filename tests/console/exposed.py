"""Prometheus' text format, read strictly."""

from __future__ import annotations

import re

_SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? (-?[0-9.e+-]+)')
Samples = dict[str, dict[str, float]]


def samples(text: str) -> Samples:
    """By family, by labels. Each family has HELP and TYPE before its samples, which stand together; counters end with
    ``_total``."""
    families: Samples = {}
    kinds: dict[str, str] = {}
    current = ""
    assert not text or text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            assert current not in families, f"{current} comes twice"
            assert line.split(" ", 3)[3].endswith(".")
            families[current] = {}
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current
            kinds[name] = kind
            assert (kind == "counter") == name.endswith("_total"), name
        else:
            found = _SAMPLE.fullmatch(line)
            assert found is not None, line
            name, labels, value = found.groups()
            assert name == current
            assert name in kinds
            assert labels not in families[name]
            families[name][labels or ""] = float(value)
    return families
