"""Stock tickers: XFrag's fragments (WebDB'05 §4.4) and XFlux's update stream (ICDE'08 §V), one market each.

``stock`` has no root: each stock is a filler of its own with holes for its rating and its value, which are
replaced as the market moves, and now and then repeated; stocks are listed and delisted. ``ticker`` is finite
data followed by updates: names are immutable, but for every tenth stock, and quotations are mutable regions,
replaced as XFlux does, sR(quotation, new). Trade in a stock is halted (hide) and resumed (show), a quotation
is closed for good (freeze), stocks are listed beside others (before, after) and delisted (replaced by
nothing). The document is the ticker before the updates.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from xstreamcast.generate.draw import Pick
from xstreamcast.generate.generator import Generator, hole, scaled
from xstreamcast.generate.words import surnames
from xstreamcast.model.change import (
    After,
    Before,
    Change,
    ContentChange,
    Eos,
    Fill,
    Freeze,
    Hide,
    Remove,
    Repeat,
    Replace,
    Show,
)

STOCKS: Final = 1000
STOCK: Final = "stock"
TICKER: Final = "ticker"
STRUCTURES: Final = {
    TICKER: """<stream:structure>
  <tag type="snapshot" id="1" name="ticker">
    <tag type="filler" id="2" name="stock" reuse="no">
      <tag type="snapshot" id="3" name="name"/>
      <tag type="snapshot" id="4" name="quotation"/>
    </tag>
  </tag>
</stream:structure>
""",
    STOCK: """<stream:structure>
  <tag stream="stock">
    <tag id="1" name="stock" filler="true" reuse="no">
      <tag id="2" name="rating" filler="true" reuse="no"/>
      <tag id="4" name="symbol" filler="false"/>
      <tag id="5" name="name" filler="false"/>
      <tag id="3" name="value" filler="true" reuse="no"/>
    </tag>
  </tag>
</stream:structure>
""",
}

_RATINGS: Final = ("buy", "hold", "sell")
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAME_MUTABLE_EVERY: Final = 10


def _symbol(number: int) -> str:
    """Distinct symbols of at least three letters; the first is the one that the paper's query looks for."""
    if number == 0:
        return "IBM"
    number += 26 * 26
    letters = ""
    while number:
        number, digit = divmod(number, 26)
        letters = _LETTERS[digit] + letters
    return letters


def _company(number: int) -> str:
    families = surnames()
    kind = ("Industries", "Systems", "Holdings", "Energy", "Foods")[number % 5]
    return f"{families[number * 37 % len(families)]} {kind}"


