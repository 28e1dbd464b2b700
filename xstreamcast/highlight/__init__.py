"""Colours for queries: a lexer for Pygments, and a grammar of TextMate's for editors.

In comes the table of words (:mod:`xstreamcast.lang.words`); :mod:`.patterns` makes regular expressions of it, which
the lexer (:mod:`.lexer`) and the grammar (:mod:`.textmate`) share. ``python -m xstreamcast.highlight.textmate`` prints
the grammar. A highlighter sees a few characters at a time: where the parser knows that a word is a name, these guess.
"""
