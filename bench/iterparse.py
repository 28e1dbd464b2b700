"""The benchmarks' queries as a person would write them for lxml: one pass, each record cleared when it is done with.

Every script is a function of the document's path that gives its answer piece by piece, as early as it can. The idiom
is the usual one, tuned: ``iterparse(tag=…)`` builds only Python objects for the records asked for and for those around
them, ``clear()`` drops a record's content and the loop behind it the elements before it, so that memory stays flat (19
MB). A script may use what its author knows of the document: that people come before auctions, or that only items have
locations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

XMARK = ("item", "category", "edge", "person", "open_auction", "closed_auction")
"""The records of XMark's documents: who does not ask for them drops them all the same."""


def records(path: str, *tags: str) -> Iterator[Any]:
    """The elements with one of the tags, each whole, and gone when the next is asked for."""
    wanted = frozenset(tags)
    for _, element in etree.iterparse(path, tag=(*tags, *XMARK)):
        if element.tag in wanted:
            yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def copy(element: Any) -> str:
    """An element as XML."""
    return str(etree.tostring(element, encoding="unicode", with_tail=False))


def text(element: Any, path: str) -> str:
    """The text of the first element at a path, escaped; nothing if there is none."""
    return escape(element.findtext(path) or "")


# ------------------------------------------------------------------------------------------------------------ XMark

KEYWORDS = "annotation/description/parlist/listitem/parlist/listitem/text/emph/keyword"


def xmark_1(path: str) -> Iterator[str]:
    for person in records(path, "person"):
        if person.get("id") == "person0":
            yield text(person, "name")


def xmark_2(path: str) -> Iterator[str]:
    for auction in records(path, "open_auction"):
        yield f"<increase>{text(auction, 'bidder/increase')}</increase>"


def xmark_3(path: str) -> Iterator[str]:
    for auction in records(path, "open_auction"):
        increases = [bidder.findtext("increase") for bidder in auction.iterfind("bidder")]
        if increases and float(increases[0]) * 2 <= float(increases[-1]):
            yield f'<increase first="{increases[0]}" last="{increases[-1]}"/>'


def xmark_4(path: str) -> Iterator[str]:
    for auction in records(path, "open_auction"):
        people = [reference.get("person") for reference in auction.iterfind("bidder/personref")]
        if "person20" in people and "person51" in people[people.index("person20") :]:
            yield f"<history>{text(auction, 'reserve')}</history>"


def xmark_5(path: str) -> Iterator[str]:
    yield str(sum(float(auction.findtext("price")) >= 40 for auction in records(path, "closed_auction")))


def xmark_6(path: str) -> Iterator[str]:
    yield str(sum(1 for _ in records(path, "item")))


def xmark_7(path: str) -> Iterator[str]:
    yield str(sum(1 for _ in records(path, "description", "annotation", "emailaddress")))


def xmark_8(path: str) -> Iterator[str]:
    people, bought = [], Counter[str]()
    for record in records(path, "person", "closed_auction"):
        if record.tag == "person":
            people.append((record.get("id"), record.findtext("name")))
        else:
            bought[record.find("buyer").get("person")] += 1
    for person, name in people:
        yield f"<item person={quoteattr(name)}>{bought[person]}</item>"


def xmark_9(path: str) -> Iterator[str]:
    items, people, bought = {}, [], defaultdict[str, list[str]](list)
    for record in records(path, "item", "person", "closed_auction"):
        if record.tag == "item":
            if record.getparent().tag == "europe":
                items[record.get("id")] = text(record, "name")
        elif record.tag == "person":
            people.append((record.get("id"), record.findtext("name")))
        else:
            bought[record.find("buyer").get("person")].append(items.get(record.find("itemref").get("item"), ""))
    for person, name in people:
        listed = "".join(f"<item>{item}</item>" for item in bought[person])
        yield f"<person name={quoteattr(name)}>{listed}</person>"


