"""DBPL'03 §1: clients tune in to two servers at any time, over a medium that loses and shuffles, and their answers
become those of the query on the full documents."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from air import SMALL, Client, LossyProxy, address, generated, on_air, take, until

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure
from xstreamcast.serve.station import Station

QUERY = (Path(__file__).parents[1] / "fixtures" / "papers" / "dbpl03-palmpilots.xq").read_text(encoding="utf-8")
CYCLES = 20
"""Every client has everything within so many cycles after the last change. Of the messages 20 % are lost, and the
others are held back behind up to 8: one does not come within 20 cycles with a probability below 10⁻⁹."""
LIMITS = replace(SMALL, message=600)


def document(structure: Structure, changes: list[Change]) -> bytes:
    """T of all changes."""
    regions = Materialiser(structure)
    for change in changes:
        regions.apply(change)
    return regions.text().encode()


async def broadcast(folder: Path, seed: int) -> None:
    goods, sold = generated("commodities", 0.04, seed, 60)
    money, rates = generated("currencies", 0.1, seed, 60)
    documents = {"commodities": document(goods, sold), "currencies": document(money, rates)}
    expected = xstreamcast.query(QUERY, streams=documents).serialise()
    async with AsyncExitStack() as stack:
        shop, bank = [await stack.enter_async_context(on_air(folder / name, limits=LIMITS)) for name in "ab"]
        left = await stack.enter_async_context(LossyProxy(shop, seed).running())
        right = await stack.enter_async_context(LossyProxy(bank, seed + 1).running())
        stations: list[tuple[Station, str, list[Change]]] = [
            (shop, "commodities", sold), (bank, "currencies", rates),
        ]  # fmt: skip
        shop.register("commodities", goods)
        bank.register("currencies", money)
        clients: list[Client] = []
        steps = 4
        for step in range(steps):
            clients.append(
                Client(
                    QUERY,
                    commodities=address(shop, "commodities", "beginning" if step % 2 else "now", left.port),
                    currencies=address(bank, "currencies", "now" if step % 2 else "beginning", right.port),
                )
            )
            await until(lambda: sum(len(one.channels[name].live) for one, name, _ in stations) == 2 * len(clients))
            for station, name, changes in stations:
                share = len(changes) // steps
                some = changes[share * step : share * (step + 1) if step < steps - 1 else None]
                for at in range(0, len(some), 5):
                    take(station.channels[name], some[at : at + 5])
                    await asyncio.sleep(0.01)
        last = {name: station.carousels[name].turn.number for station, name, _ in stations}
        await until(lambda: all(one.over for one in clients))
        for client in clients:
            for name, reception in client.receptions.items():
                assert reception.cycles - last[name] <= CYCLES  # as they came: how fast they are sent is no matter
        for client in clients:
            assert {name: regions.text().encode() for name, regions in client.regions.items()} == documents
        assert [client.answer for client in clients] == [expected] * len(clients)
        assert min(left.dropped, right.dropped, left.shuffled, right.shuffled) > 10
        for client in clients:
            await client.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_two_lossy_streams_joined_by_late_clients_converge(tmp_path: Path, seed: int) -> None:
    asyncio.run(broadcast(tmp_path, seed))
