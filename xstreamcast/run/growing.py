"""``<r>{ for … }</r>`` written tag by tag: what is around a unit's items goes out before them, and they are not kept.

The shell of a part is what the query's own program makes of it when a mark stands for each unit
(:mod:`xstreamcast.plan.decompose.constructors` says where that is exact). It is written up to the first mark, then come
the items of that unit, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.serialise import Markup, serialise
from xstreamcast.model.tree import PI, Node
from xstreamcast.plan.algebra import Concat, Plan, Unit
from xstreamcast.plan.decompose.constructors import mentions, only_content, stands

if TYPE_CHECKING:
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.units import Evaluation

_TARGET: Final = "xstreamcast-items"
_MARK: Final = re.compile(rf"<\?{_TARGET} (\d+)\?>")


def growing_units(plan: Plan) -> dict[int, tuple[Unit, ...]]:
    """The units whose items may go out while their part of the output is being made, by number of the part."""
    everywhere = (plan.module, *[part for part in plan.output if not isinstance(part, Unit)])
    units = [unit for step in plan.passes for unit in step.units]
    needed = {name for unit in units for name in unit.needs} | {p.variable for p in plan.output if isinstance(p, Unit)}
    found: dict[int, tuple[Unit, ...]] = {}
    for number, part in enumerate(plan.output):
        if not isinstance(part, Unit):
            inside = tuple(
                unit
                for unit in units
                if isinstance(unit.reduction, Concat)
                and unit.variable not in needed
                and sum(mentions(one, unit.variable) for one in everywhere) == mentions(part, unit.variable) == 1
                and stands(part, unit.variable)
                and only_content(unit.items)
            )
            if inside:
                found[number] = inside
    return found


def opened(part: Executable, units: tuple[Unit, ...], evaluation: Evaluation) -> list[Markup | Unit] | None:
    """A part as what is written around its units, and these; None where it must be made whole."""
    marks = {unit.variable: _mark(number) for number, unit in enumerate(units)}
    for variable, mark in marks.items():
        evaluation.given[variable] = [mark]
        evaluation.bind(variable, [mark])
    try:
        made = list(evaluation.run(part))
    except XStreamError:
        return None  # it will be met again where it belongs
    finally:
        for variable in marks:
            del evaluation.given[variable]
            evaluation.globals.pop(variable, None)
    if len(made) != 1 or not isinstance(made[0], Node) or made[0].kind != ELEMENT:
        return None
    return _cut(made[0], {str(number): unit for number, unit in enumerate(units)})


def _cut(shell: Node, units: Mapping[str, Unit]) -> list[Markup | Unit] | None:
    text = serialise([shell])
    if "xmlns" in text:
        return None  # what is copied into it may need other declarations than by itself
    first = {rows[0] for rows in _only_marks(shell)}
    marks = [row for row in range(len(shell.tree)) if _is_mark(shell, row)]
    pieces = _MARK.split(text)
    if [shell.tree.value[row] for row in marks] != pieces[1::2] or len(set(pieces[1::2])) != len(marks):
        return None  # the query has marks like these of its own
    found: list[Markup | Unit] = [Markup(pieces[0], bool(marks) and marks[0] in first)]
    for number, row in enumerate(marks):
        found.append(units[pieces[2 * number + 1]])
        following = marks[number + 1] if number + 1 < len(marks) else row
        found.append(Markup(pieces[2 * number + 2], following != row and following in first))
    return found


def _only_marks(shell: Node) -> list[list[int]]:
    """The marks of each element that has nothing else in it: it may turn out to be empty."""
    tree = shell.tree
    inside = [tree.children(row) for row in range(len(tree)) if tree.kind[row] == ELEMENT]
    return [rows for rows in inside if rows and all(_is_mark(shell, row) for row in rows)]


def _is_mark(shell: Node, row: int) -> bool:
    return shell.tree.kind[row] == PI and shell.tree.lexical(row) == _TARGET


def _mark(number: int) -> Node:
    builder = TreeBuilder()
    builder.pi(_TARGET, str(number))
    return builder.finish().root
