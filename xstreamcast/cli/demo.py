"""``xcast demo``: SIGMOD'04's credit cards on Spark, first a ledger as fast as possible, then live, with alerts.

    a ledger, in a file  -->  Spark's structured streaming  -->  who has spent most
    the bank  --HTTP-->  xcast serve  --xcast://-->  Spark's structured streaming  -->  alerts, each with its why

Each is a process of its own, and they start side by side. The bank (:mod:`~xstreamcast.cli.demo_bank`) publishes its
accounts out of order and then, slowly, what happens to them. In the middle the Python process that keeps the alerts is
killed with -9. At the end the answers that are shown are compared with those of the queries run from scratch.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from xstreamcast.cli.demo_bank import accounts, live_fragments
from xstreamcast.cli.demo_processes import Child, Server, calling, engine_workers, publishing, serving
from xstreamcast.cli.demo_show import Show, counted, showing
from xstreamcast.cli.interrupts import held, kept
from xstreamcast.cli.options import Done, Option
from xstreamcast.cli.own_spark import starting_spark
from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.spark.motion.continuous_query import Running

SPENDERS: Final = """\
for $a in stream("ledger")//account
let $spent := sum($a/transaction[status = "charged"]/amount)
where $spent >= 100000
return <spender account="{$a/@id}" spent="{round($spent, 2)}">{string($a/customer)}</spender>"""

LOOK: Final = "count(//transaction)"

ALERTS: Final = """\
for $a in stream("credit")//account
let $hour := $a/transaction?[now-PT1H,now][status = "charged"], $limit := $a/creditLimit?[now]
where sum($hour/amount) >= max(($limit * 0.9, 5000))
return <alert account="{$a/@id}" customer="{$a/customer}" limit="{$limit}">{
  for $t in $hour return <charge at="{vtFrom($t)}" amount="{$t/amount}">{string($t/vendor)}</charge>
}</alert>"""

BULK: Final = 120_000
"""Fragments of the ledger."""
BATCHES: Final = 4
"""… which are taken in by so many micro-batches."""
MASTER: Final = "local[2,4]"
"""Two tasks at a time, each of which is tried four times: a process that is killed is no failure of the query."""
_STRIKE: Final = 0.4
"""When so much of the live part has been taken in, the process that keeps the alerts is killed."""
_AT_ONCE: Final = 5_000
"""Records of the server's log in one request."""
_PATIENCE: Final = 120.0
"""Seconds without a micro-batch after which something is wrong."""
_LOOK: Final = 0.1
"""Seconds between two looks at how it goes."""


def demo_command(
    factor: Annotated[float, Option(help="How much: 1 is 2,000 accounts.")] = 0.6,
    seed: Annotated[int, Option(help="Which accounts, and what happens to them.")] = 1,
    bulk: Annotated[int, Option(min=1, help="Fragments of the ledger, which is read as fast as possible.")] = BULK,
    seconds: Annotated[float, Option(help="How long the live part is that follows, 20 fragments a second.")] = 16.0,
    console: Annotated[bool, Option("--console", help="Show the live part in the browser too.")] = False,
    keep: Annotated[bool, Option("--keep", help="Go on until Ctrl-C.")] = False,
    plain: Annotated[bool, Option("--plain", help="Lines instead of a live view.")] = False,
) -> None:
    """Credit cards on Spark: a ledger as fast as possible, then live; alerts come and are withdrawn, and why.

    First Spark reads a large file of fragments, and says how fast. Then a bank publishes fragments out of order to a
    server, and Spark reads them from there: an alert stands as long as the charges of one hour are too much for a card.
    In the middle the process that keeps the alerts is killed; at the end the answers are compared with those of the
    queries from scratch. Everything stays on this machine, in a temporary folder, and goes away afterwards. Takes less
    than a minute. With --console a terminal keeps the page until Ctrl-C.
    """
    if not (0 < factor <= 10 and 0 < seconds <= 3600):
        raise error("XSC0051", f"factor {factor:g}, {seconds:g} seconds", hint="a factor up to 10, up to 3600 seconds")
    terminal = sys.stdout.isatty()
    if not demo(factor, seed, bulk, None if keep else seconds, console=console, live=terminal and not plain):
        raise Done(1)


