"""``%load_ext xstreamcast`` brings ``%xcql`` and ``%%xcql``: a query in a cell of its own, and its answer below it.

    %%xcql auction.xml
    for $i in //item where $i/quantity > $least return $i/name

A variable that the query does not declare is one of the notebook. Errors are shown with their place, without a
traceback.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from IPython.core.magic import Magics, line_cell_magic, magics_class

from xstreamcast.cli.options import DEPTH, Argument, Option, WrongCall, read
from xstreamcast.errors import XStreamError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

Made = TypeVar("Made")


def options(
    files: Annotated[
        list[str] | None, Argument(metavar="FILE", help="The context item: files, or a variable of Python.")
    ] = None,
    doc: Annotated[list[str] | None, Option(metavar="NAME=FILE", help='What doc("NAME") finds.')] = None,
    stream: Annotated[list[str] | None, Option(metavar="NAME=FILE", help='What stream("NAME") finds.')] = None,
    now: Annotated[str | None, Option(metavar="TIME", help="The current time.")] = None,
    to: Annotated[str, Option(metavar="NAME", help="Keep the result in a variable, and show nothing.")] = "",
    explain: Annotated[bool, Option("--explain", help="Say how it will be run, and do not run it.")] = False,
    watch: Annotated[bool, Option("--watch", help="Follow its streams: the answer changes in place.")] = False,
) -> None:
    """Ask a query: the text of the cell, or on the line of %xcql what stands behind "--".

    Examples:

      %xcql auction.xml -- count(//item)

      %xcql --stream credit=credit.xml --watch -- count(stream("credit")//account)
    """


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by ``%load_ext xstreamcast``."""
    shell.register_magics(Queries)


@magics_class
class Queries(Magics):
    """The magic of queries."""

    @line_cell_magic
    def xcql(self, line: str, cell: str | None = None) -> Any:
        """Ask a query; ``%xcql -h`` shows the options."""
        head, text = line, cell
        if text is None:
            head, _, text = f" {line}".rpartition(" -- ") if f" {line}".find(" -- ") >= 0 else (line, "", "")
        try:
            given = read(options, shlex.split(head))
            if given is None:
                from xstreamcast.cli.help import show_command

                return show_command("%%xcql", options)
            if not text.strip():
                raise WrongCall("there is no query: %xcql FILE -- QUERY, or %%xcql FILE and the query below")
            del given[DEPTH]
            return self._asked(text, **given)
        except WrongCall as fault:
            print(f"%xcql: {fault}; %xcql -h tells the options")
        except XStreamError as fault:
            self._show_error(fault)
        return None

    def _asked(
        self, text: str, *, files: list[str] | None, doc: list[str] | None, stream: list[str] | None, now: str | None,
        to: str, explain: bool, watch: bool,
    ) -> Any:  # fmt: skip
        import xstreamcast
        from xstreamcast.cli.query import pairs

        streams = {name: self._value(given) for name, given in pairs(stream or [], "--stream").items()}
        docs = {name: self._value(given) for name, given in pairs(doc or [], "--doc").items()}
        if explain:
            return self._with_variables(lambda known: xstreamcast.explain(text, variables=known))
        if watch:
            followed = self._with_variables(
                lambda known: xstreamcast.continuous(text, streams=streams, docs=docs, variables=known, now=now)
            )
            if to:
                self._space[to] = followed
            else:
                followed._ipython_display_()
            for _ in followed.follow():
                pass
            return None
        given = [self._value(name) for name in files or ()]
        result = self._with_variables(
            lambda known: xstreamcast.query(
                text,
                context=given[0] if len(given) == 1 else given or None,
                docs=docs,
                streams=streams or None,
                variables=known,
                now=now,
            )
        )
        if to:
            self._space[to] = result
            return None
        return result

    @property
    def _space(self) -> dict[str, Any]:
        assert self.shell is not None
        space: dict[str, Any] = self.shell.user_ns
        return space

    def _value(self, name: str) -> Any:
        """A variable of the notebook, or a path."""
        return self._space.get(name, name)

    def _with_variables(self, make: Callable[[dict[str, Any]], Made]) -> Made:
        """The value of ``make``, once the variables that the query does not declare are known from the notebook."""
        known: dict[str, Any] = {}
        while True:
            try:
                return make(known)
            except XStreamError as fault:
                missing = re.match(r"the variable \$([A-Za-z_]\w*) is not declared", fault.message)
                if fault.code != "XPST0008" or missing is None or missing[1] not in self._space:
                    raise
                known[missing[1]] = self._space[missing[1]]

    def _show_error(self, fault: XStreamError) -> None:
        from IPython.display import display

        from xstreamcast.page import error_html, page

        display({"text/plain": str(fault), "text/html": page(error_html(fault))}, raw=True)
