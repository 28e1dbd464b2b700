"""DBPL'03's currencies: each with its rates in the others, in fragments; the commodities' other side of the
join.

Every currency is a fragment and so is every rate. Afterwards rates change (replaced), a rate is suspended
(removed) and quoted again, and a currency is sent again with its rates in another order. At factor 1 there
are 30 currencies and 30 × 29 rates; more currencies at larger factors have made-up codes. The document is
what the initial fragments describe.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from xstreamcast.generate.draw import Pick
from xstreamcast.generate.generator import Generator, hole, scaled
from xstreamcast.model.change import Change, ContentChange, Eos, Fill, Remove, Repeat, Replace

STREAM: Final = "currencies"
STRUCTURE: Final = """<stream:structure>
  <tag type="snapshot" id="1" name="currencies">
    <tag type="filler" id="2" name="currency" reuse="no">
      <tag type="snapshot" id="3" name="code"/>
      <tag type="snapshot" id="4" name="name"/>
      <tag type="snapshot" id="5" name="rates">
        <tag type="filler" id="6" name="currency" reuse="no">
          <tag type="snapshot" id="7" name="code"/>
          <tag type="snapshot" id="8" name="buying"/>
          <tag type="snapshot" id="9" name="selling"/>
        </tag>
      </tag>
    </tag>
  </tag>
</stream:structure>
"""

CURRENCIES: Final = (
    ("USD", "US Dollars", 1.0), ("GBP", "British Pounds", 1.62), ("EUR", "Euros", 1.13),
    ("JPY", "Japanese Yen", 0.0085),
    ("CHF", "Swiss Francs", 0.73), ("CAD", "Canadian Dollars", 0.73), ("AUD", "Australian Dollars", 0.65),
    ("NZD", "New Zealand Dollars", 0.58), ("SEK", "Swedish Kronor", 0.123), ("NOK", "Norwegian Kroner", 0.138),
    ("DKK", "Danish Kroner", 0.152), ("CZK", "Czech Koruna", 0.036), ("PLN", "Polish Zloty", 0.256),
    ("HUF", "Hungarian Forint", 0.0043), ("TRY", "Turkish Lira", 0.7), ("RUB", "Russian Rubles", 0.033),
    ("INR", "Indian Rupees", 0.0217), ("CNY", "Chinese Yuan", 0.121), ("KRW", "Korean Won", 0.00085),
    ("HKD", "Hong Kong Dollars", 0.128), ("SGD", "Singapore Dollars", 0.57), ("THB", "Thai Baht", 0.024),
    ("MXN", "Mexican Pesos", 0.094), ("BRL", "Brazilian Real", 0.34), ("ARS", "Argentine Pesos", 0.35),
    ("ZAR", "South African Rand", 0.135), ("EGP", "Egyptian Pounds", 0.163), ("ILS", "Israeli Shekels", 0.225),
    ("SAR", "Saudi Riyals", 0.267), ("ISK", "Icelandic Kronur", 0.013),
)  # fmt: skip
"""Code, name, worth in US dollars about the year 2003."""

_SPREAD: Final = 0.0075


class _Bureau:
    """Currency c (from 0) is the region c + 1; its rate in currency d is the region C + 1 + c (C − 1) + place of d."""

    def __init__(self, factor: float, seed: int) -> None:
        self.pick = Pick(seed, "currencies")
        self.count = scaled(len(CURRENCIES), factor, 2)
        known = [worth for _, _, worth in CURRENCIES]
        self.worth = array("d", (known[n] if n < len(known) else 0.01 + self.pick.unit() for n in range(self.count)))
        self.version = array("i", bytes(4 * self.count * (self.count - 1)))
        self.suspended = bytearray(len(self.version))
        self.quoted = array("d", bytes(8 * len(self.version)))
        self.currency_version = array("i", [1] * self.count)

    def code(self, currency: int) -> str:
        if currency < len(CURRENCIES):
            return CURRENCIES[currency][0]
        number, letters = currency - len(CURRENCIES), ""
        for _ in range(3):
            number, digit = divmod(number, 26)
            letters = chr(65 + digit) + letters
        return f"X{letters}"

    def name(self, currency: int) -> str:
        known = currency < len(CURRENCIES)
        return CURRENCIES[currency][1] if known else f"Crowns of {self.code(currency)}"

    def rate(self, currency: int, place: int) -> int:
        """The number of a currency's rate in the place-th of the others."""
        return currency * (self.count - 1) + place

    def quote(self, currency: int, place: int) -> None:
        """Fix a rate at what the currencies are worth now."""
        other = place + (place >= currency)
        self.quoted[self.rate(currency, place)] = self.worth[currency] / self.worth[other]

    def rate_text(self, currency: int, place: int) -> str:
        """The rate as last quoted."""
        other, middle = place + (place >= currency), self.quoted[self.rate(currency, place)]
        return (
            f"<currency><code>{self.code(other)}</code><buying>{middle * (1 + _SPREAD):.6g}</buying>"
            f"<selling>{middle * (1 - _SPREAD):.6g}</selling></currency>"
        )

    def head(self, currency: int) -> str:
        return f"<code>{self.code(currency)}</code><name>{self.name(currency)}</name>"

    def region(self, rate: int) -> int:
        return 1 + self.count + rate

    def rate_change(self, kind: type[ContentChange], currency: int, place: int) -> Change:
        rate = self.rate(currency, place)
        if kind is not Repeat:
            self.version[rate] += 1
            self.quote(currency, place)
        content = self.rate_text(currency, place).encode("ascii")
        return kind(region=self.region(rate), tsid=6, version=self.version[rate], content=content)

    def currency_change(self, kind: type[ContentChange], currency: int, first: int = 0) -> Change:
        """A currency with the holes of its rates, beginning with one of them."""
        others = self.count - 1
        places = (self.rate(currency, (first + n) % others) for n in range(others))
        holes = "".join(hole(self.region(rate), 6) for rate in places)
        content = f"<currency>{self.head(currency)}<rates>{holes}</rates></currency>".encode("ascii")
        return kind(region=1 + currency, tsid=2, version=self.currency_version[currency], content=content)


