"""The packages of ``xstreamcast`` in their order, and the picture of them in ``docs/architecture.md``.

    python tools/package_picture.py

:data:`LAYERS` is the one place where the order is declared. A package imports only packages that stand before it, here
and in the picture: from the same line those to its left, and all lines below; ``tests/test_packages.py`` holds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

PICTURE: Final = Path(__file__).parent.parent / "docs" / "images" / "packages.svg"


@dataclass(frozen=True)
class Layer:
    """Packages that stand beside each other, the lowest first, with what each is for in two short lines."""

    title: str
    about: str
    packages: dict[str, str]


LAYERS: Final = (
    Layer(
        "Leaves",
        "modules for all",
        {
            "dataclass": "frozen,|quick to import",
            "error_codes": "what each|code means",
            "errors": "code, place,|message, hint",
            "metrics": "figures for|Prometheus",
            "page": "pieces|of HTML",
        },
    ),
    Layer(
        "Data",
        "bytes, nodes, changes",
        {
            "native": "kernels:|machine code",
            "model": "nodes, values,|changes, time",
            "scan": "bytes →|projected trees",
            "wire": "bytes ↔|changes",
            "cast": "documents ↔|fragments, T(γ)",
            "generate": "the papers'|streams",
        },
    ),
    Layer(
        "Language",
        "text → plan",
        {
            "lang": "text → a checked|syntax tree",
            "functions": "the library of|XPath, XQuery",
            "operators": "aggregates, keys,|groups",
            "plan": "passes, units, what|is kept, what blocks",
            "highlight": "colours|of queries",
        },
    ),
    Layer(
        "Evaluation",
        "plan + input → answer",
        {
            "tables": "answers →|columns, databases",
            "serve": "streams ↔|the network",
            "run": "documents → answers,|changes → changes",
            "feeds": "records →|changes",
            "spark": "the same at rest|and in motion",
        },
    ),
    Layer(
        "Faces",
        "people",
        {
            "console": "a page in|the browser",
            "cli": "xcast: commands|and a prompt",
            "notebook": "%%xcql|in a cell",
            "start": "the script|xcast",
            "__main__": "python -m|xstreamcast",
        },
    ),
)
ORDER: Final = tuple(name for layer in LAYERS for name in layer.packages)
"""All packages, and the modules beside them, from the bottom to the top."""
STAGES: Final = ("arrive", "associate", "evaluate", "adjust", "display")
"""The folders of ``run/continuous`` in the order in which a change walks them."""

WIDTH: Final = 980
LEFT: Final = 168
BAND: Final = 92
GAP: Final = 12
BOX: Final = 58
STYLE: Final = """
svg.packages{font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",sans-serif;background:#fff}
.packages .band{fill:#f4f7f8}.packages .walk{fill:#e3f1ef}
.packages .title{font-size:15px;font-weight:600;fill:#12505b}.packages .about{font-size:12px;fill:#5a6b78}
.packages .box{fill:#fff;stroke:#b9c6cf;stroke-width:1.2}
.packages .name{font-size:14px;font-weight:600;font-family:ui-monospace,Menlo,Consolas,monospace;fill:#1c2330}
.packages .word{font-size:11px;fill:#4a5a68}
.packages .stage{fill:#12505b}
.packages .step{font-size:12px;font-family:ui-monospace,Menlo,Consolas,monospace;fill:#fff}
.packages .arrow{fill:none;stroke:#7d8f9b;stroke-width:1.5}.packages .head{fill:#7d8f9b}
.packages .note{font-size:11.5px;fill:#5a6b78}
@media (prefers-color-scheme:dark){
svg.packages{background:#12161d}.packages .band{fill:#1a2029}.packages .walk{fill:#17302f}
.packages .title{fill:#7fd3c6}.packages .about,.packages .note,.packages .word{fill:#a3b1bf}
.packages .box{fill:#222a35;stroke:#3b4756}.packages .name{fill:#e6ebf2}
.packages .stage{fill:#2b7f78}.packages .arrow{stroke:#6a7a88}.packages .head{fill:#6a7a88}}
"""


def to_svg() -> str:
    """The picture."""
    walk_height = 62
    height = len(LAYERS) * (BAND + GAP) + walk_height + GAP + 34
    body: list[str] = []
    y = GAP
    for layer in reversed(LAYERS):
        body += _band(layer, y)
        y += BAND
        if "run" in layer.packages:
            body += _walk(y, walk_height)
            y += walk_height
        y += GAP
    body += _note(y)
    label = "The packages of xstreamcast in five layers; each imports only what is below it, or to its left"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="packages" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="{label}">\n<style>{STYLE}</style>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _text(kind: str, x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def _band(layer: Layer, y: float) -> Iterator[str]:
    """A layer: its title, and a box for each package."""
    yield f'<rect class="band" x="{GAP}" y="{y}" width="{WIDTH - 2 * GAP}" height="{BAND}" rx="8"/>'
    yield _text("title", 2 * GAP, y + 42, layer.title)
    yield _text("about", 2 * GAP, y + 61, layer.about)
    room = WIDTH - GAP - LEFT - GAP
    width = (room - (len(layer.packages) - 1) * 10) / len(layer.packages)
    top = y + (BAND - BOX - 8) / 2
    for number, (name, words) in enumerate(layer.packages.items()):
        x = LEFT + number * (width + 10)
        middle = x + width / 2
        yield f'<rect class="box" x="{x:g}" y="{top:g}" width="{width:g}" height="{BOX + 8}" rx="6"/>'
        yield _text("name", middle, top + 21, name, "middle")
        for line, part in enumerate(words.split("|")):
            yield _text("word", middle, top + 39 + 15 * line, part, "middle")


def _walk(y: float, height: float) -> Iterator[str]:
    """The stages of a change in motion, below the layer of ``run``."""
    yield f'<rect class="walk" x="{GAP}" y="{y}" width="{WIDTH - 2 * GAP}" height="{height}" rx="8"/>'
    yield _text("title", 2 * GAP, y + 28, "run/continuous")
    yield _text("about", 2 * GAP, y + 46, "a change walks it so")
    room = WIDTH - GAP - LEFT - GAP
    width = (room - 26 * (len(STAGES) - 1)) / len(STAGES)
    for number, name in enumerate(STAGES):
        x = LEFT + number * (width + 26)
        yield f'<rect class="stage" x="{x:g}" y="{y + 16}" width="{width:g}" height="30" rx="15"/>'
        yield _text("step", x + width / 2, y + 35.5, name, "middle")
        if number + 1 < len(STAGES):
            yield f'<path class="arrow" d="M{x + width + 3:g} {y + 31}h14"/>'
            yield f'<path class="head" d="M{x + width + 24:g} {y + 31}l-8 -4.5v9z"/>'


def _note(y: float) -> Iterator[str]:
    words = "A package imports only what is below it, or to its left in the same line."
    yield _text("note", 2 * GAP, y + 16, words)


if __name__ == "__main__":
    PICTURE.write_text(to_svg(), encoding="utf-8")
