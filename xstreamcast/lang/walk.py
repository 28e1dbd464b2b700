"""Walking and rebuilding syntax trees, for every pass alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple, TypeVar

from xstreamcast.lang.ast import (
    Clause,
    CountClause,
    Expr,
    ForClause,
    GroupClause,
    LetClause,
    Module,
    Name,
    Node,
    WindowClause,
    parts,
)

N = TypeVar("N", bound=Node)


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below a node, in the order of the text.

    >>> from xstreamcast.lang.ast import IntegerLiteral, Range
    >>> list(children(Range(IntegerLiteral(1), IntegerLiteral(9))))
    [IntegerLiteral(1), IntegerLiteral(9)]
    """
    for name in parts(node.__class__):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item


def descendants(node: Node) -> Iterator[Node]:
    """A node and everything below it, parents first, without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        below = list(children(current))
        below.reverse()
        waiting.extend(below)


def rebuild(node: N, change: Callable[[Node], Node]) -> N:
    """The node with ``change`` applied to each child; the same object if no child changed."""
    changed = False
    values: dict[str, object] = {}
    for name in parts(node.__class__):
        value = getattr(node, name)
        if isinstance(value, Node):
            new: object = change(value)
            changed = changed or new is not value
        elif value.__class__ is tuple:
            new = tuple([change(item) if isinstance(item, Node) else item for item in value])
            changed = changed or any(a is not b for a, b in zip(new, value, strict=True))
        else:
            new = value
        values[name] = new
    if not changed:
        return node
    for name in node.__class__.__dataclass_fields__:
        if name not in values:
            values[name] = getattr(node, name)
    return node.__class__(**values)  # type: ignore[arg-type]  # the fields of this very class


def with_body(module: Module, change: Callable[[Expr], Node]) -> Module:
    """The module with another body; the same object if it has none, or the same one."""
    if module.body is None:
        return module
    body = change(module.body)
    assert isinstance(body, Expr)
    return module if body is module.body else replace(module, body=body)


class Bound(NamedTuple):
    """The variables of a clause: those that hold items of ``source``, and those that hold numbers or grouping keys."""

    source: Expr | None = None
    items: tuple[Name, ...] = ()
    atomic: tuple[Name, ...] = ()


def bound_by(clause: Clause) -> Bound:
    """What a clause of a FLWOR binds."""
    match clause:
        case ForClause():
            return Bound(clause.source, (clause.var,), () if clause.position is None else (clause.position,))
        case LetClause():
            return Bound(clause.value, (clause.var,))
        case WindowClause():
            ends = [end for end in (clause.start, clause.end) if end is not None]
            items = [name for end in ends for name in (end.current, end.previous, end.next) if name is not None]
            positions = tuple(end.position for end in ends if end.position is not None)
            return Bound(clause.source, (*items, clause.var), positions)
        case GroupClause():
            return Bound(atomic=tuple(key.var for key in clause.keys))
        case CountClause():
            return Bound(atomic=(clause.var,))
    return Bound()
