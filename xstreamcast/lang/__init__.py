"""Text → syntax tree: XQuery 3.1 and XCQL.

>>> from xstreamcast.lang import parse
>>> module = parse('for $a in stream("credit")//account where $a/limit?[now] > 5000 return $a/customer')
>>> type(module.body).__name__
'FLWOR'
>>> module.body.clauses[1].condition
GeneralComparison('>', Path((VarRef(Name('', 'a', '')), IntervalProjection(AxisStep('child', \
NameTest(Name('', 'limit', '')), ()), Now(), None))), IntegerLiteral(5000))

Every name in the tree is expanded (``Name.uri``), every variable, function, type and prefix has been checked, and
``module.static`` is the static context its prolog declares. ``module.source.place(node.span)`` is where a node stands.
A fault is an :class:`~xstreamcast.errors.XStreamError` with a code, a place and a hint:

>>> parse("for $x in (1, 2) return $y")
Traceback (most recent call last):
xstreamcast.errors.XQueryNameError: XPST0008 query:1:25 the variable $y is not declared
  for $x in (1, 2) return $y
                          ^
  hint: in scope: $x

The pieces: ``ast`` (the nodes), ``lexical``, ``types``, ``constructors``, ``xcql``, ``paths``, ``flwor``, ``parser``,
``prolog`` (one class per layer of the grammar, each extending the one before), ``scope``, ``declare``, ``static``,
``link`` (the static phase), ``walk`` (traversal), ``printer`` (trees and text again), ``structures`` (paths that can
match nothing).
"""

from __future__ import annotations

from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.link import parse, parse_syntax

__all__ = ["StaticContext", "parse", "parse_syntax"]
