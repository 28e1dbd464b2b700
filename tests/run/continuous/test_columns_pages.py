"""Pages in columns: regions that hold holes and nothing else, as feeds send them, at any depth and in any order."""

from __future__ import annotations

from io import BytesIO

import pytest
from test_columns_law import OPERATORS, PART, QUERIES, RECORD, SECTION, SHAPES, Drawn, follow, in_turn, seed_of

from xstreamcast.feeds import Feed
from xstreamcast.model.change import Change, Fill, Remove, Replace
from xstreamcast.run.continuous.query import continuous

PAGES, PAGES_OF_PAGES = range(500, 512), range(600, 604)
HELD = (*QUERIES[:3], *QUERIES[5:10], QUERIES[11], QUERIES[13], QUERIES[15], QUERIES[18], QUERIES[22], *OPERATORS[::4])


class Paged(Drawn):
    """Sections hold their records in pages, and records their parts; some holes say no tag. Pages are sent again with
    other holes, removed, and stand in each other."""

    def hole(self, region: int, tsid: int) -> str:
        said = f' tsid="{tsid}"' if self.draw.random() < 0.9 else ""
        return f'<stream:hole id="{region}"{said}/>'

    def page(self, region: int) -> bytes:
        draw = self.draw
        if region in PAGES_OF_PAGES:
            return "".join(f'<stream:hole id="{one}"/>' for one in draw.sample(PAGES, 3)).encode()
        return "".join(self.hole(one, RECORD) for one in draw.sample(range(100, 140), draw.randrange(6))).encode()

    def content(self, tsid: int, region: int) -> bytes:
        draw = self.draw
        if tsid == SECTION:
            pages = draw.sample([*PAGES, *PAGES_OF_PAGES], 4)
            inner = "".join(f'<stream:hole id="{page}"/>' for page in pages)
            return f'<s n="{region}">{inner}{self.hole(100 + region, RECORD)}</s>'.encode()
        if tsid == RECORD:
            x = draw.choice(["1", "5", "7.5", "12", "-3"])
            parts = "".join(self.hole(part, PART) for part in self.parts[region])
            return f'<b id="{region}"><x>{x}</x>{parts}<k>k{draw.randrange(3)}</k></b>'.encode()
        return super().content(tsid, region)

    def change(self) -> Change:
        draw = self.draw
        if draw.random() < 0.3:
            region = draw.choice([*PAGES, *PAGES_OF_PAGES])
            if draw.random() < 0.1:
                return Remove(region=region)
            kind = Fill if draw.random() < 0.5 else Replace
            return kind(region=region, content=self.page(region))
        return super().change()

    def changes(self, count: int) -> list[Change]:
        pages: list[Change] = [Fill(region=n, content=self.page(n)) for n in (*PAGES, *PAGES_OF_PAGES)]
        made = [*super().changes(count), *pages]
        self.draw.shuffle(made)
        return made


@pytest.mark.parametrize("text", HELD)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_told_of_pages_is_the_answer_after_every_batch(shape: str, text: str) -> None:
    size, count = in_turn(shape, text, ((1, 40), (7, 84), (1000, 160)))
    query = follow(text, SHAPES[shape], Paged(SHAPES[shape], seed_of(shape, text)).changes(count), size)
    assert query.state()["followed"] == "columns", query.state()["by_objects"]


@pytest.mark.parametrize("text", [QUERIES[0], QUERIES[8], OPERATORS[3]])
def test_pages_are_handed_over_with_all_else(text: str) -> None:
    follow(text, SHAPES["fillers"], Paged(SHAPES["fillers"], 1, odd=True).changes(200), 7)


def test_a_page_in_an_element_whose_records_are_others_is_left_to_objects() -> None:
    changes: list[Change] = [
        Fill(region=0, tsid=1, content=b'<r><stream:hole id="500"/></r>'),
        Fill(region=500, content=b'<stream:hole id="100" tsid="3"/>'),
        Fill(region=100, tsid=RECORD, content=b"<b><x>1</x></b>"),
    ]
    query = follow('count(stream("s")//b)', SHAPES["fillers"], changes, 1)
    assert query.state()["followed"] == "objects"


def test_records_of_a_feed_are_followed_in_columns() -> None:
    records = b"".join(b"<sale id='%d'><price>%d</price></sale>" % (n, n % 7) for n in range(3000))
    feed = Feed("/shop/sale", key="@id")
    query = continuous('sum(stream("s")//sale/price)')
    for item in feed.changes(BytesIO(b"<shop>%b</shop>" % records)):
        query.feed(item, "s")
    assert (query.text(), query.state()["followed"]) == (str(sum(n % 7 for n in range(3000))), "columns")
