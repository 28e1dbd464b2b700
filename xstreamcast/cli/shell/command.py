"""``xcast shell``: a prompt for queries."""

from __future__ import annotations

from typing import Annotated

from xstreamcast.cli.options import Argument, Done, Option


def shell_command(
    files: Annotated[
        list[str] | None, Argument(metavar="FILE", help="Documents that paths look at; as of xcast query.")
    ] = None,
    stream: Annotated[
        list[str] | None, Option(metavar="NAME=FILE", help='What stream("NAME") finds: a file, or a folder of them.')
    ] = None,
    now: Annotated[str | None, Option(metavar="TIME", help="The current time of queries over streams.")] = None,
) -> None:
    """Ask queries at a prompt.

    A query may have several lines; it is run when it is whole. Tab completes: steps by the structure of what is open,
    variables, functions. The history stays (XCAST_HISTORY names its file). .help lists the commands: .open, .explain,
    .watch, .structure, .now, .quit. Ctrl-C stops a query, or drops what is typed; Ctrl-D leaves.
    What is piped in is run line by line; the exit code is 1 if something of it fails.

    Examples:

      xcast shell auction.xml

      xcast shell --stream credit=credit.xml --now 2003-11-20T10:45:00
    """
    from xstreamcast.cli.query import pairs
    from xstreamcast.cli.shell.prompt import Prompt
    from xstreamcast.cli.shell.session import Session

    session = Session(files or [], pairs(stream or [], "--stream"), now)
    prompt = Prompt(session)
    prompt.run()
    if session.failed and not prompt.interactive:
        raise Done(1)
