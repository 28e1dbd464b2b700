"""Explanations of queries: the verdict, the operators, the passes, what a change costs, and why.

In come a plan, its graph and the operators; out come text, data, pictures. Read :mod:`.explanation` (the object with
all facts), :mod:`.words` (the verdict in words), :mod:`.sentences` and :mod:`.text` (what is printed), :mod:`.facts`
(the same for programs), then what they tell: :mod:`.structure` (fragments needed, by tag structures) and
:mod:`.changes` (how a change is followed). Pictures: :mod:`.picture` (operators, SVG), :mod:`.dot` (the data-flow
graph), :mod:`.html` (notebooks).
"""
