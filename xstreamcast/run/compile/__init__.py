"""Syntax → Python source: one module for a query, in which types, order and distinctness are decided beforehand.

In comes a module of :mod:`xstreamcast.lang`, out comes source that calls :mod:`xstreamcast.run.runtime`. Each
expression is compiled in the style that its user asks for: a value, loops, a condition, or content. Read in this order:

* the core: :mod:`.program` (a module and its imports), :mod:`.compiler`, :mod:`.styles`, :mod:`.emit` (writing source),
  :mod:`.scope`, :mod:`.values` (what is known of an expression), :mod:`.rows` (what only engines compile)
* expressions: :mod:`.expressions`, :mod:`.control`, :mod:`.arithmetic`, :mod:`.comparisons`, :mod:`.types`,
  :mod:`.temporal`
* paths: :mod:`.paths`, :mod:`.path_order`, :mod:`.axes`, :mod:`.tests` (of nodes), :mod:`.predicates`, :mod:`.chains`
* FLWOR: :mod:`.flwor`, :mod:`.windows`, :mod:`.joins`
* functions: :mod:`.calls`, :mod:`.functions`, :mod:`.tail`, :mod:`.folds`, :mod:`.maps`, :mod:`.owned`
* constructors: :mod:`.constructors`, :mod:`.nesting`, :mod:`.shapes`
"""
