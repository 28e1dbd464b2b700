"""The console's service on real sockets, its queries in real processes."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from air import SMALL, generated, take, until

from xstreamcast import continuous, materialise, query
from xstreamcast.console.desk import Bounds, Desk
from xstreamcast.console.following import Following
from xstreamcast.model.change import Change, Eos, Fill
from xstreamcast.model.structure import write_structure
from xstreamcast.serve.station import Station
from xstreamcast.wire.fragment import encode_change

TOKEN = {"Authorization": "Bearer secret"}
SPENDERS = """
for $a in stream("credit")//account
let $t := sum($a/transaction?[now-PT48H,now][status = "charged"]/amount)
where $t > 100 order by $t descending
return <spender total="{$t}">{string($a/customer)}</spender>"""
Use = Callable[[Desk, ClientSession], Awaitable[None]]


@asynccontextmanager
async def console(folder: Path, token: str = "secret", **bounds: Any) -> AsyncIterator[tuple[Desk, ClientSession]]:
    station = Station(folder, limits=SMALL, cycle=0.1, sync="never", token=token)
    desk = station.desk = Desk(station, Bounds(**bounds))
    await station.start()
    try:
        await desk.start()
        async with ClientSession(f"http://127.0.0.1:{station.port}") as session:
            yield desk, session
        assert "failures" not in station.counts
    finally:
        await station.stop()


def use(folder: Path, work: Use, **options: Any) -> None:
    async def run() -> None:
        async with console(folder, **options) as (desk, session):
            await work(desk, session)

    asyncio.run(run())


def credit(desk: Desk, updates: int = 60) -> list[Change]:
    """A stream of accounts on the air; its changes."""
    structure, changes = generated("credit", 0.01, 1, updates)
    changes = [change for change in changes if not isinstance(change, Eos)]
    take(desk.station.register("credit"), [structure, *changes])
    return changes


async def get(session: ClientSession, path: str, status: int = 200, **headers: str) -> Any:
    async with session.get(f"/console/api/{path}", headers=headers) as answer:
        assert answer.status == status, await answer.text()
        return await answer.json()


async def post(session: ClientSession, path: str, body: Any = None, status: int = 200, **headers: str) -> Any:
    async with session.post(f"/console/api/{path}", json={} if body is None else body, headers=headers) as answer:
        assert answer.status == status, await answer.text()
        return await answer.json()


async def caught_up(one: Following, taken: int) -> None:
    await until(lambda: one.taken >= taken or one.state == "failed")
    assert one.fault is None


def test_the_answer_at_every_moment_is_that_of_the_query_on_what_had_come(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        changes = credit(desk)
        made = await post(session, "queries", {"query": SPENDERS}, 201, **TOKEN)
        await caught_up(desk.query(made["id"]), len(changes) + 1)
        line = await get(session, "queries/q1/line")
        assert (line["first"], line["last"]) == (0, len(changes) + 1)
        assert line["moments"]
        by_hand = continuous(SPENDERS)
        by_hand.feed(generated("credit", 0.01, 1, 0)[0], "credit")
        seen = 0
        for moment, change in enumerate(changes, 2):  # the structure is the first record
            by_hand.feed(change, "credit")
            if moment % 7 == 0 or moment == len(changes) + 1:
                then = await get(session, f"queries/q1/at?moment={moment}")
                assert [text for _, text in then["items"]] == [text for _, text in by_hand.items()]
                assert then["streams"] == {"credit": moment}
                seen += len(then["items"])
        assert seen
        now = await get(session, "queries/q1")
        assert [text for _, text in now["items"]] == [text for _, text in by_hand.items()]

    use(tmp_path, work)


def test_what_changed_between_two_moments(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        changes = credit(desk)
        await post(session, "queries", {"query": SPENDERS}, 201, **TOKEN)
        await caught_up(desk.query("q1"), len(changes) + 1)
        one, other = [dict((await get(session, f"queries/q1/at?moment={at}"))["items"]) for at in (40, len(changes))]
        found = await get(session, f"queries/q1/between?from={len(changes)}&to=40")
        assert dict(found["appeared"]) == {label: other[label] for label in other if label not in one}
        assert dict(found["vanished"]) == {label: one[label] for label in one if label not in other}
        assert [label for label, _, _ in found["changed"]] == [
            label for label in other if label in one and one[label] != other[label]
        ]
        assert found["from"] == {"credit": 40}

    use(tmp_path, work)


def test_t_at_a_number_is_t_of_the_records_up_to_it_forwards_and_back(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        changes = credit(desk)
        structure = write_structure(generated("credit", 0.01, 1, 0)[0], declare=False).encode()
        for n in (30, 60, 20, 61):
            wire = b"".join([structure, *map(encode_change, changes[: n - 1])])
            whole = materialise(io.BytesIO(wire), report=lambda _: None)
            found = await get(session, f"streams/credit/at?n={n}")
            assert (found["n"], found["size"], found["cut"]) == (n, len(whole), False)
            indented = query('serialize(., map { "indent": true() })', context=whole).text()
            assert found["text"] == indented
        found = await get(session, "streams/credit/between?from=30&to=60")
        assert [change["n"] for change in found["changes"]] == list(range(31, 61))
        assert any(line.startswith("+") for line in found["lines"])
        assert {change["path"] for change in found["changes"]} & {"/creditAccounts/account/transaction"}

    use(tmp_path, work)


def test_events_tell_differences_that_add_up_to_the_answer(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        structure, changes = generated("credit", 0.01, 1, 40)
        channel = desk.station.register("credit")
        take(channel, [structure])
        await post(session, "queries", {"query": SPENDERS}, 201, **TOKEN)
        items: dict[str, str] = {}
        async with session.get("/console/api/events?query=q1") as events:
            assert events.content_type == "text/event-stream"
            for change in changes[:-1]:
                take(channel, [change])
            taken, steps = 0, []
            while taken < len(changes):
                event = (await events.content.readline()).decode().removeprefix("event: ").strip()
                told = json.loads((await events.content.readline()).decode().removeprefix("data: "))
                await events.content.readline()
                if event == "answer":
                    taken = told["taken"]
                    steps.append(told["step"])
                    for label, text in told["changes"]:
                        items.pop(label, None) if text is None else items.update({label: text})
        assert steps == list(range(steps[0], steps[0] + len(steps)))
        now = await get(session, "queries/q1")
        assert dict(now["items"]) == items

    use(tmp_path, work)


def test_a_query_that_is_wrong_is_told_with_its_place_and_not_kept(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        credit(desk, 0)
        found = await post(session, "check", {"query": 'for $a in stream("credit")//account\nretrun $a'})
        assert (found["error"]["code"], found["error"]["line"], found["error"]["column"]) == ("XPST0003", 2, 1)
        assert [0, 3, "keyword"] in found["tokens"]
        refused = await post(session, "queries", {"query": "1 +"}, 400, **TOKEN)
        assert (refused["code"], refused["line"]) == ("XPST0003", 1)
        refused = await post(session, "queries", {"query": 'count(stream("none")//a)'}, 400, **TOKEN)
        assert (refused["code"], refused["hint"]) == ("FODC0002", "there are: credit")
        assert (await get(session, "status"))["queries"] == []

    use(tmp_path, work)


def test_a_right_query_has_a_verdict_a_picture_and_warnings(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        credit(desk, 0)
        found = await post(session, "check", {"query": 'count(stream("credit")//acount)'})
        assert (found["error"], found["streams"]) == (None, ["credit"])
        assert found["verdict"] == "one pass; state: a count"
        assert found["svg"].startswith("<svg ")
        assert "<style" not in found["svg"], "the page has its own colours, and lets no other in"
        (warning,) = found["warnings"]
        assert "nothing matches acount" in warning
        text = 'for $a in stream("credit")//account where $a/cr'
        found = await post(session, "complete", {"query": text, "at": len(text)})
        assert found == {
            "from": len(text) - 2,
            "choices": [["creditLimit", "element", "/creditAccounts/account/creditLimit"]],
        }

    use(tmp_path, work)


def test_stopped_started_removed_and_there_again_after_a_restart(tmp_path: Path) -> None:
    async def first(desk: Desk, session: ClientSession) -> None:
        changes = credit(desk, 10)
        for text in ('count(stream("credit")//account)', SPENDERS, 'stream("credit")//customer'):
            await post(session, "queries", {"query": text, "emit": "certain"}, 201, **TOKEN)
        await caught_up(desk.query("q1"), len(changes))
        assert (await post(session, "queries/q2/stop", None, 200, **TOKEN))["state"] == "stopped"
        await get(session, "queries/q2/at?moment=1", 409)
        assert (await get(session, "queries/q2"))["items"] == []
        async with session.delete("/console/api/queries/q3", headers=TOKEN) as answer:
            assert answer.status == 200
        await get(session, "queries/q3", 404)

    async def second(desk: Desk, session: ClientSession) -> None:
        states = [(one["id"], one["state"], one["emit"]) for one in (await get(session, "status"))["queries"]]
        assert states == [("q1", "running", "certain"), ("q2", "stopped", "certain")]
        assert (await post(session, "queries/q2/start", None, 200, **TOKEN))["state"] == "running"
        made = await post(session, "queries", {"query": "1"}, 201, **TOKEN)
        assert made["id"] == "q3"

    use(tmp_path, first)
    use(tmp_path, second)


def test_what_a_query_keeps_and_the_counts_on_the_arrows_of_its_plan(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        changes = credit(desk)
        await post(session, "queries", {"query": SPENDERS}, 201, **TOKEN)
        one = desk.query("q1")
        await caught_up(one, len(changes) + 1)
        await until(lambda: one.looked.get("streams", {}).get("credit", {}).get("changes") == len(changes))
        accounts = query("count(//account)", context=materialise(
            io.BytesIO(b"".join(map(encode_change, changes))), structure=generated("credit", 0.01, 1, 0)[0]
        )).text()  # fmt: skip
        shown = one.answered["shown"]
        assert one.looked["counts"] == {
            's1': shown, 's2': shown, 's3': shown, 's4': int(accounts), 'stream("credit")>s4': len(changes),
        }  # fmt: skip
        (told,) = (await get(session, "status"))["queries"]
        assert told["memory"] > 10 << 20
        assert told["kept"] > 0
        assert (told["behind"], told["taken"]) == (0, len(changes) + 1)

    use(tmp_path, work)


def test_streams_with_their_structure_as_a_tree(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        changes = credit(desk, 5)
        found = await get(session, "streams/credit")
        assert (found["head"], found["tree"]["name"]) == (len(changes) + 1, "creditAccounts")
        (account,) = found["tree"]["children"]
        assert (account["name"], account["type"]) == ("account", "temporal")
        assert {"rate", "recent", "waiting", "dropped", "missed", "listeners"} <= found.keys()
        await get(session, "streams/none", 404)

    use(tmp_path, work)


def test_queries_elsewhere_report_how_they_are(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        told = {"engine": "spark", "batches": 3, "rows": 17}
        async with session.put("/console/api/reports/alerts", json=told) as answer:
            assert answer.status == 401
        async with session.put("/console/api/reports/alerts", json=told, headers=TOKEN) as answer:
            assert answer.status == 200
        assert (await get(session, "status"))["reports"] == [{"name": "alerts", **told}]

    use(tmp_path, work)


# --------------------------------------------------------------------------------------------------- who may what


@pytest.mark.parametrize("token", ["", "secret"])
def test_without_the_token_everything_can_be_looked_at_and_nothing_changed(tmp_path: Path, token: str) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        credit(desk, 0)
        await desk.add('count(stream("credit")//account)')
        for path in ("status", "queries/q1", "queries/q1/line", "streams/credit", "streams/credit/at?n=9"):
            await get(session, path)
        await post(session, "check", {"query": "1"})
        status = 401 if token else 403
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
            await post(session, "queries", {"query": "1"}, status, **headers)
            await post(session, "queries/q1/stop", None, status, **headers)
            await get(session, "token", status, **headers)
            async with session.delete("/console/api/queries/q1", headers=headers) as answer:
                assert answer.status == status
        assert (await get(session, "status"))["writable"] is bool(token)
        assert [one.state for one in desk.queries.values()] == ["running"]

    use(tmp_path, work, token=token)


def test_the_page_lets_nothing_in_but_what_comes_from_here(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        async with session.get("/console", headers={"Origin": "http://evil.example"}) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "Access-Control-Allow-Origin" not in answer.headers
            text = await answer.text()
        assert "http://" not in text
        assert "https://" not in text
        for name in ("..%2froutes.py", "none.js", "..", "%2e%2e%2f__init__.py"):
            async with session.get(f"/console/page/{name}") as answer:
                assert answer.status == 404
        async with session.get("/console/page/main.js") as answer:
            assert (answer.status, answer.content_type) == (200, "text/javascript")

    use(tmp_path, work)


def test_requests_are_bounded(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        take(desk.station.register("s"), [Fill(region=0, content=b"<r/>")])
        async with session.post("/console/api/check", data=b'{"query": "1"}') as answer:
            assert answer.status == 415, "another site could send it without asking"
        await post(session, "check", {"query": "x" * 2000}, 400)
        await post(session, "check", {"query": "x" * 5000}, 413)
        await post(session, "check", [], 400)
        await post(session, "complete", {"query": "1", "at": 2}, 400)
        await get(session, "streams/s/at?n=-1", 400)
        for _ in range(2):
            await post(session, "queries", {"query": 'count(stream("s")//r)'}, 201, **TOKEN)
        refused = await post(session, "queries", {"query": "1"}, 409, **TOKEN)
        assert (refused["code"], refused["message"]) == ("XSC0141", "there are 2 queries already")
        async with session.get("/console/api/events"), session.get("/console/api/events") as more:
            assert more.status == 503

    use(tmp_path, work, queries=2, text=1000, body=4000, pages=1)


def test_a_query_that_takes_too_long_is_over_and_the_server_goes_on(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        take(desk.station.register("s"), [Fill(region=0, content=b"<r/>")])
        text = 'count(for $i in 1 to 100000000000 where $i mod count(stream("s")//r) = 7 return $i)'
        await post(session, "queries", {"query": text}, 201, **TOKEN)
        one = desk.query("q1")
        await until(lambda: one.state == "failed")
        assert one.fault is not None
        assert one.fault.code == "XSC0140"
        await post(session, "queries", {"query": 'count(stream("s")//r)'}, 201, **TOKEN)
        await caught_up(desk.query("q2"), 1)

    use(tmp_path, work, patience=3.0)


def test_a_query_that_takes_too_much_memory_is_over_and_the_server_goes_on(tmp_path: Path) -> None:
    async def work(desk: Desk, session: ClientSession) -> None:
        take(desk.station.register("s"), [Fill(region=0, content=b"<r/>")])
        text = 'count(array { for $i in 1 to 100000000 return string-join(($i, stream("s")//r/name())) })'
        await post(session, "queries", {"query": text}, 201, **TOKEN)
        one = desk.query("q1")
        await until(lambda: one.state == "failed")
        assert one.fault is not None
        assert (one.fault.code, one.fault.message) == ("XSC0140", "the query needs more memory than it may have")
        await post(session, "queries", {"query": 'count(stream("s")//r)'}, 201, **TOKEN)
        await caught_up(desk.query("q2"), 1)

    use(tmp_path, work, memory=160 << 20, patience=300.0)


@pytest.mark.parametrize(
    "reads",
    ['doc("{file}")', 'unparsed-text("{file}")', 'unparsed-text-available("{file}")', 'doc("http://127.0.0.1:9/")'],
)
def test_a_query_reads_no_files_and_no_web(tmp_path: Path, reads: str) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<password>hunter2</password>")

    async def work(desk: Desk, session: ClientSession) -> None:
        take(desk.station.register("s"), [Fill(region=0, content=b"<r/>")])
        text = f'count(stream("s")//r), {reads.replace("{file}", secret.as_uri())}'
        await post(session, "queries", {"query": text}, 201, **TOKEN)
        await caught_up(desk.query("q1"), 1)
        items = (await get(session, "queries/q1"))["items"]
        assert "hunter2" not in json.dumps(items)
        assert items == [["!", items[0][1]]] or items[-1][1] == "false"

    use(tmp_path / "log", work)


def test_a_query_imports_no_modules_and_sees_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XCAST_TOKEN", "hunter2")
    module = tmp_path / "m.xq"
    module.write_text('module namespace m = "urn:m"; declare variable $m:x := "hunter2";')

    async def work(desk: Desk, session: ClientSession) -> None:
        text = f'import module namespace m = "urn:m" at "{module.as_uri()}"; $m:x'
        found = await post(session, "check", {"query": text})
        assert found["error"] is not None
        await post(session, "queries", {"query": text}, 400, **TOKEN)
        take(desk.station.register("s"), [Fill(region=0, content=b"<r/>")])
        text = 'count(stream("s")//r), environment-variable("XCAST_TOKEN"), available-environment-variables()'
        made = await post(session, "queries", {"query": text}, 201, **TOKEN)
        await caught_up(desk.query(made["id"]), 1)
        assert "hunter2" not in json.dumps(await get(session, f"queries/{made['id']}"))

    use(tmp_path / "log", work)
