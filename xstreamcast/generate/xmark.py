"""XMark's auction site (Schmidt et al., VLDB 2002), written anew: the same DTD, cardinalities and distributions.

At factor 1: 21,750 items over six regions, 25,500 persons, 12,000 open and 9,750 closed auctions, 1,000
categories, some 116 MB; every count is proportional to the factor. Each item is for sale in exactly one
auction, open or closed. Counts of bidders, mails, watches and interests fall exponentially; sellers and
buyers are normal around the middle of the persons, other references uniform; three quarters of all places are
in the United States; incomes are normal and cut off below. The numbers were measured in documents of the
original generator (xmlgen 0.92); the words are our own (``words.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np

from xstreamcast.generate.draw import Draw, Ints
from xstreamcast.generate.generator import Generator, scaled
from xstreamcast.generate.prose import phrases, texts
from xstreamcast.generate.words import CITIES, COUNTRIES, GIVEN, HOSTS, STATES, surnames

REGIONS: Final = {
    "africa": 550, "asia": 2000, "australia": 2200, "europe": 6000, "namerica": 10_000, "samerica": 1000,
}  # fmt: skip
PERSONS: Final = 25_500
CLOSED_AUCTIONS: Final = 9_750
CATEGORIES: Final = 1_000

_HOME: Final = "United States"
_AT_HOME: Final = 0.75
_QUANTITIES: Final = (0.9225, 0.0718, 0.0052, 0.0005)
_EDUCATION: Final = ("High School", "College", "Graduate School", "Other")
_PAYMENT: Final = ("Money order", "Creditcard", "Personal Check", "Cash")
_SHIPPING: Final = (
    "Will ship only within country", "Will ship internationally", "Buyer pays fixed shipping charges",
    "See description for charges",
)  # fmt: skip
_BLOCK: Final = 250
"""Entities drawn together; what is held at any time is one block."""


def _subsets(names: tuple[str, ...]) -> list[str]:
    """Every choice of some of the names, by bits."""
    return [", ".join(name for bit, name in enumerate(names) if mask >> bit & 1) for mask in range(1 << len(names))]


_PAYMENTS: Final = _subsets(_PAYMENT)
_SHIPPINGS: Final = _subsets(_SHIPPING)


@cache
def _calendar() -> tuple[str, ...]:
    return tuple(
        f"{month:02}/{day:02}/{year}" for year in range(1998, 2002) for month in range(1, 13) for day in range(1, 29)
    )


def _dates(draw: Draw, size: int) -> list[str]:
    calendar = _calendar()
    return [calendar[day] for day in draw.below(len(calendar), size).tolist()]


def _money(amounts: Ints) -> list[str]:
    """Cents as written: 1234 → 12.34."""
    whole, cents = np.divmod(amounts, 100)
    return [f"{units}.{part:02}" for units, part in zip(whole.tolist(), cents.tolist(), strict=True)]


def _blocks(count: int) -> Iterator[range]:
    for first in range(0, count, _BLOCK):
        yield range(first, min(first + _BLOCK, count))


class _Site:
    """The document at one factor and seed, section by section; each section draws from a source of its own."""

    def __init__(self, factor: float, seed: int) -> None:
        self.seed = seed
        self.regions = {name: scaled(count, factor, 0) for name, count in REGIONS.items()}
        self.items = sum(self.regions.values())
        self.persons = scaled(PERSONS, factor)
        self.categories = scaled(CATEGORIES, factor)
        self.closed = min(scaled(CLOSED_AUCTIONS, factor, 0), self.items)
        self.open = self.items - self.closed

    def write(self) -> Iterator[str]:
        yield '<?xml version="1.0" standalone="yes"?>\n<site>\n<regions>\n'
        yield from self.write_regions()
        yield "</regions>\n<categories>\n"
        yield from self.write_categories()
        yield "</categories>\n<catgraph>\n"
        yield from self.write_edges()
        yield "</catgraph>\n<people>\n"
        yield from self.write_people()
        yield "</people>\n<open_auctions>\n"
        yield from self.write_open_auctions()
        yield "</open_auctions>\n<closed_auctions>\n"
        yield from self.write_closed_auctions()
        yield "</closed_auctions>\n</site>\n"

    def for_sale(self, is_open: bool) -> Iterator[int]:
        """The items of the open auctions, or of the closed ones: one coin per item, until one side has all of its own.

        Both sections toss the same coins again, so that nobody need remember them.
        """
        draw = Draw(self.seed, "xmark/coin")
        left = [self.closed, self.open]
        for block in _blocks(self.items):
            for item, coin in zip(block, draw.below(2, len(block)).tolist(), strict=True):
                side = coin if left[coin] else 1 - coin
                left[side] -= 1
                if bool(side) == is_open:
                    yield item

    def references(self, draw: Draw, of: int, counts: Ints) -> Iterator[list[int]]:
        """For each entity its uniform references."""
        drawn = draw.below(of, int(counts.sum())).tolist()
        after = np.cumsum(counts).tolist()
        before = 0
        for end in after:
            yield drawn[before:end]
            before = end

    def traders(self, draw: Draw, size: int) -> list[int]:
        """Sellers and buyers: few persons do much of the trade."""
        middle = self.persons / 2
        drawn = draw.normal(middle, self.persons / 10, size)
        numbers: list[int] = np.clip(drawn, 0, self.persons - 1).astype(np.int64).tolist()
        return numbers

    def write_regions(self) -> Iterator[str]:
        draw = Draw(self.seed, "xmark/items")
        names, descriptions = phrases(draw, 4), _descriptions(draw)
        mails = _mails(Draw(self.seed, "xmark/mails"))
        first = 0
        for region, count in self.regions.items():
            yield f"<{region}>\n"
            for block in _blocks(count):
                yield self.items_text(draw, range(first + block.start, first + block.stop), names, descriptions, mails)
            yield f"</{region}>\n"
            first += count

    def items_text(
        self, draw: Draw, ids: range, names: Iterator[str], descriptions: Iterator[str], mails: Iterator[str]
    ) -> str:
        size = len(ids)
        columns = zip(
            ids,
            draw.chance(0.1, size).tolist(),
            _places(draw, size),
            (1 + draw.weighted(_QUANTITIES, size)).tolist(),
            draw.below(16, size).tolist(),
            draw.below(16, size).tolist(),
            self.references(draw, self.categories, np.minimum(1 + draw.count(2.93, size), 10)),
            draw.count(0.99, size).tolist(),
            strict=True,
        )
        parts = []
        for item, featured, place, quantity, payment, shipping, categories, mail_count in columns:
            parts.append(
                f'<item id="item{item}"{_FEATURED[featured]}>\n<location>{place}</location>\n'
                f"<quantity>{quantity}</quantity>\n<name>{next(names)}</name>\n"
                f"<payment>{_PAYMENTS[payment]}</payment>\n{next(descriptions)}"
                f"<shipping>{_SHIPPINGS[shipping]}</shipping>\n"
            )
            parts.extend([f'<incategory category="category{category}"/>\n' for category in categories])
            parts.append("<mailbox>\n")
            parts.extend([next(mails) for _ in range(mail_count)])
            parts.append("</mailbox>\n</item>\n")
        return "".join(parts)

    def write_categories(self) -> Iterator[str]:
        draw = Draw(self.seed, "xmark/categories")
        names, descriptions = phrases(draw, 4), _descriptions(draw)
        for block in _blocks(self.categories):
            yield "".join(
                f'<category id="category{category}">\n<name>{next(names)}</name>\n{next(descriptions)}</category>\n'
                for category in block
            )

    def write_edges(self) -> Iterator[str]:
        draw = Draw(self.seed, "xmark/edges")
        for block in _blocks(self.categories):
            ends = (draw.below(self.categories, len(block)).tolist() for _ in range(2))
            yield "".join(
                f'<edge from="category{origin}" to="category{target}"/>\n' for origin, target in zip(*ends, strict=True)
            )

    def write_people(self) -> Iterator[str]:
        draw = Draw(self.seed, "xmark/people")
        for block in _blocks(self.persons):
            yield self.people_text(draw, block)

    def people_text(self, draw: Draw, ids: range) -> str:
        size = len(ids)
        has_phone, has_address, has_homepage, has_card, has_profile, has_watches = (
            draw.chance(0.5, size) for _ in range(6)
        )
        phones = _phones(draw, int(has_phone.sum()))
        addresses = _addresses(draw, int(has_address.sum()))
        cards = _cards(draw, int(has_card.sum()))
        profiles = self.profiles(draw, int(has_profile.sum()))
        watches = self.references(draw, self.open or 1, draw.count(4.0, int(has_watches.sum())))
        columns = zip(
            ids,
            _people(draw, size),
            has_phone.tolist(),
            has_address.tolist(),
            has_homepage.tolist(),
            has_card.tolist(),
            has_profile.tolist(),
            has_watches.tolist(),
            strict=True,
        )
        parts = []
        for person, (name, family, host), phone, address, homepage, card, profile, watching in columns:
            parts.append(
                f'<person id="person{person}">\n<name>{name}</name>\n'
                f"<emailaddress>mailto:{family}@{host}</emailaddress>\n"
            )
            if phone:
                parts.append(next(phones))
            if address:
                parts.append(next(addresses))
            if homepage:
                parts.append(f"<homepage>http://www.{host}/~{family}</homepage>\n")
            if card:
                parts.append(next(cards))
            if profile:
                parts.append(next(profiles))
            if watching:
                parts.append("<watches>\n")
                parts.extend([f'<watch open_auction="open_auction{auction}"/>\n' for auction in next(watches)])
                parts.append("</watches>\n")
            parts.append("</person>\n")
        return "".join(parts)

    def profiles(self, draw: Draw, size: int) -> Iterator[str]:
        incomes = np.maximum(np.rint(draw.normal(4_000_000, 3_000_000, size)), 987_600).astype(np.int64)
        columns = zip(
            _money(incomes),
            self.references(draw, self.categories, draw.count(3.0, size)),
            draw.below(8, size).tolist(),
            draw.below(4, size).tolist(),
            draw.chance(0.5, size).tolist(),
            draw.chance(0.5, size).tolist(),
            np.maximum(draw.normal(30, 15, size), 18).astype(np.int64).tolist(),
            strict=True,
        )
        for income, interests, education, gender, in_business, has_age, age in columns:
            yield "".join(
                (
                    f'<profile income="{income}">\n',
                    *[f'<interest category="category{category}"/>\n' for category in interests],
                    f"<education>{_EDUCATION[education]}</education>\n" if education < 4 else "",
                    _GENDERS[gender],
                    "<business>Yes</business>\n" if in_business else "<business>No</business>\n",
                    f"<age>{age}</age>\n" if has_age else "",
                    "</profile>\n",
                )
            )

    def write_open_auctions(self) -> Iterator[str]:
        draw = Draw(self.seed, "xmark/open auctions")
        descriptions = _descriptions(draw)
        items = self.for_sale(is_open=True)
        for block in _blocks(self.open):
            yield self.open_auctions_text(draw, block, items, descriptions)

    def open_auctions_text(self, draw: Draw, ids: range, items: Iterator[int], descriptions: Iterator[str]) -> str:
        size = len(ids)
        initial = 1 + draw.exponential(10_000, size).astype(np.int64)
        reserve = np.rint(initial * (1.2 + draw.exponential(2.5, size))).astype(np.int64)
        bids = draw.count(4.97, size)
        increases = 150 * draw.length(10.45, int(bids.sum()))
        raised = np.concatenate(([0], np.cumsum(increases)))
        after = np.cumsum(bids)
        current = initial + raised[after] - raised[after - bids]
        bidders = self.bidders(draw, increases)
        columns = zip(
            ids,
            bids.tolist(),
            _money(initial),
            _money(reserve),
            draw.chance(0.5, size).tolist(),
            _money(current),
            draw.below(4, size).tolist(),
            self.traders(draw, size),
            self.annotations(draw, size, descriptions),
            self.sales(draw, size),
            _dates(draw, size),
            _dates(draw, size),
            strict=True,
        )
        parts = []
        for (
            auction, bid_count, start_price, reserve_price, has_reserve, price, privacy, seller, annotation, sale,
            begin, end,
        ) in columns:  # fmt: skip
            parts.append(f'<open_auction id="open_auction{auction}">\n<initial>{start_price}</initial>\n')
            if has_reserve:
                parts.append(f"<reserve>{reserve_price}</reserve>\n")
            parts.extend([next(bidders) for _ in range(bid_count)])
            parts.append(
                f'<current>{price}</current>\n{_PRIVACY[privacy]}<itemref item="item{next(items)}"/>\n'
                f'<seller person="person{seller}"/>\n{annotation}{sale}'
                f"<interval>\n<start>{begin}</start>\n<end>{end}</end>\n</interval>\n</open_auction>\n"
            )
        return "".join(parts)

    def bidders(self, draw: Draw, increases: Ints) -> Iterator[str]:
        size = len(increases)
        hours, minutes, seconds = (draw.below(limit, size).tolist() for limit in (24, 60, 60))
        persons = draw.below(self.persons, size).tolist()
        columns = (_dates(draw, size), hours, minutes, seconds, persons, _money(increases))
        for date, hour, minute, second, person, increase in zip(*columns, strict=True):
            yield (
                f"<bidder>\n<date>{date}</date>\n<time>{hour:02}:{minute:02}:{second:02}</time>\n"
                f'<personref person="person{person}"/>\n<increase>{increase}</increase>\n</bidder>\n'
            )

    def annotations(self, draw: Draw, size: int, descriptions: Iterator[str]) -> Iterator[str]:
        authors = draw.below(self.persons, size).tolist()
        happiness = (1 + draw.below(10, size)).tolist()
        for author, happy in zip(authors, happiness, strict=True):
            yield (
                f'<annotation>\n<author person="person{author}"/>\n{next(descriptions)}'
                f"<happiness>{happy}</happiness>\n</annotation>\n"
            )

    def sales(self, draw: Draw, size: int) -> Iterator[str]:
        """Quantity and type; half the auctions of more than one piece are Dutch."""
        quantities = 1 + draw.weighted(_QUANTITIES, size)
        kinds = draw.below(2, size) + 2 * (draw.chance(0.5, size) & (quantities > 1))
        for quantity, kind in zip(quantities.tolist(), kinds.tolist(), strict=True):
            yield f"<quantity>{quantity}</quantity>\n<type>{_SALES[kind]}</type>\n"

    def write_closed_auctions(self) -> Iterator[str]:
        draw = Draw(self.seed, "xmark/closed auctions")
        descriptions = _descriptions(draw)
        items = self.for_sale(is_open=False)
        for block in _blocks(self.closed):
            size = len(block)
            columns = zip(
                self.traders(draw, size),
                self.traders(draw, size),
                _money(1 + draw.exponential(10_000, size).astype(np.int64)),
                _dates(draw, size),
                self.sales(draw, size),
                self.annotations(draw, size, descriptions),
                strict=True,
            )
            yield "".join(
                f'<closed_auction>\n<seller person="person{seller}"/>\n<buyer person="person{buyer}"/>\n'
                f'<itemref item="item{next(items)}"/>\n<price>{price}</price>\n<date>{date}</date>\n'
                f"{sale}{annotation}</closed_auction>\n"
                for seller, buyer, price, date, sale, annotation in columns
            )


_FEATURED: Final = ("", ' featured="yes"')
_PRIVACY: Final = ("", "", "<privacy>Yes</privacy>\n", "<privacy>No</privacy>\n")
_GENDERS: Final = ("", "", "<gender>male</gender>\n", "<gender>female</gender>\n")
_SALES: Final = ("Regular", "Featured", "Regular, Dutch", "Featured, Dutch")


def _descriptions(draw: Draw) -> Iterator[str]:
    """Endless descriptions: a text (0.7), or a list whose items are texts (0.8) or lists of texts."""
    prose = texts(draw)
    while True:
        listed = draw.chance(0.3, _BLOCK)
        counts = _list_lengths(draw, int(listed.sum()))
        nested = draw.chance(0.2, int(counts.sum()))
        inner = iter(_list_lengths(draw, int(nested.sum())).tolist())
        nested_of = iter(nested.tolist())
        count_of = iter(counts.tolist())
        for is_list in listed.tolist():
            if not is_list:
                yield f"<description>\n<text>\n{next(prose)}\n</text>\n</description>\n"
                continue
            parts = ["<description>\n<parlist>\n"]
            for _ in range(next(count_of)):
                if next(nested_of):
                    parts.append("<listitem>\n<parlist>\n")
                    parts.extend([_listed(next(prose)) for _ in range(next(inner))])
                    parts.append("</parlist>\n</listitem>\n")
                else:
                    parts.append(_listed(next(prose)))
            parts.append("</parlist>\n</description>\n")
            yield "".join(parts)


def _list_lengths(draw: Draw, size: int) -> Ints:
    return np.minimum(2 + draw.count(1.0, size), 5)


def _listed(text: str) -> str:
    return f"<listitem>\n<text>\n{text}\n</text>\n</listitem>\n"


def _people(draw: Draw, size: int) -> Iterator[tuple[str, str, str]]:
    """(name, family name, host of the mail address)."""
    families = surnames()
    columns = (draw.below(len(GIVEN), size), draw.below(len(families), size), draw.below(len(HOSTS), size))
    for given, family, host in zip(*(column.tolist() for column in columns), strict=True):
        yield f"{GIVEN[given]} {families[family]}", families[family], HOSTS[host]


def _mails(draw: Draw) -> Iterator[str]:
    prose = texts(draw)
    while True:
        columns = (_people(draw, _BLOCK), _people(draw, _BLOCK), _dates(draw, _BLOCK))
        for (sender, family, host), (receiver, other_family, other_host), date in zip(*columns, strict=True):
            yield (
                f"<mail>\n<from>{sender} mailto:{family}@{host}</from>\n"
                f"<to>{receiver} mailto:{other_family}@{other_host}</to>\n<date>{date}</date>\n"
                f"<text>\n{next(prose)}\n</text>\n</mail>\n"
            )


def _places(draw: Draw, size: int) -> list[str]:
    countries = draw.below(len(COUNTRIES), size).tolist()
    at_home = draw.chance(_AT_HOME, size).tolist()
    return [_HOME if home else COUNTRIES[country] for home, country in zip(at_home, countries, strict=True)]


def _phones(draw: Draw, size: int) -> Iterator[str]:
    abroad = (draw.chance(1 - _AT_HOME, size) * (1 + draw.below(99, size))).tolist()
    areas = (10 + draw.below(990, size)).tolist()
    numbers = (123_456 + draw.below(99_876_543, size)).tolist()
    for country, area, number in zip(abroad, areas, numbers, strict=True):
        yield f"<phone>+{country} ({area}) {number}</phone>\n"


def _cards(draw: Draw, size: int) -> Iterator[str]:
    groups = ((1000 + draw.below(9000, size)).tolist() for _ in range(4))
    for a, b, c, d in zip(*groups, strict=True):
        yield f"<creditcard>{a} {b} {c} {d}</creditcard>\n"


def _addresses(draw: Draw, size: int) -> Iterator[str]:
    families = surnames()
    zip_codes = np.where(draw.chance(0.145, size), 30 + draw.below(10, size), 3 + draw.below(27, size))
    columns = zip(
        (1 + draw.below(100, size)).tolist(),
        draw.below(len(families), size).tolist(),
        draw.below(len(CITIES), size).tolist(),
        _places(draw, size),
        draw.chance(0.495, size).tolist(),
        draw.below(len(STATES), size).tolist(),
        zip_codes.tolist(),
        strict=True,
    )
    for number, street, city, country, has_province, state, zip_code in columns:
        province = (STATES[state] if country == _HOME else families[street]) if has_province else ""
        yield (
            f"<address>\n<street>{number} {families[street]} St</street>\n<city>{CITIES[city]}</city>\n"
            f"<country>{country}</country>\n"
            f"{f'<province>{province}</province>' + chr(10) if province else ''}"
            f"<zipcode>{zip_code}</zipcode>\n</address>\n"
        )


def document(factor: float, seed: int) -> Iterator[bytes]:
    """The auction site, in chunks of a few hundred entities."""
    for part in _Site(factor, seed).write():
        yield part.encode("ascii")


GENERATOR: Final = Generator(
    name="xmark",
    summary="XMark's auction site as a stored document; factor 1 is about 116 MB",
    document=document,
)
