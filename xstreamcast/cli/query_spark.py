"""``xcast query --engine spark``: the same query, its documents read by the tasks of Spark."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from xstreamcast.model.serialise import Output

_RAISED: Final = re.compile(
    r"^xstreamcast\.errors\.\w+: (?P<code>[A-Z]{4}\d{4}|XSC\d{4}) (?P<rest>.*?)$(?P<more>(?:\n +.*$)*)", re.M
)


def query_on_spark(
    text: str,
    output: Output,
    *,
    master: str,
    lines: bool,
    context: str | None,
    docs: Mapping[str, str],
    streams: Mapping[str, str],
    variables: Mapping[str, Any],
    now: str | None,
    base_uri: str | None,
    source: str,
) -> None:
    """Run a query once and write its items; the session ends with it."""
    from xstreamcast.spark.at_rest import prepare
    from xstreamcast.spark.session import session, shut_down

    spark = session("xcast query", master, log="OFF")  # what went wrong is told here
    try:
        with _own_errors():
            spread = prepare(
                spark, text, context=context, docs=docs, streams=streams, variables=variables, now=now,
                base_uri=base_uri, source=source,
            )  # fmt: skip
            output.extend(spread.items())
            if not lines:
                output.write("\n")
            sys.stdout.flush()
    finally:
        shut_down(spark)


@contextmanager
def _own_errors() -> Iterator[None]:
    """An error of the query that a task met, as it was raised there; Spark wraps it in what it knows of the task."""
    try:
        yield
    except XStreamError:
        raise
    except Exception as failure:
        found = list(_RAISED.finditer(str(failure)))
        if not found:
            raise
        match = found[-1]
        more = [line for line in match["more"].splitlines() if line.strip()]
        hint = next((line.strip().removeprefix("hint: ") for line in more if line.strip().startswith("hint: ")), "")
        raise error(match["code"], match["rest"], hint=hint) from None
