"""Syntax trees → XQuery text. ``parse(to_xquery(m))`` equals ``m``, spans aside.

Parentheses appear where precedence asks for them. Text inside direct constructors is never re-indented, for its
whitespace is data; everything else is laid out with one clause per line. Read :mod:`.writer` (layout, shared by all)
and :mod:`.levels` (how tightly expressions bind), then a file for each kind of node: :mod:`.paths`, :mod:`.operators`,
:mod:`.flwor`, :mod:`.constructors`, :mod:`.types`, :mod:`.prolog`, and :mod:`.text` (quotes, escapes).
"""

from __future__ import annotations

from typing import ClassVar

from xstreamcast.lang.ast import Node
from xstreamcast.lang.printer import constructors, flwor, operators, paths, prolog, types
from xstreamcast.lang.printer.constructors import ConstructorPrinter
from xstreamcast.lang.printer.flwor import FLWORPrinter
from xstreamcast.lang.printer.operators import OperatorPrinter
from xstreamcast.lang.printer.paths import PathPrinter
from xstreamcast.lang.printer.prolog import PrologPrinter
from xstreamcast.lang.printer.text import match_whole_ncname, quote
from xstreamcast.lang.printer.writer import Rules

__all__ = ["Printer", "match_whole_ncname", "quote", "to_xquery"]


def to_xquery(node: Node) -> str:
    """The text of a module, declaration, expression or type.

    >>> from xstreamcast.lang import parse
    >>> print(to_xquery(parse("for $x in (1,2) where $x>1 return -($x+1)")))
    for $x in (1, 2)
    where $x > 1
    return -($x + 1)
    """
    return Printer().show(node)


class Printer(PrologPrinter, ConstructorPrinter, FLWORPrinter, OperatorPrinter, PathPrinter):
    """Writes anything."""

    rules: ClassVar[Rules] = {
        rule: write
        for area in (types, paths, operators, flwor, constructors, prolog)
        for rule, write in area.RULES.items()
    }
