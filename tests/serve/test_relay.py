"""A server that relays a stream of another: its clients get the same document, also after either was stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path

from air import address, generated, on_air, take, until

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.serve.channel import Channel
from xstreamcast.wire.fragment import FragmentReader


def document(channel: Channel) -> str:
    regions = Materialiser()
    for entry, _ in channel.log.walk():
        for arrival in FragmentReader([entry.wire]):
            regions.apply(arrival.item)
    return regions.text()


def test_a_relayed_stream_has_the_document_of_its_origin_through_restarts(tmp_path: Path, own_port: int) -> None:
    structure, changes = generated("credit", 0.01, 1, 60)
    third = len(changes) // 3

    async def run() -> None:
        async with on_air(tmp_path / "origin", own_port) as origin:
            take(origin.register("credit"), [structure, *changes[:third]])
            source = str(address(origin, "credit"))
            async with on_air(tmp_path / "relay") as relay:
                relay.serve("credit", source)
                relayed = relay.channels
                await until(lambda: "credit" in relayed and relayed["credit"].log.head == third + 1)
            # Nobody relays now: what is said meanwhile comes later.
            take(origin.channels["credit"], changes[third : 2 * third])
            async with on_air(tmp_path / "relay") as relay:
                relay.serve("credit", source)
                await until(lambda: relay.channels["credit"].log.head == 2 * third + 1)
                assert relay.channels["credit"].counts["without_effect"] == 1, "the structure comes first, always"
                await origin.stop()
                async with on_air(tmp_path / "origin", own_port) as again:
                    take(again.channels["credit"], changes[2 * third :])
                    await until(lambda: relay.channels["credit"].current.ended)
                    async with relay.channels["credit"].quiet:  # the end is known before what came with it is written
                        assert document(relay.channels["credit"]) == document(again.channels["credit"])

    asyncio.run(run())
