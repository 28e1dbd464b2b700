"""Our XMark document beside the original's: cardinalities, shapes, distributions.

``xmark_counts.json`` holds what was counted in the original generator's document of factor 1 (regions as ``*``, marks
in prose summed over all texts).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.parsers import expat

import pytest

from xstreamcast.generate.words import SIZE, vocabulary
from xstreamcast.generate.xmark import document

REFERENCE_SIZE = 116_517_344
REFERENCE_COUNTS: dict[str, int] = json.loads((Path(__file__).parent / "xmark_counts.json").read_text())
FACTOR = 0.1


@dataclass
class Measured:
    """What one pass over an auction document counts."""

    size: int = 0
    paths: Counter[str] = field(default_factory=Counter)
    texts: dict[str, Counter[str]] = field(default_factory=dict)
    attributes: dict[str, Counter[str]] = field(default_factory=dict)
    children: dict[str, Counter[int]] = field(default_factory=dict)

    def share(self, path: str, value: str) -> float:
        counted = self.texts[path]
        return counted[value] / counted.total()

    def mean_children(self, what: str) -> float:
        counted = self.children[what]
        return sum(number * times for number, times in counted.items()) / counted.total()


KEPT_TEXTS = {
    "location",
    "quantity",
    "payment",
    "happiness",
    "type",
    "privacy",
    "business",
    "age",
    "increase",
    "country",
}
COUNTED_CHILDREN = {"bidder": "open_auction", "mail": "mailbox", "watch": "watches", "interest": "profile"}


def measure(chunks: Iterable[bytes]) -> Measured:
    found = Measured()
    path: list[str] = []
    held: list[Counter[str]] = []
    text: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        if held:
            held[-1][name] += 1
        path.append(name)
        held.append(Counter())
        text.clear()
        where = summary(path)
        found.paths[where] += 1
        for key, value in attributes.items():
            found.paths[f"{where}/@{key}"] += 1
            if key != "id":
                found.attributes.setdefault(f"{name}/@{key}", Counter())[value] += 1

    def end(name: str) -> None:
        path.pop()
        inside = held.pop()
        for child, parent in COUNTED_CHILDREN.items():
            if parent == name:
                found.children.setdefault(f"{child} in {parent}", Counter())[inside[child]] += 1
        if name in KEPT_TEXTS:
            found.texts.setdefault(name, Counter())["".join(text)] += 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text.append
    for chunk in chunks:
        found.size += len(chunk)
        parser.Parse(chunk)
    parser.Parse(b"", True)
    return found


def summary(path: list[str]) -> str:
    if path[-1] in ("bold", "keyword", "emph"):
        return "//" + "/".join(path[path.index("text") :])
    if path[1:2] == ["regions"] and len(path) > 4:
        return "/".join(["site/regions/*", *path[3:]])
    return "/".join(path)


def with_regions_merged(paths: Counter[str] | dict[str, int]) -> Counter[str]:
    """Attributes of items are counted per region or not, as one likes; here not."""
    merged: Counter[str] = Counter()
    for path, count in paths.items():
        merged[re.sub(r"^site/regions/[a-z]+/item", "site/regions/*/item", path)] += count
    return merged


@cache
def ours() -> Measured:
    return measure(document(FACTOR, 1))


def test_cardinalities_are_the_original_ones_times_the_factor() -> None:
    counted = ours().paths
    regions = {"africa": 55, "asia": 200, "australia": 220, "europe": 600, "namerica": 1000, "samerica": 100}
    assert {region: counted[f"site/regions/{region}/item"] for region in regions} == regions
    assert counted["site/people/person"] == 2550
    assert counted["site/open_auctions/open_auction"] == 1200
    assert counted["site/closed_auctions/closed_auction"] == 975
    assert counted["site/categories/category"] == counted["site/catgraph/edge"] == 100


@pytest.mark.parametrize(("factor", "items", "persons"), [(0.01, 217, 255), (0.001, 21, 25)])
def test_counts_are_rounded_down_as_in_the_original(factor: float, items: int, persons: int) -> None:
    counted = measure(document(factor, 1)).paths
    assert with_regions_merged(counted)["site/regions/*/item"] == items
    assert counted["site/people/person"] == persons
    auctions = counted["site/open_auctions/open_auction"] + counted["site/closed_auctions/closed_auction"]
    assert auctions == items


def test_it_has_every_path_of_the_original_and_no_other() -> None:
    own = with_regions_merged(ours().paths)
    original = with_regions_merged(REFERENCE_COUNTS)
    assert set(own) <= set(original)
    assert {path for path, count in original.items() if count > 500} <= set(own)


def test_every_path_is_as_frequent_as_in_the_original() -> None:
    own = with_regions_merged(ours().paths)
    for path, count in with_regions_merged(REFERENCE_COUNTS).items():
        expected = count * FACTOR if count > 1 else 1
        assert abs(own[path] - expected) <= 6 * expected**0.5 + 2, path


def test_it_is_as_large_as_the_original() -> None:
    assert ours().size == pytest.approx(REFERENCE_SIZE * FACTOR, rel=0.05)


def test_values_are_distributed_as_in_the_original() -> None:
    found = ours()
    assert found.share("location", "United States") == pytest.approx(0.75, abs=0.03)
    assert found.share("country", "United States") == pytest.approx(0.75, abs=0.03)
    assert found.share("quantity", "1") == pytest.approx(0.92, abs=0.02)
    assert found.share("payment", "Cash") == pytest.approx(1 / 16, abs=0.02)
    assert found.share("age", "18") == pytest.approx(0.23, abs=0.04)
    assert found.mean_children("bidder in open_auction") == pytest.approx(4.96, abs=0.4)
    assert found.mean_children("mail in mailbox") == pytest.approx(0.96, abs=0.1)
    assert found.mean_children("watch in watches") == pytest.approx(3.95, abs=0.3)
    assert found.mean_children("interest in profile") == pytest.approx(2.94, abs=0.25)
    incomes = found.attributes["profile/@income"]
    assert incomes["9876.00"] / incomes.total() == pytest.approx(0.159, abs=0.03)


def test_every_item_is_for_sale_exactly_once() -> None:
    sold = ours().attributes["itemref/@item"]
    assert set(sold) == {f"item{number}" for number in range(2175)}
    assert sold.total() == 2175


def test_references_lead_somewhere() -> None:
    references = ours().attributes
    for attribute, kind, count in (
        ("personref/@person", "person", 2550),
        ("seller/@person", "person", 2550),
        ("author/@person", "person", 2550),
        ("incategory/@category", "category", 100),
        ("interest/@category", "category", 100),
        ("watch/@open_auction", "open_auction", 1200),
    ):
        assert set(references[attribute]) <= {f"{kind}{number}" for number in range(count)}


def test_current_is_initial_plus_all_increases() -> None:
    text = b"".join(document(0.01, 1)).decode()
    auctions = re.findall(r"<open_auction .*?</open_auction>", text, re.DOTALL)
    for auction in auctions:
        amounts = (re.findall(rf"<{name}>(.*?)<", auction) for name in ("initial", "current"))
        initial, current = (round(100 * float(amount)) for (amount,) in amounts)
        increases = sum(round(100 * float(increase)) for increase in re.findall("<increase>(.*?)<", auction))
        assert current == initial + increases


def test_the_vocabulary_is_large_and_knows_gold() -> None:
    words = vocabulary()
    assert len(words) == len(set(words)) == SIZE
    assert words.index("gold") == 329
    assert not [word for word in words if "gold" in word and word not in ("gold", "golden")]
