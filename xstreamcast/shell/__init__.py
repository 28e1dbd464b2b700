"""``xcast shell``: a prompt for queries.

In come lines; :mod:`.prompt` gathers them to entries, with history and completion by Python's ``readline``. A
:class:`~.session.Session` runs an entry: a query, or a command that begins with a dot. What there is to complete is in
:mod:`.complete`, and what is known of the documents and streams at hand in :mod:`.at_hand`.
"""