def xmark_10(path: str) -> Iterator[str]:
    interested = defaultdict[str, list[str]](list)
    for person in records(path, "person"):
        categories = dict.fromkeys(interest.get("category") for interest in person.iterfind("profile/interest"))
        if not categories:
            continue
        profile = person.find("profile")
        about = (
            f"<personne><statistiques><sexe>{text(profile, 'gender')}</sexe><age>{text(profile, 'age')}</age>"
            f"<education>{text(profile, 'education')}</education><revenu>{profile.get('income', '')}</revenu>"
            f"</statistiques><coordonnees><nom>{text(person, 'name')}</nom><rue>{text(person, 'address/street')}</rue>"
            f"<ville>{text(person, 'address/city')}</ville><pays>{text(person, 'address/country')}</pays>"
            f"<reseau><courrier>{text(person, 'emailaddress')}</courrier>"
            f"<pagePerso>{text(person, 'homepage')}</pagePerso></reseau></coordonnees>"
            f"<cartePaiement>{text(person, 'creditcard')}</cartePaiement></personne>"
        )
        for category in categories:
            interested[category].append(about)
    for category, people in interested.items():
        yield f"<categorie><id>{category}</id>{''.join(people)}</categorie>"


def _affordable(path: str) -> tuple[list[tuple[str, str | None]], list[float]]:
    """Names and incomes of all people, and 5000 times every initial price, in ascending order."""
    people, prices = [], []
    for record in records(path, "person", "open_auction"):
        if record.tag == "person":
            profile = record.find("profile")
            people.append((record.findtext("name"), None if profile is None else profile.get("income")))
        else:
            prices.append(5000 * float(record.findtext("initial")))
    return people, sorted(prices)


def xmark_11(path: str) -> Iterator[str]:
    people, prices = _affordable(path)
    for name, income in people:
        count = 0 if income is None else bisect_left(prices, float(income))
        yield f"<items name={quoteattr(name)}>{count}</items>"


def xmark_12(path: str) -> Iterator[str]:
    people, prices = _affordable(path)
    for _, income in people:
        if income is not None and float(income) > 50000:
            yield f'<items person="{income}">{bisect_left(prices, float(income))}</items>'


def xmark_13(path: str) -> Iterator[str]:
    for item in records(path, "item"):
        if item.getparent().tag == "australia":
            yield f"<item name={quoteattr(item.findtext('name'))}>{copy(item.find('description'))}</item>"


def xmark_14(path: str) -> Iterator[str]:
    for item in records(path, "item"):
        if "gold" in "".join(item.find("description").itertext()):
            yield text(item, "name")


def xmark_15(path: str) -> Iterator[str]:
    for auction in records(path, "closed_auction"):
        for keyword in auction.iterfind(KEYWORDS):
            for part in keyword.xpath("text()"):
                yield f"<text>{escape(part)}</text>"


def xmark_16(path: str) -> Iterator[str]:
    for auction in records(path, "closed_auction"):
        if any(keyword.xpath("text()") for keyword in auction.iterfind(KEYWORDS)):
            yield f"<person id={quoteattr(auction.find('seller').get('person'))}/>"


def xmark_17(path: str) -> Iterator[str]:
    for person in records(path, "person"):
        if not person.findtext("homepage"):
            yield f"<person name={quoteattr(person.findtext('name'))}/>"


def xmark_18(path: str) -> Iterator[str]:
    space = ""
    for auction in records(path, "open_auction"):
        reserve = auction.findtext("reserve")
        if reserve is not None:
            yield f"{space}{Decimal('2.20371') * Decimal(reserve):f}".rstrip("0").rstrip(".")
            space = " "


def xmark_19(path: str) -> Iterator[str]:
    items = [(item.findtext("location"), item.findtext("name")) for item in records(path, "item")]
    for location, name in sorted(items, key=lambda item: (item[0] is None, item[0])):
        yield f"<item name={quoteattr(name)}>{escape(location or '')}</item>"


def xmark_20(path: str) -> Iterator[str]:
    counts = Counter[str]()
    for person in records(path, "person"):
        profile = person.find("profile")
        income = None if profile is None else profile.get("income")
        if income is None:
            counts["na"] += 1
        else:
            least = float(income)
            counts["preferred" if least >= 100000 else "standard" if least >= 30000 else "challenge"] += 1
    parts = (f"<{name}>{counts[name]}</{name}>" for name in ("preferred", "standard", "challenge", "na"))
    yield f"<result>{''.join(parts)}</result>"


# ---------------------------------------------------------------------------------------------------- XFlux, ICDE'08


def _albanian(path: str) -> Iterator[Any]:
    return (item for item in records(path, "item") if item.findtext("location") == "Albania")


def icde08_1(path: str) -> Iterator[str]:
    for item in _albanian(path):
        if item.getparent().tag == "europe":
            yield copy(item.find("quantity"))


