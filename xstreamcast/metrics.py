"""Figures in Prometheus' text format: each family has its HELP and TYPE, and its samples stand together.

>>> page = Exposition()
>>> page.add("xcast_items", "gauge", "Items of the answer.", 3, query="0")
>>> page.add("xcast_items", "gauge", "Items of the answer.", 5, query='say "1"')
>>> print(page.text(), end="")
# HELP xcast_items Items of the answer.
# TYPE xcast_items gauge
xcast_items{query="0"} 3
xcast_items{query="say \\"1\\""} 5
"""

from __future__ import annotations

from typing import Final, Literal

Kind = Literal["counter", "gauge"]
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Exposition:
    """What is exposed at one moment."""

    def __init__(self) -> None:
        self._families: dict[str, list[str]] = {}

    def add(self, name: str, kind: Kind, help: str, value: float, **labels: str) -> None:
        """A sample of a family; the first one says what the family is."""
        lines = self._families.setdefault(name, [f"# HELP {name} {help}", f"# TYPE {name} {kind}"])
        told = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items())
        lines.append(f"{name}{{{told}}} {value}" if told else f"{name} {value}")

    def text(self) -> str:
        """All of it."""
        return "".join(f"{line}\n" for lines in self._families.values() for line in lines)
