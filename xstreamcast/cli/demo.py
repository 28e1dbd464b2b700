"""``xcast demo``: a live credit card stream, broadcast, and SIGMOD'04's alerts, which Spark keeps right.

    the bank  --HTTP-->  xcast serve  --xcast://-->  Spark's structured streaming  -->  alerts, each with its why

Each is a process of its own, and they start side by side. The bank (:mod:`~xstreamcast.cli.demo_bank`) publishes a
large part of its stream as fast as it can, out of order, and goes on slowly; Spark takes it in from the server's log.
In the middle the Python process that keeps the answer is killed with -9. At the end the answer that is shown is
compared with the query run from scratch on the server's log.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from xstreamcast.cli.demo_bank import PATIENCE, live_fragments
from xstreamcast.cli.demo_processes import Child, Server, engine_workers, publishing, serving
from xstreamcast.cli.demo_show import Show, counted, showing
from xstreamcast.cli.interrupts import held, kept
from xstreamcast.cli.options import Done, Option
from xstreamcast.cli.own_spark import own_spark
from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.spark.motion.continuous_query import Running
    from xstreamcast.spark.motion.sink_answers import Answers

ALERTS: Final = """\
for $a in stream("credit")//account
let $hour := $a/transaction?[now-PT1H,now][status = "charged"], $limit := $a/creditLimit?[now]
where sum($hour/amount) >= max(($limit * 0.9, 5000))
return <alert account="{$a/@id}" customer="{$a/customer}" limit="{$limit}">{
  for $t in $hour return <charge at="{vtFrom($t)}" amount="{$t/amount}">{string($t/vendor)}</charge>
}</alert>"""

BULK: Final = 24_000
"""Fragments that are taken in as fast as possible."""
BATCHES: Final = 6
"""… in so many micro-batches."""
MASTER: Final = "local[2,4]"
"""Two tasks at a time, each of which is tried four times: a process that is killed is no failure of the query."""
_STRIKE: Final = 0.4
"""When so much of the live part has been taken in, the process that keeps the answer is killed."""
_AT_ONCE: Final = 5_000
"""Records of the server's log in one request."""
_LOOK: Final = 0.1
"""Seconds between two looks at how it goes."""


def demo_command(
    factor: Annotated[float, Option(help="How much: 1 is 2,000 accounts.")] = 1.0,
    seed: Annotated[int, Option(help="Which accounts, and what happens to them.")] = 1,
    bulk: Annotated[int, Option(min=0, help="Fragments that are taken in as fast as possible.")] = BULK,
    seconds: Annotated[float, Option(help="How long the live part is that follows, 20 fragments a second.")] = 20.0,
    console: Annotated[bool, Option("--console", help="Show stream and query in the browser too.")] = False,
    keep: Annotated[bool, Option("--keep", help="Go on until Ctrl-C.")] = False,
    plain: Annotated[bool, Option("--plain", help="Lines instead of a live view.")] = False,
) -> None:
    """Credit cards live: a bank, a broadcast server, Spark; alerts that come and are withdrawn, and why.

    A bank publishes fragments out of order to a server, and Spark reads them from there: first as fast as it can, then
    slowly. An alert stands as long as the charges of one hour are too much for a card. In the middle the process that
    keeps the answer is killed; at the end the answer is compared with that of the query from scratch. Everything stays
    on this machine, in a temporary folder, and goes away afterwards. Takes less than a minute. With --console a
    terminal keeps the page until Ctrl-C.
    """
    if not (0 < factor <= 10 and 0 < seconds <= 3600):
        raise error("XSC0051", f"factor {factor:g}, {seconds:g} seconds", hint="a factor up to 10, up to 3600 seconds")
    terminal = sys.stdout.isatty()
    if not demo(factor, seed, bulk, None if keep else seconds, console=console, live=terminal and not plain):
        raise Done(1)


def demo(factor: float, seed: int, bulk: int, seconds: float | None, *, console: bool, live: bool) -> bool:
    """Play it; whether the answer at the end is that of the query run from scratch on the server's log."""
    with kept(_folder, _remove) as folder, showing(bulk, live=live) as show:
        show.introduce(ALERTS)
        with serving(folder / "log", console=console) as server:
            show.say(f"the server is on the air: {server.address} (try xcast listen, in another terminal)")
            with publishing(server, factor, seed, bulk, seconds, show.published) as bank:
                show.say(f"the bank publishes {bulk:,} fragments, out of order; meanwhile Spark starts ({MASTER})")
                with _spark(folder) as spark:
                    show.say(f"Spark {spark.version} is up, and the query stands")
                    running = follow(spark, folder, server, bank, show, seconds, console=console)
                    equal = verdict(running.answers, server.address, show)
            if console and live:
                show.say("the console stays until Ctrl-C")
                _until_ctrl_c(server.child)
    return equal


