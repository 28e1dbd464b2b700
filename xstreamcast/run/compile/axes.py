"""The loops of axis steps over the rows of a tree."""

from __future__ import annotations

from xstreamcast.model.names import ATTRIBUTE, TEXT
from xstreamcast.model.tree import key_of
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.predicates import Produce
from xstreamcast.run.compile.styles import Body
from xstreamcast.run.compile.tests import Test
from xstreamcast.run.compile.values import Val, row

_SMALL = 400  # rows; in larger subtrees hopping from sibling to sibling beats searching all of it
COLLECTED = {
    "ancestor": "ancestors",
    "ancestor-or-self": "ancestors_or_self",
    "following-sibling": "following_siblings",
    "preceding-sibling": "preceding_siblings",
    "following": "following",
    "preceding": "preceding",
}
"""Axes whose rows a function of :mod:`xstreamcast.model.axes` lists."""


def axis_loop(c: Compiler, axis: str, test: Test, current: Val, reverse: bool) -> Produce:
    """A producer of the rows of an axis step, in document order (``reverse``: in axis order)."""
    out, tree, at = c.out, current.tree, current.code
    kind = test.static_kind

    def guarded(name: str, attributes: bool, body: Body, also: str = "") -> None:
        condition = test.condition(c, tree, name, attributes)
        if condition and also:
            condition = f"{condition} {also}"
        if condition:
            with out.block(f"if {condition}:"):
                body(row(tree, name, kind))
        else:
            body(row(tree, name, kind))

    def find_child(name: int, key: str, body: Body) -> None:
        """Children of a name: searched for in the text of the name column if the subtree is small, else by hops."""
        size, keys, up = c.column(tree, "size"), c.column(tree, "keys"), c.column(tree, "up")
        found, end = out.fresh("i"), out.fresh("e")
        out.line(f"{end} = {at} + {size}[{at}] + 1")
        few = f"{end} - {at} < {_SMALL}"
        hop = f"{tree}.seek({at} + 1, {end} - 1, {name})"
        out.line(f"{found} = {keys}.find({key}, {at} + 1, {end}) if {few} else {hop}")
        with out.loop(f"while {found} >= 0:"):
            with out.block(f"if {up}[{found}] == {found} - {at}:"):
                body(row(tree, found, kind))
            hop = f"{tree}.seek({found} + {size}[{found}] + 1, {end} - 1, {name})"
            out.line(f"{found} = {keys}.find({key}, {found} + 1, {end}) if {few} else {hop}")

    def text_child(body: Body) -> None:
        """Texts of an element: where its value is known there is one at most, its last row."""
        values, size = c.column(tree, "value"), c.column(tree, "size")
        found, text = out.fresh("i"), out.fresh("s")
        out.line(f"{text} = {values}[{at}]")
        only = f"(({at} + {size}[{at}],) if {text} else ())"
        with out.loop(f"for {found} in {only} if {text} is not None else text_children({tree}, {at}):"):
            body(row(tree, found, kind))

    def child(body: Body) -> None:
        if test.name == TEXT and current.type.kind == "element":
            text_child(body)
            return
        key = key_of(test.name) if test.name is not None else None
        if test.name is not None and key is not None:
            find_child(test.name, out.constant(key, hashable=True), body)
            return
        size = c.column(tree, "size")
        name, end = out.fresh("i"), out.fresh("e")
        out.line(f"{end} = {at} + {size}[{at}]")
        out.line(f"{name} = {at} + 1")
        with out.loop(f"while {name} <= {end}:"):
            guarded(name, True, body)
            out.line(f"{name} += {size}[{name}] + 1")

    def find_attribute(key: str, body: Body) -> None:
        """The one attribute of a name: if there is one, no row of that name is before it."""
        size, keys, up = c.column(tree, "size"), c.column(tree, "keys"), c.column(tree, "up")
        found = out.fresh("i")
        out.line(f"{found} = {keys}.find({key}, {at} + 1, {at} + {size}[{at}] + 1)")
        with out.block(f"if {found} > 0 and {up}[{found}] == {found} - {at}:"):
            body(row(tree, found, "attribute"))

    def attribute(body: Body) -> None:
        key = key_of(test.name) if test.name is not None else None
        if key is not None:
            find_attribute(out.constant(key, hashable=True), body)
            return
        kinds, size = c.column(tree, "kind"), c.column(tree, "size")
        name, end = out.fresh("i"), out.fresh("e")
        out.line(f"{end} = {at} + {size}[{at}]")
        out.line(f"{name} = {at} + 1")
        with out.loop(f"while {name} <= {end} and {kinds}[{name}] == {ATTRIBUTE}:"):
            if test.kind == ATTRIBUTE and test.name is None and test.uri is None and test.local is None:
                condition = f"{test.matcher}.matches(Node(({tree}, {name})))" if test.matcher else ""
            elif test.kind is None and not test.matcher:
                condition = ""
            else:
                condition = test.condition(c, tree, name, False)
            item = row(tree, name, "attribute")
            if condition:
                with out.block(f"if {condition}:"):
                    body(item)
            else:
                body(item)
            out.line(f"{name} += 1")

    def below(body: Body) -> None:
        name = out.fresh("i")
        if test.name is not None:
            with out.loop(f"for {name} in {tree}.descendants({at}, {test.name}):"):
                body(row(tree, name, kind))
            return
        size = c.column(tree, "size")
        if axis == "attributes-below":
            with out.loop(f"for {name} in range({at} + 1, {at} + {size}[{at}] + 1):"):
                condition = test.condition(c, tree, name, False)
                only = f"{c.column(tree, 'kind')}[{name}] == {ATTRIBUTE}"
                with out.block(f"if {only}{' and ' + condition if condition else ''}:"):
                    body(row(tree, name, "attribute"))
            return
        with out.loop(f"for {name} in range({at} + 1, {at} + {size}[{at}] + 1):"):
            guarded(name, True, body)

    def below_or_self(body: Body) -> None:
        name, size = out.fresh("i"), c.column(tree, "size")
        with out.loop(f"for {name} in range({at}, {at} + {size}[{at}] + 1):"):
            attribute_itself = current.type.kind in ("attribute", "node") and test.kind is None
            guarded(name, True, body, f"or {name} == {at}" if attribute_itself else "")

    def itself(body: Body) -> None:
        known = kind if kind != "node" else current.type.kind
        condition = test.condition(c, tree, at, False)
        item = row(tree, at, known)
        if condition:
            with out.block(f"if {condition}:"):
                body(item)
        else:
            body(item)

    def parent(body: Body) -> None:
        up, name = c.column(tree, "up"), out.fresh("i")
        out.line(f"{name} = {at} - {up}[{at}]")
        condition = test.condition(c, tree, name, False)
        with out.block(f"if {name} != {at}{' and ' + condition if condition else ''}:"):
            body(row(tree, name, kind))

    def collected(body: Body) -> None:
        name = out.fresh("i")
        rows = f"{COLLECTED[axis]}({tree}, {at})"
        with out.loop(f"for {name} in {f'reversed({rows})' if reverse else rows}:"):
            guarded(name, False, body)

    writers: dict[str, Produce] = {
        "child": child,
        "attribute": attribute,
        "descendant": below,
        "attributes-below": below,
        "descendant-or-self": below_or_self,
        "self": itself,
        "parent": parent,
    }
    return writers.get(axis, collected)
