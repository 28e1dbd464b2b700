"""An auction document, cut into fragments at several levels, comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from streams import canonical_by_lxml

from xstreamcast.cast import fragment, infer_structure, materialise
from xstreamcast.cast.order import Order
from xstreamcast.generate import find

CHOSEN = "item,mail,category,person,open_auction,bidder,closed_auction,listitem"


@pytest.fixture(scope="module")
def auction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = find("xmark").document
    assert made is not None
    path = tmp_path_factory.mktemp("xmark") / "auction.xml"
    path.write_bytes(b"".join(made(0.01, 7)))
    return path


@pytest.mark.parametrize("order", ["document", "shuffle"])
def test_an_auction_document_comes_back_from_its_fragments(auction: Path, tmp_path: Path, order: Order) -> None:
    structure = infer_structure([auction], CHOSEN)
    stream = tmp_path / "stream.xml"
    with open(stream, "wb") as out:
        count = fragment(auction, out, structure, order=order, seed=3, repeat=0.1)
    found: list[object] = []
    rebuilt = materialise(stream, report=found.append)
    assert count > 1500
    assert found == []
    assert canonical_by_lxml(rebuilt) == canonical_by_lxml(auction.read_bytes())
