"""DBPL'03's commodities: vendors and their items with prices, in fragments that are replaced, removed and sent
again.

Every vendor and every item is a fragment. Afterwards prices change (the item is replaced), items are
withdrawn (removed), and items come and go for good: then their vendor is sent again with a hole more or fewer
(SIGMOD'04 §1), the fillers before or after it. Some fragments are repeated. One item in forty is the
PalmPilot of the paper's query. The document is what the initial fragments describe.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from xstreamcast.generate.draw import Pick
from xstreamcast.generate.generator import Generator, hole, scaled
from xstreamcast.generate.words import surnames
from xstreamcast.model.change import Change, ContentChange, Eos, Fill, Remove, Repeat, Replace

VENDORS: Final = 200
STREAM: Final = "commodities"
STRUCTURE: Final = """<stream:structure>
  <tag type="snapshot" id="1" name="commodities">
    <tag type="filler" id="2" name="vendor" reuse="no">
      <tag type="snapshot" id="3" name="name"/>
      <tag type="snapshot" id="4" name="items">
        <tag type="filler" id="5" name="item" reuse="no">
          <tag type="snapshot" id="6" name="name"/>
          <tag type="snapshot" id="7" name="make"/>
          <tag type="snapshot" id="8" name="model"/>
          <tag type="snapshot" id="9" name="price"/>
        </tag>
      </tag>
    </tag>
  </tag>
