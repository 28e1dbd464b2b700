"""Emission modes as rewritings: what is certainly in the answer, or possibly, while holes are open.

In comes a module; out comes one whose answer is what the mode shows. Read :mod:`.rewrite` (the whole), :mod:`.rules`
(what the rewritings share), :mod:`.truth` (three truth values), :mod:`.paths`, :mod:`.sequences` and :mod:`.loops` (the
kinds of expressions), :mod:`.ways` (where an open hole would matter).
"""
