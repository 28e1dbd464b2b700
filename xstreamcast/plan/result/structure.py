"""The tag structure of an answer: genTsid of WebDB'05 Fig. 3, so that the answer of a query can feed another one.

An answer is announced as a structure if all that stands at its top are elements of one name, and it is certain which
elements can be inside. A tag is a set of kinds (:mod:`~xstreamcast.plan.result.shape`), those that have the same name
in the same place; its children are what is below any of them:

    children(K) = {{c ∈ ⋃ inside(k), k ∈ K | name(c) = n} | n a name}

Sets that are equal are one tag, which makes recursive tags finite. What is in a new element may come as a region of its
own, if it is made around the plan's units (:mod:`~xstreamcast.plan.decompose.splices`): its tags have no type. Nor have
those of copies that come as fragments of their streams, for their holes are forwarded, or in which there is nothing but
such holes (:mod:`~xstreamcast.run.continuous.display.sewn`). All else that is copied, or made for each record, comes
with what is in it: those tags are ``snapshot``.

An error that stands for the answer stands beside the root, where a structure has no place for it. Who looks for it is
led there only if the structure has such a tag anywhere: so the root has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.structure import Structure, Tag
from xstreamcast.plan.algebra import Plan, Unit
from xstreamcast.plan.result.shape import ERROR, ERROR_NAMESPACE, Copy, Made, Odd, Shape, Shapes

MOST_TAGS: Final = 10_000
"""An answer with more tags than these is not announced."""
_ROOT: Final = 1
_ERROR: Final = 2
_MADE: Final = (ast.DirectElement, ast.ComputedElement)

Elements = frozenset[Copy | Made]


@dataclass(slots=True)
class _Place:
    """A tag on its way. ``apart``: its elements may come as regions of their own."""

    name: str
    held: Elements
    apart: bool
    children: dict[str, int] = field(default_factory=dict)


class _NotCertain(Exception):
    """It is not known which elements there may be."""


class ResultStructure:
    """The structure of a query's answer, as far as those of its streams are known.

    What has been said is not taken back: when tags are added to a stream's structure, they are added to the answer's.
    """

    def __init__(self, module: ast.Module, plan: Plan) -> None:
        """``plan`` is that of the module, or of what it was rewritten to for an emission mode."""
        self._module = module
        around = [part for part in plan.output if not isinstance(part, Unit)]
        made = [one for part in around for one in descendants(part) if isinstance(one, _MADE)]
        self._shells = frozenset([one.span for one in made])
        self._places: list[_Place] = []

    def derive(self, structures: Mapping[str, Structure]) -> Structure | None:
        """The structure of the answer, given those of the streams by name; None if nothing is certain."""
        shapes = Shapes(self._module, structures)
        places = [_Place(one.name, one.held, one.apart, dict(one.children)) for one in self._places]
        try:
            top = _top(shapes)
            if places:
                places[0].held |= top
            else:
                error = "{{{}}}{}".format(*ERROR)
                places.append(_Place(shapes.name(min(top, key=shapes.order)), top, True, {error: _ERROR}))
                places.append(_Place(error, frozenset(), True))
            _grow(shapes, places)
            _add(shapes, places, self._shells)
        except (_NotCertain, RecursionError):
            return None
        self._places = places
        grows = any(one.grows for one in structures.values())
        tags = [
            Tag(number, one.name, None if one.apart else "snapshot", tuple(sorted(one.children.values(), key=_last)))
            for number, one in enumerate(places, 1)
        ]
        return Structure({tag.id: tag for tag in tags}, _ROOT, prefixes={"error": ERROR_NAMESPACE}, grows=grows)


def _last(tag: int) -> bool:
    """The error's tag stands behind the others."""
    return tag == _ERROR


def _top(shapes: Shapes) -> Elements:
    """What stands at the top of the answer: elements, of a name that the query gives."""
    shape = shapes.answer()
    found = _elements(shape)
    fixed = all(isinstance(one, Made) or one.fixed for one in shape or () if not isinstance(one, Odd))
    if Odd.LEAF in (shape or ()) or not fixed or len({shapes.name(one) for one in found}) != 1:
        raise _NotCertain
    return found


def _elements(shape: Shape) -> Elements:
    """The elements of a shape, if there are no others."""
    if shape is None or Odd.FOREIGN in shape:
        raise _NotCertain
    if any(isinstance(one, Copy) and one.tsid is None for one in shape):
        raise _NotCertain  # beside the root of a document there may be what its structure does not mention
    copies = {one._replace(fixed=True) for one in shape if isinstance(one, Copy)}
    return frozenset(copies | {one for one in shape if isinstance(one, Made)})


def _below(shapes: Shapes, place: _Place) -> dict[str, Elements]:
    """What may be directly below a tag, by name."""
    found: dict[str, Elements] = {}
    for kind in sorted(place.held, key=shapes.order):
        for inner in sorted(_elements(shapes.inside(kind)), key=shapes.order):
            name = shapes.name(inner)
            found[name] = found.get(name, frozenset()) | {inner}
    return found


def _grow(shapes: Shapes, places: list[_Place]) -> None:
    """Put into the tags that are there what has been added in their places."""
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        for name, held in _below(shapes, place).items():
            child = places[place.children[name] - 1] if name in place.children else None
            if child is not None and not held <= child.held:
                child.held |= held
                waiting.append(child)


def _add(shapes: Shapes, places: list[_Place], shells: frozenset[ast.Span]) -> None:
    """Add the tags that are missing: one for each set of elements in a place."""
    known = {(place.held, place.apart): number for number, place in reversed(list(enumerate(places, 1)))}
    at = 0
    while at < len(places):
        place = places[at]
        shell = any(isinstance(kind, Made) and shapes.spans[kind] in shells for kind in place.held)
        copied = any(isinstance(kind, Copy) for kind in place.held)
        for name, held in _below(shapes, place).items():
            if name not in place.children:
                apart = shell or any(isinstance(kind, Copy) and shapes.is_apart(kind, copied) for kind in held)
                if (held, apart) not in known:
                    if len(places) >= MOST_TAGS:
                        raise _NotCertain
                    places.append(_Place(name, held, apart))
                    known[held, apart] = len(places)
                place.children[name] = known[held, apart]
        at += 1