def document(factor: float, seed: int) -> Iterator[bytes]:
    """All currencies with their rates."""
    bureau = _Bureau(factor, seed)
    yield b"<currencies>"
    for currency in range(bureau.count):
        for place in range(bureau.count - 1):
            bureau.quote(currency, place)
        rates = "".join(bureau.rate_text(currency, place) for place in range(bureau.count - 1))
        yield f"<currency>{bureau.head(currency)}<rates>{rates}</rates></currency>".encode("ascii")
    yield b"</currencies>"


def _updates(bureau: _Bureau) -> Iterator[Change]:
    """Endless; a suspended rate is quoted again later, or not."""
    pick = bureau.pick
    away: list[tuple[int, int]] = []
    while True:
        currency, place, what = pick.below(bureau.count), pick.below(bureau.count - 1), pick.unit()
        if what >= 0.97:
            bureau.currency_version[currency] += 1
            yield bureau.currency_change(Replace, currency, place)
        elif 0.90 <= what < 0.94:
            if away:
                currency, place = away.pop(pick.below(len(away)))
                bureau.suspended[bureau.rate(currency, place)] = 0
                yield bureau.rate_change(Fill, currency, place)
        elif bureau.suspended[bureau.rate(currency, place)]:
            continue
        elif what < 0.85:
            bureau.worth[currency] *= 0.99 + 0.02 * pick.unit()
            yield bureau.rate_change(Replace, currency, place)
        elif what < 0.90:
            rate = bureau.rate(currency, place)
            bureau.version[rate] += 1
            bureau.suspended[rate] = 1
            away.append((currency, place))
            yield Remove(region=bureau.region(rate), tsid=6, version=bureau.version[rate])
        else:
            yield bureau.rate_change(Repeat, currency, place)


def changes(factor: float, seed: int, updates: int) -> Iterator[tuple[str, Change]]:
    """The root, each currency and its rates, then the updates."""
    bureau = _Bureau(factor, seed)
    holes = "".join(hole(1 + currency, 2) for currency in range(bureau.count))
    yield STREAM, Fill(region=0, tsid=1, content=f"<currencies>{holes}</currencies>".encode("ascii"))
    for currency in range(bureau.count):
        yield STREAM, bureau.currency_change(Fill, currency)
        for place in range(bureau.count - 1):
            yield STREAM, bureau.rate_change(Fill, currency, place)
    source = _updates(bureau)
    for _ in range(updates):
        yield STREAM, next(source)
    yield STREAM, Eos()


GENERATOR: Final = Generator(
    name="currencies",
    summary="DBPL'03's currencies and their rates in each other: fragments replaced, removed, sent again",
    structures={STREAM: STRUCTURE},
    document=document,
    changes=changes,
)
