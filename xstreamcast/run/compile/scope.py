"""The meaning of names at a place of the query: the variables in scope and the focus, and the code that holds them."""

from __future__ import annotations

from dataclasses import field, replace

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.plan.focus import VarName
from xstreamcast.run.compile.emit import Frame
from xstreamcast.run.compile.values import Val


@dataclass(frozen=True, slots=True)
class Var:
    """A variable in scope; ``level`` counts the loops of its frame that were open when it was bound.

    ``deferred``: a variable used once is compiled where it is used, in the scope it was bound in.
    """

    val: Val
    frame: Frame
    level: int
    deferred: tuple[ast.Expr, Scope] | None = None


@dataclass(frozen=True, slots=True)
class Focus:
    """``item`` None: there is no context item. ``guard``: a name that holds None if there is none."""

    item: Val | None
    position: str | None = None
    last: str | None = None
    frame: Frame | None = None
    level: int = 0
    guard: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The meaning of names at a place of the query."""

    static: StaticContext
    focus: Focus = field(default_factory=lambda: Focus(None))
    variables: dict[VarName, Var] = field(default_factory=dict)

    def with_focus(self, focus: Focus) -> Scope:
        return replace(self, focus=focus)