def _price(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _first_price(pick: Pick) -> int:
    return 200 + pick.below(30_000)


def _moved(pick: Pick, cents: int) -> int:
    """A step up or down of at most four percent, and at least a cent."""
    step = max(1, int(cents * 0.04 * pick.unit()))
    return cents + step if pick.chance(0.5) or cents - step < 100 else cents - step


class _Fragments:
    """XFrag's stream. Stock n (from 0) has the regions 3n + 1 (itself), 3n + 2 (rating) and 3n + 3 (value)."""

    def __init__(self, stocks: int, seed: int) -> None:
        self.pick = Pick(seed, "stock/fragments")
        self.cents = array("i")
        self.rating = array("b")
        self.value_version = array("i")
        self.rating_version = array("i")
        self.listed = bytearray()
        self.stocks = stocks

    def initial(self) -> Iterator[Change]:
        for _ in range(self.stocks):
            stock = self.list_stock()
            yield self.stock_fill(stock)
            yield self.rating_change(Fill, stock)
            yield self.value_change(Fill, stock)

    def list_stock(self) -> int:
        self.cents.append(_first_price(self.pick))
        self.rating.append(self.pick.below(3))
        self.value_version.append(1)
        self.rating_version.append(1)
        self.listed.append(1)
        return len(self.listed) - 1

    def stock_fill(self, stock: int) -> Change:
        content = (
            f"<stock>{hole(3 * stock + 2, 2)}<symbol>{_symbol(stock)}</symbol>"
            f"<name>{_company(stock)}</name>{hole(3 * stock + 3, 3)}</stock>"
        )
        return Fill(region=3 * stock + 1, tsid=1, version=1, content=content.encode("ascii"))

    def rating_change(self, kind: type[ContentChange], stock: int) -> Change:
        content = f"<rating>{_RATINGS[self.rating[stock]]}</rating>".encode("ascii")
        return kind(region=3 * stock + 2, tsid=2, version=self.rating_version[stock], content=content)

    def value_change(self, kind: type[ContentChange], stock: int) -> Change:
        content = f"<value>{_price(self.cents[stock])}</value>".encode("ascii")
        return kind(region=3 * stock + 3, tsid=3, version=self.value_version[stock], content=content)

    def updates(self) -> Iterator[Change]:
        """Endless: values, ratings, repetitions, listings (three fragments each) and delistings."""
        pick = self.pick
        while True:
            stock, what = pick.below(len(self.listed)), pick.unit()
            if what >= 0.98:
                stock = self.list_stock()
                yield self.stock_fill(stock)
                yield self.value_change(Fill, stock)
                yield self.rating_change(Fill, stock)
            elif not self.listed[stock]:
                continue
            elif what < 0.80:
                self.cents[stock] = _moved(pick, self.cents[stock])
                self.value_version[stock] += 1
                yield self.value_change(Replace, stock)
            elif what < 0.92:
                self.rating[stock] = (self.rating[stock] + 1 + pick.below(2)) % 3
                self.rating_version[stock] += 1
                yield self.rating_change(Replace, stock)
            elif what < 0.96:
                yield self.value_change(Repeat, stock)
            elif stock:
                self.listed[stock] = 0
                yield Remove(region=3 * stock + 1, tsid=1, version=2)


class _Ticker:
    """XFlux's stream: mutable regions for quotations and some names."""

    def __init__(self, stocks: int, seed: int) -> None:
        self.pick = Pick(seed, "stock/ticker")
        self.stocks = stocks
        self.next_region = 1 + stocks
        self.region = array("q")
        self.quotation = array("q")
        self.name = array("q")
        self.cents = array("i")
        self.versions = array("i")
        self.name_versions = array("i")
        self.stock_versions = array("i")
        self.frozen = bytearray()
        self.listed = bytearray()
        self.halted: list[int] = []

    def document(self) -> Iterator[bytes]:
        yield b"<ticker>"
        for number in range(self.stocks):
            name, quotation = _symbol(number), _price(_first_price(self.pick))
            yield f"<stock><name>{name}</name><quotation>{quotation}</quotation></stock>".encode("ascii")
        yield b"</ticker>"

    def initial(self) -> Iterator[Change]:
        holes = "".join(hole(1 + number, 2) for number in range(self.stocks))
        yield Fill(region=0, tsid=1, content=f"<ticker>{holes}</ticker>".encode("ascii"))
        for number in range(self.stocks):
            yield Fill(region=1 + number, tsid=2, version=1, content=self.list_stock(1 + number))

    def list_stock(self, region: int) -> bytes:
        number, cents = len(self.region), _first_price(self.pick)
        name = _symbol(number)
        name_region = 0
        if number % _NAME_MUTABLE_EVERY == _NAME_MUTABLE_EVERY - 1:
            name_region = self.new_region()
            name = f'<stream:mutable id="{name_region}">{name}</stream:mutable>'
        quotation = self.new_region()
        self.region.append(region)
        self.quotation.append(quotation)
        self.name.append(name_region)
        self.cents.append(cents)
        self.versions.append(0)
        self.name_versions.append(0)
        self.stock_versions.append(1)
        self.frozen.append(0)
        self.listed.append(1)
        return (
            f'<stock><name>{name}</name><quotation><stream:mutable id="{quotation}">{_price(cents)}</stream:mutable>'
            f"</quotation></stock>"
        ).encode("ascii")

    def new_region(self) -> int:
        self.next_region += 1
        return self.next_region - 1

    def updates(self) -> Iterator[Change]:
        """Endless. A target's changes are counted by version, its new content has a region of its own."""
        pick = self.pick
        while True:
            stock, what = pick.below(len(self.region)), pick.unit()
            if not self.listed[stock]:
                continue
            if what < 0.84:
                if self.frozen[stock]:
                    continue
                self.cents[stock] = _moved(pick, self.cents[stock])
                yield self.replace(self.quotation[stock], self.versions, stock, _price(self.cents[stock]))
            elif what < 0.88:
                yield from self.rename(stock)
            elif what < 0.92:
                if stock not in self.halted:
                    self.halted.append(stock)
                    yield Hide(region=self.region[stock], tsid=2, version=self.counted(self.stock_versions, stock))
            elif what < 0.96:
                if self.halted:
                    resumed = self.halted.pop(pick.below(len(self.halted)))
                    version = self.counted(self.stock_versions, resumed)
                    yield Show(region=self.region[resumed], tsid=2, version=version)
            elif what < 0.98:
                region = self.new_region()
                beside = After if pick.chance(0.5) else Before
                target = self.region[stock]
                yield beside(region=region, target=target, tsid=2, content=self.list_stock(region))
            elif what < 0.99:
                if stock and not self.frozen[stock]:
                    self.frozen[stock] = 1
                    yield Freeze(region=self.quotation[stock], version=self.counted(self.versions, stock))
            elif stock and stock not in self.halted:
                self.listed[stock] = 0
                target, version = self.region[stock], self.counted(self.stock_versions, stock)
                yield Replace(region=self.new_region(), target=target, tsid=2, version=version, content=b"")

    def rename(self, stock: int) -> Iterator[Change]:
        """The next stock with a mutable name is called otherwise, one of three times IBM."""
        stock -= stock % _NAME_MUTABLE_EVERY - (_NAME_MUTABLE_EVERY - 1)
        if stock < len(self.name) and self.name[stock] and self.listed[stock]:
            name = "IBM" if self.pick.chance(1 / 3) else _symbol(stock + 26**3)
            yield self.replace(self.name[stock], self.name_versions, stock, name)

    def replace(self, target: int, versions: array[int], stock: int, text: str) -> Change:
        version = self.counted(versions, stock)
        return Replace(region=self.new_region(), target=target, version=version, content=text.encode("ascii"))

    def counted(self, versions: array[int], stock: int) -> int:
        versions[stock] += 1
        return versions[stock]


def document(factor: float, seed: int) -> Iterator[bytes]:
    """The ticker before any update."""
    return _Ticker(scaled(STOCKS, factor), seed).document()


def changes(factor: float, seed: int, updates: int) -> Iterator[tuple[str, Change]]:
    """Both markets' initial data, then an update of each in turn."""
    fragments, ticker = _Fragments(scaled(STOCKS, factor), seed), _Ticker(scaled(STOCKS, factor), seed)
    for change in ticker.initial():
        yield TICKER, change
    for change in fragments.initial():
        yield STOCK, change
    sources = ((TICKER, ticker.updates()), (STOCK, fragments.updates()))
    for turn in range(updates):
        stream, source = sources[turn % 2]
        yield stream, next(source)
    for stream in STRUCTURES:
        yield stream, Eos()


GENERATOR: Final = Generator(
    name="stock",
    summary="stock tickers: XFrag's fragments without a root, and XFlux's update stream",
    structures=STRUCTURES,
    document=document,
    changes=changes,
)
