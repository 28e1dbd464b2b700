"""Paths, predicates and positions of the three-valued reference: what a step finds where there are holes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from kleene_documents import (
    BOTTOM,
    OPERATORS,
    Attribute,
    Element,
    Entry,
    Hole,
    Text,
    Value,
    attribute_of,
    doubted,
    items,
    known,
    settled,
)

from xstreamcast.lang import ast
from xstreamcast.model.structure import Structure


class KleenePaths(ABC):
    """The value of paths; with ``optimistic``, holes are empty and what is not refused for certain passes."""

    def __init__(self, documents: Mapping[str, Element], structures: Mapping[str, Structure | None]) -> None:
        self.documents = documents
        self.structure = next(iter(structures.values()), None)
        self.order: dict[int, int] = {}
        for document in documents.values():
            self._number(document)
        self.optimistic = False

    def _number(self, node: Any) -> None:
        self.order[id(node)] = len(self.order)
        for child in getattr(node, "children", ()):
            self._number(child)

    @abstractmethod
    def value(self, e: ast.Expr, env: dict[Any, Value], focus: Any) -> Value:
        """The value of any expression."""

    @abstractmethod
    def truth(self, e: ast.Expr, env: dict[Any, Value], focus: Any) -> bool | None:
        """Whether an expression is true; None: it is not known."""

    def path(self, e: ast.Path | ast.SimpleMap, env: dict[Any, Value], focus: Any) -> Value:
        first, *rest = e.steps
        value = self.value(first, env, focus)
        for step in rest:
            if isinstance(step, ast.AxisStep):
                value = self.step(step, env, value)
                continue
            found: Value = []
            for entry in value:
                if entry.item is None:
                    found.append(entry)
                else:
                    inner = self.value(step, env, entry.item)
                    found += inner if entry.sure else [doubted(one_) for one_ in inner]
            nodes = all(isinstance(item, Element | Text | Attribute) for item in items(found))
            value = self.sorted_nodes(found) if nodes and isinstance(e, ast.Path) else found
        return value

    def step(self, e: ast.AxisStep, env: dict[Any, Value], context: Value) -> Value:
        reached: Value = []
        for entry in context:
            found = [entry] if entry.item is None else list(self.axis(e, entry.item))
            if entry.bottom:
                found = self.beyond(e, entry.tag)
            elif entry.item is not None:
                found = self.passing(e.predicates, found, env)
            reached += found if entry.sure or entry.item is None else [doubted(one_) for one_ in found]
        return self.sorted_nodes(reached)

    def sorted_nodes(self, value: Value) -> Value:
        """Each node once, in document order: for certain if it is so once."""
        nodes: dict[int, Entry] = {}
        rest: Value = []
        for entry in value:
            if entry.item is None:
                rest.append(entry)
            else:
                before = nodes.get(id(entry.item))
                nodes[id(entry.item)] = Entry(entry.item, entry.sure or (before is not None and before.sure))
        return [*sorted(nodes.values(), key=lambda entry: self._place(entry.item)), *rest]

    def _place(self, item: Any) -> tuple[int, str]:
        if isinstance(item, Attribute):
            return self.order.get(id(item.parent), 0), item.name
        return self.order.get(id(item), 0), ""

    def axis(self, e: ast.AxisStep, node: Any) -> Iterator[Entry]:
        match e.axis:
            case "self":
                if self.matches(e.test, node):
                    yield Entry(node)
            case "parent":
                if node.parent is not None:
                    yield Entry(node.parent)
            case "attribute":
                if isinstance(node, Element):
                    name = e.test.name.local if isinstance(e.test, ast.NameTest) else None
                    for key, value in node.attributes.items():
                        if name in (None, key):
                            yield Entry(attribute_of(node, key, value))
            case "child" | "descendant" | "descendant-or-self":
                if e.axis == "descendant-or-self" and self.matches(e.test, node):
                    yield Entry(node)
                for child in getattr(node, "children", ()):
                    if isinstance(child, Hole):
                        if not self.optimistic:
                            yield from self.beyond(e, child.tag, inside=False)
                        continue
                    if self.matches(e.test, child) and e.axis != "descendant-or-self":
                        yield Entry(child)
                    if e.axis != "child":
                        yield from self.axis(e, child)
            case _:
                raise NotImplementedError(e.axis)

    def beyond(self, e: ast.AxisStep, tag: int | None, inside: bool = True) -> Value:
        """What a step finds in the elements that a hole may hold (``inside``), or as these."""
        if tag is None or self.structure is None:
            return [BOTTOM]
        if e.axis == "attribute" or not isinstance(e.test, ast.NameTest):
            if e.axis == "descendant-or-self":
                reached = {tag, *self.structure.descendants({tag})}
                return [Entry(None, False, True, found) for found in sorted(reached)]
            if isinstance(e.test, ast.Wildcard) and e.axis != "attribute":
                children = self.structure.tags[tag].children
                return [Entry(None, False, True, t) for t in (children if inside else (tag,))]
            return [BOTTOM]
        if e.axis == "self":
            reached = {tag}
        elif e.axis == "child":
            reached = set(self.structure.tags[tag].children) if inside else {tag}
        else:
            reached = self.structure.descendants({tag}) | (set() if inside else {tag})
        fitting = [found for found in sorted(reached) if self.structure.tags[found].name == e.test.name.local]
        return [Entry(None, False, True, found) for found in fitting]

    def matches(self, test: Any, node: Any) -> bool:
        if isinstance(test, ast.NameTest):
            return isinstance(node, Element) and node.name == test.name.local
        if isinstance(test, ast.Wildcard):
            return isinstance(node, Element) and bool(node.name)
        if isinstance(test, ast.KindTest):
            return test.kind == "node" or (test.kind == "text" and isinstance(node, Text))
        raise NotImplementedError(test)

    def passing(self, predicates: tuple[ast.Expr, ...], found: Value, env: dict[Any, Value]) -> Value:
        """Predicates; a position among what is not known is not known."""
        if any(_counted(p) for p in predicates):
            sure = known(found) and all(
                settled(self.value(p, env, item)) for p in predicates for item in items(found) if not _counted(p)
            )
            if not sure:
                return [BOTTOM] if found else []
            chosen = items(found)
            for p in predicates:
                chosen = [
                    item for number, item in enumerate(chosen, 1) if self.numbered(p, env, item, number, len(chosen))
                ]
            return [Entry(item) for item in chosen]
        for p in predicates:
            kept: Value = []
            for entry in found:
                if entry.item is None:
                    kept.append(entry)
                    continue
                truth = self.judged(p, env, entry.item)
                if truth is None:
                    kept.append(Entry(entry.item, False))
                elif truth:
                    kept.append(entry)
            found = kept
        return found

    def judged(self, p: ast.Expr, env: dict[Any, Value], focus: Any) -> bool | None:
        if not self.optimistic:
            return self.truth(p, env, focus)
        self.optimistic = False
        try:
            return self.truth(p, env, focus) is not False
        finally:
            self.optimistic = True

    def numbered(self, p: ast.Expr, env: dict[Any, Value], item: Any, number: int, last: int) -> bool:
        if isinstance(p, ast.IntegerLiteral):
            return p.value == number
        if isinstance(p, ast.FunctionCall) and p.name.local == "last":
            return number == last
        if _counted(p):
            assert isinstance(p, ast.GeneralComparison)
            assert isinstance(p.right, ast.IntegerLiteral)
            return OPERATORS[p.op](number, p.right.value)
        return bool(self.judged(p, env, item))

    def filter(self, e: ast.Filter, env: dict[Any, Value], focus: Any) -> Value:
        base = self.value(e.base, env, focus)
        if any(_counted(p) for p in e.predicates) and not known(base):
            return [BOTTOM]
        return self.passing(e.predicates, base, env)


def _counted(p: ast.Expr) -> bool:
    """``position() op n``, ``last()``, or a number."""
    if isinstance(p, ast.GeneralComparison):
        return isinstance(p.left, ast.FunctionCall) and p.left.name.local == "position"
    return isinstance(p, ast.IntegerLiteral) or (isinstance(p, ast.FunctionCall) and p.name.local == "last")
