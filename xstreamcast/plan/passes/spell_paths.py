"""``//b`` as the one path that a tag structure has for it: ``/a/s/b``.

Then it is known what is around a ``b``: what looks at its parent or its siblings, or counts among these, is about an
``s``. Structures are taken at their word: below a tag there are no other elements than its children.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.plan.sources import source_of

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure

_ANYWHERE: Final = ast.AxisStep("descendant-or-self", ast.KindTest("node"))


def spell_paths(module: ast.Module, structures: Mapping[str, Structure]) -> ast.Module:
    """The module, whose sources have been named, with such paths in full."""

    def visit(e: ast.Node) -> ast.Node:
        made = rebuild(e, visit)
        if not isinstance(made, ast.Path) or not isinstance(made.steps[0], ast.VarRef):
            return made
        source = source_of(made.steps[0].name.expanded)
        structure = structures.get(source.uri or "") if source is not None and source.stream else None
        return made if structure is None or structure.unnamed else _spelled(made, structure)

    return with_body(module, visit)


def _spelled(e: ast.Path, structure: Structure) -> ast.Path:
    steps: list[ast.Expr] = [e.steps[0]]
    chain: tuple[int, ...] = ()
    waiting = list(e.steps[1:])
    while waiting:
        step = waiting.pop(0)
        deep = step == _ANYWHERE and bool(waiting)
        named = waiting[0] if deep else step
        if not isinstance(named, ast.AxisStep) or named.axis != "child" or not isinstance(named.test, ast.NameTest):
            return ast.Path((*steps, step, *waiting), span=e.span)
        uri, local = named.test.name.uri, named.test.name.local
        found = _chains(structure, chain, f"{{{uri}}}{local}" if uri else local, deep)
        if found is None or len(found) != 1:
            return ast.Path((*steps, step, *waiting), span=e.span)
        if deep:
            waiting.pop(0)
        for tag in found[0][len(chain) : -1]:
            space, _, name = structure.tags[tag].name.rpartition("}")
            test = ast.NameTest(ast.Name("", name, space.removeprefix("{")))
            steps.append(ast.AxisStep("child", test, (), span=named.span))
        steps.append(named)
        chain = found[0]
    return ast.Path(tuple(steps), span=e.span)


def _chains(structure: Structure, chain: tuple[int, ...], name: str, deep: bool) -> list[tuple[int, ...]] | None:
    """The tags of a name below others, with those on the way; None if there is no end of them."""
    found: list[tuple[int, ...]] = []
    waiting = [(*chain, tag) for tag in (structure.tags[chain[-1]].children if chain else (structure.root,))]
    while waiting:
        one = waiting.pop()
        if one[-1] in one[:-1]:
            return None
        if structure.tags[one[-1]].name == name:
            found.append(one)
        if deep:
            waiting += [(*one, tag) for tag in structure.tags[one[-1]].children]
    return found