def follow(
    spark: SparkSession,
    folder: Path,
    server: Server,
    bank: Child,
    show: Show,
    seconds: float | None,
    *,
    console: bool = False,
) -> Running:
    """Have Spark keep the answer right while the stream comes, to its end; without a length of it, to Ctrl-C."""
    from xstreamcast.spark import continuous

    _registered(server, bank)
    some = {"maxFragmentsPerTrigger": str(1 + -(-show.bulk // BATCHES))}
    alerts = continuous(spark, ALERTS, {"credit": server.address}, options=some)
    show.tell = bank.tell  # it waits for Spark, so that alerts can be seen while they stand
    running = alerts.start(sinks=[show], checkpoint=folder / "state")
    try:
        if console:
            show.say(f"the same in the browser: {browse(server)}")
        children, middle = (server.child, bank), show.bulk + round(_STRIKE * live_fragments(seconds))
        _wait(running, show, children, until=lambda: show.n >= middle)
        strike(running, show, children)
        _wait(running, show, children)
    except KeyboardInterrupt:
        if seconds is not None:
            raise
    finally:
        with held():
            running.stop()
    return running


def strike(running: Running, show: Show, children: tuple[Child, ...]) -> None:
    """kill -9 of the Python process that keeps the answer, in the middle of a micro-batch; another takes its place."""
    _wait(running, show, children, until=lambda: bool(running.query.status["isDataAvailable"]))
    if running.answers.ended:
        return
    killed, n, began = engine_workers(), show.n, time.monotonic()
    for worker in killed:
        os.kill(worker, signal.SIGKILL)
    gone = ", ".join(map(str, killed))
    show.say(f"! kill -9 {gone}: the Python process that keeps the answer, in the middle of a micro-batch", "bold red")
    _wait(running, show, children, until=lambda: show.n > n)
    others = ", ".join(str(worker) for worker in engine_workers() if worker not in killed)
    after = f"{time.monotonic() - began:.1f} s later"
    show.say(f"  {after} process {others} goes on from the state: {n:,} fragments, nothing is lost", "bold red")


def verdict(answers: Answers, address: str, show: Show) -> bool:
    """Compare the answer with that of the query run from scratch over what Spark has read, and say how it went."""
    show.say(f"live: {counted(show.came)} came, {show.gone:,} were withdrawn. Does the law hold, T(q'(γ)) = q(T(γ))?")
    shown = answers.queries[0].text()
    expected, size = from_scratch(address, answers.n)
    equal = shown == expected
    show.say(f"  shown: {counted(shown.count('<alert '))}, {len(shown.encode()):,} bytes")
    show.say(
        f"  the query from scratch on the {answers.n:,} fragments in the server's log, {size / 1e6:.1f} MB: "
        f"{counted(expected.count('<alert '))}, {len(expected.encode()):,} bytes"
    )
    said = "they are the same, byte for byte" if equal else "they are NOT the same"
    show.say(f"  {said}", "bold green" if equal else "bold red")
    return equal


def from_scratch(address: str, count: int) -> tuple[str, int]:
    """The query's answer on the document that the first changes of a server's log describe; and bytes of the log."""
    import xstreamcast
    from xstreamcast.model.fragment import FragmentWriter
    from xstreamcast.serve.client import parse_address, read

    log = BytesIO()
    writer = FragmentWriter(log)
    stretch = read(parse_address(address), limit=_AT_ONCE)
    while stretch.entries and count > 0:
        for _, item in stretch.entries:
            if isinstance(item, xstreamcast.Structure):
                writer.write_structure(item)
            elif count > 0:
                writer.write(item)
                count -= 1
        stretch = read(parse_address(address), stretch.next, _AT_ONCE, log=stretch.log)
    writer.close()
    return xstreamcast.query(ALERTS, streams={"credit": log.getvalue()}).xml(), log.tell()


def browse(server: Server) -> str:
    """Have the console of the server keep the query too; its address, which is opened where there is a display."""
    import json
    import webbrowser
    from urllib.request import Request

    from xstreamcast.serve.client import ask, parse_address

    address = parse_address(server.address)
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    url = f"{address.site}/console/api/queries"
    ask(Request(url, json.dumps({"query": ALERTS}).encode(), headers, method="POST"), address)
    page = f"{address.site}/console#token={server.token}"
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(page)
    return page


def _wait(running: Running, show: Show, children: tuple[Child, ...], until: Callable[[], bool] = lambda: False) -> None:
    """Until something is so, or the stream has ended; raises when the query or a process failed, or nothing comes."""
    while not (until() or running.until_ended(_LOOK)):
        for child in children:
            child.check()
        if time.monotonic() - show.since > PATIENCE:
            raise error("XSC0066", f"no micro-batch for {PATIENCE:g} seconds", hint="is the machine very busy?")


def _registered(server: Server, bank: Child) -> None:
    """Wait until the stream is there: Spark asks for it when the query starts."""
    from xstreamcast.serve.client import parse_address, read

    until = time.monotonic() + PATIENCE
    while True:
        try:
            read(parse_address(server.address), limit=1)
            return
        except XStreamError:
            server.child.check()
            bank.check()
            if time.monotonic() > until:
                raise
        time.sleep(_LOOK)


def _until_ctrl_c(server: Child) -> None:
    with suppress(KeyboardInterrupt):
        while True:
            server.check()
            time.sleep(_LOOK)


@contextmanager
def _spark(folder: Path) -> Iterator[SparkSession]:
    from xstreamcast.spark.session import SHORT_LIVED

    with own_spark("xstreamcast demo", MASTER, folder, **SHORT_LIVED) as spark:
        yield spark


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="xstreamcast-demo-"))


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
