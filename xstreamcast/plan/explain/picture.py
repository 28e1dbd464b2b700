"""The operators of a query as a picture (SVG): from its streams and documents, on the left, to the answer.

Every box is a step of ``explain`` with its id; its stripe says its class: pipeline, progressive or blocking. Every
arrow has a place for a count, found by ``data-edge``: the id of the step that it comes from, or ``SOURCE>STEP``.

>>> from xstreamcast import explain
>>> picture = to_svg(explain("count(//a)"))
>>> [edge.name for edge in laid_out(explain("count(//a)")).edges]
['s1', 's2', 'the context document>s2']
>>> picture.startswith("<svg ") and picture.endswith("</svg>")
True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from xstreamcast.plan.explain.words import named
from xstreamcast.plan.operators import Operator, numbered

if TYPE_CHECKING:
    from xstreamcast.plan.explain.explanation import Explanation

WIDTH: Final = 204
HEIGHT: Final = 66
SMALL: Final = 44
"""The height of a box of a stream, a document or the answer."""
ACROSS: Final = 62
DOWN: Final = 26
MARGIN: Final = 14
COUNT: Final = 18
"""How far from a box the middle of a count is."""
LETTERS: Final = 26
"""So many letters of a text fit into a box."""
ANSWER: Final = "answer"

STYLE: Final = """
svg.plan{font-family:ui-sans-serif,system-ui,sans-serif;background:#fff;color:#1c2330}
.plan .box{fill:#fff;stroke:#c9d1dc;stroke-width:1.2}
.plan .end{fill:#eef2f7;stroke:#c9d1dc}
.plan .stripe.pipeline{fill:#2f9e8f}.plan .stripe.progressive{fill:#d29a2e}.plan .stripe.blocking{fill:#c4573b}
.plan .title{font-size:13px;font-weight:600;fill:currentColor}
.plan .detail{font-size:11.5px;font-family:ui-monospace,monospace;fill:#4a5568}
.plan .class{font-size:10.5px;fill:#6b7686}
.plan .edge{fill:none;stroke:#9aa7b8;stroke-width:1.4}
.plan .head{fill:#9aa7b8}
.plan .count{font-size:11px;fill:#2b6cb0;text-anchor:middle;font-variant-numeric:tabular-nums}
@media (prefers-color-scheme:dark){
svg.plan{background:#12161d;color:#e6ebf2}
.plan .box{fill:#1a2029;stroke:#384250}.plan .end{fill:#222a35;stroke:#384250}
.plan .detail{fill:#a9b5c4}.plan .class{fill:#8793a3}.plan .edge{stroke:#5b6878}.plan .head{fill:#5b6878}
.plan .count{fill:#7db4f0}}
"""


@dataclass(slots=True)
class Box:
    """A step, or an end: a source, the answer."""

    name: str
    title: str
    detail: str
    column: int
    step: Operator | None = None
    x: float = 0.0
    y: float = 0.0

    @property
    def height(self) -> int:
        return SMALL if self.step is None else HEIGHT

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a box to the one that reads it."""

    name: str
    origin: str
    target: str


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes with their places, the arrows between them, and how large all of it is."""

    boxes: tuple[Box, ...]
    edges: tuple[Arrow, ...]
    width: float
    height: float


def laid_out(explanation: Explanation) -> Layout:
    """Where everything is. A step stands right of all that it reads, and in their middle; sources are shared."""
    top = explanation.top
    boxes: dict[str, Box] = {}
    edges: list[Arrow] = []
    if top is None:
        boxes[ANSWER] = Box(ANSWER, "answer", "no document is read", 0)
        boxes[ANSWER].x = boxes[ANSWER].y = MARGIN
        return Layout((boxes[ANSWER],), (), WIDTH + 2 * MARGIN, SMALL + 2 * MARGIN)
    above: list[str] = [ANSWER]
    last = _levels(top) + 1
    boxes[ANSWER] = Box(ANSWER, "answer", explanation.verdict, last)
    for name, depth, step in numbered(top):
        del above[depth + 1 :]
        edges.append(Arrow(name, name, above[-1]))
        above.append(name)
        boxes[name] = Box(name, step.symbol.value, step.detail, _levels(step), step)
        if step.source is not None:
            origin = named(step.source)
            words = (step.source.uri or origin, "stream" if step.source.stream else "document")
            boxes.setdefault(origin, Box(origin, *words, 0))
            # The arrow says which stream it is.
            boxes[name].detail = step.detail.replace(f"{origin}/", "/")
            edges.append(Arrow(f"{origin}>{name}", origin, name))
    _place(list(boxes.values()), edges)
    width = max(box.x for box in boxes.values()) + WIDTH + MARGIN
    height = max(box.y + box.height for box in boxes.values()) + MARGIN
    return Layout(tuple(boxes.values()), tuple(edges), width, height)


def _levels(step: Operator) -> int:
    """How many steps are on the longest way from a source to a step, itself included."""
    return 1 + max((_levels(each) for each in step.inputs), default=0)


def _place(boxes: list[Box], edges: list[Arrow]) -> None:
    """Rows for steps without inputs, in their order; others in the middle of what they read; sources of who reads."""
    by_name = {box.name: box for box in boxes}
    inputs: dict[str, list[Box]] = {box.name: [] for box in boxes}
    readers: dict[str, list[Box]] = {box.name: [] for box in boxes}
    for edge in edges:
        inputs[edge.target].append(by_name[edge.origin])
        readers[edge.origin].append(by_name[edge.target])
    row = float(MARGIN)
    for box in (box for box in boxes if box.step is not None and not box.step.inputs):
        box.y, row = row, row + HEIGHT + DOWN
    for box in sorted((box for box in boxes if box.column), key=lambda box: box.column):
        box.x = MARGIN + box.column * (WIDTH + ACROSS)
        below = [each for each in inputs[box.name] if each.step is not None]
        if below:
            box.y = sum(each.middle for each in below) / len(below) - box.height / 2
    free = float(MARGIN)
    for box in sorted((box for box in boxes if not box.column), key=lambda box: _mean(readers[box.name])):
        box.x, box.y = MARGIN, max(free, _mean(readers[box.name]) - box.height / 2)
        free = box.y + box.height + DOWN


def _mean(boxes: list[Box]) -> float:
    return sum(box.middle for box in boxes) / len(boxes)


def to_svg(explanation: Explanation, *, styled: bool = True) -> str:
    """The picture. ``styled``: with its own colours, for a file; without, the page around it has them."""
    layout = laid_out(explanation)
    by_name = {box.name: box for box in layout.boxes}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plan" role="img" width="{layout.width:g}" '
        f'height="{layout.height:g}" viewBox="0 0 {layout.width:g} {layout.height:g}" aria-label="'
        f'{escape(f"Plan: {explanation.verdict}")}">',
        f"<style>{STYLE}</style>" if styled else "",
    ]
    for edge in layout.edges:
        together = sum(other.target == edge.target for other in layout.edges) > 1
        lines += _arrow(edge, by_name[edge.origin], by_name[edge.target], together)
    for box in layout.boxes:
        lines += _box(box)
    return "\n".join([line for line in lines if line] + ["</svg>"])


def _arrow(edge: Arrow, origin: Box, target: Box, together: bool) -> Iterator[str]:
    """Its count stands where no other arrow is: where it begins, if others end there too, else at its end."""
    x, y, to_x, to_y = origin.x + WIDTH, origin.middle, target.x, target.middle
    bend = min(ACROSS, to_x - x) / 2
    yield f'<path class="edge" d="M{x:g} {y:g}C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} {to_x - 6:g} {to_y:g}"/>'
    yield f'<path class="head" d="M{to_x:g} {to_y:g}l-8 -4v8z"/>'
    straight = y == to_y and to_x - x <= ACROSS
    at, up = ((x + to_x) / 2, y) if straight else (x + COUNT, y) if together else (to_x - COUNT - 4, to_y)
    yield f'<text class="count" data-edge="{escape(edge.name)}" x="{at:g}" y="{up - 7:g}"></text>'


def _box(box: Box) -> Iterator[str]:
    yield f'<g class="node" data-node="{escape(box.name)}">'
    if box.step is None:
        yield f"<title>{escape(f'{box.title}: {box.detail}')}</title>"
        yield f'<rect class="box end" x="{box.x:g}" y="{box.y:g}" width="{WIDTH}" height="{SMALL}" rx="22"/>'
        yield f'<text class="title" x="{box.x + 20:g}" y="{box.y + 19:g}">{escape(box.title)}</text>'
        yield f'<text class="detail" x="{box.x + 20:g}" y="{box.y + 34:g}">{escape(cut(box.detail))}</text>'
    else:
        step = box.step
        yield f"<title>{escape(f'{box.name}: {box.title} {box.detail}')}</title>"
        yield f'<rect class="box" x="{box.x:g}" y="{box.y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>'
        yield (
            f'<rect class="stripe {step.blocking}" x="{box.x:g}" y="{box.y + 8:g}" width="4" '
            f'height="{HEIGHT - 16}" rx="2"/>'
        )
        yield f'<text class="title" x="{box.x + 14:g}" y="{box.y + 20:g}">{escape(box.title)}</text>'
        yield f'<text class="detail" x="{box.x + 14:g}" y="{box.y + 38:g}">{escape(cut(box.detail))}</text>'
        yield f'<text class="class" x="{box.x + 14:g}" y="{box.y + 55:g}">{box.name} · {escape(_words(step))}</text>'
    yield "</g>"


def _words(step: Operator) -> str:
    """The class of a step, and what it keeps."""
    kept = {"none": "keeps nothing", "depth": "keeps a place", "window": "keeps one record", "keys": "keeps keys",
            "result": "keeps a result", "input": "keeps its input"}[step.state]  # fmt: skip
    return f"{step.blocking}, {kept}"


def cut(text: str) -> str:
    """As much of a text as fits into a box."""
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
