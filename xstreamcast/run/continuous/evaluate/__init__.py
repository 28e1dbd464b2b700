"""What one member, or many fragments at once, give; and what is certain while holes are open.

In come members; out go items, keys and values. Read :mod:`.assemble` (the document that an evaluation sees),
:mod:`.bulk` (many fragments at once), then open holes: :mod:`.marks`, :mod:`.modes` (certain, optimistic) and
:mod:`.marked_view` (a mode computed anew).
"""