</stream:structure>
"""

_KINDS: Final = ("PDA", "Calculator", "Camera", "Phone", "Radio", "Printer", "Monitor", "Keyboard", "Scanner", "Watch")
_MAKES: Final = ("HP", "Casio", "Nova", "Lumen", "Orion", "Delta", "Atlas", "Vela")
_CURRENCIES: Final = ("USD", "USD", "USD", "USD", "EUR", "GBP", "JPY", "CHF")
_PALM_EVERY: Final = 40
_MOST_ITEMS: Final = 40


class _Shops:
    """What is on sale. Vendors are the regions 1 … V; items follow, numbered as they first appear."""

    def __init__(self, factor: float, seed: int) -> None:
        self.vendors = scaled(VENDORS, factor)
        self.pick = Pick(seed, "commodities")
        self.cents = array("i")
        self.version = array("i")
        self.withdrawn = bytearray()
        self.vendor_version = array("i", [1] * self.vendors)
        self.first_item = array("q", [0] * self.vendors)
        self.item_count = array("i", [0] * self.vendors)
        self.resent: dict[int, list[int]] = {}

    def vendor_name(self, vendor: int) -> str:
        families = surnames()
        return "Wal-Mart" if vendor == 0 else f"{families[vendor * 53 % len(families)]} Stores"

    def stock_vendor(self, vendor: int) -> range:
        """Prices the vendor's first items."""
        first, count = len(self.cents), self.pick.between(1, _MOST_ITEMS)
        self.first_item[vendor], self.item_count[vendor] = first, count
        for _ in range(count):
            self.new_item()
        return range(first, first + count)

    def new_item(self) -> int:
        self.cents.append(500 + int(self.pick.exponential(30_000)))
        self.version.append(1)
        self.withdrawn.append(0)
        return len(self.cents) - 1

    def items_of(self, vendor: int) -> list[int]:
        first = self.first_item[vendor]
        return self.resent.get(vendor) or list(range(first, first + self.item_count[vendor]))

    def region(self, item: int) -> int:
        return 1 + self.vendors + item

    def item_text(self, item: int) -> str:
        if item % _PALM_EVERY == 0:
            kind, make, model = "PDA", "HP", "PalmPilot"
        else:
            kind, make = _KINDS[item * 7 % len(_KINDS)], _MAKES[item * 5 % len(_MAKES)]
            model = f"{make[0]}{kind[0]}-{item % 97 * 10 + 100}"
        currency = _CURRENCIES[item * 11 // 8 % len(_CURRENCIES)]
        cents = self.cents[item]
        return (
            f"<item><name>{kind}</name><make>{make}</make><model>{model}</model>"
            f'<price currency="{currency}">{cents // 100}.{cents % 100:02}</price></item>'
        )

    def item_change(self, kind: type[ContentChange], item: int) -> Change:
        content = self.item_text(item).encode("ascii")
        return kind(region=self.region(item), tsid=5, version=self.version[item], content=content)

    def vendor_change(self, kind: type[ContentChange], vendor: int) -> Change:
        holes = "".join(hole(self.region(item), 5) for item in self.items_of(vendor))
        content = f"<vendor><name>{self.vendor_name(vendor)}</name><items>{holes}</items></vendor>".encode("ascii")
        return kind(region=1 + vendor, tsid=2, version=self.vendor_version[vendor], content=content)


def document(factor: float, seed: int) -> Iterator[bytes]:
    """All vendors with their items."""
    shops = _Shops(factor, seed)
    yield b"<commodities>"
    for vendor in range(shops.vendors):
        items = "".join(shops.item_text(item) for item in shops.stock_vendor(vendor))
        yield f"<vendor><name>{shops.vendor_name(vendor)}</name><items>{items}</items></vendor>".encode("ascii")
    yield b"</commodities>"


def _updates(shops: _Shops) -> Iterator[Change]:
    """Endless. An item's version counts on over withdrawals, so that no late fragment revives an old price."""
    pick = shops.pick
    away: list[int] = []
    while True:
        vendor, what = pick.below(shops.vendors), pick.unit()
        items = shops.items_of(vendor)
        item = items[pick.below(len(items))]
        if what < 0.70 and not shops.withdrawn[item]:
            shops.cents[item] = max(100, int(shops.cents[item] * (0.9 + 0.2 * pick.unit())))
            shops.version[item] += 1
            yield shops.item_change(Replace, item)
        elif 0.70 <= what < 0.78 and not shops.withdrawn[item]:
            away.append(item)
            shops.withdrawn[item] = 1
            shops.version[item] += 1
            yield Remove(region=shops.region(item), tsid=5, version=shops.version[item])
        elif 0.78 <= what < 0.83 and away:
            back = away.pop(pick.below(len(away)))
            shops.withdrawn[back] = 0
            shops.version[back] += 1
            yield shops.item_change(Fill, back)
        elif 0.83 <= what < 0.89 and len(items) < _MOST_ITEMS:
            new = shops.new_item()
            shops.resent[vendor] = [*items, new]
            shops.vendor_version[vendor] += 1
            sent = [shops.item_change(Fill, new), shops.vendor_change(Replace, vendor)]
            yield from sent if pick.chance(0.5) else sent[::-1]
        elif 0.89 <= what < 0.95 and len(items) > 1 and not shops.withdrawn[item]:
            shops.resent[vendor] = [kept for kept in items if kept != item]
            shops.vendor_version[vendor] += 1
            yield shops.vendor_change(Replace, vendor)
        elif what >= 0.95 and not shops.withdrawn[item]:
            yield shops.item_change(Repeat, item)


def changes(factor: float, seed: int, updates: int) -> Iterator[tuple[str, Change]]:
    """The root, each vendor and its items, then the updates."""
    shops = _Shops(factor, seed)
    holes = "".join(hole(1 + vendor, 2) for vendor in range(shops.vendors))
    yield STREAM, Fill(region=0, tsid=1, content=f"<commodities>{holes}</commodities>".encode("ascii"))
    for vendor in range(shops.vendors):
        items = shops.stock_vendor(vendor)
        yield STREAM, shops.vendor_change(Fill, vendor)
        for item in items:
            yield STREAM, shops.item_change(Fill, item)
    source = _updates(shops)
    for _ in range(updates):
        yield STREAM, next(source)
    yield STREAM, Eos()


GENERATOR: Final = Generator(
    name="commodities",
    summary="DBPL'03's vendors and priced items: fragments replaced, removed, sent again",
    structures={STREAM: STRUCTURE},
    document=document,
    changes=changes,
)
