"""The plots of the report, drawn by matplotlib as SVG: equal figures give equal files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

COLOURS: Final = {
    "xstreamcast": "#c2410c",
    "lxml": "#2563eb",
    "saxonche": "#15803d",
    "basex": "#7e22ce",
    "in the paper": "#6b7280",
}
"""The same for a tool in every plot."""

_MARKS: Final = {"xstreamcast": "o", "lxml": "s", "saxonche": "^", "basex": "D", "in the paper": "x"}
_GREY: Final = "#9ca3af"

Series = Mapping[str, Sequence[float | None]]
"""By tool; None where it has no figure."""


@dataclass(frozen=True, slots=True)
class Dots:
    """One row per case, one mark per tool, on a logarithmic axis."""

    file: str
    title: str
    unit: str
    names: Sequence[str]
    values: Series

    def draw(self, pyplot: Any) -> Any:
        figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.24 * len(self.names)))
        places = range(len(self.names))
        for place in places:
            known = [value for values in self.values.values() if (value := values[place])]
            if known:
                axes.plot([min(known), max(known)], [place, place], color=_GREY, linewidth=0.6, zorder=1)
        for tool, values in self.values.items():
            axes.scatter(
                [value or float("nan") for value in values], places, s=26, marker=_MARKS[tool], color=COLOURS[tool],
                label=tool, zorder=2,
            )  # fmt: skip
        axes.set_yticks(places, self.names, fontsize=8)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel(self.unit)
        axes.set_title(self.title, fontsize=10, loc="left")
        axes.legend(fontsize=8, ncols=len(self.values), loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
        return figure


@dataclass(frozen=True, slots=True)
class Curves:
    """Panels side by side: a measure against the size of the document, one line per tool, both axes logarithmic."""

    file: str
    title: str
    unit: str
    panels: Mapping[str, tuple[Sequence[float], Series]]

    def draw(self, pyplot: Any) -> Any:
        figure, row = pyplot.subplots(1, len(self.panels), figsize=(3.2 * len(self.panels), 3.2), sharey=True)
        for axes, (name, (sizes, values)) in zip(row, self.panels.items(), strict=True):
            for tool, measured in values.items():
                known = [value or float("nan") for value in measured]
                axes.plot(sizes, known, marker=_MARKS[tool], markersize=4, color=COLOURS[tool], label=tool)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(name, fontsize=10)
            axes.set_xlabel("MB")
        row[0].set_ylabel(self.unit)
        row[0].legend(fontsize=8)
        figure.suptitle(self.title, fontsize=10)
        return figure


@dataclass(frozen=True, slots=True)
class Lines:
    """Panels side by side: a measure along a stream, one line per way to read it."""

    file: str
    title: str
    unit: str
    along: str
    panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]]

    def draw(self, pyplot: Any) -> Any:
        figure, row = pyplot.subplots(
            1, len(self.panels), figsize=(3.2 * len(self.panels), 3.2), sharey=True, squeeze=False
        )
        for axes, (name, lines) in zip(row[0], self.panels.items(), strict=True):
            for (label, (xs, ys)), colour in zip(lines.items(), COLOURS.values(), strict=False):
                axes.plot(xs, ys, color=colour, linewidth=1.2, label=label)
            axes.set_ylim(bottom=0)
            axes.set_title(name, fontsize=10)
            axes.set_xlabel(self.along)
        row[0][0].set_ylabel(self.unit)
        row[0][0].legend(fontsize=8)
        figure.suptitle(self.title, fontsize=10)
        return figure


Plot = Dots | Curves | Lines


def save(plot: Plot, folder: Path) -> Path:
    """Draw a plot into a folder."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": plot.file, "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure = plot.draw(pyplot)
    for axes in figure.axes:
        axes.grid(True, which="major", linewidth=0.3, color=_GREY)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path = folder / plot.file
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path