def icde08_2(path: str) -> Iterator[str]:
    for item in _albanian(path):
        if item.findtext("payment") == "Cash":
            yield copy(item.find("location"))


def icde08_3(path: str) -> Iterator[str]:
    for item in _albanian(path):
        yield copy(item.find("quantity"))


def icde08_4(path: str) -> Iterator[str]:
    yield str(len({item.getparent().tag for item in _albanian(path)}))


def icde08_5(path: str) -> Iterator[str]:
    yield str(len({item.getparent().tag for item in _albanian(path)} & {"europe"}))


def icde08_6(path: str) -> Iterator[str]:
    places = Counter(location.text for location in records(path, "location"))
    yield str(places.total() if places["Albania"] else 0)


def icde08_7(path: str) -> Iterator[str]:
    opening = "<result>"
    for item in _albanian(path):
        yield f"{opening}<item>{copy(item.find('quantity'))}{copy(item.find('payment'))}</item>"
        opening = ""
    yield f"{opening}</result>"


def icde08_8(path: str) -> Iterator[str]:
    for paper in records(path, "inproceedings"):
        if any(author.text == "John Smith" for author in paper.iterfind("author")):
            yield copy(paper.find("title"))


def icde08_9(path: str) -> Iterator[str]:
    found = []
    for paper in records(path, "inproceedings"):
        if any("Smith" in author.text for author in paper.iterfind("author")):
            title = "".join(paper.find("title").xpath("text()"))
            found.append((paper.findtext("year"), escape(title)))
    for year, title in sorted(found, key=lambda paper: paper[0]):
        yield f"{year}: {title}\n"


# ---------------------------------------------------------------------------------------------------- XFrag, WebDB'05


def webdb05_increases(path: str) -> Iterator[str]:
    for increase in records(path, "increase"):
        yield copy(increase)


def webdb05_initial(path: str) -> Iterator[str]:
    for auction in records(path, "open_auction"):
        if auction.findtext("initial") > "10":
            for bidder in auction.iterfind("bidder"):
                yield copy(bidder)


def webdb05_bidders(path: str) -> Iterator[str]:
    for bidder in records(path, "bidder"):
        if bidder.findtext("increase") > "200":
            yield copy(bidder)


# --------------------------------------------------------------------------------------------- applications, VLDB'05


def vldb05_satellite(path: str) -> Iterator[str]:
    passes, greenest = Counter[tuple[int, int]](), defaultdict[tuple[int, int], float](float)
    for pixel in records(path, "pixel"):
        place = int(pixel.findtext("x")), int(pixel.findtext("y"))
        if 10 <= place[0] <= 12 and place[1] <= 1:
            red, infrared = float(pixel.findtext("band0")), float(pixel.findtext("band1"))
            passes[place] += 1
            greenest[place] = max(greenest[place], ((infrared - red) / (infrared + red) + 1) * 512)
    for x in range(10, 13):
        for y in range(2):
            yield (
                f'<pixel passes="{passes[x, y]}"><latitude>{x}</latitude><longitude>{y}</longitude>'
                f"<value>{greenest[x, y]:.15g}</value></pixel>"
            )


def vldb05_microscope(path: str) -> Iterator[str]:
    sums = {x: [0, 0, 0, 0] for x in range(2, 6)}
    for pixel in records(path, "pixel"):
        if pixel.findtext("focus") == "0" and int(pixel.findtext("y")) < 4:
            shown = sums.get(int(pixel.findtext("x")) // 4)
            if shown is not None:
                for colour, name in enumerate(("red", "green", "blue")):
                    shown[colour] += int(pixel.findtext(name))
                shown[3] += 1
    for x, (red, green, blue, count) in sums.items():
        yield (
            f'<pixel x="{x}" y="0" of="{count}"><red>{red // count}</red><green>{green // count}</green>'
            f"<blue>{blue // count}</blue></pixel>"
        )


def vldb05_frequent_items(path: str) -> Iterator[str]:
    counts: dict[str, int] = {}
    for item in records(path, "item"):
        counts[item.text] = counts.get(item.text, 0) + 1
        if len(counts) >= 12:
            counts = {name: count - 1 for name, count in counts.items() if count > 1}
    for name in sorted(counts):
        yield f'<item count="{counts[name]}">{name}</item>'