def demo(factor: float, seed: int, bulk: int, seconds: float | None, *, console: bool, live: bool) -> bool:
    """Play it; whether the answers at the end are those of the queries run from scratch."""
    from xstreamcast.spark.session import SHORT_LIVED

    with kept(_folder, _remove) as folder, showing(accounts(factor, seed), live=live) as show, ExitStack() as stack:
        show.say(f"Spark starts ({MASTER}); meanwhile the bank writes its ledger, {bulk:,} fragments, and opens")
        starting = stack.enter_context(starting_spark("xstreamcast demo", MASTER, folder, **SHORT_LIVED))
        ledger = stack.enter_context(calling("the ledger", *ledger_words(factor, seed, bulk, folder / "ledger.xml")))
        server = stack.enter_context(serving(folder / "log", console=console))
        show.say(f"a server is on the air: {server.address} (try xcast listen, in another terminal)")
        bank = stack.enter_context(publishing(server, factor, seed, show.opening, seconds, show.published))
        with starting.session() as spark:
            show.say(f"Spark {spark.version} is up")
            ledger.done()
            looking = look_at_rest(spark, folder / "ledger.xml", show)
            spenders = read_ledger(spark, folder / "ledger.xml", bulk, show)
            looking.join()
            words = ["query", SPENDERS, "--stream", f"ledger={folder / 'ledger.xml'}", "-o", str(folder / "expected")]
            law = stack.enter_context(calling("the query from scratch", *words))  # beside the live part
            alerts = follow(spark, folder, server, bank, show, seconds, console=console)
            show.say(f"live: {counted(show.came, 'alert')} came, {show.gone:,} withdrawn")
            show.say("the law: are the answers those of the queries run from scratch?")
            law.done()
            expected = (folder / "expected").read_text(encoding="utf-8").removesuffix("\n")  # the end of the file
            where = f"the {spenders.answers.n:,} fragments of the ledger"
            equal = show.compared("spender", spenders.answer(), expected, where)
            where = f"the {alerts.answers.n:,} fragments in the server's log"
            equal &= show.compared("alert", alerts.answer(), from_scratch(server.address, alerts.answers.n), where)
        if console and live:
            show.say("the console stays until Ctrl-C")
            _until_ctrl_c(server.child)
    return equal


def ledger_words(factor: float, seed: int, bulk: int, path: Path) -> list[str]:
    """The command that writes a ledger of so many fragments, or a few more: ``xcast generate``."""
    updates = max(0, bulk - accounts(factor, seed))
    return ["generate", "credit", f"--factor={factor}", f"--seed={seed}", f"--updates={updates}", "-o", str(path)]


def look_at_rest(spark: SparkSession, ledger: Path, show: Show) -> threading.Thread:
    """Ask Spark for a number of the ledger as a plain document, beside the start of the query that follows it.

    That query is planned step by step, on one core. Meanwhile the processes that are to read for it read for this one.
    """
    from xstreamcast.spark import query

    def look() -> None:
        with suppress(Exception):  # the demo is stopped, or the next query fails for the same reason and says so
            (found,) = query(spark, LOOK, context=ledger).collect()
            size, count = ledger.stat().st_size / 1e6, int(found["value"])
            show.say(f"the ledger at rest, {size:.0f} MB: {LOOK} is {count:,}, says Spark while it starts the query")

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    return looking


def read_ledger(spark: SparkSession, ledger: Path, bulk: int, show: Show) -> Running:
    """Have Spark answer a query over all that is in a file, batch by batch, as fast as it can."""
    from xstreamcast.spark import continuous

    show.ask("Act 1, as fast as it can. Who has spent 100,000 or more?", SPENDERS)
    some = {"maxFragmentsPerTrigger": str(1 + -(-bulk // BATCHES))}
    spenders = continuous(spark, SPENDERS, {"ledger": str(ledger)}, options=some)
    running = spenders.start(display=show.read, available_now=True)
    try:
        while not running.wait(_LOOK):
            pass
    finally:
        with held():
            running.stop()
    show.say(f"that is {show.bulk_rate:,.0f} fragments a second", "bold")
    return running


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
    """Have Spark keep an answer right while a stream comes, to its end; without a length of it, to Ctrl-C."""
    from xstreamcast.spark import continuous

    show.ask("Act 2, live. Which cards were charged too much within one hour?", ALERTS)
    _registered(server, bank)
    alerts = continuous(spark, ALERTS, {"credit": server.address})
    show.tell = bank.tell  # it waits for Spark, so that alerts can be seen while they stand
    running = alerts.start(sinks=[show], checkpoint=folder / "state")
    try:
        if console:
            show.say(f"the same in the browser: {browse(server)}")
        children, middle = (server.child, bank), show.opening + round(_STRIKE * live_fragments(seconds))
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
    """kill -9 of the Python process that keeps the alerts, in the middle of a micro-batch; another takes its place."""
    _wait(running, show, children, until=lambda: bool(running.query.status["isDataAvailable"]))
    if running.answers.ended:
        return
    killed, n, began = engine_workers(running.pool.number), show.n, time.monotonic()
    for worker in killed:
        os.kill(worker, signal.SIGKILL)
    gone = ", ".join(map(str, killed))
    show.say(f"! kill -9 {gone}: the Python process that keeps the alerts, in the middle of a micro-batch", "bold red")
    _wait(running, show, children, until=lambda: show.n > n)
    others = ", ".join(str(worker) for worker in engine_workers(running.pool.number) if worker not in killed)
    after = f"{time.monotonic() - began:.1f} s later"
    show.say(f"  {after} process {others} goes on from the state: {n:,} fragments, nothing is lost", "bold red")


def from_scratch(address: str, count: int) -> str:
    """The alerts on the document that the first changes of a server's log describe."""
    import xstreamcast
    from xstreamcast.serve.client import parse_address, read
    from xstreamcast.wire.fragment import FragmentWriter

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
    return xstreamcast.query(ALERTS, streams={"credit": log.getvalue()}).xml()


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
        if time.monotonic() - show.since > _PATIENCE:
            raise error("XSC0066", f"no micro-batch for {_PATIENCE:g} seconds", hint="is the machine very busy?")


def _registered(server: Server, bank: Child) -> None:
    """Wait until the stream is there: Spark asks for it when the query starts."""
    from xstreamcast.serve.client import parse_address, read

    until = time.monotonic() + _PATIENCE
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


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="xstreamcast-demo-"))


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
