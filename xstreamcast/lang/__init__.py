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

Read in this order:

* the nodes: :mod:`.ast`; :mod:`.walk` goes through them, :mod:`.printer` writes them as text again
* the parser, one class per layer of the grammar, each extending the one before: :mod:`.lexical`, :mod:`.types`,
  :mod:`.constructors`, :mod:`.primaries`, :mod:`.xcql`, :mod:`.paths`, :mod:`.flwor`, :mod:`.parser`, :mod:`.prolog`;
  :mod:`.files` (queries in files)
* the static phase: :mod:`.context` (what a prolog says), :mod:`.declare`, :mod:`.scope`, :mod:`.static`, :mod:`.link`
* what can hardly be meant: :mod:`.structures` (paths that match nothing), :mod:`.name_check`, :mod:`.namespace_check`;
  :mod:`.warning_texts` is how it is told
* questions about expressions: :mod:`.clock` (the current time)
* for people who write queries: :mod:`.words` and :mod:`.tokens` (colours), :mod:`.outline`, :mod:`.unfinished`
"""

from __future__ import annotations

from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.link import parse, parse_syntax

__all__ = ["StaticContext", "parse", "parse_syntax"]
