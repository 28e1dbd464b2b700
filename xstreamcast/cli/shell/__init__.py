"""``xcast shell``: a prompt for queries.

In come lines; :mod:`.command` reads the options, :mod:`.prompt` gathers lines to entries, with history and completion
by Python's ``readline``. A :class:`~.session.Session` (:mod:`.session`) runs an entry: a query, or a command that
begins with a dot; both go to the commands of ``xcast``, and out comes what these print. What there is to complete is in
:mod:`.complete`, and what is known of the documents and streams at hand in :mod:`.at_hand`.
"""

from xstreamcast.cli.shell.command import shell_command

__all__ = ["shell_command"]
